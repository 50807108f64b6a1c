"""Exact unbiasedness, smallest variance, and the covariance against brute force."""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import numpy as np
import pytest

import noutput as no
from noutput.estimate.answers.scores import best_scores, closest_distributions, fixed_scores
from noutput.mechanisms.binning import norm_sub
from tests.estimate.answer_tables import direct, mixed, populations, subsets, whole


def all_counts(n_outputs: int, total: int) -> list[tuple[int, ...]]:
    return [c for c in product(range(total + 1), repeat=n_outputs) if sum(c) == total]


def chance(counts: tuple[int, ...], chances: np.ndarray) -> float:
    ways = factorial(sum(counts)) // prod(map(factorial, counts))
    return float(ways * np.prod(chances**counts))


@pytest.mark.parametrize("reports", [2, 3, 5])
@pytest.mark.parametrize("shares", [[0.0, 0.2, 0.8], [1.0, 0.0, 0.0], [0.3, 0.3, 0.4]])
def test_shares_are_exactly_unbiased(reports: int, shares: list[float]) -> None:
    """The expectation over all possible counts of a campaign is the truth, to rounding."""
    table = whole(np.concatenate([subsets(3, 2.0, 1), subsets(3, 2.0, 2)[:, :2]], axis=1))
    assert table.n_outputs > table.n_answers  # so that the scores depend on the other reports
    chances = np.array(shares) @ table.table()
    found, total = np.zeros(3), 0.0
    for counts in all_counts(table.n_outputs, reports):
        weight = chance(counts, chances)
        estimate = no.estimate_answers(table, no.Tally(table.fingerprint, counts))
        found += weight * estimate.shares
        total += weight
    assert total == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(found, shares, atol=1e-12)


def test_scores_are_unbiased_whatever_the_reference_is() -> None:
    rows = mixed(5, 1.0).table()
    rng = np.random.default_rng(3)
    for _ in range(20):
        scores = best_scores(rows, rng.dirichlet(np.full(5, 0.3)))
        np.testing.assert_allclose(rows @ scores, np.eye(5), atol=1e-10)
        np.testing.assert_allclose(scores.sum(axis=1), 1.0, atol=1e-10)


def test_the_best_scores_reach_the_information_bound_and_others_do_not() -> None:
    table = mixed(5, 3.0)
    rows, truth = table.table(), populations(5)["one answer"]
    chances = truth @ rows
    bound = np.linalg.inv((rows / chances) @ rows.T) - np.outer(truth, truth)

    def covariance(scores: np.ndarray) -> np.ndarray:
        return np.asarray(scores.T @ (chances[:, None] * scores) - np.outer(truth, truth))

    np.testing.assert_allclose(covariance(best_scores(rows, truth)), bound, atol=1e-10)
    excess = np.linalg.eigvalsh(covariance(fixed_scores(table)) - bound)
    assert excess.min() > -1e-9
    assert covariance(fixed_scores(table)).trace() > 1.5 * bound.trace()


def test_estimates_come_close_to_the_bound_and_their_covariance_is_right() -> None:
    table, truth, people = mixed(5, 3.0), populations(5)["one answer"], 2_000
    rows = table.table()
    chances = truth @ rows
    bound = (np.linalg.inv((rows / chances) @ rows.T) - np.outer(truth, truth)) / people
    drawn = np.random.default_rng(5).multinomial(people, chances, size=600)
    found = [no.estimate_answers(table, no.Tally(table.fingerprint, tuple(c.tolist())))
             for c in drawn]  # fmt: skip
    spread = np.cov(np.array([each.shares for each in found]).T)
    stated = np.mean([each.covariance for each in found], axis=0)
    assert 0.85 < spread.trace() / bound.trace() < 1.15
    assert 0.9 < stated.trace() / bound.trace() < 1.15
    scale = np.sqrt(np.outer(np.diag(bound), np.diag(bound)))
    assert np.abs((stated - spread) / scale).max() < 0.2


def test_covariance_is_that_of_the_scores() -> None:
    table = direct(3, 1.0)
    found = no.estimate_answers(table, no.Tally(table.fingerprint, (320, 430, 250)))
    each = np.repeat(np.linalg.inv(table.table()), (320, 430, 250), axis=0)
    np.testing.assert_allclose(found.covariance, np.cov(each.T) / 1_000, rtol=0.01)
    np.testing.assert_allclose(found.standard_errors**2, np.diag(found.covariance), rtol=1e-12)


def test_closest_distributions_agree_with_norm_sub() -> None:
    rows = np.random.default_rng(2).normal(0.2, 0.5, (40, 7))
    np.testing.assert_allclose(closest_distributions(rows), [norm_sub(row) for row in rows])

"""Scores and likelihood over places: by the definition, on tables small enough to enumerate."""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import numpy as np
import pytest

from noutput.estimate import maximum
from noutput.estimate.answers import scores
from noutput.estimate.answers.linear import Linear, Observed
from noutput.estimate.answers.scores import best_scores, column_space, likeliest
from tests.estimate.cell_tables import KNOTS, Array, acting, drawn

SMALL = (0.0, 1.0, 1.0, 2.0)


def small_table(*, deficient: bool) -> Array:
    """Return 4 rows of 5 outputs; the last row is a mixture where rank is lacking."""
    rows = drawn(SMALL, 5, seed=11).table()
    if deficient:
        rows[3] = [0.3, 0.5, 0.2] @ rows[:3]
    return rows


def all_counts(outputs: int, total: int) -> Array:
    return np.array([c for c in product(range(total + 1), repeat=outputs) if sum(c) == total],
                    float)  # fmt: skip


def chance(counts: Array, chances: Array) -> float:
    whole = [int(count) for count in counts]
    return float(factorial(sum(whole)) // prod(map(factorial, whole)) * np.prod(chances**counts))


@pytest.mark.parametrize("steps", [4.0, 0.25])
@pytest.mark.parametrize("deficient", [False, True])
def test_estimates_are_exactly_unbiased(
    deficient: bool, steps: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The expectation over all counts is the truth, with counts rounded coarsely as well."""
    monkeypatch.setattr(scores, "_STEPS_PER_NOISE", steps)
    table = small_table(deficient=deficient)
    weights = table @ np.random.default_rng(5).normal(size=(table.shape[1], 3))
    assert column_space(table).shape[1] == (3 if deficient else 4)
    truth = acting(SMALL, [0.2, 1.0, 1.7], [0.5, 0.2, 0.3])
    found, values = np.zeros(3), []
    for counts in all_counts(table.shape[1], 5):
        estimate = Linear(Observed(table, counts), weights).values
        found += chance(counts, truth @ table) * estimate
        values.append(estimate)
    np.testing.assert_allclose(found, truth @ weights, atol=1e-9)
    assert np.ptp(values, axis=0).min() > 0.1


@pytest.mark.parametrize("deficient", [False, True])
def test_best_scores_have_the_least_variance_of_all_unbiased_ones(deficient: bool) -> None:
    table = small_table(deficient=deficient)
    population = np.array([0.1, 0.5, 0.0, 0.4])
    rng = np.random.default_rng(2)
    weights = table @ rng.normal(size=table.shape[1])
    best = best_scores(table, population) @ weights
    np.testing.assert_allclose(table @ best, weights, atol=1e-9)
    chances = population @ table
    null = np.linalg.svd(table)[2][np.linalg.matrix_rank(table, 1e-9) :]
    assert len(null) >= 1
    for other in best + rng.normal(size=(20, len(null))) @ null:
        np.testing.assert_allclose(table @ other, weights, atol=1e-9)
        assert chances @ other**2 >= chances @ best**2


def test_what_is_outside_the_column_space_is_not_identified() -> None:
    table = small_table(deficient=True)
    observed = Observed(table, np.full(5, 20.0))
    inside = table @ np.random.default_rng(1).normal(size=5)
    outside = np.linalg.svd(table)[0][:, 3]
    weights = np.column_stack([inside, outside, inside + 1e-3 * outside])
    assert observed.identified(weights).tolist() == [True, False, False]


def test_rows_that_hardly_differ_are_of_no_use() -> None:
    table = np.array([[0.5, 0.5], [0.5, 0.5]]) + 1e-7 * np.array([[1, -1], [-1, 1]])
    assert not Observed(table, np.array([5.0, 5.0])).identified(np.eye(2)).any()


@pytest.mark.parametrize("outputs", [5, 40])
@pytest.mark.parametrize("reports", [3, 40, 10**4, 10**9])
def test_the_likeliest_population_meets_the_conditions_of_kuhn_and_tucker(
    outputs: int, reports: int
) -> None:
    """The gradient is at most 1 at every place, and 1 where there are people."""
    table = drawn(KNOTS, outputs, seed=outputs).table()
    rng = np.random.default_rng(reports)
    for weight in (0.1, 1.0, 10.0):
        counts = rng.multinomial(reports, rng.dirichlet(np.full(len(table), weight)) @ table)
        shares = counts / reports
        population = likeliest(table, counts[None].astype(float))[0]
        gradient = table @ (shares / (population @ table))
        gap = max(1e-5 / reports, 1e-13)
        assert population.min() >= 0.0
        assert population.sum() == pytest.approx(1.0, abs=1e-12)
        assert gradient.max() <= np.exp(gap) + 1e-15
        assert population @ (gradient.max() - gradient) <= 2.0 * gap + 1e-12


def test_fewer_bins_than_outputs_and_the_other_way_round_agree() -> None:
    """A row twice makes no difference to the chances, but has the other system solved."""
    table = drawn(KNOTS, 8, seed=3).table()
    shares = np.random.default_rng(4).multinomial(500, table.mean(axis=0), 20) / 500
    few = maximum.maximize(shares, table, np.full(20, 1e-12))
    many = maximum.maximize(shares, np.concatenate([table, table]), np.full(20, 1e-12))
    assert few.converged.all()
    assert many.converged.all()
    twice = np.concatenate([table, table])
    np.testing.assert_allclose(few.probabilities @ table, many.probabilities @ twice, atol=1e-6)


def test_estimates_reach_the_best_variance() -> None:
    """With 50,000 reports, and their stated variance is that of the campaigns."""
    table = drawn(KNOTS, 30, seed=8).table()
    weights = np.column_stack([KNOTS, np.arange(6) < 2, np.arange(6) < 4]).astype(float)
    truth = acting(KNOTS, [2.0, 40.0], [0.7, 0.3])
    chances = truth @ table
    best = np.diag(weights.T @ np.linalg.solve((table / chances) @ table.T, weights))
    best = (best - (truth @ weights) ** 2) / 50_000
    drawn_counts = np.random.default_rng(6).multinomial(50_000, chances, 400).astype(float)
    found = [Linear(Observed(table, counts), weights) for counts in drawn_counts]
    ratio = np.var([each.values for each in found], axis=0) / best
    assert np.all((ratio > 0.75) & (ratio < 1.28))  # 4 standard errors of a variance
    stated = np.mean([each.standard_errors**2 for each in found], axis=0) / best
    np.testing.assert_allclose(stated, 1.0, atol=0.03)

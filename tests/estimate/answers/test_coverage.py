"""Coverage of normal and exact intervals in simulated campaigns; `docs/estimation.md` quotes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

import noutput as no
from noutput.estimate.answers import AnswerEstimate
from noutput.mechanisms.answers import AnswerMechanism
from tests.estimate.answer_tables import direct, mixed, populations

CAMPAIGNS = 1_000
# What chance allows in 1,000 campaigns: about 1,400 intervals are looked at, and one false alarm in
# a thousand runs with other seeds is accepted. The pooled coverage is held to the goal itself.
_TAIL = 1e-3 / 1_400
LEAST = stats.binom.ppf(_TAIL, CAMPAIGNS, 0.95) / CAMPAIGNS
MOST = stats.binom.isf(_TAIL, CAMPAIGNS, 0.95) / CAMPAIGNS
MOST_AT_AN_END = stats.binom.isf(_TAIL, CAMPAIGNS, 0.975) / CAMPAIGNS
CLOSE = 1e-9
TABLES = [(direct, 2), (direct, 5), (mixed, 5), (direct, 11), (mixed, 11)]


def quantile(truth: np.ndarray, share: float) -> int:
    return int(np.searchsorted(np.cumsum(truth), share - CLOSE))


def hits(
    found: AnswerEstimate, truth: np.ndarray, scores: np.ndarray, kind: str
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what is covered: shares and CDF one by one, the other statistics as they are."""
    for statistic, true in (("shares", truth), ("cdf", np.cumsum(truth)[:-1])):
        low, high = (end[: len(true)] for end in found.interval(statistic, kind=kind))
        yield statistic, (low <= true + CLOSE) & (true <= high + CLOSE)
    least, most = found.mean_interval(kind=kind)
    yield "mean", np.array([least - CLOSE <= truth @ scores <= most + CLOSE])
    least, most = found.difference(found.labels[0], found.labels[-1], kind=kind).interval
    yield "difference", np.array([least - CLOSE <= truth[0] - truth[-1] <= most + CLOSE])
    least, most = map(float, found.quantile_interval(0.5, kind=kind))
    yield "median", np.array([least <= quantile(truth, 0.5) <= most])


def coverage(
    table: AnswerMechanism, truth: np.ndarray, people: int, kind: str, campaigns: int
) -> dict[str, np.ndarray]:
    """Return the share of campaigns in which each interval of a statistic covers the truth."""
    question = no.Scale(*range(table.n_answers))
    chances = truth @ table.table()
    counted: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(1))
    seed = [people, *(int(1e6 * chance) for chance in chances)]  # another for every case
    for counts in np.random.default_rng(seed).multinomial(people, chances, size=campaigns):
        found = no.estimate_answers(
            table, no.Tally(table.fingerprint, tuple(counts.tolist())), question
        )
        for statistic, covered in hits(found, truth, np.array(question.scores), kind):
            counted[statistic] = counted[statistic] + covered
    return {statistic: count / campaigns for statistic, count in counted.items()}


def near_an_end(table: AnswerMechanism, truth: np.ndarray, people: int) -> dict[str, np.ndarray]:
    """Return which truths are so close to what is possible that only one side can miss them.

    An estimate that is too low by as much as its interval reaches is beyond the end then, and has
    the interval of an estimate there, which reaches the truth. The tenth is for what the reach
    varies.
    """
    counts = np.rint(truth @ table.table() * people).astype(int)
    question = no.Scale(*range(table.n_answers))
    found = no.estimate_answers(
        table, no.Tally(table.fingerprint, tuple(counts.tolist())), question
    )
    sums, scores = np.tri(table.n_answers)[:-1], np.array(question.scores)
    difference = np.eye(table.n_answers)[0] - np.eye(table.n_answers)[-1]
    functions = {
        "shares": np.eye(table.n_answers),
        "cdf": sums,
        "mean": scores[None, :],
        "difference": difference[None, :],
    }
    close = {}
    for statistic, weights in functions.items():
        errors = np.sqrt(np.einsum("ij,jk,ik->i", weights, found.covariance, weights))
        least, most = weights.min(axis=1), weights.max(axis=1)
        away = np.minimum(weights @ truth - least, most - weights @ truth)
        close[statistic] = away < 1.1 * 1.96 * errors + CLOSE
    return close


@pytest.mark.slow
@pytest.mark.parametrize("people", [2_000, 50_000])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(("make", "k"), TABLES)
def test_normal_intervals_cover(make: object, k: int, epsilon: float, people: int) -> None:
    assert callable(make)
    inner, outer = [], []
    for name, truth in populations(k).items():
        table = make(k, epsilon)
        close = near_an_end(table, truth, people)
        found = coverage(table, truth, people, "normal", CAMPAIGNS)
        assert found.pop("median") >= LEAST
        for statistic, shares in found.items():
            ends = close[statistic]
            assert np.all(shares >= LEAST), (name, statistic, shares)
            assert np.all(shares[~ends] <= MOST), (name, statistic, shares)
            assert np.all(shares[ends] <= MOST_AT_AN_END), (name, statistic, shares)
            inner += shares[~ends].tolist()
            outer += shares[ends].tolist()
    assert 0.94 <= np.mean(inner) <= 0.96
    assert 0.965 <= np.mean(outer) <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("people", [50, 2_000])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_exact_intervals_cover_at_least(epsilon: float, people: int) -> None:
    least = stats.binom.ppf(1e-5, 80, 0.95) / 80  # test_exact.py computes it without chance
    for make in (direct, mixed):
        for name, truth in populations(5).items():
            found = coverage(make(5, epsilon), truth, people, "guaranteed", 80)
            for statistic, shares in found.items():
                assert np.all(shares >= least), (name, statistic, shares)


def test_intervals_of_a_few_campaigns_cover() -> None:
    """The same on a small scale, in every run of the tests."""
    truth = populations(5)["empty answer"]
    found = coverage(mixed(5, 1.0), truth, 2_000, "normal", 60)
    assert all(np.all(shares > 0.83) for shares in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "guaranteed"])
def test_simultaneous_intervals_cover_all_answers(kind: str) -> None:
    for name, truth in populations(5).items():
        table, covered = mixed(5, 1.0), 0
        drawn = np.random.default_rng(3).multinomial(2_000, truth @ table.table(), size=400)
        for counts in drawn:
            found = no.estimate_answers(table, no.Tally(table.fingerprint, tuple(counts.tolist())))
            low, high = found.interval(kind=kind, simultaneous=True)
            covered += bool(np.all((low <= truth + CLOSE) & (truth <= high + CLOSE)))
        assert covered / 400 >= 0.91, name


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "guaranteed"])
def test_differences_of_groups_cover(kind: str) -> None:
    first, second = populations(5)["falling"], populations(5)["one answer"]
    tables, covered = (mixed(5, 1.0), direct(5, 2.0)), np.zeros(5)
    rng = np.random.default_rng(4)
    for _ in range(400):
        found = [
            no.estimate_answers(table, no.Tally(table.fingerprint, tuple(counts.tolist())))
            for table, truth in zip(tables, (first, second), strict=True)
            for counts in rng.multinomial(3_000, truth @ table.table(), size=1)
        ]
        differences = found[0].compare(found[1], kind=kind)
        ends = np.array([each.interval for each in differences])
        covered += (ends[:, 0] <= first - second) & (first - second <= ends[:, 1])
    assert np.all(covered / 400 >= 0.91)
    if kind == "normal":
        assert np.all(covered / 400 <= 0.985)

"""The bound is never below the truth, and broken versions of it are."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

import noutput as no
from noutput.amplification import lattice, law
from noutput.amplification.pairs import Problem
from noutput.mechanisms.answers import AnswerMechanism
from noutput.mechanisms.certified import Table
from noutput.mechanisms.table import TableMechanism
from tests.amplification.truth import add_report, exact_delta, random_table

SHARES = (0.0, 0.1, 0.4, 0.8)  # of the local epsilon


def excesses(seed: int, tables: int, most_reports: int, most_rows: int = 3) -> list[float]:
    """Return bound / truth for random tables, numbers of reports and epsilons."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(tables):
        table = random_table(rng, int(rng.integers(2, most_rows + 1)), int(rng.integers(2, 5)))
        reports = int(rng.integers(1, most_reports + 1))
        for share in SHARES:
            epsilon = share * table.privacy_loss()
            bound = no.published_delta(table, reports=reports, epsilon=epsilon)
            truth = exact_delta(table.table(), reports, math.exp(epsilon))
            found.append(bound.delta / truth if truth > 0.0 else math.inf)
    return found


def test_the_bound_is_never_below_the_truth() -> None:
    assert min(excesses(1, 15, 4)) >= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_bound_is_never_below_the_truth_of_hundreds_of_tables(seed: int) -> None:
    found = excesses(100 + seed, 40, 6, 4)
    assert min(found) >= 1.0
    assert np.median(found) < 1.5


def jumping(rng: np.random.Generator, n_outputs: int) -> Table:
    """Return a table of a number with random rows and a jump."""
    found = random_table(rng, 4, n_outputs).plain
    return Table(found.epsilon, ((0.0, 45.0, 45.0, 180.0),), found.weights)


def rows_of_numbers(table: Table) -> NDArray[np.float64]:
    """Return the chances of the outputs for numbers next to all knots and in between."""
    numbers = [0.0, 20.0, math.nextafter(45.0, 0.0), 45.0, 180.0]
    return TableMechanism.of(table).probabilities(numbers)


def test_the_bound_is_never_below_the_truth_of_numbers_with_jumps() -> None:
    """Whatever numbers people have, on either side of a jump."""
    rng = np.random.default_rng(3)
    for _ in range(8):
        table = jumping(rng, int(rng.integers(2, 4)))
        reports = int(rng.integers(1, 4))
        for share in SHARES:
            epsilon = share * table.privacy_loss()
            bound = no.published_delta(table, reports=reports, epsilon=epsilon)
            truth = exact_delta(rows_of_numbers(table), reports, math.exp(epsilon))
            assert bound.delta >= truth * (1.0 - 1e-9)
            mechanism = TableMechanism.of(table)
            again = no.published_delta(mechanism, reports=reports, epsilon=epsilon)
            assert again.delta == bound.delta


def test_a_bound_that_forgets_one_side_of_a_jump_is_caught() -> None:
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(8):
        table = jumping(rng, 3)
        forgotten = tuple(table.weights[row] for row in (0, 2, 3))
        short = Table(table.epsilon, ((0.0, 45.0, 180.0),), forgotten)
        bound = no.published_delta(short, reports=2, epsilon=0.1 * table.privacy_loss())
        truth = exact_delta(rows_of_numbers(table), 2, math.exp(0.1 * table.privacy_loss()))
        ratios.append(bound.delta / truth)
    assert min(ratios) < 0.9


def test_a_split_that_loses_the_mean_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def below(values: NDArray[np.float64], step: float) -> object:
        return np.floor(values / step).astype(np.int64), np.zeros_like(values)

    monkeypatch.setattr(lattice, "split", below)
    assert min(excesses(1, 15, 4)) < 0.9999


def test_minima_that_are_too_large_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def between(weights: NDArray[np.int64]) -> object:
        return (0.8 * weights.min(axis=0) + 0.2 * weights.max(axis=0)).astype(np.int64)

    monkeypatch.setattr(law, "column_minima", between)
    assert min(excesses(1, 15, 4)) < 0.99


def test_one_report_has_its_own_divergence() -> None:
    table = random_table(np.random.default_rng(2), 4, 6)
    rows = table.table()
    epsilon = table.privacy_loss() / 2.0
    gaps = np.maximum(rows[:, None] - math.exp(epsilon) * rows[None], 0.0).sum(axis=2)
    found = no.published_delta(table, reports=1, epsilon=epsilon)
    assert gaps.max() <= found.delta <= gaps.max() * (1.0 + 1e-8)


@pytest.mark.parametrize("reports", [200, 2_000])
def test_many_reports_of_two_outputs_with_any_inputs(reports: int) -> None:
    """Two outputs: the law of the counts is exact for any inputs of the others."""
    rng = np.random.default_rng(reports)
    quarter = 1 << 30
    rows = [[3 * quarter, quarter], [2 * quarter, 2 * quarter], [quarter, 3 * quarter]]
    table = AnswerMechanism(1.1, rows)
    found = no.published_privacy(table, reports=reports, delta=1e-6)
    truths = []
    for mixture in ([1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.2, 0.3, 0.5]):
        others = np.zeros(reports + 1)
        others[0] = 1.0
        for row in rng.choice(3, reports - 1, p=mixture):
            others = add_report(others, table.table()[row])
        laws = [add_report(others, row) for row in table.table()]
        for own in laws:
            for other in laws:
                gap = np.maximum(own - math.exp(found.epsilon) * other, 0.0).sum()
                truths.append(float(gap))
    assert 1e-9 < max(truths) <= 1e-6


@pytest.mark.parametrize(("reports", "epsilon"), [(100, 0.3), (1_000, 0.1)])
def test_estimates_of_the_true_divergence_lie_below(reports: int, epsilon: float) -> None:
    """All others have one value: the likelihood ratio of counts is known, and is averaged."""
    rng = np.random.default_rng(reports)
    table = random_table(rng, 4, 5)
    rows = table.table()
    found = no.published_delta(table, reports=reports, epsilon=epsilon)
    estimates = []
    for others in rows:
        first, second = (rows[place] for place in found.rows)
        counts = rng.multinomial(reports - 1, others, 20_000)
        counts += rng.multinomial(1, first, 20_000)
        ratios = (counts @ (second / others)) / (counts @ (first / others))
        gains = np.maximum(1.0 - math.exp(epsilon) * ratios, 0.0)
        estimates.append(gains.mean() - 4.0 * gains.std() / math.sqrt(gains.size))
        assert gains.mean() > 0.0
    assert max(estimates) <= found.delta


def test_the_worst_pair_is_found_without_trying_all() -> None:
    rng = np.random.default_rng(5)
    for reports in (3, 50, 1_000, 100_000):
        table = random_table(rng, 7, 5)
        problem = Problem(law.Blanket.of(table.weights), reports)
        c = 0.5 * table.privacy_loss() / math.sqrt(reports)
        pairs = list(permutations(range(len(problem.blanket.rows)), 2))
        worst = max(problem.bound(a, b, c).log_delta for a, b in pairs)
        found = no.published_delta(table, reports=reports, epsilon=math.log1p(c)).delta
        assert found == pytest.approx(math.exp(worst), rel=1e-9)


def test_inputs_between_rows_are_no_worse() -> None:
    rng = np.random.default_rng(6)
    table = random_table(rng, 3, 4)
    mixtures = rng.dirichlet(np.ones(3), 5) @ table.weights
    between = np.floor(mixtures).astype(np.int64)
    between[:, 0] += (1 << 32) - between.sum(axis=1)
    both = AnswerMechanism(table.epsilon * (1.0 + 1e-6), np.vstack([table.weights, between]))
    for reports in (5, 5_000):
        fewer = no.published_delta(table, reports=reports, epsilon=0.01).delta
        assert no.published_delta(both, reports=reports, epsilon=0.01).delta == pytest.approx(
            fewer, rel=1e-6
        )

"""Exact intervals: coverage computed over all counts, for every population that is tried."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import noutput as no
from noutput.estimate.answers.exact import exact_interval
from noutput.estimate.answers.scores import fixed_scores
from tests.estimate.answer_tables import direct, mixed, populations, subsets, whole
from tests.estimate.answers.test_scores import all_counts, chance

FIVE = whole(np.concatenate([subsets(3, 1.5, 1), subsets(3, 1.5, 2)[:, :2]], axis=1))


@pytest.mark.parametrize("reports", [2, 4])
@pytest.mark.parametrize("shares", [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.1, 0.2, 0.7]])
def test_coverage_over_all_possible_counts(reports: int, shares: list[float]) -> None:
    rows, fixed = FIVE.table(), fixed_scores(FIVE)
    functions = {(1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 2.0, 3.0), (1.0, 0.0, -1.0)}
    covered = dict.fromkeys(functions, 0.0)
    for counts in all_counts(5, reports):
        seen = np.array(counts) / reports
        for weights in functions:
            a = np.array(weights)
            low, high = exact_interval(rows, fixed @ a, a, seen, reports, 0.2)
            if low - 1e-9 <= np.dot(shares, a) <= high + 1e-9:
                covered[weights] += chance(counts, np.array(shares) @ rows)
    assert min(covered.values()) >= 0.8


def test_two_scores_are_clopper_and_pearson() -> None:
    table = direct(4, 1.0)
    found = no.estimate_answers(table, no.Tally(table.fingerprint, (30, 20, 40, 10)))
    low, high = found.interval("shares", 0.9, kind="guaranteed")
    inside, outside = table.table()[0, 0], table.table()[1, 0]
    ends = stats.binomtest(40, 100).proportion_ci(0.9, method="exact")
    wanted = (np.array([ends.low, ends.high]) - outside) / (inside - outside)
    np.testing.assert_allclose([low[2], high[2]], np.clip(wanted, 0.0, 1.0), atol=1e-6)


@settings(max_examples=20)
@given(st.lists(st.integers(0, 300), min_size=13, max_size=13).filter(lambda c: sum(c) >= 2))
def test_intervals_are_within_what_is_possible_and_grow_with_the_level(counts: list[int]) -> None:
    table = mixed(5, 1.0)
    found = no.estimate_answers(table, no.Tally(table.fingerprint, tuple(counts)))
    for statistic in ("shares", "cdf"):
        for kind in ("normal", "guaranteed"):
            low, high = found.interval(statistic, 0.8, kind=kind)
            wide_low, wide_high = found.interval(statistic, 0.99, kind=kind)
            assert np.all((low >= 0.0) & (low <= high) & (high <= 1.0))
            assert np.all(wide_low <= low + 1e-9)
            assert np.all(high <= wide_high + 1e-9)


def test_many_reports_cost_forty_percent_at_most_where_the_noise_is_known() -> None:
    table, truth = mixed(5, 1.0), populations(5)["uniform"]
    counts = tuple(np.rint(truth @ table.table() * 10**7).astype(int).tolist())
    found = no.estimate_answers(table, no.Tally(table.fingerprint, counts))
    widths = {}
    for kind in ("normal", "guaranteed"):
        low, high = found.interval("cdf", kind=kind)
        widths[kind] = (high - low)[:-1]
    ratio = widths["guaranteed"] / widths["normal"]
    assert 1.3 < ratio.min() <= ratio.max() < 1.5


def test_counts_of_any_size() -> None:
    table = mixed(3, 1.0)
    counts = tuple(int(x) for x in np.rint(table.table().mean(axis=0) * 1e4))
    for factor in (1, 10**12, 10**100):
        found = no.estimate_answers(
            table, no.Tally(table.fingerprint, tuple(factor * count for count in counts))
        )
        low, high = found.interval("shares", kind="guaranteed")
        assert np.all((low <= 1 / 3 + 1e-3) & (high >= 1 / 3 - 1e-3))
        assert np.all(np.isfinite(found.interval("cdf", simultaneous=True)[0]))


@pytest.mark.parametrize("table", [direct(2, 1.0), direct(5, 1.0), mixed(5, 1.0)], ids=repr)
@pytest.mark.parametrize("kind", ["normal", "guaranteed"])
@settings(max_examples=40)
@given(data=st.data())
def test_no_interval_is_a_single_point(
    table: no.AnswerMechanism, kind: str, data: st.DataObject
) -> None:
    """However far the estimate is beyond what is possible: reports never make anything certain."""
    large = data.draw(st.sampled_from([3, 300, 30_000]))
    sizes = [st.integers(0, large)] * table.n_outputs
    counts = data.draw(st.tuples(*sizes).filter(lambda drawn: sum(drawn) >= 2))
    found = no.estimate_answers(table, no.Tally(table.fingerprint, counts))
    for statistic in ("shares", "cdf"):
        values = getattr(found, statistic)[: table.n_answers - 1]
        low, high = (end[: len(values)] for end in found.interval(statistic, kind=kind))
        assert np.all(high - low > 0.0)
        if found.interval_kind == kind == "normal":
            assert np.all(high - low >= 1.2 * found.standard_errors.min())


def test_reports_that_no_population_explains_are_not_certain() -> None:
    """All say "no", which everybody's true "no" would have made 27% of them not to."""
    table = direct(2, 1.0)
    for reports in (10, 60, 1_000):
        found = no.estimate_answers(table, no.Tally(table.fingerprint, (reports, 0)), no.YesNo())
        kind = "guaranteed" if reports < 100 else "normal"
        assert found.interval_kind == kind
        for each in ("normal", "guaranteed"):
            low, high = found.interval("shares", kind=each)
            assert (low[1], high[0]) == (0.0, 1.0)
            assert high[1] > 1.0 / reports
            assert high[1] == pytest.approx(1.0 - low[0])


@pytest.mark.parametrize("reports", [20, 2_000])
def test_exact_differences_of_groups_that_differ_as_much_as_is_possible(reports: int) -> None:
    """Where all of one group say yes and none of the other, half of the estimates are above 1."""
    table, rng, covered = direct(2, 1.0), np.random.default_rng(9), 0
    for _ in range(100):
        both = [
            no.Tally(table.fingerprint, tuple(rng.multinomial(reports, row).tolist()))
            for row in table.table()
        ]
        nobody, everybody = (no.estimate_answers(table, each, no.YesNo()) for each in both)
        _, found = everybody.compare(nobody, kind="guaranteed")
        covered += found.low <= 1.0 <= found.high
        assert -1.0 <= found.low < found.high <= 1.0
    assert covered >= 95

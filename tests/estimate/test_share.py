"""Shares below a number as estimates of means: what groups are compared and standardized by."""

from __future__ import annotations

import math

import numpy as np
import pytest

import noutput as no
from benchmarks.covering import table
from benchmarks.populations import HELD_BACK, Population
from noutput.errors import InvalidArgumentError
from noutput.estimate.share import estimate_quantile
from tests.tables import window_table

SHAPES = ("commute", "three spikes", "30% at zero")
AT = 0.31


def counted(
    mechanism: no.TableMechanism, people: Population, count: int, rng: np.random.Generator
) -> no.Tally:
    chances = people.shares @ mechanism.probabilities(people.x)
    counts = rng.multinomial(count, chances / chances.sum())
    return no.Tally(mechanism.fingerprint, tuple(counts.tolist()))


def below(people: Population, at: float) -> float:
    return float(people.shares[people.x < at].sum())


def test_the_interval_is_that_of_the_distribution() -> None:
    rng, m = np.random.default_rng(1), table("distribution", 2.0)
    tally = counted(m, HELD_BACK["commute"](rng), 20_000, rng)
    found = no.estimate_share(m, tally, (0, 180), below=60.0)
    whole = no.estimate_distribution(m, tally, 16, "em", bounds=(0, 180))
    for level in (0.8, 0.95):
        wanted = tuple(map(float, whole.interval("cdf", 60.0, level=level)))
        assert found.interval(level) == pytest.approx(wanted, abs=2e-3)
        wanted = tuple(map(float, whole.interval("cdf", 60.0, level=level, kind="guaranteed")))
        assert found.interval(level, kind="guaranteed") == pytest.approx(wanted, abs=5e-3)
    low, high = found.interval()
    assert (found.value, found.n_reports, found.method) == ((low + high) / 2.0, 20_000, "slack")
    assert found.standard_error == pytest.approx((high - low) / 2.0 / 1.96, rel=1e-3)
    assert found.bounds == no.Interval(0, 1)


def test_all_pairs_of_three_groups_are_covered_together() -> None:
    """In campaigns of three populations without any smoothness, from tables of two kinds."""
    covered = standardized = widths = 0.0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        groups, truth = {}, {}
        for number, name in enumerate(SHAPES):
            people, m = HELD_BACK[name](rng), table(("balanced", "distribution")[number % 2], 2.0)
            groups[name] = no.estimate_share(m, counted(m, people, 5_000, rng), below=AT)
            truth[name] = below(people, AT)
        pairs = no.compare_groups(groups)
        covered += all(
            each.low <= truth[each.first] - truth[each.second] <= each.high for each in pairs
        )
        widths += sum(each.high - each.low for each in pairs) / len(pairs) / 40
        low, high = no.standardize(groups, dict.fromkeys(SHAPES, 1.0)).interval()
        standardized += low <= sum(truth.values()) / 3.0 <= high
    assert min(covered, standardized) >= 36
    assert widths < 0.6


def test_one_report_moves_the_middle_by_its_range_at_most() -> None:
    """To first order: of many reports, whichever output one has in place of another."""
    rng, m = np.random.default_rng(4), window_table(2.0, 8, 9, 0.3)
    tally = counted(m, HELD_BACK["commute"](rng), 40_000, rng)
    found = no.estimate_share(m, tally, below=AT)
    moved = []
    for output in range(8):
        counts = list(tally.counts)
        counts[int(np.argmax(counts))] -= 400
        counts[output] += 400
        other = no.estimate_share(m, no.Tally(m.fingerprint, tuple(counts)), below=AT)
        moved.append(abs(other.value - found.value))
    assert 0.3 * found.poisoning_bound(400) < max(moved) <= 1.05 * found.poisoning_bound(400)


def test_evidence_of_two_waves() -> None:
    rng, m = np.random.default_rng(5), table("balanced", 2.0)
    people = HELD_BACK["commute"](rng)
    narrow = Population(np.clip((people.x + 1.0) / 1.2 * 2.0 - 1.0, -1.0, 1.0), people.shares)
    parts = [
        (m, counted(m, people, 4_000, rng), (0.0, 180.0)),
        (m, counted(m, narrow, 16_000, rng), (0.0, 108.0)),
    ]
    found = no.estimate_share(no.Evidence(parts), below=60.0)
    low, high = found.interval()
    assert low <= below(people, 60.0 / 90.0 - 1.0) <= high
    first = no.estimate_share(*parts[0], below=60.0)
    assert high - low < np.diff(first.interval())[0]


def test_few_reports_have_proven_intervals() -> None:
    m = window_table(2.0, 8, 9, 0.3)
    found = no.estimate_share(m, no.Tally(m.fingerprint, (3,) * 8), below=0.0)
    assert found.interval() == found.interval(kind="guaranteed")
    assert found.poisoning_bound(24) == 1.0
    assert found.poisoning_bound(0) == 0.0


def test_quantiles_are_compared_in_their_units() -> None:
    rng, m = np.random.default_rng(6), table("distribution", 2.0)
    tally = counted(m, HELD_BACK["commute"](rng), 20_000, rng)
    found = estimate_quantile(m, tally, (0, 180), share=0.5)
    assert found.bounds == no.Interval(0, 180)
    low, high = found.interval()
    assert 0.0 < low < high < 180.0
    assert found.poisoning_bound(1) == 180.0


def test_the_value_is_the_middle_at_every_level() -> None:
    rng, m = np.random.default_rng(7), table("balanced", 1.0)
    tally = counted(m, HELD_BACK["low end"](rng), 500, rng)
    for level in (0.5, 0.8, 0.95, 0.99):
        share = no.estimate_share(m, tally, below=-0.4, level=level)
        median = estimate_quantile(m, tally, share=0.5, level=level)
        for found in (share, median):
            low, high = found.interval(level)
            assert found.value == (low + high) / 2.0


@pytest.mark.parametrize("wrong", [-1.0, 1.0, 2.0, math.nan, 1.0 - 1e-10, -1.0 + 1e-10])
def test_numbers_beyond_the_bounds_are_refused(wrong: float) -> None:
    m = window_table(2.0, 8, 9, 0.3)
    with pytest.raises(InvalidArgumentError, match="below must"):
        no.estimate_share(m, no.Tally(m.fingerprint, (30,) * 8), below=wrong)


def test_too_few_reports_and_other_tables_are_refused() -> None:
    m, other = window_table(2.0, 8, 9, 0.3), window_table(1.0, 8, 9, 0.3)
    with pytest.raises(InvalidArgumentError, match="at least two reports"):
        no.estimate_share(m, no.Tally(m.fingerprint, (1,) + (0,) * 7), below=0.0)
    with pytest.raises(InvalidArgumentError, match="tally"):
        no.estimate_share(m, no.Tally(other.fingerprint, (30,) * 8), below=0.0)


def test_middles_are_not_smoothed_over_rounds() -> None:
    m = window_table(2.0, 8, 9, 0.3)
    one = no.estimate_share(m, no.Tally(m.fingerprint, (300,) * 8), below=0.0)
    with pytest.raises(InvalidArgumentError, match="the middle of an interval"):
        no.trend([one] * 4)

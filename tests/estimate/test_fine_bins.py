"""Bins of evidence: fine where a part has narrow bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noutput as no
from noutput.estimate.fine_bins import default_bins, fine_bins
from noutput.estimate.stacked import Layer, StackedChannel

M = no.design(1.0, 16).mechanism
ENDS = st.floats(-1.0, 1.0).map(lambda end: round(end, 2))


def stacked(lower: float, upper: float) -> StackedChannel:
    return StackedChannel([Layer(M, -1.0, 1.0, 200), Layer(M, lower, upper, 800)])


def reports(numbers: np.ndarray, bounds: no.Interval, seed: int) -> no.Tally:
    unit = bounds.to_unit(numbers, clip=True)
    return no.Tally.of(M, M.privatize(unit, np.random.default_rng(seed)))


def evidence(numbers: np.ndarray, narrow: no.Interval) -> no.Evidence:
    wide, first = no.Interval(0, 1), len(numbers) // 5
    parts = [
        (M, reports(numbers[:first], wide, 1), wide),
        (M, reports(numbers[first:], narrow, 2), narrow),
    ]
    return no.Evidence(parts)


@given(lower=ENDS, upper=ENDS)
@settings(max_examples=40, deadline=None)
def test_narrow_bounds_have_64_bins_and_others_grow(lower: float, upper: float) -> None:
    if upper - lower < 0.02:
        lower, upper = min(lower, 0.98), min(lower, 0.98) + 0.02
    found = fine_bins(stacked(lower, upper))
    widths = np.diff(found.edges)
    assert found.edges[0] == -1.0
    assert found.edges[-1] == 1.0
    assert widths.min() > 0.0
    inside = np.sum((found.edges >= lower - 1e-12) & (found.edges <= upper + 1e-12))
    assert 62 <= inside <= 68
    assert widths.max() <= 2.0 / 16.0 + 1e-9
    assert (widths[1:] / widths[:-1]).max() < 1.1
    assert (widths[:-1] / widths[1:]).max() < 1.1
    assert 0.9 < found.step <= 1.0 + 1e-12
    assert found.theta.sum(axis=1) == pytest.approx(1.0)


def test_parts_with_the_same_bounds_have_equal_bins() -> None:
    other = no.design(0.5, 16).mechanism
    found = fine_bins(StackedChannel([Layer(M, -1.0, 1.0, 200), Layer(other, -1.0, 1.0, 800)]))
    assert found.edges == pytest.approx(np.linspace(-1.0, 1.0, 65))
    assert found.step == pytest.approx(1.0)


def test_shares_are_kept_where_bins_are_spread() -> None:
    found = fine_bins(stacked(-1.0, -0.8))
    shares = np.random.default_rng(7).dirichlet(np.ones(len(found.theta)), 3)
    for bins in (10, 64, 1000):
        spread = found.spread(shares, bins)
        assert spread.shape == (3, bins)
        assert spread.min() >= 0.0
        assert spread.sum(axis=1) == pytest.approx(1.0)
    tenth = found.spread(shares, 10)[:, 0]
    assert tenth == pytest.approx(found.spread(shares, 1000)[:, :100].sum(axis=1))


def test_default_bins_put_64_into_the_narrowest_bounds() -> None:
    assert default_bins(M) == 64
    assert default_bins(stacked(-1.0, 1.0)) == 64
    assert default_bins(stacked(-1.0, -0.8)) == 640
    assert default_bins(stacked(-1.0, -0.98)) == 1024


def test_default_of_evidence_resolves_the_narrow_bounds() -> None:
    numbers = np.random.default_rng(7).beta(3.0, 4.0, 40_000) / 20.0
    both = evidence(numbers, no.Interval(0, 0.08))
    found = no.estimate_distribution(both)
    assert found.bins == 64 * 13
    assert no.summarize(both, None, no.Number(0, 1)).distribution.bins == found.bins
    shares = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    assert found.quantile(shares) == pytest.approx(np.quantile(numbers, shares), abs=0.003)
    drawn = found.draws(3, np.random.default_rng(8))
    assert drawn.shape == (3, found.bins)
    assert drawn.sum(axis=1) == pytest.approx(1.0)


def test_people_at_the_end_of_narrow_bounds_are_found_there() -> None:
    rng = np.random.default_rng(9)
    numbers = np.where(rng.random(40_000) < 0.3, 0.0, rng.beta(3.0, 4.0, 40_000) / 10.0)
    both = evidence(numbers, no.Interval(0, 0.15))
    first = 0.15 / 64.0
    found = no.estimate_distribution(both).cdf(first)
    assert found == pytest.approx(np.mean(numbers <= first), abs=0.04)

"""Intervals for named statistics."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from noutput.estimate.slack.guaranteed import Guaranteed
from noutput.estimate.slack.intervals import Slack, Statistics
from noutput.estimate.slack.threshold import thresholds
from tests.registered import NAMES, make
from tests.tables import window_table

Array: TypeAlias = NDArray[np.float64]

SHARES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
SMALL = window_table(1.0, 6, 9, 0.4)
CHANNELS = [name for name in NAMES if hasattr(make(name, 1.0), "corners")]


def slack(counts: Array, level: float = 0.95, channel: Any = SMALL) -> Slack:
    return Slack(channel, counts / counts.sum(), float(counts.sum()), level, (-0.5, 0.25))


def everything(statistics: Statistics) -> dict[str, tuple[Array, Array]]:
    """All intervals, as arrays."""
    found = {
        "mean": statistics.mean(),
        "variance": statistics.variance(),
        "cdf": statistics.cdf(np.array([-0.5, 0.25])),
        "shares": statistics.shares(np.array([-1.0, -0.5]), np.array([-0.5, 0.25])),
        "function": statistics.function(np.abs),
        "quantiles": statistics.quantiles(SHARES),
    }
    return {name: (np.atleast_1d(a), np.atleast_1d(b)) for name, (a, b) in found.items()}


COUNTS = st.lists(st.integers(0, 10**6), min_size=6, max_size=6).filter(lambda c: sum(c) > 1)


@given(counts=COUNTS)
@settings(max_examples=25, deadline=None)
def test_what_holds_for_all_intervals(counts: list[int]) -> None:
    ends = slack(np.array(counts, float))
    found = everything(Statistics(ends))
    wide = everything(Statistics(slack(np.array(counts, float), 0.99)))
    possible = {"mean": -1.0, "quantiles": -1.0}
    for name, (low, high) in found.items():
        assert np.all(low <= high), name
        assert np.all(low >= possible.get(name, 0.0) - 1e-9), name
        assert np.all(high <= 1.0 + 1e-9), name
        assert np.all(wide[name][0] <= low + 1e-6), name
        assert np.all(wide[name][1] >= high - 1e-6), name
    fitted = ends.fit.mixture
    x = ends.places.x
    mean = fitted @ x
    for name, value in (("mean", mean), ("variance", fitted @ (x - mean) ** 2)):
        assert found[name][0][0] - 1e-6 <= value <= found[name][1][0] + 1e-6
    again = everything(Statistics(slack(np.array(counts, float))))
    for name, pair in found.items():
        np.testing.assert_array_equal(pair, again[name])


def test_mirrored_reports_have_mirrored_intervals() -> None:
    counts = np.array([90.0, 200.0, 310.0, 180.0, 120.0, 100.0])
    one, other = Statistics(slack(counts)), Statistics(slack(counts[::-1]))
    np.testing.assert_allclose(one.mean(), -np.array(other.mean())[::-1], atol=1e-4)
    np.testing.assert_allclose(one.variance(), other.variance(), atol=1e-4)
    low, high = one.quantiles(np.array([0.3]))
    mirrored = other.quantiles(np.array([0.7]))
    np.testing.assert_allclose([low[0], high[0]], [-mirrored[1][0], -mirrored[0][0]], atol=1e-9)


def test_the_variance_of_every_population_that_fits() -> None:
    ends = slack(np.array([200.0, 420.0, 480.0, 400.0, 300.0, 200.0]))
    low, high = Statistics(ends).variance()
    fit, x = ends.fit, ends.places.x
    rng = np.random.default_rng(2)
    seen = []
    for _ in range(4_000):
        other = rng.dirichlet(np.full(len(x), 0.05))
        mixture = fit.mixture + rng.uniform() ** 2 * (other - fit.mixture)
        residual = fit.weighted @ mixture - fit.observed
        if residual @ residual <= fit.least + thresholds(0.95)[0]:
            seen.append(mixture @ x**2 - (mixture @ x) ** 2)
    assert len(seen) > 300
    assert low <= min(seen)
    assert max(seen) <= high
    assert high - low < 3.0 * (max(seen) - min(seen))


def test_the_search_for_quantiles_finds_what_all_cuts_say() -> None:
    table = make("n-output-distribution", 1.0)
    counts = np.random.default_rng(4).multinomial(20_000, table.transition(1)[0])
    statistics = Statistics(slack(counts.astype(float), channel=table))
    low, high = statistics.quantiles(SHARES)
    places = statistics._places
    cuts = places.x[places.cuts]
    least, most = statistics.cdf(cuts)
    for index, share in enumerate(SHARES):
        assert low[index] == np.max(cuts[most < share], initial=-1.0)
        assert high[index] == np.min(cuts[least >= share], initial=1.0)


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("kind", [Slack, Guaranteed])
def test_every_mechanism_and_strange_reports(name: str, kind: Any) -> None:
    channel = make(name, 1.0)
    outputs = channel.transition(1).shape[1]
    for shares in (np.eye(outputs)[0], np.full(outputs, 1.0 / outputs)):
        for reports in (2.0, 1e12):
            statistics = Statistics(kind(channel, shares, reports, 0.95, (0.3,)))
            for low, high in (statistics.mean(), statistics.variance()):
                assert -1.0 <= low <= high <= 1.0
            low, high = statistics.cdf(np.array([0.3]))
            assert 0.0 <= low[0] <= high[0] <= 1.0


def test_below_a_hundred_reports_slack_is_not_to_be_trusted() -> None:
    """With two reports slack may exclude what is true; guaranteed intervals exclude nothing."""
    table = make("duchi", 1.0)
    certain = Statistics(Guaranteed(table, np.array([1.0, 0.0]), 2.0, 0.95))
    np.testing.assert_array_equal(certain.mean(), (-1.0, 1.0))

from __future__ import annotations

import numpy as np
import pytest

import noutput as no
from tests.estimate.samples import SHAPES, campaigns, population, sixteen


def base_interval(table: no.TableMechanism, tally: no.Tally) -> tuple[float, float]:
    low, high = no.estimate_distribution(table, tally).interval("variance")
    return 25.0 * low, 25.0 * high


def test_is_that_of_the_distribution() -> None:
    table = sixteen(1.0)
    rng = np.random.default_rng(0)
    tally = no.Tally(
        table.fingerprint, tuple(campaigns(table, "skewed", 9_000, 1, rng)[0].tolist())
    )
    bounds = no.Interval(0.0, 10.0)
    for method in ("em", "gp"):
        found = no.estimate_variance(table, tally, bounds, method=method)
        base = no.estimate_distribution(table, tally, method=method)
        assert found.value == pytest.approx(25.0 * base.variance)
        centers = (base.edges[1:] + base.edges[:-1]) / 2.0
        squares = base.probabilities @ centers**2
        inside = (2.0 / 64) ** 2 / 12.0
        assert base.variance == pytest.approx(
            squares - (base.probabilities @ centers) ** 2 + inside
        )
        assert found.standard_deviation**2 == pytest.approx(found.value)
        assert found.n_reports == 9_000
        low, high = found.interval()
        assert 0.0 <= low < high <= 25.0
        assert (low, high) == pytest.approx(base_interval(table, tally))


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_cover_the_variance(shape: str) -> None:
    table = sixteen(3.0)
    rng = np.random.default_rng(5)
    hits = 0
    for row in campaigns(table, shape, 20_000, 40, rng).tolist():
        found = no.estimate_variance(table, no.Tally(table.fingerprint, tuple(row)))
        low, high = found.interval()
        hits += low <= population(shape).var() <= high
    assert hits / 40 >= 0.9


@pytest.mark.parametrize("bins", [2, 5, 64])
def test_numbers_spread_inside_their_bins(bins: int) -> None:
    """By brute force: a million numbers at equal distances inside the bins of the estimate."""
    table = sixteen(1.0)
    rng = np.random.default_rng(3)
    counts = campaigns(table, "skewed", 9_000, 1, rng)[0].tolist()
    bounds = no.Interval(-3.0, 7.0)
    found = no.estimate_variance(
        table, no.Tally(table.fingerprint, tuple(counts)), bounds, bins=bins
    )
    inside = (np.arange(20_000) + 0.5) / 20_000 * (10.0 / bins)
    x = found.distribution.edges[:-1, None] + inside
    weights = np.broadcast_to(found.distribution.probabilities[:, None] / 20_000, x.shape)
    mean = float((x * weights).sum())
    assert found.value == pytest.approx(float(((x - mean) ** 2 * weights).sum()), rel=1e-6)
    drawn = found.distribution.sample(400_000, rng)
    assert found.value == pytest.approx(float(drawn.var()), rel=0.02)


@pytest.mark.parametrize("bins", [2, 4, 16, 64])
def test_evenly_spread_numbers_have_their_variance_with_any_bins(bins: int) -> None:
    """Counts without noise of numbers that are uniform over the bounds."""
    table = sixteen(3.0)
    chances = np.full(64, 1 / 64) @ table.transition(64)
    tally = no.Tally(table.fingerprint, tuple(np.rint(chances * 1e9).astype(int).tolist()))
    found = no.estimate_variance(table, tally, bins=bins, method="em")
    assert found.value == pytest.approx(1.0 / 3.0, rel=1e-3)

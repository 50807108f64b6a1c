from __future__ import annotations

import numpy as np
import pytest

import noutput as no
from tests.estimate.samples import SHAPES, campaigns, population, sixteen


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
        assert base.variance == pytest.approx(squares - (base.probabilities @ centers) ** 2)
        assert found.standard_deviation**2 == pytest.approx(found.value)
        assert found.n_reports == 9_000
        low, high = found.interval(rng=rng)
        assert 0.0 <= low < found.value < high


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_cover_the_variance(shape: str) -> None:
    table = sixteen(3.0)
    rng = np.random.default_rng(5)
    hits = 0
    for row in campaigns(table, shape, 20_000, 40, rng).tolist():
        found = no.estimate_variance(table, no.Tally(table.fingerprint, tuple(row)))
        low, high = found.interval(rng=rng, replicates=100)
        hits += low <= population(shape).var() <= high
    assert hits / 40 >= 0.85

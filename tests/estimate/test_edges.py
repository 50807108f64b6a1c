"""Intervals for the CDF of numbers at the edges of cells, which hold for every population."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import noutput as no
from noutput.errors import InvalidArgumentError
from noutput.estimate.edges import _brackets, _Key, _steps

KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "skewed": lambda rng, n: np.clip(0.3 * rng.exponential(size=n) - 1.0, -1.0, 1.0),
    "atoms": lambda rng, n: rng.choice([-0.5, -0.001, 0.0, 0.6], n),
    "even": lambda rng, n: rng.uniform(-1.0, 1.0, n),
    "one number": lambda _, n: np.full(n, 0.25 - 2.0**-17),
}


@pytest.fixture(scope="module")
def table() -> no.TableMechanism:
    return no.design(1.0, 64, "distribution").mechanism


def truth(found: no.EdgeIntervals, people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares below the edges less the gap, and below the edges."""
    ordered = np.sort(people)
    places = [np.searchsorted(ordered, found.edges - move) for move in (found.gap * 1.001, 0.0)]
    return places[0] / len(people), places[1] / len(people)


def test_scores_bracket_the_indicator_at_every_knot(table: no.TableMechanism) -> None:
    rows = table.probabilities(table.knots)
    before = np.arange(len(rows))[:, None] < _steps(table)
    for reports in (2.0, 2.0**20):
        below, above = _brackets(_Key(table.fingerprint, table), reports)
        assert np.all(rows @ above >= before - 1e-9)
        assert np.all(rows @ below <= before + 1e-9)


@pytest.mark.parametrize(
    ("shape", "kind"), [*((shape, "normal") for shape in KINDS), ("atoms", "exact")]
)
def test_one_campaign(table: no.TableMechanism, shape: str, kind: str) -> None:
    rng = np.random.default_rng(4)
    people = KINDS[shape](rng, 20_000)
    tally = no.Tally.of(table, table.privatize(people, rng=rng))
    found = no.cdf_at_edges(table, tally, kind=kind, simultaneous=True)
    less, below = truth(found, people)
    assert len(found.edges) == 63
    assert np.all(found.low <= below)
    assert np.all(less <= found.high)
    assert np.median(found.high - found.low) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("people", [2_000, 50_000])
@pytest.mark.parametrize("shape", list(KINDS))
def test_coverage(shape: str, people: int) -> None:
    rng = np.random.default_rng(5)
    for mechanism in (no.design(1.0, 64, "distribution").mechanism, no.design(3.0).mechanism):
        everybody = KINDS[shape](rng, 20_000)
        chances = mechanism.probabilities(everybody).mean(axis=0)
        covered, campaigns = np.zeros(63), 150
        for counts in rng.multinomial(people, chances / chances.sum(), size=campaigns):
            tally = no.Tally(mechanism.fingerprint, tuple(counts.tolist()))
            found = no.cdf_at_edges(mechanism, tally)
            less, below = truth(found, everybody)
            covered += (found.low <= below + 1e-9) & (less <= found.high + 1e-9)
        assert covered.min() / campaigns >= 0.88  # 0.95, less 4 standard errors
        assert covered.mean() / campaigns >= 0.95


def test_units_and_gap(table: no.TableMechanism) -> None:
    tally = no.Tally(table.fingerprint, (100,) * 64)
    found = no.cdf_at_edges(table, tally, (0, 64), level=0.9)
    np.testing.assert_allclose(found.edges, np.arange(1, 64), atol=1e-3)
    assert 0.0 < found.gap < 64 * 3e-6
    assert (found.level, found.kind) == (0.9, "normal")


def test_bad_input(table: no.TableMechanism) -> None:
    gradual = no.design(1.0, 16, "worst").mechanism
    with pytest.raises(InvalidArgumentError, match="mechanism must have cells"):
        no.cdf_at_edges(gradual, no.Tally(gradual.fingerprint, (10,) * 16))
    tally = no.Tally(table.fingerprint, (1,) + (0,) * 63)
    with pytest.raises(InvalidArgumentError, match="at least two reports"):
        no.cdf_at_edges(table, tally)
    with pytest.raises(InvalidArgumentError, match="kind must be one of"):
        no.cdf_at_edges(table, tally, kind="sure")
    with pytest.raises(InvalidArgumentError, match="level must lie"):
        no.cdf_at_edges(table, tally, level=1.5)


@pytest.mark.parametrize(("reports", "kind"), [(99, "exact"), (100, "normal")])
def test_the_kind_is_the_one_that_was_computed(
    table: no.TableMechanism, reports: int, kind: str
) -> None:
    counts = (reports - 36,) + (36,) + (0,) * 62
    found = no.cdf_at_edges(table, no.Tally(table.fingerprint, counts))
    assert found.kind == kind

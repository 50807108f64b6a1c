"""Assumptions: what is computed, against brute force, and how often intervals cover."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

import noutput as no
from noutput.errors import InvalidArgumentError
from noutput.estimate.slack import assume
from noutput.estimate.slack.assume import Assumed, DensityAtMost, Unimodal, VariationAtMost
from noutput.estimate.slack.intervals import Slack, Statistics
from noutput.estimate.slack.places import Goal, below, position
from noutput.mechanisms.table import TableMechanism
from tests.estimate.samples import Array
from tests.tables import window_table

UNIT = no.Interval(-1.0, 1.0)
CELLS = assume.CELLS
MIDDLES = (np.arange(CELLS) + 0.5) * 2.0 / CELLS - 1.0
ASSUMPTIONS = (DensityAtMost(3.0), VariationAtMost(6.0), Unimodal(), Unimodal((-0.5, 0.25)))


@lru_cache
def table(epsilon: float = 2.0) -> TableMechanism:
    return window_table(epsilon, 16, 65, 0.4)


def hump(center: float = -0.2, spread: float = 0.4) -> Array:
    density = np.exp(-((MIDDLES - center) ** 2) / 2.0 / spread**2)
    return np.asarray(density / density.sum(), np.float64)


def shares_of(density: Array, channel: TableMechanism | None = None) -> Array:
    chances = density @ (channel or table()).transition(CELLS)
    return np.asarray(chances / chances.sum())


def drawn(shares: Array, reports: int = 5_000, seed: int = 1) -> Array:
    return np.asarray(np.random.default_rng(seed).multinomial(reports, shares) / reports)


def assumed(assumption: assume.Assumption, shares: Array, reports: float = 5_000.0) -> Assumed:
    return Assumed(table(), shares, reports, 0.95, [0.0], assumption, UNIT)


@pytest.mark.parametrize("assumption", ASSUMPTIONS, ids=str)
def test_intervals_hold_the_truth_and_are_narrower(assumption: assume.Assumption) -> None:
    density = hump()
    shares = drawn(shares_of(density))
    found = Statistics(assumed(assumption, shares))
    free = Statistics(Slack(table(), shares, 5_000.0, 0.95, [0.0]))
    (low,), (high,) = found.cdf(np.array([0.0]))
    (least,), (most,) = free.cdf(np.array([0.0]))
    assert low < density[: CELLS // 2].sum() < high
    assert high - low < most - least
    low, high = found.mean()
    assert low < density @ MIDDLES < high


@pytest.mark.parametrize("assumption", [DensityAtMost(3.0), VariationAtMost(6.0)], ids=str)
def test_ends_are_proven_for_all_densities_of_an_assumption(
    assumption: DensityAtMost | VariationAtMost,
) -> None:
    """By brute force over 8 cells: scipy finds no density beyond an end, and comes close to it."""
    size = 8
    few = np.repeat(np.eye(size), CELLS // size, axis=1) / (CELLS // size)
    rows = few @ table().transition(CELLS)
    fit = assumed(assumption, drawn(shares_of(hump())))
    best = fit._fits[0].best  # type: ignore[attr-defined]
    limit = best.least + float(fit._thresholds[0])
    above = MIDDLES > 0.0
    goal = few @ above

    def misfit(masses: Array) -> Array:
        return np.array([np.sum((best.weights * (masses @ rows) - best.observed) ** 2)])

    def size_of(masses: Array) -> Array:
        heights = masses * size
        if isinstance(assumption, DensityAtMost):
            return np.array([heights.max()])
        return np.array([np.abs(np.diff(heights, prepend=0.0, append=0.0)).sum()])

    def objective(masses: Any) -> float:
        return -float(goal @ masses)

    rules: Any = [
        LinearConstraint(np.ones(size), 1.0, 1.0),
        NonlinearConstraint(misfit, 0.0, limit),
        NonlinearConstraint(size_of, 0.0, assumption.times),
    ]
    start = (few @ hump()).tolist()
    found = minimize(
        objective,
        np.array([each / sum(start) for each in start]),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * size,
        constraints=rules,
    )
    (low,), (high,) = Statistics(fit).shares(np.array([0.0]), np.array([1.0]))
    assert -found.fun <= high + 1e-6
    assert -found.fun > (low + high) / 2.0 + 0.3 * (high - low) / 2.0


@pytest.mark.parametrize(
    "assumption", [a for a in ASSUMPTIONS if a != VariationAtMost(6.0)], ids=str
)
def test_atoms_are_what_the_assumption_says(assumption: DensityAtMost | Unimodal) -> None:
    """Random mixtures that keep the rules have the property, up to the room at the edge."""
    rng = np.random.default_rng(5)
    rows = table().transition(CELLS)
    for part in assumption._programs(rows, UNIT)[::10]:
        sums, totals = part.program.rules
        atoms = rng.choice(len(part.spread), 4)
        weights = np.zeros(len(part.spread))
        weights[atoms] = rng.dirichlet(np.ones(4))
        density = weights @ part.spread
        mass = density.sum()
        assert mass == pytest.approx(sums[0] @ weights)
        assert density @ rows == pytest.approx(weights @ part.program.rows)
        heights = np.concatenate([[0.0], density * CELLS, [0.0]])
        if isinstance(assumption, DensityAtMost):
            assert totals[1:] * CELLS == pytest.approx(np.full(CELLS, 1.25 * assumption.times))
        else:
            outside = np.delete(np.diff(heights), np.s_[_mode_of(part) : _mode_of(part) + 6])
            falling = outside < -1e-12
            assert not falling.any() or not np.any(outside[np.argmax(falling) :] > 1e-12)


def _mode_of(part: assume._Part) -> int:
    """Return the first of the cells that can hold the mode: the first atom of one cell alone."""
    return int(np.argmax(part.spread.max(axis=1) == 1.0)) if part.spread[0].max() < 1.0 else 0


@pytest.mark.parametrize(
    ("assumption", "density"),
    [
        (DensityAtMost(2.0), (np.abs(MIDDLES - 0.5) < 0.1) / 1.0),
        (VariationAtMost(3.0), np.abs(np.abs(MIDDLES) - 0.6) < 0.05),
        (Unimodal(), np.abs(MIDDLES) > 0.8),
        (Unimodal(0.75), hump(-0.5, 0.2)),
        ("smooth", np.abs(MIDDLES + 0.5) < 0.02),
    ],
    ids=["dense", "two peaks", "no peak", "elsewhere", "smooth"],
)
def test_reports_that_contradict_an_assumption_are_told(
    assumption: assume.Assumption | str, density: Array
) -> None:
    channel = window_table(4.0, 16, 65, 0.2)
    shares = shares_of(density / density.sum(), channel)
    counts = tuple(np.rint(shares * 200_000).astype(int).tolist())
    found = no.estimate_distribution(channel, no.Tally(channel.fingerprint, counts))
    wanted = assume.as_assumption(assumption)
    with pytest.raises(InvalidArgumentError, match="do not contradict") as error:
        found.interval("mean", assume=assumption)
    assert str(wanted) in str(error.value)


def test_few_reports_hardly_contradict_anything() -> None:
    shares = shares_of((np.abs(MIDDLES) > 0.5) / 1.0)
    low, high = Statistics(assumed(Unimodal(), shares, 200.0)).mean()
    assert low < 0.0 < high


def test_a_level_changes_the_threshold_alone() -> None:
    shares = drawn(shares_of(hump()))
    found = assumed(VariationAtMost(6.0), shares)
    wide, narrow = (Statistics(found.at_level(level)).mean() for level in (0.99, 0.5))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert found.at_level(0.99).center == found.center


def test_other_words_and_limits_are_refused() -> None:
    for make in (lambda: DensityAtMost(0.5), lambda: VariationAtMost(1.0)):
        with pytest.raises(InvalidArgumentError, match="times must be at least"):
            make()
    for mode in ((2.0, 1.0), (1.0, 2.0, 3.0), float("nan"), "x"):
        with pytest.raises(InvalidArgumentError, match="mode"):
            Unimodal(mode)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="mode must lie within the bounds, -1 to 1"):
        assumed(Unimodal(5.0), shares_of(hump()))
    with pytest.raises(InvalidArgumentError, match="assume must be Unimodal"):
        assume.as_assumption("rough")


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["hump", "edge"])
@pytest.mark.parametrize(
    "assumption", [DensityAtMost(4.0), VariationAtMost(8.0), Unimodal()], ids=str
)
def test_intervals_cover_where_the_assumption_holds(
    assumption: assume.Assumption, shape: str
) -> None:
    density = {
        "hump": hump(-0.3, 0.25),
        "edge": ((MIDDLES > -0.5) & (MIDDLES < 0.0)) / 1.0,  # 4 times the even one
    }[shape]
    density /= density.sum()
    rng = np.random.default_rng(11)
    truth = np.array([density @ MIDDLES, density[: CELLS // 2].sum(), density[:40].sum()])
    at = np.array([0.0, -1.0 + 40 * 2.0 / CELLS])
    campaigns, hits = 10, np.zeros(3)
    for counts in rng.multinomial(5_000, shares_of(density), size=campaigns):
        found = Statistics(
            Assumed(table(), counts / 5_000, 5_000.0, 0.95, at.tolist(), assumption, UNIT)
        )
        low, high = found.linear(_goals(found, at))
        hits += (low - 1e-9 <= truth) & (truth <= high + 1e-9)
    assert np.all(hits >= 8)  # 60 campaigns had 88% or more in every case


def _goals(found: Statistics, at: Array) -> list[Goal]:
    places = found._places
    return [position(places), *(below(places, x) for x in at)]

"""Cells of coverage grids: which statistics the intervals of simulated campaigns cover."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import noutput as no
from benchmarks.populations import CALIBRATION, HELD_BACK, ZERO, Array, Population
from noutput.estimate.slack import places as goals_of
from noutput.estimate.slack.guaranteed import Guaranteed
from noutput.estimate.slack.intervals import Ends, Slack, Statistics
from noutput.estimate.slack.places import Places
from noutput.mechanisms.table import TableMechanism

__all__ = ["GROUPS", "Cell", "Covered", "simulate", "table"]

GROUPS = ("mean", "variance", "cdf", "quantiles", "bins")
THRESHOLDS = (-0.5, 0.1, ZERO)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SIZES = {"balanced": None, "distribution": 64, "worst": 16}
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Cell:
    """A kind of campaign."""

    population: str
    objective: str
    epsilon: float
    people: int

    @property
    def key(self) -> str:
        """Its name in files."""
        return f"{self.population}/{self.objective}/{self.epsilon:g}/{self.people}"

    def draw(self, rng: np.random.Generator) -> Population:
        """Return its population, or one of them."""
        return {**CALIBRATION, **HELD_BACK}[self.population](rng)


@dataclass(frozen=True, eq=False)
class Covered:
    """How often statistics of a group were covered, and the mean width of their intervals."""

    hits: dict[str, Array]
    widths: dict[str, float]


@lru_cache(maxsize=32)
def table(objective: str, epsilon: float) -> TableMechanism:
    """Return the catalog's table."""
    return no.design(epsilon, SIZES[objective], objective).mechanism


def simulate(
    cell: Cell,
    campaigns: int,
    *,
    block: int = 0,
    bins: int = 16,
    level: float = 0.95,
    guaranteed: bool = False,
) -> Covered:
    """Draw campaigns of a cell, and count which statistics their intervals cover."""
    rng = np.random.default_rng([zlib.crc32(cell.key.encode()), block])
    mechanism = table(cell.objective, cell.epsilon)
    edges = np.linspace(-1.0, 1.0, bins + 1)
    named = [*edges, *THRESHOLDS]
    hits: dict[str, list[Array]] = {group: [] for group in GROUPS}
    widths = dict.fromkeys((group for group in GROUPS if group != "quantiles"), 0.0)
    for _ in range(campaigns):
        people = cell.draw(rng)
        chances = people.shares @ mechanism.probabilities(people.x)
        shares = rng.multinomial(cell.people, chances / chances.sum()) / cell.people
        kind = Guaranteed if guaranteed else Slack
        ends: Ends = kind(mechanism, shares, float(cell.people), level, named)
        for group, (hit, width) in _check(ends, people, edges).items():
            hits[group].append(hit)
            if group in widths:
                widths[group] += width / campaigns
    return Covered({group: np.sum(rows, axis=0) for group, rows in hits.items()}, widths)


def _check(ends: Ends, people: Population, edges: Array) -> dict[str, tuple[Array, float]]:
    statistics = Statistics(ends)
    result = {
        "mean": _inside(*statistics.mean(), [people.mean], [people.mean]),
        "variance": _inside(*statistics.variance(), [people.variance], [people.variance]),
    }
    exact = [bool(ends.places.starts_cell[np.searchsorted(ends.places.x, t)]) for t in THRESHOLDS]
    below = [people.below(t) for t in THRESHOLDS]
    up_to = [b if e else people.up_to(t) for t, b, e in zip(THRESHOLDS, below, exact, strict=True)]
    result["cdf"] = _inside(*statistics.cdf(np.array(THRESHOLDS)), below, up_to)
    last = [people.below(end) for end in edges[:-1]] + [1.0]
    truth = np.diff(last).tolist()
    result["bins"] = _inside(*statistics.shares(edges[:-1], edges[1:]), truth, truth)
    result["quantiles"] = _quantiles(ends, people), np.nan
    return result


def _inside(
    low: Array, high: Array, least: Sequence[float], most: Sequence[float]
) -> tuple[Array, float]:
    low, high = np.atleast_1d(low), np.atleast_1d(high)
    hit = (low <= np.array(least) + _ROUNDING) & (high >= np.array(most) - _ROUNDING)
    return hit.astype(float), float(np.mean(high - low))


def _quantiles(ends: Ends, people: Population) -> Array:
    """Say which quantiles are covered.

    An interval misses one if the upper end of the CDF at the next cut above it is lower than the
    share, or the lower end at the next cut below is not: two ends instead of a search.
    """
    places: Places = ends.places
    cuts = places.x[places.cuts]
    rows, levels, owners = [], [], []
    for owner, share in enumerate(QUANTILES):
        number = people.quantile(share)
        above, below = cuts[cuts > number], cuts[cuts < number]
        if above.size:
            rows.append(goals_of.below(places, above[0]).upper)
            levels.append(share)
            owners.append(owner)
        if below.size:
            rows.append(-goals_of.below(places, below[-1]).lower)
            levels.append(-share)
            owners.append(owner)
    missed = np.zeros(len(QUANTILES), bool)
    if rows:
        found = ends.upper(np.array(rows))
        wrong = np.where(np.array(levels) > 0, found < levels, found <= np.array(levels) - 1e-12)
        np.logical_or.at(missed, owners, wrong)
    return (~missed).astype(float)


def grid(
    populations: Sequence[str], epsilons: Sequence[float], people: Sequence[int]
) -> list[Cell]:
    """Return all cells of some populations, for all three kinds of tables."""
    return [
        Cell(population, objective, epsilon, count)
        for count in people
        for epsilon in epsilons
        for objective in SIZES
        for population in populations
    ]

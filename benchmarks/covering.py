"""Cells of coverage grids: which statistics the intervals of simulated campaigns cover."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import noutput as no
from benchmarks.populations import CALIBRATION, HELD_BACK, ZERO, Array, Population
from benchmarks.reaching import ratios
from noutput.estimate.slack import places as goals_of
from noutput.estimate.slack.guaranteed import Guaranteed
from noutput.estimate.slack.intervals import Ends, Slack, Statistics
from noutput.estimate.slack.places import Goal, Places
from noutput.mechanisms.table import TableMechanism

__all__ = ["GROUPS", "Cell", "Covered", "Truth", "check", "reached", "simulate", "table", "truths"]

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
    measured: int = 2,
) -> Covered:
    """Draw campaigns of a cell, and count which statistics their intervals cover.

    Slack intervals of the first campaigns are computed, for their widths. For all, a statistic is
    covered if its path is below the threshold at the true value, which takes less time: the
    interval goes at least as far. The variance is checked by its interval.
    """
    rng = np.random.default_rng([zlib.crc32(cell.key.encode()), block])
    mechanism = table(cell.objective, cell.epsilon)
    edges = np.linspace(-1.0, 1.0, bins + 1)
    named = [*edges, *THRESHOLDS]
    hits: dict[str, list[Array]] = {group: [] for group in GROUPS}
    widths: dict[str, list[float]] = {group: [] for group in GROUPS if group != "quantiles"}
    for index in range(campaigns):
        people = cell.draw(rng)
        chances = people.shares @ mechanism.probabilities(people.x)
        shares = rng.multinomial(cell.people, chances / chances.sum()) / cell.people
        kind = Guaranteed if guaranteed else Slack
        ends: Ends = kind(mechanism, shares, float(cell.people), level, named)
        found = {}
        if index < measured or isinstance(ends, Guaranteed):
            found = check(ends, people, edges)
            for group, kept in widths.items():
                kept.append(found[group][1])
        covered = {group: hit for group, (hit, _) in found.items()}
        if isinstance(ends, Slack):
            covered = reached(ends, people, edges)
        for group, hit in covered.items():
            hits[group].append(hit)
    return Covered(
        {group: np.sum(rows, axis=0) for group, rows in hits.items()},
        {group: float(np.mean(kept)) for group, kept in widths.items()},
    )


@dataclass(frozen=True, eq=False)
class Truth:
    """A statistic, and the smallest and the largest of its true values."""

    goal: Goal
    least: float
    most: float


def truths(
    places: Places, people: Population, thresholds: Sequence[float], edges: Array
) -> list[Truth]:
    """Return the true mean, CDF at thresholds and shares between edges."""
    result = [Truth(goals_of.position(places), people.mean, people.mean)]
    for at in thresholds:
        exact = bool(places.starts_cell[np.searchsorted(places.x, at)])
        most = people.below(at) if exact else people.up_to(at)
        result.append(Truth(goals_of.below(places, at), people.below(at), most))
    sums = [people.below(edge) for edge in edges[:-1]] + [1.0]
    for start, end, share in zip(edges[:-1], edges[1:], np.diff(sums).tolist(), strict=True):
        result.append(Truth(goals_of.between(places, start, end), share, share))
    return result


def reached(ends: Slack, people: Population, edges: Array) -> dict[str, Array]:
    """Say which statistics are covered, by the misfit at their true values."""
    known = truths(ends.places, people, THRESHOLDS, edges)
    rows, levels, owners = _around(ends.places, people)
    goals = [side for truth in known for side in (truth.goal.upper, -truth.goal.lower)] + rows
    targets = [side for truth in known for side in (truth.most, -truth.least)] + levels
    limits = ends.thresholds
    needed = ratios(ends.fit, np.array(goals[2:]), np.array(targets[2:]), limits)
    of_mean = ratios(ends.fit, np.array(goals[:2]), np.array(targets[:2]), limits, replaced=0.0)
    hit = np.append(of_mean, needed) <= 1.0
    linear = hit[: 2 * len(known)].reshape(-1, 2).all(axis=1).astype(float)
    quantiles = np.ones(len(QUANTILES))
    np.minimum.at(quantiles, owners, hit[2 * len(known) :])
    variance = Statistics(ends).variance()
    first = 1 + len(THRESHOLDS)
    return {
        "mean": linear[:1],
        "variance": _inside(*variance, [people.variance], [people.variance])[0],
        "cdf": linear[1:first],
        "quantiles": quantiles,
        "bins": linear[first:],
    }


def check(ends: Ends, people: Population, edges: Array) -> dict[str, tuple[Array, float]]:
    """Say which statistics are covered by their intervals, and how wide those are."""
    statistics = Statistics(ends)
    known = truths(ends.places, people, THRESHOLDS, edges)
    low, high = statistics.linear([truth.goal for truth in known])
    low[0], high[0] = statistics.mean()
    linear, _ = _inside(low, high, [each.least for each in known], [each.most for each in known])
    widths = np.minimum(high, 1.0) - np.maximum(low, [-1.0] + [0.0] * (len(known) - 1))
    variance = statistics.variance()
    first = 1 + len(THRESHOLDS)
    return {
        "mean": (linear[:1], float(widths[0])),
        "variance": _inside(*variance, [people.variance], [people.variance]),
        "cdf": (linear[1:first], float(widths[1:first].mean())),
        "quantiles": (_quantiles(ends, people), np.nan),
        "bins": (linear[first:], float(widths[first:].mean())),
    }


def _inside(
    low: Array, high: Array, least: Sequence[float], most: Sequence[float]
) -> tuple[Array, float]:
    low, high = np.atleast_1d(low), np.atleast_1d(high)
    hit = (low <= np.array(least) + _ROUNDING) & (high >= np.array(most) - _ROUNDING)
    return hit.astype(float), float(np.mean(high - low))


def _quantiles(ends: Ends, people: Population) -> Array:
    """Say which quantiles are covered: two ends of the CDF instead of a search."""
    rows, levels, owners = _around(ends.places, people)
    missed = np.zeros(len(QUANTILES), bool)
    if rows:
        np.logical_or.at(missed, owners, ends.upper(np.array(rows)) < np.array(levels))
    return (~missed).astype(float)


def _around(places: Places, people: Population) -> tuple[list[Array], list[float], list[int]]:
    """Return statistics, what their upper ends must reach, and for which quantile.

    An interval misses a quantile if the upper end of the CDF at the next cut above it is lower
    than the share, or the lower end at the next cut below is not.
    """
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
            levels.append(-share + 1e-12)
            owners.append(owner)
    return rows, levels, owners


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

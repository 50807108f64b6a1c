r"""Slack intervals for named statistics: smallest and largest values over all populations that fit.

Notes
-----
Every end is that of a linear statistic. Other ones are bounded by those:

- The variance is at most :math:`E(X - c)^2` for any c, and exceeds it less the square of the
  largest distance between c and a possible mean. Here c is the mean of the best fit.
- The p-quantile is larger than x where less than p can lie up to x, and at most x where at least
  p must lie below: the CDF's intervals, inverted, at the table's own places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Protocol

import numpy as np

from noutput.estimate.slack import places as statistics
from noutput.estimate.slack.path import largest
from noutput.estimate.slack.pieces import REPLACED
from noutput.estimate.slack.places import Goal, Places
from noutput.estimate.slack.program import BestFit
from noutput.estimate.slack.threshold import thresholds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array, CellModel

__all__ = ["Bounds", "Slack", "Statistics"]

_COARSE = 4  # cuts in one step of the search for quantiles

Bounds = tuple["Array", "Array"]


class Ends(Protocol):
    """What gives ends of linear statistics: all that depends on the kind of interval."""

    places: Places

    def upper(self, goals: Array) -> Array:
        """Return upper ends of statistics, given by values at the places of shape (B, K)."""

    def shared(self, parts: int) -> Ends:
        """Return what gives ends that must hold for so many statistics at once."""

    def smooth(self) -> Ends:
        """Return what gives ends of statistics without jumps."""

    @property
    def center(self) -> float:
        """A number near the mean."""


class Statistics:
    """Intervals for statistics of the people's numbers, in units of [-1, 1].

    Parameters
    ----------
    ends : Ends
    """

    def __init__(self, ends: Ends) -> None:
        self._ends = ends
        self._places = ends.places

    def linear(self, goals: Sequence[Goal]) -> Bounds:
        """Return the ends of linear statistics."""
        if not goals:
            return np.empty(0), np.empty(0)
        stack = np.array([goal.upper for goal in goals] + [-goal.lower for goal in goals])
        ends = self._ends.upper(stack)
        high, low = ends[: len(goals)], -ends[len(goals) :]
        # Ends cross by rounding, or guaranteed ones where no population explains the reports.
        return np.minimum(low, high), np.maximum(low, high)

    def mean(self) -> Bounds:
        """Return the ends for the mean."""
        low, high = Statistics(self._ends.smooth()).linear([statistics.position(self._places)])
        return np.clip(low[0], -1.0, 1.0), np.clip(high[0], -1.0, 1.0)

    def variance(self) -> Bounds:
        """Return the ends for the variance."""
        center = self._ends.center
        goals = [statistics.distance(self._places, center), statistics.position(self._places)]
        low, high = Statistics(self._ends.shared(len(goals)).smooth()).linear(goals)
        off = max(abs(low[1] - center), abs(high[1] - center))
        near = max(low[1] - center, center - high[1], 0.0)
        return np.clip(low[0] - off**2, 0.0, 1.0), np.clip(high[0] - near**2, 0.0, 1.0)

    def cdf(self, at: Array) -> Bounds:
        """Return the ends for the shares below some places."""
        return self._shares([statistics.below(self._places, x) for x in at])

    def shares(self, starts: Array, ends: Array) -> Bounds:
        """Return the ends for the shares between pairs of places."""
        pairs = zip(starts, ends, strict=True)
        return self._shares([statistics.between(self._places, a, b) for a, b in pairs])

    def _shares(self, goals: Sequence[Goal]) -> Bounds:
        low, high = self.linear(goals)
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def function(self, function: Callable[[Array], Array]) -> Bounds:
        """Return the ends for the mean of a function of the numbers."""
        low, high = self.linear([statistics.expected(self._places, function)])
        return low[0], high[0]

    def quantiles(self, shares: Array) -> Bounds:
        """Return the ends for quantiles."""
        cuts = self._places.x[self._places.cuts]
        most, least = self._crossing([statistics.below(self._places, x) for x in cuts], shares)
        low = np.array([np.max(cuts[most < p], initial=-1.0) for p in shares])
        high = np.array([np.min(cuts[least >= p], initial=1.0) for p in shares])
        return low, np.maximum(low, high)

    def _crossing(self, goals: Sequence[Goal], shares: Array) -> Array:
        """Return upper and lower ends of the CDF at cuts, and NaN where they do not matter.

        First every few cuts, then those in between where the ends pass a share.
        """
        size = len(goals)
        sides = np.array([[goal.upper for goal in goals], [-goal.lower for goal in goals]])
        result = np.full((2, size), np.nan)
        wanted = np.zeros((2, size), np.bool_)
        wanted[:, _COARSE - 1 :: _COARSE] = True
        self._find(result, sides, wanted)
        passed = (result[:, _COARSE - 1 :: _COARSE, None] < shares).sum(axis=1)
        between = passed[:, :, None] * _COARSE + np.arange(_COARSE - 1)
        for side, found in enumerate(between):
            wanted[side] = np.isin(np.arange(size), found)
        self._find(result, sides, wanted)
        return result

    def _find(self, result: Array, sides: Array, wanted: NDArray[np.bool_]) -> None:
        """Put upper ends into the first row of a result, and lower ones into the second."""
        if wanted.any():
            ends = self._ends.upper(sides[wanted])
            result[wanted] = np.where(np.nonzero(wanted)[0] == 0, ends, -ends)


class Slack:
    """Ends over all populations whose misfit is below a threshold.

    Parameters
    ----------
    channel : CellModel
    shares : array of shape (J,)
    reports : float
    level : float
    named : sequence of floats
        Places of [-1, 1] that statistics name.
    """

    def __init__(
        self,
        channel: CellModel,
        shares: Array,
        reports: float,
        level: float,
        named: Sequence[float] = (),
    ) -> None:
        self.places = Places(channel, named)
        self.fit = BestFit(self.places.program, shares, reports)
        self.thresholds = thresholds(level)
        self._replaced = REPLACED

    def upper(self, goals: Array) -> Array:
        """Return upper ends of statistics."""
        return largest(self.fit, goals, self.thresholds, replaced=self._replaced)

    def at_level(self, level: float) -> Slack:
        """Return ends at another level, of the same fit."""
        result = copy(self)
        result.thresholds = thresholds(level)
        return result

    def part(self, share: float) -> Slack:
        """Return ends for a part of the threshold; what lost atoms add to it stays."""
        result = copy(self)
        result.thresholds = self.thresholds - (1.0 - share) * self.thresholds[0]
        return result

    def shared(self, parts: int) -> Slack:  # noqa: ARG002 (what is asked for is one statistic)
        """Return this: the misfit of one population is compared, whatever is asked of it."""
        return self

    def smooth(self) -> Slack:
        """Return ends of statistics without jumps: no atom is replaced on a wrong side of one."""
        result = copy(self)
        result._replaced = 0.0  # noqa: SLF001 (another of the same kind)
        return result

    @property
    def center(self) -> float:
        """The mean of the best fit."""
        return float(self.fit.mixture @ self.places.x)

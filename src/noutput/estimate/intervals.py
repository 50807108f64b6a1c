"""Intervals of the statistics of one campaign, in the units of its bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate.counts import Counts
from noutput.estimate.slack.guaranteed import Guaranteed
from noutput.estimate.slack.intervals import Bounds, Slack, Statistics
from noutput.estimate.slack.path import best_scores
from noutput.estimate.slack.places import below
from noutput.interval import scale_to_unit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noutput.estimate.counts import Array, CellModel
    from noutput.interval import Interval
    from noutput.tally import Tally

__all__ = ["FEW", "KINDS", "QUANTILES", "Function", "Intervals"]

KINDS = ("slack", "guaranteed")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
FEW = 100  # reports, below which all intervals are guaranteed ones
_SAME = 1e-9  # how far rounding moves a number of [-1, 1] at most

Function: TypeAlias = Callable[["Array"], "ArrayLike"]


class Intervals:
    """Intervals of statistics that all come from one fit.

    Parameters
    ----------
    channel : CellModel
    tally : Tally
    bounds : Interval
    level : float
    kind : {"slack", "guaranteed"}
    named : array of floats
        All numbers, in the units of the bounds, that `cdf` and `shares` will be asked for.

    Attributes
    ----------
    kind : str
        "guaranteed" where there are fewer than 100 reports, whatever was wanted.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tally = no.Tally(m.fingerprint, (4_000, 6_000))
    >>> found = Intervals(m, tally, no.Interval(0, 10), named=[5.0])
    >>> [round(end, 1) for end in found.mean()]
    [6.8, 7.2]
    >>> low, high = found.cdf([5.0])
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.0], [0.64])
    >>> [round(end, 1) for end in found.at_level(0.5).mean()]
    [6.9, 7.1]
    """

    def __init__(
        self,
        channel: CellModel,
        tally: Tally,
        bounds: Interval,
        *,
        level: float = 0.95,
        kind: str = "slack",
        named: ArrayLike = (),
    ) -> None:
        _checks.inner_share("level", level)
        wanted = _checks.choice("kind", kind, KINDS)
        counts = Counts.of([tally])
        shares, reports = counts.shares[0], float(counts.totals[0])
        self.bounds = bounds
        self.kind: str = "guaranteed" if reports < FEW else wanted
        self._corners: Array = np.asarray(channel.corners(), np.float64)
        places = self._units(np.asarray(named, np.float64).ravel()).tolist()
        ends = Guaranteed if self.kind == "guaranteed" else Slack
        self._ends: Guaranteed | Slack = ends(channel, shares, reports, level, places)
        self._statistics = Statistics(self._ends)

    def at_level(self, level: float) -> Intervals:
        """Return the same at another level, without another fit."""
        result = copy(self)
        result._ends = self._ends.at_level(_checks.inner_share("level", level))  # noqa: SLF001
        result._statistics = Statistics(result._ends)  # noqa: SLF001 (another of the same kind)
        return result

    def part(self, share: float) -> Intervals:
        """Return slack intervals with a part of the threshold, as differences need them."""
        result = copy(self)
        if not isinstance(self._ends, Slack):
            raise InvalidArgumentError("kind", "be 'slack'", self.kind)
        result._ends = self._ends.part(share)  # noqa: SLF001
        result._statistics = Statistics(result._ends)  # noqa: SLF001
        return result

    def mean(self) -> tuple[float, float]:
        """Return the ends for the mean."""
        low, high = self._values(self._statistics.mean())
        return float(low), float(high)

    def variance(self) -> tuple[float, float]:
        """Return the ends for the variance."""
        low, high = self._statistics.variance()
        square = self.bounds.half_width**2
        return float(low) * square, float(high) * square

    def cdf(self, at: ArrayLike) -> Bounds:
        """Return the ends for the shares below numbers: 0 up to the lower bound."""
        places = self._units(np.asarray(at, np.float64))
        inside = (places > -1.0) & (places < 1.0)
        low, high = ((places >= 1.0).astype(np.float64) for _ in range(2))
        low[inside], high[inside] = self._statistics.cdf(places[inside])
        return low, high

    def share_scores(self, at: float) -> Array:
        """Return what one report adds to the middle of the share below a number, by outputs.

        Times all reports, to first order, and up to a constant.
        """
        (place,) = self._units(np.array([at]))
        goal = below(self._ends.places, float(place))
        goals = np.array([goal.upper, -goal.lower])
        if isinstance(self._ends, Guaranteed):
            upper, lower = self._ends.scores(goals)
        else:
            upper, lower = best_scores(self._ends.fit, goals, float(self._ends.thresholds[0]))
        result: Array = (upper - lower) / 2.0
        return result

    def shares(self, starts: ArrayLike, ends: ArrayLike) -> Bounds:
        """Return the ends for the shares between pairs of numbers."""
        pairs = (self._units(np.asarray(each, np.float64)) for each in (starts, ends))
        return self._statistics.shares(*pairs)

    def quantiles(self, shares: ArrayLike) -> Bounds:
        """Return the ends for quantiles."""
        return self._values(self._statistics.quantiles(np.asarray(shares, np.float64)))

    def function(self, function: Function) -> tuple[float, float]:
        """Return the ends for the mean of a function of the numbers."""

        def scaled(x: Array) -> Array:
            found = np.asarray(function(self.bounds.lower + (x + 1.0) * self.bounds.half_width))
            if found.shape != x.shape or not np.all(np.isfinite(found.astype(np.float64))):
                rule = f"return as many finite numbers as it gets, of shape {x.shape}"
                raise InvalidArgumentError("statistic", rule, found)
            return found.astype(np.float64)

        low, high = self._statistics.function(scaled)
        return float(low), float(high)

    def _values(self, ends: Sequence[Array]) -> Bounds:
        """Return ends in the units of the bounds."""
        lower, upper = self.bounds.lower, self.bounds.upper
        low, high = (
            np.clip(lower + (each + 1.0) * self.bounds.half_width, lower, upper) for each in ends
        )
        return low, high

    def _units(self, values: Array) -> Array:
        """Return numbers as places of [-1, 1]; those at a corner exactly there."""
        found = scale_to_unit(np.clip(values, self.bounds.lower, self.bounds.upper), self.bounds)
        after = np.clip(np.searchsorted(self._corners, found), 1, len(self._corners) - 1)
        for side in (after - 1, after):
            corner = self._corners[side]
            found = np.where(np.abs(found - corner) < _SAME, corner, found)
        return found

"""Shares below a number and quantiles as estimates of means, which groups are compared by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput import _checks
from noutput._progress import shown_progress
from noutput.errors import InvalidArgumentError
from noutput.estimate.counts import check_tally, transition_matrix
from noutput.estimate.evidence import Evidence, unpacked
from noutput.estimate.intervals import Intervals
from noutput.estimate.mean_estimate import MeanEstimate
from noutput.estimate.mean_scores import half_width
from noutput.interval import UNIT, Interval

if TYPE_CHECKING:
    from noutput.estimate.counts import Array, CellModel
    from noutput.interval import IntervalLike
    from noutput.tally import Tally

__all__ = ["estimate_quantile", "estimate_share", "is_between"]

_FEWEST = 2  # reports that say anything
_SAME = 2e-9  # of [-1, 1]: numbers as near to a bound are taken for it


@dataclass(frozen=True, eq=False)
class _Ends:
    """Slack and guaranteed intervals of one statistic, as a `MeanEstimate` asks for them.

    Parameters
    ----------
    channel : CellModel
    tally : Tally
    bounds : Interval
    kind : {"below", "quantile"}
    at : float
    """

    channel: Any
    tally: Tally
    bounds: Interval
    kind: str
    at: float
    name = "slack"
    held = None

    @cached_property
    def slack(self) -> Intervals:
        return self._made("slack")

    @cached_property
    def _guaranteed(self) -> Intervals:
        return self._made("guaranteed")

    def _made(self, kind: str) -> Intervals:
        named = [self.at] if self.kind == "below" else []
        return Intervals(self.channel, self.tally, self.bounds, kind=kind, named=named)

    def interval(self, level: float, kind: str = "normal") -> tuple[float, float]:
        """Return the ends at a level."""
        made = self._guaranteed if kind == "guaranteed" else self.slack
        return self._of(made.at_level(level))

    def split(self, level: float, parts: Array) -> Array | None:
        """Return the ends with parts of a level's threshold; None where there is none."""
        if self.slack.kind != "slack":
            return None
        whole = self.slack.at_level(level)
        return np.array([self._of(whole.part(part)) for part in parts])

    def _of(self, found: Intervals) -> tuple[float, float]:
        (low,), (high,) = (
            found.cdf([self.at]) if self.kind == "below" else found.quantiles([self.at])
        )
        return float(low), float(high)


@shown_progress("Estimating")
def estimate_share(
    mechanism: CellModel | Evidence,
    tally: Tally | None = None,
    bounds: IntervalLike = UNIT,
    *,
    below: float,
    level: float = 0.95,
) -> MeanEstimate:
    """Estimate the share of people whose number is below another, for comparisons of groups.

    Parameters
    ----------
    mechanism : CellModel or Evidence
        What made the reports.
    tally : Tally
        Left out where evidence is given.
    bounds : Interval or pair of numbers
        Of the people's numbers.
    below : float
        Between the bounds.
    level : float
        Of the interval whose middle is the value.

    Returns
    -------
    MeanEstimate
        Of a number that is 1 for people below, and 0 for others. Its interval is the slack
        interval of the share, and its value the middle of it: nothing is assumed about the
        people's numbers. `no.compare_groups` and `no.standardize` take such estimates.

    Notes
    -----
    The share has no unbiased estimate in general, since people just below the number and just
    above it cause almost the same reports. So the value is for a comparison beside its interval:
    averages of many such values keep their bias. The range of a report is what it adds to the
    middle of the interval, to first order. `no.cdf_difference` compares two groups at several
    numbers.

    Examples
    --------
    >>> import noutput as no
    >>> m, rng = no.design(2.0).mechanism, np.random.default_rng(7)
    >>> def late(mean):
    ...     minutes = no.Interval(0, 180).to_unit(rng.gamma(4.0, mean / 4, 30_000), clip=True)
    ...     tally = no.Tally.of(m, m.privatize(minutes, rng))
    ...     return no.estimate_share(m, tally, (0, 180), below=45.0)
    >>> groups = {"ios": late(30.0), "android": late(50.0)}
    >>> low, high = groups["ios"].interval()
    >>> low < 0.85 < high, groups["ios"].method
    (True, 'slack')
    >>> (pair,) = no.compare_groups(groups)
    >>> pair.is_clear
    True
    """
    ends = _ends(mechanism, tally, bounds, "below", below)
    scores = ends.slack.share_scores(below)
    return _estimate(ends, Interval(0.0, 1.0), float(np.ptp(scores)), level)


def estimate_quantile(
    mechanism: CellModel | Evidence,
    tally: Tally | None = None,
    bounds: IntervalLike = UNIT,
    *,
    share: float,
    level: float = 0.95,
) -> MeanEstimate:
    """Return the middle of a quantile's slack interval, with that interval.

    Parameters
    ----------
    mechanism, tally, bounds, level
        As in `estimate_share`.
    share : float
        Of people below the quantile.

    Notes
    -----
    One report can move a quantile by any amount where few people are near it, so its range is that
    of all reports: a bound that is never reached.

    Examples
    --------
    >>> import noutput as no
    >>> m, rng = no.design(2.0).mechanism, np.random.default_rng(7)
    >>> tally = no.Tally.of(m, m.privatize(rng.uniform(-1, 1, 30_000), rng))
    >>> low, high = estimate_quantile(m, tally, (0, 180), share=0.5).interval()
    >>> low < 90.0 < high
    True
    """
    _checks.inner_share("share", share)
    ends = _ends(mechanism, tally, bounds, "quantile", share)
    span = 2.0 * ends.bounds.half_width * ends.tally.total
    return _estimate(ends, ends.bounds, span, level)


def _ends(mechanism: Any, tally: Tally | None, bounds: IntervalLike, kind: str, at: float) -> _Ends:
    channel, counted, units = unpacked(mechanism, tally, bounds)
    check_tally(channel, counted, transition_matrix(channel, 1).shape[1])
    if counted.total < _FEWEST:
        raise InvalidArgumentError("tally", "have at least two reports", counted.total)
    if kind == "below" and not is_between(units, _checks.finite("below", at)):
        rule = f"lie between the bounds, {units.lower:g} and {units.upper:g}"
        raise InvalidArgumentError("below", rule, at)
    return _Ends(channel, counted, units, kind, float(at))


def is_between(bounds: Interval, number: float) -> bool:
    """Say whether a number lies between bounds, and so far from them that it can be told.

    Examples
    --------
    >>> import noutput as no
    >>> [is_between(no.Interval(0, 180), each) for each in (0.0, 1e-9, 1e-6, 90.0, 180.0)]
    [False, False, True, True, False]
    """
    margin = _SAME * bounds.half_width
    return bounds.lower + margin < number < bounds.upper - margin


def _estimate(ends: _Ends, limits: Interval, span: float, level: float) -> MeanEstimate:
    low, high = ends.interval(_checks.inner_share("level", level))
    error = (high - low) / 2.0 / half_width(1.0, 0.0, level)
    middle = (low + high) / 2.0
    return MeanEstimate(middle, error, error, ends.tally.total, span, limits, slack=ends)

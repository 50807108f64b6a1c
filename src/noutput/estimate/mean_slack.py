r"""Slack intervals for the mean: where they are shorter than those of scores.

Notes
-----
Whether a table's mean gets a slack interval depends on the table and on the number of reports,
never on what the reports say, so no coverage is lost by choosing. Only tables from whose reports
scores of small variance can be made (`noutput.estimate.mean_scores`) are looked at: for others the
decoded reports are hardly worse than the best that can be done, and their interval needs no
threshold that allows for every population. There a few campaigns of people spread evenly are
simulated, with a fixed seed, for the power of 2 nearest to the number of reports.

The value is the middle of the 95% interval. To first order, one forged report moves each end by
its score in the dual problem that proves the end, so the middle by the average of the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np

from noutput.estimate.intervals import FEW
from noutput.estimate.mean_scores import can_gain, half_width, scores_for
from noutput.estimate.slack.intervals import Slack, Statistics
from noutput.estimate.slack.path import best_scores, steady_ends
from noutput.estimate.slack.threshold import thresholds
from noutput.estimate.stacked_scores import clipped_scores

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.estimate.slack.guaranteed import Guaranteed
    from noutput.estimate.stacked import StackedChannel
    from noutput.interval import Interval
    from noutput.mechanisms.table import TableMechanism

__all__ = [
    "SHORTER",
    "HeldMean",
    "SlackMean",
    "end_scores",
    "held_mean",
    "is_shorter",
    "reports_with_slack",
    "slack_mean",
]  # fmt: skip

_LEVEL = 0.95
SHORTER = 0.92  # than the interval of scores, or it is not worth it
_CAMPAIGNS = 4  # that are simulated
_CURVED = 1.8  # how much farther one forged report may move an end than to first order
_LARGEST_POWER = 60  # beyond so many doublings nothing changes


@dataclass(frozen=True, slots=True)
class HeldMean:
    r"""A mean of clipped numbers that is held between two ends: the value of combined evidence.

    Parameters
    ----------
    clipped, low, high : float
        The mean of clipped numbers, and the ends.
    spans : (float, float, float)
        How far all reports together can move each of them to first order: the differences between
        what a report adds to it at most and at least, times the number of reports.
    reach : float
        How far all reports together could move the mean of a single part: the largest such number.
    fewest : int
        How many reports the smallest part has.
    reports : int
        How many all parts have.

    Notes
    -----
    What one report adds to an end depends on the reports: an end that is held by the few numbers
    beyond the narrow bounds gets loose when forgers send more of them. That takes about as many as
    the standard error of a count, :math:`\sqrt n` of the n reports of a part. From then on forged
    reports do to it what they would do to the mean of their own part, at most. So k of them are
    taken to move an end by 1.8 times what they do to first order, which is enough for one, and from
    there gradually, with the weight :math:`\min(1, (k - 1) / \sqrt n)`, by their part of the reach.

    Examples
    --------
    >>> held = HeldMean(4.0, 3.5, 9.0, (10.0, 30.0, 90.0), 500.0, 2_500, 10_000)
    >>> held.value, round(held.moved(1), 4), round(held.moved(100), 2)
    (4.0, 0.001, 4.5)
    """

    clipped: float
    low: float
    high: float
    spans: tuple[float, float, float]
    reach: float
    fewest: int
    reports: int

    @property
    def value(self) -> float:
        """The mean of clipped numbers, moved to an end where it lies beyond."""
        return max(self.low, min(self.clipped, self.high))

    def moved(self, forged: int) -> float:
        """Return how far so many forged reports can move the value.

        The value grows with each of the three numbers, so it is farthest where all of them are.
        """
        share = forged / self.reports
        loose = min(max(forged - 1, 0) / math.sqrt(self.fewest), 1.0)
        by = share * self.spans[0]
        low, high = (
            share * ((1.0 - loose) * _CURVED * span + loose * max(self.reach, span))
            for span in self.spans[1:]
        )
        most = max(self.low + low, min(self.clipped + by, self.high + high))
        least = max(self.low - low, min(self.clipped - by, self.high - high))
        return max(most - self.value, self.value - least)


@dataclass(frozen=True, eq=False)
class SlackMean:
    """The slack interval of a mean.

    Parameters
    ----------
    bounds : Interval
        The units of the interval.
    ends : Slack or Guaranteed
        The latter where there are few reports.
    scores : array of shape (J,)
        What one report adds to the value, to first order, in units of [-1, 1].
    certain : Guaranteed, optional
        What the guaranteed interval is made from, where no scores have one.
    name : {"slack", "combined"}
        What the value is.
    held : HeldMean, optional
        The value, where it is that of combined evidence.
    """

    bounds: Interval
    ends: Slack | Guaranteed
    scores: Array
    certain: Guaranteed | None = None
    name: str = "slack"
    held: HeldMean | None = None

    def interval(self, level: float, kind: str = "normal") -> tuple[float, float]:
        """Return the ends at a level."""
        ends = self.certain if kind == "guaranteed" and self.certain is not None else self.ends
        low, high = Statistics(ends.at_level(level)).mean()
        return self.bounds.from_unit(float(low)), self.bounds.from_unit(float(high))

    def split(self, level: float, parts: Array) -> Array | None:
        """Return the ends with parts of a level's threshold; None where there is none."""
        if not isinstance(self.ends, Slack):
            return None
        whole = self.ends.at_level(level)
        found = np.array([Statistics(whole.part(part)).mean() for part in parts])
        return self.bounds.lower + (found + 1.0) * self.bounds.half_width


def slack_mean(
    mechanism: TableMechanism, shares: Array, reports: int, bounds: Interval
) -> SlackMean:
    """Fit the reports of a campaign."""
    ends = Slack(mechanism, shares, float(reports), _LEVEL)
    above, below = end_scores(ends)
    return SlackMean(bounds, ends, (above - below) / 2.0)


def end_scores(ends: Slack) -> Array:
    """Return what one report adds to the upper end and takes from the lower one, by cells."""
    x = ends.places.x
    return best_scores(ends.fit, np.array([x, -x]), float(thresholds(_LEVEL)[0]))


def held_mean(
    ends: Slack, stack: StackedChannel, shares: Array, level: float, unit: Interval
) -> HeldMean:
    """Return the mean of clipped numbers, held between the steady ends of a level.

    Parameters
    ----------
    ends : Slack
    stack : StackedChannel
        What made the reports.
    shares : array of shape (J,)
    level : float
    unit : Interval
        Units of the result.
    """
    x, clipped = ends.places.x, clipped_scores(stack)
    (low, high), added = steady_ends(ends.fit, np.array([-x, x]), float(thresholds(level)[0]))
    low, high = np.clip([-low, high], -1.0, 1.0)
    spans = [float(np.ptp(each)) * unit.half_width for each in (clipped, *added)]
    tables = [(cast("TableMechanism", layer.channel), layer) for layer in stack.layers]
    reach = max(
        float(np.ptp(table.outputs)) * (layer.upper - layer.lower) / layer.reports
        for table, layer in tables
    )
    return HeldMean(
        unit.from_unit(float(shares @ clipped)),
        unit.from_unit(float(min(low, high))),
        unit.from_unit(float(max(low, high))),
        (spans[0], spans[1], spans[2]),
        reach / 2.0 * unit.half_width * stack.reports,
        min(layer.reports for layer in stack.layers),
        stack.reports,
    )


def is_shorter(mechanism: TableMechanism, reports: int) -> bool:
    """Say whether the slack interval of a mean is clearly shorter than that of scores.

    Examples
    --------
    >>> import noutput as no
    >>> of_distributions = no.design(4.0, 64, objective="distribution").mechanism
    >>> is_shorter(of_distributions, 20_000), is_shorter(no.design(4.0, 64).mechanism, 20_000)
    (True, False)
    """
    if reports < FEW or not can_gain(mechanism):
        return False
    power = _power(reports)
    return _forecast(_Key(mechanism.fingerprint, power, mechanism)) < SHORTER * _with_scores(
        mechanism, power
    )


def reports_with_slack(
    mechanism: TableMechanism, reports: int, half: float, wanted: float
) -> float:
    """Return about how many reports make half a slack interval as short as wanted.

    Parameters
    ----------
    mechanism : TableMechanism
    reports : int
        So many were counted.
    half : float
        Half the interval that they have, in units of [-1, 1].
    wanted : float
        In the same units.
    """
    power = _power(reports)
    known = _forecast(_Key(mechanism.fingerprint, power, mechanism))
    before = known
    for following in range(power + 1, _LARGEST_POWER):
        if not is_shorter(mechanism, 1 << following):
            break
        after = _forecast(_Key(mechanism.fingerprint, following, mechanism))
        if after * half / known <= wanted:
            slope = math.log(before / after)
            part = math.log(before * half / known / wanted) / slope if slope > 0.0 else 1.0
            doublings = following - 1 - power + min(max(part, 0.0), 1.0)
            return reports * math.exp2(doublings)
        before = after
    return math.inf


@dataclass(frozen=True)
class _Key:
    """A mechanism is known by its fingerprint, so equal ones share their forecasts."""

    fingerprint: str
    power: int
    mechanism: TableMechanism = field(compare=False)


def _power(reports: int) -> int:
    return min(round(math.log2(reports)), _LARGEST_POWER)


@lru_cache(maxsize=256)
def _forecast(key: _Key) -> float:
    """Return half the width of the slack interval if people are spread evenly."""
    even, reports = key.mechanism.transition(1)[0], 1 << key.power
    drawn = np.random.default_rng(0).multinomial(reports, even / even.sum(), size=_CAMPAIGNS)
    widths = []
    for counts in drawn:
        found = Slack(key.mechanism, counts / reports, float(reports), _LEVEL)
        low, high = Statistics(found).mean()
        widths.append((high - low) / 2.0)
    return float(np.mean(widths))


def _with_scores(mechanism: TableMechanism, power: int) -> float:
    """Return half the width of the interval of scores if people are spread evenly."""
    reports = 1 << power
    scores = scores_for(mechanism, reports)
    error = math.sqrt(scores.variance(mechanism.transition(1)[0]) / reports)
    return half_width(error, scores.bias_bound, _LEVEL)

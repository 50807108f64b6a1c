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
from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.intervals import FEW
from noutput.estimate.mean_scores import can_gain, half_width, scores_for
from noutput.estimate.slack.intervals import Slack, Statistics
from noutput.estimate.slack.path import best_scores
from noutput.estimate.slack.threshold import thresholds

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.estimate.slack.guaranteed import Guaranteed
    from noutput.interval import Interval
    from noutput.mechanisms.table import TableMechanism

__all__ = [
    "SHORTER",
    "SlackMean",
    "end_scores",
    "is_shorter",
    "reports_with_slack",
    "slack_mean",
]  # fmt: skip

_LEVEL = 0.95
SHORTER = 0.92  # than the interval of scores, or it is not worth it
_CAMPAIGNS = 4  # that are simulated
_LARGEST_POWER = 60  # beyond so many doublings nothing changes


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
    """

    bounds: Interval
    ends: Slack | Guaranteed
    scores: Array
    certain: Guaranteed | None = None
    name: str = "slack"

    def interval(self, level: float, kind: str = "normal") -> tuple[float, float]:
        """Return the ends at a level."""
        ends = self.certain if kind == "guaranteed" and self.certain is not None else self.ends
        low, high = Statistics(ends.at_level(level)).mean()
        return self.bounds.from_unit(float(low)), self.bounds.from_unit(float(high))


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

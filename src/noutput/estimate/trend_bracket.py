r"""Trends of shares and quantiles of numbers: between two averages of fixed scores.

Notes
-----
Smoothing over rounds averages noise away, but no bias that all rounds share. So what is smoothed
must have no bias. A share of numbers below t has no unbiased estimate in general: people at t and
just below it cause almost the same reports. But scores :math:`b^+_j` whose expectations are nowhere
below the indicator of the share, :math:`g^+(x) = \sum_j b^+_j P(j \mid x) \ge 1_{x < t}`, and
scores :math:`b^-_j` whose expectations are nowhere above it, bracket it
(`noutput.estimate.slack.guaranteed`):

.. math:: \int g^-\,d\pi_r \;\le\; \pi_r(x < t) \;\le\; \int g^+\,d\pi_r

for the population :math:`\pi_r` of every round r. The average scores of a round are unbiased for
both integrals, with a known noise. Each of both is smoothed (`noutput.estimate.trend`), and the
band of the share goes from the lower end of the one to the upper end of the other. The
gap between the integrals depends on how many people are near t. It is in the band in full,
however many rounds there are.

The scores depend on the table and on the number of reports of all rounds together, never on what
reports say, and are the same for all rounds.

A quantile is larger than x in the rounds in which less than p lies below x, and at most x where
at least p does, so its band is found by inverting those of shares at the table's own places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from noutput.estimate.possible import possible_ends
from noutput.estimate.slack.guaranteed import Guaranteed
from noutput.estimate.slack.intervals import Slack, Statistics
from noutput.estimate.slack.places import below
from noutput.estimate.trend import Course, Round, Trend

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = ["Bracket", "average_scores", "quantile_series", "quantile_trend", "share_series",
           "share_trend", "steady"]  # fmt: skip

_LEVEL = 0.95  # no end of an interval is asked for
_ALIKE = 1e-9  # scores that say nothing
_SAME = 1e-9  # how far rounding moves a number of [-1, 1] at most
_FEWEST = 2  # reports of a round
_EARLIER = 2_000.0  # reports that earlier rounds count for, in the variance of a report
_MOST_CUTS = 32  # at which shares are smoothed, per end of a quantile's band
_BEGINNING = 3  # rounds, whose reports choose the share that stands for a quantile

Tallies: TypeAlias = Sequence["Tally | None"]
Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Whole: TypeAlias = np.ndarray[Any, np.dtype[np.intp]]


@dataclass(frozen=True, eq=False)
class Bracket:
    """Scores that bracket the share of numbers below a place.

    Parameters
    ----------
    lower, upper : array of shape (N,)
    rows : array of shape (K, N)
        The probabilities of the outputs, at all places of numbers.
    """

    lower: Array
    upper: Array
    rows: Array

    @property
    def middle(self) -> Array:
        """The average of both."""
        result: Array = (self.lower + self.upper) / 2.0
        return result


class _Brackets:
    """The brackets of a table, for a number of reports.

    Parameters
    ----------
    mechanism : TableMechanism
    reports : float
    named : sequence of floats of [-1, 1]
        Places that are asked for, beside those of the table.
    """

    def __init__(
        self, mechanism: TableMechanism, reports: float, named: Sequence[float] = ()
    ) -> None:
        even = np.full(mechanism.n_cells, 1.0 / mechanism.n_cells)
        self._scores = Guaranteed(mechanism, even, reports, _LEVEL, named)
        self._places = self._scores.places
        self._known: dict[float, Bracket] = {}

    @cached_property
    def cuts(self) -> Array:
        """The places of the table at which shares are worth asking for."""
        return self._places.x[self._places.cuts]

    def at(self, place: float) -> Bracket:
        """Return the bracket of the share below a place, which is one of those known."""
        if place not in self._known:
            goal = below(self._places, place)
            upper, lower = self._scores.scores(np.array([goal.upper, -goal.lower]))
            self._known[place] = Bracket(-lower, upper, self._places.program.rows)
        return self._known[place]


def average_scores(scores: Array, rows: Array, tallies: Tallies) -> list[Round]:
    """Return the average score of every round with its standard error.

    Parameters
    ----------
    scores : array of shape (N,)
    rows : array of shape (K, N)
        The probabilities of the outputs at the places of numbers, by which the noise is at least
        that of one place, as in `estimate_mean`.
    tallies : sequence of Tally or None

    Examples
    --------
    >>> import noutput as no
    >>> rows = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> np.round(average_scores(np.array([0.0, 1.0]), rows, [no.Tally("", (40, 60))]), 4)
    array([[0.6   , 0.0492]])
    """
    least = float(np.maximum(rows @ scores**2 - (rows @ scores) ** 2, 0.0).min())
    found: list[tuple[float, float] | None] = []
    for tally in tallies:
        if tally is None or tally.total < _FEWEST:
            found.append(None)
            continue
        n = tally.total
        shares = np.array([count / n for count in tally.counts])
        mean = float(shares @ scores)
        variance = max(float(shares @ (scores - mean) ** 2) * (n / (n - 1)), least)
        found.append((mean, float(np.sqrt(variance / n))))
    return steady(found, [0 if each is None else each.total for each in tallies])


def steady(rounds: Sequence[tuple[float, float] | None], reports: Sequence[int]) -> list[Round]:
    """Return estimates of rounds with standard errors that hardly depend on the round's own value.

    Parameters
    ----------
    rounds : sequence of (value, standard error) or None
    reports : sequence of int
        How many each round has.

    Notes
    -----
    Where scores are skew, a round with few reports and a low average has a low sample variance,
    too. Then a mean weighted by these is too low, and alarms are false too often. So the variance
    of a report is that of all rounds up to this one, as if they had 2,000 reports more; what
    later rounds report changes nothing about earlier ones.

    Examples
    --------
    >>> steady([(0.1, 0.01), None, (0.2, 0.02)], [100, 0, 100])
    [(0.1, 0.01), None, (0.2, 0.016...)]
    """
    result: list[Round] = []
    total = weight = 0.0
    for each, n in zip(rounds, reports, strict=True):
        if each is None:
            result.append(None)
            continue
        value, error = each
        variance = error * error * n
        total, weight = total + n * variance, weight + n
        settled = (n * variance + _EARLIER * total / weight) / (n + _EARLIER)
        result.append((value, math.sqrt(settled / n)))
    return result


def share_trend(
    mechanism: TableMechanism, tallies: Tallies, at: float, cycle: int | None, level: float
) -> Trend:
    """Return the trend of the share of numbers below a place.

    Parameters
    ----------
    mechanism : TableMechanism
    tallies : sequence of Tally or None
        The reports of every round.
    at : float
        Of [-1, 1].
    cycle, level
        As in `noutput.estimate.trend.trend`.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(1.0, 16, "worst").mechanism
    >>> rng = np.random.default_rng(1)
    >>> rounds = [no.Tally.of(m, m.privatize(rng.uniform(-1, 1, 5_000), rng=rng)) for _ in range(5)]
    >>> found = share_trend(m, rounds, 0.0, None, 0.95)
    >>> bool(np.all((found.low < 0.5) & (0.5 < found.high)))
    True
    """
    bracket = _bracket(mechanism, _reports(tallies), at)
    lower, upper = (
        _smoothed(scores, bracket.rows, tallies, cycle, level)
        for scores in (bracket.lower, bracket.upper)
    )
    values = (lower.values + upper.values) / 2.0
    low, high = np.sort([lower.low, upper.high], axis=0)
    low, high = possible_ends(values, low, high, 0.0, 1.0)
    values = np.clip(values, low, high)
    return Trend(values, low, high, (lower.jumps + upper.jumps) / 2.0, level)


def quantile_trend(
    mechanism: TableMechanism, tallies: Tallies, share: float, cycle: int | None, level: float
) -> Trend:
    """Return the trend of a quantile, in units of [-1, 1]: the value is the middle of its band.

    Parameters
    ----------
    mechanism, tallies, cycle, level
        As in `share_trend`.
    share : float

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(1.0, 16, "worst").mechanism
    >>> rng = np.random.default_rng(1)
    >>> rounds = [no.Tally.of(m, m.privatize(rng.uniform(-1, 1, 5_000), rng=rng)) for _ in range(5)]
    >>> found = quantile_trend(m, rounds, 0.5, None, 0.95)
    >>> bool(np.all((found.low < 0.0) & (0.0 < found.high)))
    True
    """
    brackets = _Brackets(mechanism, _reports(tallies))
    tail = (1.0 - level) / 2.0

    def less_below(place: float) -> Mask:
        """Say in which rounds less than the share lies below a place, for sure."""
        found = brackets.at(place)
        return _chance_below(found.upper, found.rows, tallies, cycle, share) > 1.0 - tail

    def maybe_less_below(place: float) -> Mask:
        """Say in which rounds less than the share may lie below a place."""
        found = brackets.at(place)
        return _chance_below(found.lower, found.rows, tallies, cycle, share) >= tail

    cuts = np.concatenate([[-1.0], brackets.cuts, [1.0]])
    low = cuts[_crossing(cuts, less_below, len(tallies))[0]]
    high = cuts[_crossing(cuts, maybe_less_below, len(tallies))[1]]
    high = np.maximum(low, high)
    middle = (low + high) / 2.0
    standing = brackets.at(float(_nearest(brackets.cuts, float(np.median(middle)))))
    jumps = _smoothed(standing.middle, standing.rows, tallies, cycle, level).jumps
    return Trend(middle, low, high, jumps, level)


def share_series(mechanism: TableMechanism, tallies: Tallies, at: float) -> list[Round]:
    """Return what changes with the share of numbers below a place, without bias: for alarms.

    It is the average of scores that depend on the table and on how many reports the first round
    has, so that what follows changes nothing about rounds before.
    """
    first = next((each.total for each in tallies if each is not None and each.total > 1), 2)
    found = _bracket(mechanism, float(first), at)
    return average_scores(found.middle, found.rows, tallies)


def quantile_series(mechanism: TableMechanism, tallies: Tallies, share: float) -> list[Round]:
    """Return what changes with a quantile: less the share below what it is in the first rounds."""
    first = [each for each in tallies if each is not None and each.total > 1][:_BEGINNING]
    if not first:
        return [None] * len(tallies)
    counts = np.sum([each.counts for each in first], axis=0, dtype=np.float64)
    ends = Slack(mechanism, counts / counts.sum(), float(counts.sum()), _LEVEL)
    low, high = Statistics(ends).quantiles(np.array([share]))
    cuts = ends.places.x[ends.places.cuts]
    at = float(_nearest(cuts, float(low[0] + high[0]) / 2.0))
    found = _Brackets(mechanism, float(first[0].total)).at(at)
    return average_scores(-found.middle, found.rows, tallies)


def _bracket(mechanism: TableMechanism, reports: float, at: float) -> Bracket:
    """Return the bracket of the share below a number; one at a knot is exactly there."""
    knot = _nearest(np.asarray(mechanism.corners(), np.float64), at)
    place = knot if abs(knot - at) < _SAME else at
    return _Brackets(mechanism, reports, [place]).at(place)


def _reports(tallies: Tallies) -> float:
    return float(sum(each.total for each in tallies if each is not None))


def _smoothed(
    scores: Array, rows: Array, tallies: Tallies, cycle: int | None, level: float
) -> Trend:
    if float(np.ptp(scores)) < _ALIKE:  # the table tells nothing: the average is known
        known = np.full(len(tallies), float(scores[0]))
        return Trend(known, known, known, np.zeros(len(tallies)), level)
    return Course(average_scores(scores, rows, tallies), cycle).trend(level)


def _chance_below(
    scores: Array, rows: Array, tallies: Tallies, cycle: int | None, share: float
) -> Array:
    """Return the chance that the expected average of scores is below a share, per round."""
    if float(np.ptp(scores)) < _ALIKE:
        return np.full(len(tallies), float(scores[0] < share))
    return Course(average_scores(scores, rows, tallies), cycle).below(share)


def _crossing(cuts: Array, holds: Callable[[float], Mask], rounds: int) -> tuple[Whole, Whole]:
    """Return, per round, the last cut for which something holds and the first for which not.

    It holds at the first cut, and not at the last. One cut after the other is looked at, for all
    rounds together: that in the middle of what most are not sure about. Where there are too many,
    the two cuts have others between them.
    """
    last, first = np.zeros(rounds, np.intp), np.full(rounds, len(cuts) - 1, np.intp)
    for _ in range(_MOST_CUTS):
        unsure = first - last > 1
        if not unsure.any():
            break
        place = int(np.median((last + first)[unsure] // 2))
        if not np.any(unsure & (last < place) & (place < first)):
            place = int(((last + first) // 2)[unsure][0])
        found = holds(float(cuts[place]))
        last = np.where(found & (place > last) & (place < first), place, last)
        first = np.where(~found & (place < first) & (place > last), place, first)
    return last, first


def _nearest(cuts: Array, place: float) -> float:
    return float(cuts[np.abs(cuts - place).argmin()])

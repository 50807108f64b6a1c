"""Series of rounds: what is smoothed, and what raises alarms.

====================  =========================================================
statistic             what is smoothed
====================  =========================================================
of answers, and of    the unbiased estimates of single rounds
numbers with edges
of other numbers:
mean                  the average of one list of scores in all rounds, unbiased
                      up to a bound that is in the band in full
"below X"             two averages that the share lies between
"quantile P"          shares below many numbers, inverted
====================  =========================================================

Of numbers without edges, the estimates of single rounds are shorter for one round, but may have a
bias that all rounds share, which smoothing would not take away: `noutput.estimate.trend_bracket`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput.collector.measured import FEWEST, bracketed, has_cells, measure
from noutput.collector.pooled import Part
from noutput.estimate.mean_scores import scores_for
from noutput.estimate.trend import Course, Round, Trend
from noutput.estimate.trend_bracket import (
    average_scores,
    quantile_series,
    quantile_trend,
    share_series,
    share_trend,
    steady,
)
from noutput.interval import Interval
from noutput.mechanisms.answers import AnswerMechanism
from noutput.questions import Number, Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.collector.pooled import Mechanism
    from noutput.estimate.mean_estimate import MeanEstimate
    from noutput.estimate.statistics import Statistic
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = ["Series"]

_ANY_LEVEL = 0.95  # no interval is asked for


class Series:
    """A statistic of the reports of rounds.

    Parameters
    ----------
    question : Question
    name : str
        The statistic.
    mechanism : TableMechanism or AnswerMechanism
        What made all reports: campaigns with rounds have one wave.
    tallies : sequence of Tally or None
        The reports of every round; None for one that has no estimate.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> rounds = [no.Tally(m.fingerprint, each) for each in ((400, 600), (420, 580), (0, 0))]
    >>> minutes = Series(no.Number(0, 10), "mean", m, rounds)
    >>> [None if each is None else round(each[0], 1) for each in minutes.watched()]
    [7.0, 6.6, None]
    """

    def __init__(
        self, question: Question, name: str, mechanism: Mechanism, tallies: Sequence[Tally | None]
    ) -> None:
        self._question = question
        self._name = name
        self._mechanism = mechanism
        self._tallies = [None if each is None or each.total < FEWEST else each for each in tallies]

    @property
    def is_bounded(self) -> bool:
        """Whether the band has a part that no number of rounds makes smaller."""
        table = self._table
        if table is None:
            return False
        return self._bracketed is not None or scores_for(table, self._reports).bias_bound > 0.0

    @property
    def _table(self) -> TableMechanism | None:
        """The table of a number without edges; None where single rounds have unbiased estimates."""
        if isinstance(self._mechanism, AnswerMechanism) or has_cells(self._question):
            return None
        return self._mechanism

    @property
    def _bracketed(self) -> Statistic | None:
        return bracketed(self._question, self._name)

    @property
    def _reports(self) -> int:
        return max(sum(each.total for each in self._tallies if each is not None), FEWEST)

    def smoothed(self, cycle: int | None, level: float) -> Trend:
        """Return the trend; at least three rounds have reports."""
        table = self._table
        if table is None:
            return Course(self._estimates(), cycle).trend(level)
        bounds = self._bounds
        asked = self._bracketed
        if asked is None:
            bias = scores_for(table, self._reports).bias_bound * bounds.half_width
            return Course(self._averages(table, self._reports), cycle, bias).trend(level)
        kind, (at,) = asked.kind, asked.at
        if kind == "below":
            place = (at - bounds.lower) / bounds.half_width - 1.0
            return share_trend(table, self._tallies, place, cycle, level)
        found = quantile_trend(table, self._tallies, at, cycle, level)
        middle, low, high = (
            bounds.lower + (each + 1.0) * bounds.half_width
            for each in (found.values, found.low, found.high)
        )
        return Trend(middle, low, high, found.jumps, level)

    def watched(self) -> list[Round]:
        """Return what raises alarms: it changes with the statistic, and only where people change.

        What later rounds report changes nothing about earlier ones.
        """
        table = self._table
        if table is None:
            return self._estimates()
        asked = self._bracketed
        if asked is None:
            first = next((each.total for each in self._tallies if each is not None), FEWEST)
            return self._averages(table, first)
        kind, (at,) = asked.kind, asked.at
        if kind == "below":
            place = (at - self._bounds.lower) / self._bounds.half_width - 1.0
            return share_series(table, self._tallies, place)
        return quantile_series(table, self._tallies, at)

    @property
    def _bounds(self) -> Interval:
        if not isinstance(self._question, Number):  # pragma: no cover (pairs fit)
            raise TypeError(self._question.kind)
        return Interval(self._question.lower, self._question.upper)

    def _estimates(self) -> list[Round]:
        """Return the unbiased estimates of single rounds."""
        found = [None if tally is None else self._estimate(tally) for tally in self._tallies]
        pairs = [None if each is None else (each.value, each.standard_error) for each in found]
        return steady(pairs, [0 if each is None else each.n_reports for each in found])

    def _estimate(self, tally: Tally) -> MeanEstimate:
        parts = [Part(self._mechanism, tally, None)]
        return measure(self._question, parts, _ANY_LEVEL, self._name)[self._name].estimate

    def _averages(self, table: TableMechanism, reports: int) -> list[Round]:
        """Return averages of the scores that are best for so many reports, in people's units."""
        bounds, scores = self._bounds, scores_for(table, reports)
        found = average_scores(scores.values, table.weights / table.scale, self._tallies)
        return [
            (bounds.from_unit(each[0]), each[1] * bounds.half_width)
            if isinstance(each, tuple)
            else None
            for each in found
        ]

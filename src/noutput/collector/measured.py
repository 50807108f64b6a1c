"""Statistics that are compared between groups of people, and followed over rounds.

====================  ===================================================
question              statistics
====================  ===================================================
number with edges     the mean, and the share below every edge; on demand
                      the share between two, such as "share 15 to 30"
other number          the mean; on demand a share or a quantile, such as
                      "below 45" and "quantile 0.5"
yes/no                the share of yes, which is its mean
scale                 the mean score, and the share of every answer
choice                the share of every answer
====================  ===================================================

All but shares and quantiles of numbers without edges are linear in the shares of people, with
unbiased estimates: one path leads to them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput._numbers import exactly
from noutput.collector.pooled import estimated
from noutput.errors import InvalidArgumentError
from noutput.estimate.answers import estimate_answers
from noutput.estimate.answers.as_mean import linear_mean
from noutput.estimate.answers.linear import Linear, Observed
from noutput.estimate.goodness import check_possible
from noutput.estimate.mean import estimate_mean
from noutput.estimate.share import estimate_quantile, estimate_share, is_between
from noutput.estimate.statistics import Places, Statistic
from noutput.interval import UNIT, Interval
from noutput.questions import Answers, Number, Question, YesNo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.collector.pooled import Part
    from noutput.estimate.counts import Array
    from noutput.estimate.mean_estimate import MeanEstimate
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = [
    "FEWEST", "MEAN", "Measured", "bracketed", "check_statistic", "followed", "has_cells",
    "is_possible", "is_told", "measure", "share_names", "statistics",
]  # fmt: skip

MEAN = "mean"
FEWEST = 2  # reports that say anything
_GRID_DIGITS = 3  # a thousand steps, or up to ten times as many
_QUANTILES = ("quantile 0.5", "quantile 0.9")


@dataclass(frozen=True, slots=True)
class Measured:
    """A statistic of some people.

    Parameters
    ----------
    estimate : MeanEstimate
    low, high : float
        The ends of its own interval.
    """

    estimate: MeanEstimate
    low: float
    high: float


def has_cells(question: Question) -> bool:
    """Say whether a question is a number with edges."""
    return isinstance(question, Number) and bool(question.edges)


def statistics(question: Question) -> tuple[str, ...]:
    """Return the names of the statistics of a question, the first of which is the usual one.

    Examples
    --------
    >>> import noutput as no
    >>> statistics(no.Number(0, 5)), statistics(no.YesNo()), statistics(no.Choice("a", "b"))
    (('mean',), ('mean',), ('a', 'b'))
    >>> statistics(no.Number(0, 90, edges=[15, 30]))
    ('mean', 'below 15', 'below 30')
    """
    if isinstance(question, Number):
        return MEAN, *(Statistic("below", (edge,)).name for edge in question.edges or ())
    if isinstance(question, YesNo):
        return (MEAN,)
    if not isinstance(question, Answers):  # pragma: no cover (there are no other kinds)
        raise TypeError(question.kind)
    return ((MEAN,) if question.scores is not None else ()) + tuple(question.labels)


def share_names(question: Number) -> list[str]:
    """Return the names of the shares of a number's cells, which are compared on demand.

    Examples
    --------
    >>> import noutput as no
    >>> share_names(no.Number(0, 90, edges=[15, 30]))
    ['share 0 to 15', 'share 15 to 30', 'share 30 to 90']
    """
    bounds = (question.lower, *(question.edges or ()), question.upper)
    return [Statistic("share", ends).name for ends in pairwise(bounds)]


def followed(question: Question) -> tuple[str, ...]:
    """Return the names of the statistics that are offered over rounds.

    Examples
    --------
    >>> import noutput as no
    >>> followed(no.Number(0, 5)), followed(no.YesNo())
    (('mean', 'quantile 0.5', 'quantile 0.9'), ('mean',))
    """
    more = _QUANTILES if isinstance(question, Number) and not has_cells(question) else ()
    return statistics(question) + more


def bracketed(question: Question, name: str) -> Statistic | None:
    """Return a share or quantile of a number without edges: what has no unbiased estimate.

    Examples
    --------
    >>> import noutput as no
    >>> bracketed(no.Number(0, 180), "below 45")
    Statistic(kind='below', at=(45.0,), label='')
    >>> bracketed(no.Number(0, 180), "mean"), bracketed(no.Number(0, 180, edges=[45]), "below 45")
    (None, None)
    """
    if not isinstance(question, Number) or has_cells(question) or name in ("", MEAN):
        return None
    return Statistic.parse(name, question)


def check_statistic(question: Question, name: str) -> str:
    """Return the name of a statistic as it is written, or that of the first where it is empty.

    Of numbers without edges, numbers are rounded to a grid, so that there is an end to what can be
    asked for: shares below a number to the largest power of ten of which the bounds hold 1,000 or
    more, quantiles to 0.001.

    Raises
    ------
    InvalidArgumentError
        If there is no such statistic, or the edges do not tell it.

    Examples
    --------
    >>> import noutput as no
    >>> check_statistic(no.Number(0, 180), "below 045.0001")
    'below 45'
    >>> check_statistic(no.YesNo(), "")
    'mean'
    >>> check_statistic(no.Number(0, 180), "below 200")
    Traceback (most recent call last):
        ...
    noutput.errors.InvalidArgumentError: statistic must be mean, "below X" with ...
    >>> check_statistic(no.Number(0, 180, edges=[15, 45]), "share 15.0 to 45")
    'share 15 to 45'
    >>> check_statistic(no.Number(0, 180, edges=[15, 45]), "below 40")
    Traceback (most recent call last):
        ...
    noutput.errors.InvalidArgumentError: statistic must be at an edge of the question, ...
    """
    offered = statistics(question)
    if not name or name in offered:
        return name or offered[0]
    name = name[:100]  # it is written into the error
    if not isinstance(question, Number):
        raise InvalidArgumentError("statistic", f"be one of {', '.join(offered)}", name)
    if question.edges:
        parsed = Statistic.parse(name, question)
        edges = [edge for edge in question.edges for _ in range(2)]
        parsed.vector(Places((question.lower, *edges, question.upper)))
        return parsed.name
    try:
        return _rounded(Statistic.parse(name, question), question)
    except InvalidArgumentError:
        rule = (
            f'be mean, "below X" with X between {question.lower:g} and {question.upper:g}, or '
            '"quantile P" with P between 0 and 1'
        )
        raise InvalidArgumentError("statistic", rule, name) from None


def _rounded(statistic: Statistic, question: Number) -> str:
    """Return the name of a statistic of a number without edges, on the grid."""
    digits = _GRID_DIGITS
    if statistic.kind == "below":
        digits -= math.floor(math.log10(question.upper - question.lower))
    at = round(statistic.at[0], digits)
    bounds = Interval(question.lower, question.upper)
    if statistic.kind == "share" or not (statistic.kind == "quantile" or is_between(bounds, at)):
        raise InvalidArgumentError("statistic", "be a quantile or below one number", statistic.name)
    return Statistic.parse(f"{statistic.kind} {exactly(at)}", question).name


def is_possible(parts: Sequence[Part]) -> bool:
    """Say whether people explain the counts of all parts: raw answers sent as reports are no such.

    Examples
    --------
    >>> import noutput as no
    >>> from noutput.collector.pooled import Part
    >>> m = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tallies = [no.Tally(m.fingerprint, counts) for counts in ((400, 600), (0, 1_000))]
    >>> [is_possible([Part(m, tally, None)]) for tally in tallies]
    [True, False]
    """
    try:
        for part in parts:
            check_possible(part.mechanism, part.tally)
    except InvalidArgumentError as error:
        if error.name != "reports":  # pragma: no cover (counts and tables belong together)
            raise
        return False
    return True


def measure(
    question: Question, parts: Sequence[Part], level: float, name: str = ""
) -> dict[str, Measured]:
    """Return all statistics of a question by their names, or one; none of too few reports.

    That of a share or a quantile of numbers without edges is the middle of its slack interval at
    this level. It has a bias within the interval, so it is for groups and single rounds:
    `noutput.collector.series` has what is smoothed.

    Examples
    --------
    >>> import noutput as no
    >>> from noutput.collector.pooled import Part
    >>> m = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tally = no.Tally(m.fingerprint, (4_000, 6_000))
    >>> found = measure(no.Choice("train", "car"), [Part(m, tally, None)], 0.95)
    >>> list(found), round(found["car"].estimate.value, 3)
    (['train', 'car'], 0.7)
    """
    if sum(part.tally.total for part in parts) < FEWEST:
        return {}
    mechanism, tally = estimated(parts)
    names = (name,) if name else statistics(question)
    if isinstance(question, Number) and not has_cells(question):
        return {each: _of_number(question, mechanism, tally, level, each) for each in names}
    if isinstance(question, Answers):
        answers = estimate_answers(mechanism, tally, question)  # one table, where there are several
        mechanism, tally = answers.mechanism, answers.tally
    observed = Observed(mechanism.table(), np.array(tally.counts, np.float64))
    return {each: _of_linear(question, mechanism, observed, level, each) for each in names}


def is_told(question: Question, mechanism: TableMechanism) -> bool:
    """Say whether the table of a number with edges tells all its statistics."""
    weights = [_weights(question, mechanism, name)[0] for name in statistics(question)]
    observed = Observed(mechanism.table(), np.ones(mechanism.n_outputs))
    return bool(observed.identified(np.array(weights).T).all())


def _weights(question: Question, mechanism: Any, name: str) -> tuple[Array, Interval]:
    """Return a statistic as a vector over the rows of a table, and what -1 and 1 stand for."""
    parsed = Statistic.parse(name, question)
    if isinstance(question, Answers):
        return parsed.vector(question), UNIT
    places = Places(tuple(mechanism.in_own_unit.knots.tolist()))
    vector, units = parsed.vector(places), UNIT
    if isinstance(question, Number) and parsed.kind == "mean":
        units = Interval(question.lower, question.upper)
        vector = units.to_unit(vector)  # so that nothing overflows
    weights = places.by_row(vector)
    if weights is None:  # pragma: no cover (all edges are jumps of the table)
        raise InvalidArgumentError("statistic", "be told by the table", name)
    return weights, units


def _of_linear(
    question: Question, mechanism: Any, observed: Observed, level: float, name: str
) -> Measured:
    weights, units = _weights(question, mechanism, name)
    found = Linear(observed, weights[:, None])
    (low,), (high,) = found.interval(level, "normal", simultaneous=False)
    ends = (float(units.from_unit(end)) for end in (low, high))
    return Measured(linear_mean(found, units), *ends)


def _of_number(
    question: Number, mechanism: Any, tally: Tally | None, level: float, name: str
) -> Measured:
    """Return the mean of a number without edges, or a share or a quantile by its slack interval."""
    bounds = Interval(question.lower, question.upper)
    made = (mechanism,) if tally is None else (mechanism, tally, bounds)
    statistic = bracketed(question, name)
    if statistic is None:
        found = estimate_mean(*made)
    elif statistic.kind == "below":
        found = estimate_share(*made, below=statistic.at[0], level=level)
    else:
        found = estimate_quantile(*made, share=statistic.at[0], level=level)
    return Measured(found, *found.interval(level))

"""Summaries: everything that is printed, answered as JSON, and drawn about one question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate.choices import DEFAULT_METHOD
from noutput.estimate.counts import check_table, on_unit
from noutput.estimate.evidence import Evidence
from noutput.estimate.summary.answers import AnswerSummary, answer_summaries
from noutput.estimate.summary.cells import CellSummary, cell_summaries
from noutput.estimate.summary.figure import Bar, Estimate, Histogram
from noutput.estimate.summary.numbers import SHARES, Summary, number_summaries
from noutput.estimate.summary.shown import CERTAIN, SUSPICIOUS
from noutput.interval import Interval
from noutput.mechanisms.answers import AnswerMechanism
from noutput.mechanisms.table import TableMechanism
from noutput.questions import Answers, Number, Question
from noutput.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike

__all__ = [
    "CERTAIN",
    "SHARES",
    "SUSPICIOUS",
    "AnswerSummary",
    "Bar",
    "CellSummary",
    "Estimate",
    "Histogram",
    "Summary",
    "summaries",
    "summarize",
]


@overload
def summarize(
    mechanism: AnswerMechanism,
    data: Tally | ArrayLike,
    question: Question | None = None,
    *,
    level: float = 0.95,
    kind: str | None = None,
) -> AnswerSummary: ...
@overload
def summarize(
    mechanism: Any,
    data: Tally | ArrayLike | None = None,
    question: Question | None = None,
    *,
    bins: int | None = None,
    level: float = 0.95,
    people: int | None = None,
    method: str | None = None,
    kind: str | None = None,
) -> Any: ...
def summarize(
    mechanism: Any,
    data: Tally | ArrayLike | None = None,
    question: Question | None = None,
    *,
    bins: int | None = None,
    level: float = 0.95,
    people: int | None = None,
    method: str | None = None,
    kind: str | None = None,
) -> Summary | AnswerSummary | CellSummary:
    """Summarize the reports on one question: all statistics with their intervals.

    Parameters
    ----------
    mechanism : Design, TableMechanism, AnswerMechanism or Evidence
        What made the reports. A design knows its question. Evidence takes the place of the data.
    data : Tally or array
        Of at least two reports.
    question : Number, Scale, Choice or YesNo, optional
        What was asked; that of the design if not given. Numbers without any are of [-1, 1], or of
        the bounds of the evidence or of a table with edges, which the question must have, too.
    bins : int, optional
        Of numbers: how many bins the distribution has, as in `estimate_distribution`. The bars are
        fewer: as many as the reports can tell apart.
    level : float
        The level of every interval on its own.
    people, method
        Of numbers: as in `estimate_mean` and `estimate_distribution`.
    kind
        Of answers and of numbers with edges: "normal" or "guaranteed", for all intervals. Of
        other numbers: as in `DistributionEstimate.interval`, for all intervals but the mean's.

    Returns
    -------
    Summary, AnswerSummary, or CellSummary of a number with edges
        Prints as text, shows a picture in notebooks, and has `plot`, `to_dict` and `to_frame`.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> found = no.summarize(m, no.Tally(m.fingerprint, (4_000, 6_000)), no.Number(0, 10, "km"))
    >>> found.mean.texts, found.reports
    (('7.00', '6.81', '7.19'), 10000)
    >>> m = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> found = no.summarize(m, no.Tally(m.fingerprint, (4_000, 6_000)), no.YesNo())
    >>> found.bars[0].texts
    ('70.0%', '68.1%', '71.9%')
    """
    found: Mapping[float, Summary | AnswerSummary | CellSummary] = summaries(
        mechanism, data, question, [level], bins=bins, people=people, method=method, kind=kind
    )
    return found[level]


def summaries(
    mechanism: Any,
    data: Tally | ArrayLike | None,
    question: Question | None,
    levels: Iterable[float],
    *,
    bins: int | None = None,
    people: int | None = None,
    method: str | None = None,
    kind: str | None = None,
) -> Mapping[float, Any]:
    """Return what `summarize` returns, for several levels at hardly more than the cost of one.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tally = no.Tally(m.fingerprint, (4_000, 6_000))
    >>> found = summaries(m, tally, no.YesNo(), [0.5, 0.95])
    >>> [each.bars[0].texts for each in found.values()]
    [('70.0%', '69.3%', '70.7%'), ('70.0%', '68.1%', '71.9%')]
    """
    if hasattr(mechanism, "mechanism"):
        question = getattr(mechanism, "question", None) if question is None else question
        mechanism = mechanism.mechanism
    if isinstance(mechanism, AnswerMechanism) or getattr(mechanism, "has_answers", False):
        _refuse("numbers", bins=bins, people=people, method=method)
        if not isinstance(question, Answers):
            rule = "be a Scale, a Choice or a YesNo, as the table has one row per answer"
            raise InvalidArgumentError("question", rule, _kind(question))
        return answer_summaries(mechanism, data, question, levels, kind or "normal")
    if isinstance(mechanism, TableMechanism) and (
        mechanism.plain.jumps
        or (mechanism.in_own_unit is mechanism and getattr(question, "edges", None) is not None)
    ):
        _refuse("numbers without edges", bins=bins, people=people, method=method)
        return cell_summaries(mechanism.in_own_unit, data, question, levels, kind or "normal")
    if not isinstance(mechanism, Evidence):
        if isinstance(question, Number):
            mechanism = on_unit(mechanism, Interval(question.lower, question.upper))
        check_table(mechanism)
        question = Number(-1.0, 1.0) if question is None else question
    asked = _number(mechanism, data, question)
    return number_summaries(
        mechanism,
        None if isinstance(mechanism, Evidence) else _tally(mechanism, data),
        asked,
        levels,
        people=people,
        bins=None if bins is None else _checks.whole("bins", bins, 2, 1 << 16),
        method=DEFAULT_METHOD if method is None else method,
        kind="slack" if kind is None else kind,
    )


def _number(mechanism: Any, data: object, question: Question | None) -> Number:
    """Return what was asked, where the reports are about a number."""
    if isinstance(mechanism, Evidence):
        if data is not None:
            rule = "be left out: the evidence has tallies of its own"
            raise InvalidArgumentError("data", rule, type(data).__name__)
        bounds = mechanism.bounds
        question = Number(bounds.lower, bounds.upper) if question is None else question
        if isinstance(question, Number) and (question.lower, question.upper) != (
            bounds.lower, bounds.upper,
        ):  # fmt: skip
            rule = f"have the bounds of the evidence, {bounds.lower:g} to {bounds.upper:g}"
            raise InvalidArgumentError("question", rule, question)
    if not isinstance(question, Number):
        rule = "be a Number, as the table is for numbers"
        raise InvalidArgumentError("question", rule, _kind(question))
    return question


def _tally(mechanism: TableMechanism | AnswerMechanism, data: Any) -> Tally:
    return data if isinstance(data, Tally) else Tally.of(mechanism, data)


def _refuse(others: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise InvalidArgumentError(name, f"be given for {others} only", value)


def _kind(question: object) -> str:
    return "None" if question is None else type(question).__name__

"""What is compared between groups of people, and followed over rounds: means and shares.

====================  ===================================================
question              statistics
====================  ===================================================
number                the mean; on demand a share or a quantile, such as
                      "below 45" and "quantile 0.5"
yes/no                the share of yes, which is its mean
scale                 the mean score, and the share of every answer
choice                the share of every answer
====================  ===================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noutput._numbers import exactly
from noutput.collector.pooled import estimated
from noutput.errors import InvalidArgumentError
from noutput.estimate.answers import estimate_answers
from noutput.estimate.goodness import check_possible
from noutput.estimate.mean import estimate_mean
from noutput.estimate.share import estimate_quantile, estimate_share, is_between
from noutput.interval import Interval
from noutput.questions import Answers, Number, Question, YesNo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.collector.pooled import Part
    from noutput.estimate.evidence import Evidence
    from noutput.estimate.mean_estimate import MeanEstimate
    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.tally import Tally

__all__ = [
    "FEWEST",
    "MEAN",
    "Measured",
    "check_statistic",
    "followed",
    "is_possible",
    "measure",
    "measure_one",
    "of_numbers",
    "statistics",
]

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


def statistics(question: Question) -> tuple[str, ...]:
    """Return the names of the statistics of a question: "mean", or the label of an answer.

    Examples
    --------
    >>> import noutput as no
    >>> statistics(no.Number(0, 5)), statistics(no.YesNo()), statistics(no.Choice("a", "b"))
    (('mean',), ('mean',), ('a', 'b'))
    """
    if isinstance(question, Number | YesNo):
        return (MEAN,)
    if not isinstance(question, Answers):  # pragma: no cover (there are no other kinds)
        raise TypeError(question.kind)
    return ((MEAN,) if question.scores is not None else ()) + tuple(question.labels)


def followed(question: Question) -> tuple[str, ...]:
    """Return the names of the statistics that are offered over rounds.

    Examples
    --------
    >>> import noutput as no
    >>> followed(no.Number(0, 5)), followed(no.YesNo())
    (('mean', 'quantile 0.5', 'quantile 0.9'), ('mean',))
    """
    return statistics(question) + (_QUANTILES if isinstance(question, Number) else ())


def of_numbers(question: Question, name: str) -> tuple[str, float] | None:
    """Return what a share or a quantile of numbers is: its kind, and at which number.

    Examples
    --------
    >>> import noutput as no
    >>> minutes = no.Number(0, 180)
    >>> of_numbers(minutes, "below 45"), of_numbers(minutes, "quantile 0.5")
    (('below', 45.0), ('quantile', 0.5))
    >>> of_numbers(minutes, "below 180"), of_numbers(minutes, "mean")
    (None, None)
    """
    kind, _, text = name.partition(" ")
    try:
        at = float(text)
    except ValueError:
        return None
    if not isinstance(question, Number):
        return None
    if kind == "below" and is_between(Interval(question.lower, question.upper), at):
        return kind, at
    return (kind, at) if kind == "quantile" and 0.0 < at < 1.0 else None


def check_statistic(question: Question, name: str) -> str:
    """Return the name of a statistic as it is written, or that of the first where it is empty.

    Numbers are rounded to a grid, so that there is an end to what can be asked for: shares below a
    number to the largest power of ten of which the bounds hold 1,000 or more, quantiles to 0.001.

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
    """
    known = statistics(question)
    if not name:
        return known[0]
    if name in known:
        return name
    rule = f"be one of {', '.join(known)}"
    if isinstance(question, Number):
        asked = of_numbers(question, name)
        if asked is not None:
            kind, at = asked
            digits = _GRID_DIGITS
            if kind == "below":
                digits -= math.floor(math.log10(question.upper - question.lower))
            rounded = f"{kind} {exactly(round(at, digits))}"
            if of_numbers(question, rounded) is not None:
                return rounded
        rule = (
            f'be mean, "below X" with X between {question.lower:g} and {question.upper:g}, or '
            '"quantile P" with P between 0 and 1'
        )
    raise InvalidArgumentError("statistic", rule, name[:100])


def measure_one(
    question: Question, parts: Sequence[Part], level: float, name: str
) -> Measured | None:
    """Return one statistic; None where there are too few reports.

    That of a share or a quantile of numbers is the middle of its slack interval at this level. It
    has a bias within the interval, so it is for groups and single rounds:
    `noutput.collector.series` has what is smoothed.
    """
    asked = of_numbers(question, name)
    if asked is None or not isinstance(question, Number):
        return measure(question, parts, level).get(name)
    if sum(part.tally.total for part in parts) < FEWEST:
        return None
    kind, at = asked
    mechanism, tally = estimated(parts)
    made = (mechanism,) if tally is None else (mechanism, tally, (question.lower, question.upper))
    if kind == "below":
        found = estimate_share(*made, below=at, level=level)
    else:
        found = estimate_quantile(*made, share=at, level=level)
    return Measured(found, *found.interval(level))


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


def measure(question: Question, parts: Sequence[Part], level: float) -> dict[str, Measured]:
    """Return the statistics of a question by their names; none where there are too few reports.

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
    if isinstance(question, Answers):
        return _answers(mechanism, tally, question, level)
    if not isinstance(question, Number):  # pragma: no cover (campaigns pair tables and questions)
        raise TypeError(question.kind)
    if tally is None:
        mean = estimate_mean(mechanism)
    else:
        mean = estimate_mean(mechanism, tally, Interval(question.lower, question.upper))
    return {MEAN: Measured(mean, *mean.interval(level))}


def _answers(
    mechanism: AnswerMechanism | Evidence, tally: Tally | None, question: Answers, level: float
) -> dict[str, Measured]:
    found = estimate_answers(mechanism, tally, question)
    result: dict[str, Measured] = {}
    if found.mean is not None:
        result[MEAN] = Measured(found.as_mean(), *found.mean_interval(level))
    if isinstance(question, YesNo):
        return result
    ends = (each.tolist() for each in found.interval("shares", level))
    for label, low, high in zip(found.labels, *ends, strict=True):
        result[label] = Measured(found.as_mean(label), low, high)
    return result

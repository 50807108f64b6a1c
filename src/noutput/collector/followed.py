"""What is followed over time about a question: one figure, and how sure it is.

====================  ============================================================
question              figure
====================  ============================================================
number                the mean
answers with scores   the mean score; of yes/no that is the share of yes
other answers         how far the least certain share may be off: no single answer
                      stands for all, and the largest may change
====================  ============================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput.collector.pooled import estimated
from noutput.estimate.answers import AnswerEstimate, estimate_answers
from noutput.estimate.mean import estimate_mean
from noutput.estimate.summary import Figure
from noutput.interval import Interval
from noutput.questions import Answers, Number, Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.collector.pooled import Part

__all__ = ["follow", "is_uncertainty", "widest"]


def is_uncertainty(question: Question) -> bool:
    """Say whether the figure of a question is an uncertainty, and has none itself."""
    return isinstance(question, Answers) and question.scores is None


def follow(question: Question, parts: Sequence[Part], level: float) -> Figure:
    """Return the figure of a question with its interval; at least two reports are needed.

    Examples
    --------
    >>> import noutput as no
    >>> from noutput.collector.pooled import Part
    >>> m = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tally = no.Tally(m.fingerprint, (4_000, 6_000))
    >>> follow(no.YesNo(), [Part(m, tally, None)], 0.95).texts
    ('0.700', '0.681', '0.719')
    >>> follow(no.Choice("train", "car"), [Part(m, tally, None)], 0.95).texts
    ('0.019', '0.019', '0.019')
    """
    mechanism, tally = estimated(parts)
    if isinstance(question, Answers):
        found = estimate_answers(mechanism, tally, question)
        if found.mean is None:
            half = widest(found, level)
            return Figure(half, half, half)
        return Figure(found.mean, *found.mean_interval(level))
    if not isinstance(question, Number):  # pragma: no cover (campaigns pair tables and questions)
        raise TypeError(question.kind)
    if tally is None:
        mean = estimate_mean(mechanism)
    else:
        mean = estimate_mean(mechanism, tally, Interval(question.lower, question.upper))
    return Figure(mean.value, *mean.interval(level))


def widest(found: AnswerEstimate, level: float) -> float:
    """Return half the width of the widest interval of a share."""
    low, high = found.interval("shares", level)
    return float((high - low).max()) / 2.0

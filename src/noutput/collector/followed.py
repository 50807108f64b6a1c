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

import math
from dataclasses import astuple
from typing import TYPE_CHECKING

from noutput.collector.measured import MEAN, has_cells, measure
from noutput.collector.pooled import estimated
from noutput.estimate.answers import AnswerEstimate, estimate_answers
from noutput.estimate.evidence import unpacked
from noutput.estimate.goodness import known_goodness_of_fit
from noutput.estimate.summary import CERTAIN, CellSummary, Estimate
from noutput.questions import Answers, Number, Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.collector.pooled import Part
    from noutput.collector.store.interface import Milestone

__all__ = ["follow", "is_forged", "is_uncertainty", "widest"]


def is_uncertainty(question: Question) -> bool:
    """Say whether the figure of a question is an uncertainty, and has none itself."""
    return isinstance(question, Answers) and question.scores is None


def follow(question: Question, parts: Sequence[Part], level: float) -> Estimate:
    """Return the figure of a question with its interval; at least two reports are needed.

    Where the reports are probably forged, the interval has no ends: nothing is claimed.

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
    if isinstance(question, Number) and has_cells(question):
        value, low, high = astuple(CellSummary(question, mechanism.in_own_unit, tally, level).mean)
    elif is_uncertainty(question):
        value = low = high = widest(estimate_answers(mechanism, tally, question), level)
    else:
        mean = measure(question, parts, level)[MEAN]
        value, low, high = mean.estimate.value, mean.low, mean.high
    model, counted, _ = unpacked(mechanism, tally)
    if known_goodness_of_fit(model, counted).p_value < CERTAIN:
        low, high = -math.inf, math.inf
    return Estimate(value, low, high)


def is_forged(milestone: Milestone) -> bool:
    """Say whether `follow` found that reports are probably forged."""
    return math.isinf(milestone.low)


def widest(found: AnswerEstimate, level: float) -> float:
    """Return half the width of the widest interval of a share."""
    low, high = found.interval("shares", level)
    return float((high - low).max()) / 2.0

"""Overview of campaigns: the headline of each, from its published history alone."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from noutput._numbers import show
from noutput.collector.dashboard import words
from noutput.collector.dashboard.sparkline import sparkline_svg
from noutput.collector.followed import is_forged, is_uncertainty
from noutput.estimate.summary import Bar, Estimate
from noutput.questions import Answers, Number, YesNo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.collector.store.interface import Milestone
    from noutput.questions import Question

__all__ = ["Headline", "headline"]

_PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class Headline:
    """The figure of a campaign's first question as of its last release.

    Parameters
    ----------
    title : str
        What it is.
    value, unit : str
        Empty where reports are probably forged, which is the title then.
    interval : str
        Its 95% interval in words; empty where the figure is an uncertainty itself.
    picture : str
        How the figure and its interval became what they are, as SVG.
    """

    title: str
    value: str
    unit: str
    interval: str
    picture: str


def headline(question: Question, milestones: Sequence[Milestone]) -> Headline | None:
    """Return the headline of a question; None where nothing about it is known yet.

    Parameters
    ----------
    question : Question
    milestones : sequence of Milestone
        Of this question, in their order.

    Notes
    -----
    Nothing is estimated here: a milestone has the figure of its release, with its 95% interval.
    The work is therefore the same for a hundred reports and for a billion.
    """
    if milestones and is_forged(milestones[-1]):
        return Headline(words.FORGED, "", "", "", "")
    rows = [(each.mean, each.low, each.high) for each in milestones]
    figures = [Estimate(*row) for row in rows if all(map(math.isfinite, row))]
    if not figures or figures[-1].half > _most(question):
        return None  # it may still be anywhere
    last = figures[-1]
    title, unit = _title(question), ""
    if is_uncertainty(question):
        half = _PERCENT * last.value
        value, unit, interval = f"±{show(half, half)}", "points", ""
    else:
        if isinstance(question, YesNo):
            value, low, high = Bar("", *astuple(last.inside)).texts
        else:
            value, low, high = last.texts
        unit = question.unit if isinstance(question, Number) else ""
        interval = f"{low} to {high}"
    said = f"{title} after each of {words.count(len(figures))} releases"
    picture = sparkline_svg(figures, label=said) if len(figures) > 1 else ""
    return Headline(title, value, unit, interval, picture)


def _title(question: Question) -> str:
    if is_uncertainty(question):
        return "Every share is known to"
    if isinstance(question, YesNo):
        return "Share of yes"
    return "Average score" if isinstance(question, Answers) else "Average"


def _most(question: Question) -> float:
    """Return half the width of all that is possible."""
    if isinstance(question, Number):
        return (question.upper - question.lower) / 2.0
    scores = question.scores if isinstance(question, Answers) else None
    return (max(scores) - min(scores)) / 2.0 if scores else 0.5

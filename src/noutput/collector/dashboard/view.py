"""What a campaign's page says about one question, as texts and pictures ready for their places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from noutput._numbers import show
from noutput.campaign.text import parse_instant
from noutput.collector.dashboard import words
from noutput.collector.dashboard.answers import answers_subject, draw_answers
from noutput.collector.dashboard.numbers import draw_number, number_subject
from noutput.collector.dashboard.progress import current_rate, next_target, outlook
from noutput.collector.followed import is_forged
from noutput.estimate.summary import AnswerSummary, CellSummary
from noutput.questions import Number

if TYPE_CHECKING:
    from datetime import datetime

    from noutput.collector.dashboard.subject import Followed, Subject
    from noutput.collector.estimates import QuestionEstimates
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Milestone
    from noutput.estimate.summary import Summary
    from noutput.questions import Question

__all__ = ["QuestionView", "draw", "question_view"]

_MANY = 1_000.0  # from here on, estimated numbers are written to three digits
_PEOPLE = 1e10  # more than live on Earth


@dataclass(frozen=True, slots=True)
class QuestionView:
    """What the page says about one question.

    Parameters
    ----------
    question : Question
    reports : int
    rate : str or None
        How many reports on all questions come in.
    subject : Subject or None
        What the reports say; None where there are too few.
    half : str
        Half the width of the interval of what is followed over time.
    history : dict
        What the chart of the past shows, as columns.
    milestones : list of dict
        The same as texts.
    target, target_text, goal : str
        The wanted half width as the form and as people write it, and when it will be reached.
    reason : str
        Why there is no subject; empty where there is one.
    """

    question: Question
    reports: int
    rate: str | None
    subject: Subject | None = None
    half: str = ""
    history: dict[str, Any] = field(default_factory=dict)
    milestones: Sequence[dict[str, str]] = ()
    target: str = ""
    target_text: str = ""
    goal: str = ""
    reason: str = ""

    @property
    def name(self) -> str:
        """What programs call the question."""
        return self.question.name

    @property
    def unit(self) -> str:
        """The unit of a number; empty for other questions."""
        return self.question.unit if isinstance(self.question, Number) else ""

    @property
    def label(self) -> str:
        """What people call it."""
        return words.called(self.question)


def question_view(
    entry: KnownCampaign,
    estimate: QuestionEstimates,
    milestones: Sequence[Milestone],
    total: int,
    step: int,
    target: float | None,
    now: datetime,
) -> QuestionView:
    """Prepare the page of one question.

    Parameters
    ----------
    entry : KnownCampaign
    estimate : QuestionEstimates
    milestones : sequence of Milestone
        Of this question.
    total : int
        Published reports on all questions.
    step : int
        How many new reports on this question are published next.
    target : float, optional
        The wanted half width of what is followed over time; a round number if not given.
    now : datetime
    """
    question, reports = estimate.question, estimate.reports
    rate = current_rate(milestones, step, now) if entry.is_open(now) else None
    together = None if rate is None else words.rate(rate * total / max(reports, 1))
    subject = _subject(entry, estimate)
    if subject is None:
        return QuestionView(question, reports, together, reason=estimate.reason or "")
    followed = subject.followed
    half = min(followed.half, followed.most)
    wanted = target or next_target(half)
    return QuestionView(
        question=question,
        reports=reports,
        rate=together,
        subject=subject,
        half=words.with_unit(show(half, half), followed.unit),
        history=_history(milestones, followed, reports, wanted, now),
        milestones=_rows(milestones, followed),
        target=f"{wanted:.6g}",
        target_text=words.with_unit(f"{wanted:,.6g}", followed.unit),
        goal=_goal(entry, followed, reports, wanted, rate, now),
    )


def draw(found: Summary | AnswerSummary | CellSummary, *, heading: str) -> str:
    """Draw a picture that stands on its own."""
    if isinstance(found, AnswerSummary | CellSummary):
        return draw_answers(found, heading=heading)
    return draw_number(found.question, found, heading=heading)


def _subject(entry: KnownCampaign, estimate: QuestionEstimates) -> Subject | None:
    found = estimate.summary
    if found is None:
        return None
    alone = len(entry.campaign.questions) == 1
    if isinstance(found, AnswerSummary | CellSummary):
        return answers_subject(found, alone=alone)
    return number_subject(found.question, found, estimate.parts, alone=alone)


def _goal(
    entry: KnownCampaign,
    followed: Followed,
    reports: int,
    target: float,
    rate: float | None,
    now: datetime,
) -> str:
    enough = followed.needed(target) if target else 0.0
    found = outlook(enough, reports, target, rate)
    questions = len(entry.campaign.questions) if entry.campaign.ask == "one" else 1
    together = questions * found.more  # a report answers one question, drawn at random
    if found.more == 0.0:
        return "This is reached."
    if together > _PEOPLE:
        return "It takes more reports than there are people."
    most = words.count(together if together >= _MANY else math.ceil(together))
    if entry.campaign.ask == "all":
        needed = f"about {most} more {'person' if most == '1' else 'people'}"
    else:
        needed = f"about {most} more report{'' if most == '1' else 's'}"
    if questions > 1:
        needed += f", as each answers one of {questions} questions"
    if not entry.is_open(now):
        return f"It would have taken {needed}."
    if found.seconds is None:
        return f"It takes {needed}."
    left = (entry.campaign.closes - now).total_seconds()
    if found.seconds > left:
        return f"It takes {needed}: at the present rate, not before the campaign closes."
    return f"It takes {needed}: at the present rate, {words.duration(found.seconds)} from now."


def _history(
    milestones: Sequence[Milestone], followed: Followed, reports: int, target: float, now: datetime
) -> dict[str, Any]:
    """Return the milestones and the present as columns; instants are seconds since 1970."""
    rows = [
        (
            parse_instant("at", each.at).timestamp(),
            each.reports,
            *astuple(followed.scaled(each.mean, each.low, each.high)),
        )
        for each in milestones
    ]
    rows.append((now.timestamp(), reports, *astuple(followed.figure)))
    columns = zip(*(row for row in rows if all(map(math.isfinite, row))), strict=True)
    names = ("at", "reports", "mean", "low", "high")
    shown = dict(zip(names, map(list, columns), strict=True))
    shown["at"] = list(accumulate(shown["at"], max))  # a clock may have been set back
    return {**shown, "target": target, "uncertainty": followed.is_uncertainty}


def _rows(milestones: Sequence[Milestone], followed: Followed) -> list[dict[str, str]]:
    result = []
    for each in milestones:
        figure = followed.scaled(each.mean, each.low, each.high)
        half = figure.value if followed.is_uncertainty else figure.half
        forged = is_forged(each)
        result.append(
            {
                "at": each.at.replace("T", " ").replace("Z", " UTC"),
                "reports": words.count(each.reports),
                "mean": "probably forged" if forged else figure.texts[0],
                "half": "" if forged else show(half, half),
            }
        )
    return result

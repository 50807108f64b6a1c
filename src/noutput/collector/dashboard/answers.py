"""Pages of scales, choices, yes/no and numbers with edges: a bar per answer, or per cell."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from noutput._numbers import show, tick_labels
from noutput.collector.dashboard import words
from noutput.collector.dashboard.bars import NARROW, WIDE, BarsSize, bars_svg
from noutput.collector.dashboard.subject import Followed, Glance, Subject, Table
from noutput.collector.dashboard.svg import document, put_text
from noutput.collector.followed import is_uncertainty, widest
from noutput.estimate.summary import Bar, CellSummary, Estimate
from noutput.questions import Scale, YesNo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.estimate.summary import AnswerSummary

__all__ = ["UNTOLD", "VAGUE", "answers_subject", "draw_answers", "draw_untold", "ordered_bars"]

VAGUE = (
    "The reports are too few yet to say much: the average may still be almost anywhere between "
    "the bounds."
)
UNTOLD = (
    "There is no picture yet: nearly every way in which the answers may be spread fits the reports."
)

_PERCENT = 100.0
_NEARLY_ALL = 0.9  # of what is possible: then nothing is known
_MEDIAN = 0.5
_KEYS = (("bar", "estimate"), ("band", "95% uncertainty"))
_BAND = "the band its 95% interval, and the dotted lines what is wanted."
_ALONE = "Each interval stands on its own."
_UNTOLD_HEIGHT = 120


def answers_subject(found: AnswerSummary | CellSummary, *, alone: bool = True) -> Subject:
    """Prepare the page of a question with answers, or of a number with edges.

    `alone` says whether nothing else was asked.
    """
    bars = ordered_bars(found)
    said = ", ".join(f"{bar.label} {bar.texts[0]}" for bar in bars)
    if isinstance(found, CellSummary):
        picture = f"Estimated shares of {words.called(found.question)}: {said}"
        title, spare = "How the answers are spread", found.spare_outputs
        glance, followed = _average(found, alone=alone), _followed_average(found)
    else:
        picture = f"Estimated shares of the answers: {said}"
        yes = isinstance(found.question, YesNo)
        title = "How many say yes" if yes else "What people answered"
        spare = found.estimate.spare_outputs
        glance, followed = _glance(found), _followed(found)
    return Subject(
        glance=glance,
        followed=followed,
        chart_title=title,
        readout=_readout(found),
        keys=_KEYS if bars else (),
        wide=draw_answers(found, WIDE, label=picture),
        narrow=draw_answers(found, NARROW, label=picture),
        figures=_figures(found),
        fit=words.fit(found.goodness, spare=spare > 0),
        table=_table(found, bars) if len(bars) > 1 else None,
    )


def draw_answers(found: AnswerSummary | CellSummary, size: BarsSize = WIDE, **texts: str) -> str:
    """Draw the answers or cells; see `bars_svg`."""
    bars = ordered_bars(found)
    if not bars:
        return draw_untold(size.width, _UNTOLD_HEIGHT, **texts)
    return bars_svg(bars, size, found.full_scale, **texts)


def draw_untold(width: int, height: int, **texts: str) -> str:
    """Draw a picture that says that there is none."""
    said = put_text(width / 2.0, height / 2.0, "The reports cannot tell yet.")
    return document(width, height, [said], **texts)


def ordered_bars(found: AnswerSummary | CellSummary) -> list[Bar]:
    """Return the bars as they are drawn: cells and scales in order, choices by their size."""
    if isinstance(found, CellSummary) or found.question.ordered or len(found.bars) == 1:
        return found.bars
    return sorted(found.bars, key=lambda bar: -bar.share)


def _average(found: CellSummary, *, alone: bool) -> Glance:
    question = found.question
    value, low, high = found.mean.texts
    moved = words.with_unit(show(found.moved), question.unit)
    facts = [("One false report moves it by about", moved)]
    if "Median" in found.figures:
        facts.insert(0, _median(found))
    vague = found.mean.half > _NEARLY_ALL * (question.upper - question.lower) / 2.0
    title = "Average" if alone else f"Average {words.called(question)}"
    return Glance(
        title, value, low, high, question.unit, notes=[VAGUE] if vague else [], facts=facts
    )


def _median(found: CellSummary) -> tuple[str, str]:
    """Return the median as a fact: a range of edges where no single value stands for it."""
    middle, unit = found.figures["Median"], found.question.unit
    if math.isnan(middle.value):
        ends = " and ".join(tick_labels([middle.low, middle.high]))
        return "The median is between", words.with_unit(ends, unit)
    return "Half are below", words.with_unit(middle.texts[0], unit)


def _followed_average(found: CellSummary) -> Followed:
    mean, question = found.mean, found.question
    return Followed(
        noun="average", known="The average is known to",
        caption=f"The line is the average, {_BAND}",
        column="Average", unit=question.unit, figure=mean, half=mean.half,
        most=(question.upper - question.lower) / 2.0,
        needed=partial(_needed, found.reports, mean.half),
    )  # fmt: skip


def _figures(found: AnswerSummary | CellSummary) -> list[tuple[str, ...]]:
    """Return the figures below the picture; the unit stands above them, and the mean at the top."""
    if not isinstance(found, CellSummary):
        return [(name, *texts) for name, texts in found.lines.items()]
    unit = f" {found.question.unit}"
    return [
        (name, *(text.removesuffix(unit) for text in (value or "-", low, high)))
        for name, (value, low, high) in found.lines.items()
        if name != "Mean"
    ]


def _glance(found: AnswerSummary) -> Glance:
    question = found.question
    if isinstance(question, YesNo):
        (yes,) = found.bars
        value, low, high = yes.texts
        moved = f"{_PERCENT * found.estimate.poisoning_bound(1)[1]:.2g}%"
        facts = [("One false report moves it by at most", moved)]
        return Glance("Share of yes", value, low, high, facts=facts)
    if not isinstance(question, Scale):
        return _most_frequent(found)
    names = dict(zip(question.answers, question.labels, strict=True))
    middle, first, last = (names[answer] for answer in found.quantiles[_MEDIAN])
    if found.mean is None:
        return Glance("Middle answer (median)", middle, first, last, is_words=True)
    value, low, high = found.mean.texts
    return Glance("Average score", value, low, high, facts=[("Middle answer", middle)])


def _most_frequent(found: AnswerSummary) -> Glance:
    """Return the largest share; as it was picked from all, its interval holds for all together."""
    rows = zip(found.question.labels, found.shown, found.joint_shares, strict=True)
    bars = sorted((Bar(name, share, all_.low, all_.high) for name, share, all_ in rows),
                  key=lambda bar: -bar.share)  # fmt: skip
    first, rivals = bars[0], [bar.label for bar in bars[1:] if bar.high >= bars[0].low]
    notes = ["As it was picked, its interval is the wider one that holds for all answers together."]
    if rivals:
        named = f"“{rivals[0]}”" if len(rivals) == 1 else f"any of {len(rivals)} others"
        notes.append(f"This is not certain yet: {named} may be as frequent.")
    value, low, high = first.texts
    return Glance(
        "Most frequent answer", first.label, low, high, lead=f"{value} of people,",
        is_words=True, notes=notes,
    )  # fmt: skip


def _followed(found: AnswerSummary) -> Followed:
    question, scores = found.question, found.question.scores
    if scores is None or found.mean is None or is_uncertainty(question):
        half = _PERCENT * widest(found.estimate, found.level)
        return Followed(
            noun="every share", known="Every share is known to",
            caption="The line is how far the least certain share may be off (95%), and the dotted "
            "line what is wanted.",
            column="Widest", unit="points", figure=Estimate(half, half, half), half=half,
            most=_PERCENT / 2.0, needed=partial(_needed, found.reports, half), factor=_PERCENT,
            is_uncertainty=True,
        )  # fmt: skip
    is_share = isinstance(question, YesNo)
    factor = _PERCENT if is_share else 1.0
    mean = Estimate(
        *(factor * each for each in (found.mean.value, found.mean.low, found.mean.high))
    )
    noun = "share of yes" if is_share else "average score"
    return Followed(
        noun=noun, known=f"The {noun} is known to", caption=f"The line is the {noun}, {_BAND}",
        column="Yes (%)" if is_share else "Score", unit="points" if is_share else "",
        figure=mean, half=mean.half, most=factor * (max(scores) - min(scores)) / 2.0,
        needed=partial(_needed, found.reports, mean.half), factor=factor,
    )  # fmt: skip


def _needed(reports: int, half: float, target: float) -> float:
    """Return how many reports a half width takes: it shrinks with the root of their number."""
    return reports * (half / target) ** 2


def _readout(found: AnswerSummary | CellSummary) -> str:
    if isinstance(found, CellSummary):
        if not found.bars:
            return UNTOLD
        unit = f", in {found.question.unit}" if found.question.unit else ""
        return f"Share of people in each range{unit}; its end belongs to the next one. {_ALONE}"
    if isinstance(found.question, YesNo):
        return "Share of people who say yes, of all who were asked."
    return f"Share of people with each answer. {_ALONE}"


def _table(found: AnswerSummary | CellSummary, bars: Sequence[Bar]) -> Table:
    is_cells = isinstance(found, CellSummary)
    head = ["From and to" if is_cells else "Answer", "Share", "95% interval"]
    rows = [[bar.label, bar.texts[0], f"{bar.texts[1]} to {bar.texts[2]}"] for bar in bars]
    if found.cdf is not None:
        head += ["Below its end" if is_cells else "This or before", "95% interval"]
        for row, each in zip(rows, found.cdf, strict=False):
            value, low, high = Bar("", each.value, each.low, each.high).texts
            row += [value, f"{low} to {high}"]
        rows[-1] += ["100%", ""] if is_cells else []
    return Table(head, rows)

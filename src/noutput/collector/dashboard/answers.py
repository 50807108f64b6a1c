"""Pages of scales, choices and yes/no: a bar per answer, never anything between two answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from noutput.collector.dashboard import words
from noutput.collector.dashboard.bars import NARROW, WIDE, BarsSize, bars_svg
from noutput.collector.dashboard.subject import Followed, Glance, Subject, Table
from noutput.collector.followed import is_uncertainty, widest
from noutput.estimate.summary import Bar, Figure
from noutput.questions import Scale, YesNo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.estimate.summary import AnswerSummary

__all__ = ["answers_subject", "draw_answers", "ordered_bars"]

_PERCENT = 100.0
_MEDIAN = 0.5
_KEYS = (("bar", "estimate"), ("band", "95% uncertainty"))
_BAND = "the band its 95% interval, and the dotted lines what is wanted."
_ALONE = "Each interval stands on its own."


def answers_subject(found: AnswerSummary) -> Subject:
    """Prepare the page of a question with answers."""
    question, bars = found.question, ordered_bars(found)
    said = ", ".join(f"{bar.label} {bar.texts[0]}" for bar in bars)
    picture = f"Estimated shares of the answers: {said}"
    return Subject(
        glance=_glance(found),
        followed=_followed(found),
        chart_title="How many say yes" if isinstance(question, YesNo) else "What people answered",
        readout=_readout(found),
        keys=_KEYS,
        wide=draw_answers(found, WIDE, label=picture),
        narrow=draw_answers(found, NARROW, label=picture),
        figures=[(name, *texts) for name, texts in found.lines.items()],
        fit=words.fit(found.goodness, spare=found.estimate.spare_outputs > 0),
        table=None if isinstance(question, YesNo) else _table(found, bars),
    )


def draw_answers(found: AnswerSummary, size: BarsSize = WIDE, **texts: str) -> str:
    """Draw the answers; see `bars_svg`."""
    return bars_svg(ordered_bars(found), size, found.full_scale, **texts)


def ordered_bars(found: AnswerSummary) -> list[Bar]:
    """Return the bars as they are drawn: scales as declared, choices by their size."""
    if found.question.ordered or isinstance(found.question, YesNo):
        return found.bars
    return sorted(found.bars, key=lambda bar: -bar.share)


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
            column="Widest", unit="points", figure=Figure(half, half, half), half=half,
            most=_PERCENT / 2.0, needed=partial(_needed, found.reports, half), factor=_PERCENT,
            is_uncertainty=True,
        )  # fmt: skip
    is_share = isinstance(question, YesNo)
    factor = _PERCENT if is_share else 1.0
    mean = Figure(*(factor * each for each in (found.mean.value, found.mean.low, found.mean.high)))
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


def _readout(found: AnswerSummary) -> str:
    if isinstance(found.question, YesNo):
        return "Share of people who say yes, of all who were asked."
    return f"Share of people with each answer. {_ALONE}"


def _table(found: AnswerSummary, bars: Sequence[Bar]) -> Table:
    head = ["Answer", "Share", "95% interval"]
    rows = [[bar.label, bar.texts[0], f"{bar.texts[1]} to {bar.texts[2]}"] for bar in bars]
    if found.cdf is not None:
        head += ["This or before", "95% interval"]
        for row, label, each in zip(rows, found.question.labels, found.cdf, strict=True):
            value, low, high = Bar(label, each.value, each.low, each.high).texts
            row += [value, f"{low} to {high}"]
    return Table(head, rows)

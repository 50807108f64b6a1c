"""Pages of numbers: the mean, and the distribution with its quartiles."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from noutput._numbers import show, tick_labels
from noutput.collector.dashboard import words
from noutput.collector.dashboard.answers import UNTOLD, VAGUE, draw_untold
from noutput.collector.dashboard.chart import NARROW, WIDE, Size, distribution_svg
from noutput.collector.dashboard.subject import Followed, Glance, Subject, Table
from noutput.estimate.mean import reports_needed
from noutput.mechanisms.table import TableMechanism

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.collector.pooled import Part
    from noutput.estimate.mean import MeanEstimate
    from noutput.estimate.summary import Summary
    from noutput.questions import Number

__all__ = ["draw_number", "number_subject"]

_QUANTILES = {
    0.05: "5% are below",
    0.25: "25% are below (lower quartile)",
    0.5: "half are below (median)",
    0.75: "75% are below (upper quartile)",
    0.95: "95% are below",
}
_MEDIAN = 0.5
_NEARLY_ALL = 0.9  # of what is possible: then nothing is known
_FREE = (
    "The bands are 95% intervals that hold whatever people answer. The bars are as narrow as the "
    "reports can tell apart without assuming anything."
)
_PROVEN = (
    "The bands are 95% intervals with a proof for every distribution and for so few reports. The "
    "bars are as narrow as the reports can tell apart."
)
_KEYS = (("line", "estimate"), ("band", "95% interval"), ("mark", "quartiles"))


def number_subject(
    question: Number,
    found: Summary,
    parts: Sequence[Part],
    *,
    alone: bool,
) -> Subject:
    """Prepare the page of a number; `alone` says whether nothing else was asked."""
    unit, name = question.unit, words.called(question)
    figures = _figures(found)
    below = ", ".join(f"{what} {value}" for what, value, *_ in figures[1:4])
    picture = f"Estimated distribution of {name}: {below}"
    edges = found.coarse.edges
    step = words.with_unit(tick_labels([float(f"{edges[1] - edges[0]:.6g}")])[0], unit)
    return Subject(
        glance=_glance(question, found, alone=alone),
        followed=Followed(
            noun="average",
            known="The average is known to",
            caption="The line is the average, the band its 95% interval, and the dotted lines "
            "what is wanted.",
            column="Average",
            unit=unit,
            figure=found.mean,
            half=found.mean_estimate.half_width(),
            most=found.distribution.bounds.half_width,
            needed=partial(_needed, parts, found.mean_estimate),
        ),
        chart_title="How the answers are spread",
        readout=f"Share of people in steps of {step}." if found.is_told else UNTOLD,
        keys=_KEYS if found.is_told else (),
        wide=draw_number(question, found, WIDE, label=picture),
        narrow=draw_number(question, found, NARROW, label=picture),
        figures=figures,
        fit=words.fit(found.goodness),
        table=_table(found),
        histogram=asdict(found.coarse) if found.is_told else {},
        basis=_basis(found),
    )


def _needed(parts: Sequence[Part], found: MeanEstimate, wanted: float) -> float:
    """Return about how many reports make half the interval as short as wanted.

    With several waves it is as if the reports to come were like those that came.
    """
    first, *others = parts
    if not others and isinstance(first.mechanism, TableMechanism):
        return reports_needed(first.mechanism, first.tally, found, wanted)
    reports = sum(part.tally.total for part in parts)
    return reports * max(found.half_width() / wanted, 1.0) ** 2


def _basis(found: Summary) -> str:
    """What the bands are, in one or two plain sentences."""
    return _PROVEN if found.interval_kind == "guaranteed" else _FREE


def _table(found: Summary) -> Table | None:
    if not found.is_told:
        return None
    rows = [[bar.label, bar.texts[0], f"{bar.texts[1]} to {bar.texts[2]}"] for bar in found.bars]
    return Table(["From and to", "Share", "95% interval"], rows)


def draw_number(question: Number, found: Summary, size: Size = WIDE, **texts: str) -> str:
    """Draw the histogram of a number; see `distribution_svg`."""
    if not found.is_told:
        return draw_untold(size.width, size.height, **texts)
    axis = question.unit or words.called(question)
    note = f"Bands: {100.0 * found.level:g}% intervals, whatever people answer"
    return distribution_svg(found.coarse, found.quantiles, axis, size, note=note, **texts)


def _glance(question: Number, found: Summary, *, alone: bool) -> Glance:
    value, low, high = found.mean.texts
    vague = found.mean_estimate.half_width() > found.distribution.bounds.half_width
    bias = words.with_unit(show(found.mean_estimate.bias_bound), question.unit)
    notes = []
    if vague:
        notes.append(VAGUE)
    elif found.mean_estimate.bias_bound:
        notes.append(
            f"A nearly unbiased estimate: on average it is off by at most {bias}, which the "
            "interval allows for."
        )
    middle = found.quantiles[_MEDIAN]
    median = words.with_unit(middle.texts[0], question.unit)
    moved = words.with_unit(show(found.mean_estimate.poisoning_bound(1)), question.unit)
    facts = [("One false report moves it by at most", moved)]
    if middle.half < _NEARLY_ALL * found.distribution.bounds.half_width:
        facts.insert(0, ("Half are below", median))
    title = "Average" if alone else f"Average {words.called(question)}"
    return Glance(title, value, low, high, question.unit, notes=notes, facts=facts)


def _figures(found: Summary) -> list[tuple[str, ...]]:
    figures = {_QUANTILES[share]: figure for share, figure in found.quantiles.items()}
    figures |= {"Standard deviation": found.standard_deviation, "Variance": found.variance}
    return [(name, *figure.texts) for name, figure in figures.items()]

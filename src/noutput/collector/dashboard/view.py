"""What a campaign's page says, as texts and pictures ready to be put in their places."""

from __future__ import annotations

import math
from dataclasses import asdict, astuple, dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from noutput._numbers import show, tick_labels
from noutput.campaign.text import parse_instant
from noutput.collector.dashboard import words
from noutput.collector.dashboard.chart import NARROW, WIDE, Size, distribution_svg
from noutput.collector.dashboard.progress import current_rate, next_target, outlook
from noutput.estimate.mean import reports_needed
from noutput.estimate.summary import Figure
from noutput.mechanisms.table import TableMechanism
from noutput.questions import Number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from noutput.collector.estimates import QuestionEstimates
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Milestone
    from noutput.estimate.summary import Summary

__all__ = ["AttributeView", "attribute_view", "draw"]

_MANY = 1_000.0  # from here on, estimated numbers are written to three digits
_PEOPLE = 1e10  # more than live on Earth
_QUANTILES = {
    0.05: "5% are below",
    0.25: "25% are below (lower quartile)",
    0.5: "half are below (median)",
    0.75: "75% are below (upper quartile)",
    0.95: "95% are below",
}


@dataclass(frozen=True, slots=True)
class AttributeView:
    """What the page says about one attribute; None where there are too few reports.

    Parameters
    ----------
    name, label, unit : str
    reports : int
    rate : str or None
        How many reports on all attributes come in.
    mean : tuple of str
        The value and the ends of its interval; empty where there are too few reports.
    half : str
        Half the width of the mean's interval.
    vague : bool
        Whether the interval is too wide to say anything.
    bias : str
        How far off the mean is on average, at most; empty where it is unbiased.
    figures : list of tuples of str
        All other numbers: name, value and the ends of the interval.
    histogram : dict
        What the picture shows, as columns.
    step : str
        The width of a bar of the histogram.
    wide, narrow : str
        The histogram as SVG, for wide and for narrow screens.
    fit : tuple of str
        State, heading and explanation of the test for forged reports.
    history : dict
        What the chart of the past shows, as columns.
    milestones : list of dict
        The same as texts.
    target, target_text, goal : str
        The wanted half width as the form and as people write it, and when it will be reached.
    """

    name: str
    label: str
    unit: str
    reports: int
    rate: str | None
    mean: Sequence[str] = ()
    half: str = ""
    vague: bool = False
    bias: str = ""
    figures: Sequence[tuple[str, ...]] = ()
    histogram: dict[str, Any] = field(default_factory=dict)
    step: str = ""
    wide: str = ""
    narrow: str = ""
    fit: tuple[str, str, str] = ("", "", "")
    history: dict[str, Any] = field(default_factory=dict)
    milestones: Sequence[dict[str, str]] = ()
    target: str = ""
    target_text: str = ""
    goal: str = ""


def attribute_view(
    entry: KnownCampaign,
    estimate: QuestionEstimates,
    milestones: Sequence[Milestone],
    counted: int,
    total: int,
    target: float | None,
    now: datetime,
) -> AttributeView:
    """Prepare the page of one attribute.

    Parameters
    ----------
    entry : KnownCampaign
    estimate : QuestionEstimates
    milestones : sequence of Milestone
        Of this attribute.
    counted, total : int
        Reports on this attribute and on all, at this moment: the estimate may be some seconds old.
    target : float, optional
        The wanted half width of the interval of the mean; a round number if not given.
    now : datetime
    """
    question, reports = estimate.question, estimate.reports
    name, unit = question.name, question.unit if isinstance(question, Number) else ""
    label = words.label(name, unit)
    is_open = entry.is_open(now)
    rate = current_rate(milestones, counted, now) if is_open else None
    together = None if rate is None else words.rate(rate * total / max(counted, 1))
    found = estimate.summary
    if found is None or not isinstance(question, Number):
        return AttributeView(name, label, unit, reports, together)
    widest = found.distribution.bounds.half_width
    half, bias = found.mean_estimate.half_width(), found.mean_estimate.bias_bound
    wanted = target or next_target(min(half, widest))
    edges = found.coarse.edges
    figures = _figures(found)
    below = ", ".join(f"{what} {value}" for what, value, *_ in figures[1:4])
    picture = f"Estimated distribution of {label}: {below}"
    return AttributeView(
        name=name,
        label=label,
        unit=unit,
        reports=reports,
        rate=together,
        mean=found.mean.texts,
        half=show(min(half, widest), min(half, widest)),
        vague=half > widest,
        bias=words.with_unit(show(bias), unit) if bias else "",
        figures=figures,
        histogram=asdict(found.coarse),
        step=words.with_unit(tick_labels([float(f"{edges[1] - edges[0]:.6g}")])[0], unit),
        wide=draw(question, found, WIDE, label=picture),
        narrow=draw(question, found, NARROW, label=picture),
        fit=words.fit(found.goodness),
        history=_history(milestones, found, wanted, now),
        milestones=_rows(milestones),
        target=f"{wanted:.6g}",
        target_text=words.with_unit(f"{wanted:,.6g}", unit),
        goal=_goal(entry, estimate, wanted, rate, now),
    )


def draw(question: Number, found: Summary, size: Size = WIDE, **texts: str) -> str:
    """Draw the histogram of a number; see `distribution_svg`."""
    axis = question.unit or words.label(question.name, "")
    return distribution_svg(found.coarse, found.quantiles, axis, size, **texts)


def _figures(found: Summary) -> list[tuple[str, ...]]:
    figures = {_QUANTILES[share]: figure for share, figure in found.quantiles.items()}
    figures |= {"Standard deviation": found.standard_deviation, "Variance": found.variance}
    return [(name, *figure.texts) for name, figure in figures.items()]


def _goal(
    entry: KnownCampaign,
    estimate: QuestionEstimates,
    target: float,
    rate: float | None,
    now: datetime,
) -> str:
    enough, summary = 0.0, estimate.summary
    mechanism = entry.mechanisms[entry.campaign.question_indexes[estimate.question.name]]
    if target and summary is not None and isinstance(mechanism, TableMechanism):
        enough = reports_needed(mechanism, estimate.tally, summary.mean_estimate, target)
    found = outlook(enough, estimate.reports, target, rate)
    questions = len(entry.campaign.questions) if entry.campaign.ask == "one" else 1
    together = questions * found.more  # a report answers one question, drawn at random
    if found.more == 0.0:
        return "This is reached."
    if together > _PEOPLE:
        return "It takes more reports than there are people."
    most = words.count(together if together >= _MANY else math.ceil(together))
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
    milestones: Sequence[Milestone], found: Summary, target: float, now: datetime
) -> dict[str, Any]:
    """Return the milestones and the present as columns; instants are seconds since 1970."""
    rows = [
        (parse_instant("at", each.at).timestamp(), each.reports, each.mean, each.low, each.high)
        for each in milestones
    ]
    rows.append((now.timestamp(), found.mean_estimate.n_reports, *astuple(found.mean)))
    columns = zip(*(row for row in rows if all(map(math.isfinite, row))), strict=True)
    names = ("at", "reports", "mean", "low", "high")
    shown = dict(zip(names, map(list, columns), strict=True))
    shown["at"] = list(accumulate(shown["at"], max))  # a clock may have been set back
    return {**shown, "target": target}


def _rows(milestones: Sequence[Milestone]) -> list[dict[str, str]]:
    result = []
    for each in milestones:
        figure = Figure(each.mean, each.low, each.high)
        result.append(
            {
                "at": each.at.replace("T", " ").replace("Z", " UTC"),
                "reports": words.count(each.reports),
                "mean": figure.texts[0],
                "half": show(figure.half, figure.half),
            }
        )
    return result

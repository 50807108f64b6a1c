"""What a campaign's page says, as texts and pictures ready to be put in their places."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import accumulate
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from noutput._numbers import show
from noutput.campaign.text import parse_instant
from noutput.collector.dashboard import words
from noutput.collector.dashboard.chart import NARROW, WIDE, distribution_svg
from noutput.collector.dashboard.progress import current_rate, next_target, outlook
from noutput.collector.dashboard.ranges import tick_labels

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from noutput.collector.directory import Entry
    from noutput.collector.store.interface import Milestone

__all__ = ["AttributeView", "Figure", "attribute_view"]

_MANY = 1_000.0  # from here on, estimated numbers are written to three digits
_PEOPLE = 1e10  # more than live on Earth
_SCORE = NormalDist().inv_cdf(0.975)  # half the width of a 95% interval, in standard errors
_QUANTILES = {
    0.05: "5% are below",
    0.25: "25% are below (lower quartile)",
    0.5: "half are below (median)",
    0.75: "75% are below (upper quartile)",
    0.95: "95% are below",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its interval, as texts with as many digits as it has."""

    name: str
    value: str
    low: str
    high: str

    @classmethod
    def of(cls, name: str, value: float, low: float, high: float) -> Figure:
        """Write a number so that its uncertainty has two digits."""
        half = (high - low) / 2.0 or None
        return cls(name, *(show(number, half) for number in (value, low, high)))


@dataclass(frozen=True, slots=True)
class AttributeView:
    """What the page says about one attribute; None where there are too few reports.

    Parameters
    ----------
    estimate : dict
        As `noutput.collector.models.AttributeEstimate` describes it.
    label, unit : str
    rate : str or None
        How many reports on all attributes come in.
    mean : Figure or None
    half : str
        Half the width of the mean's interval.
    vague : bool
        Whether the interval is too wide to say anything.
    figures : list of Figure
        All other numbers.
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

    estimate: dict[str, Any]
    label: str
    unit: str
    rate: str | None
    mean: Figure | None = None
    half: str = ""
    vague: bool = False
    figures: Sequence[Figure] = ()
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
    entry: Entry,
    estimate: dict[str, Any],
    milestones: Sequence[Milestone],
    counted: int,
    total: int,
    target: float | None,
    now: datetime,
) -> AttributeView:
    """Prepare the page of one attribute.

    Parameters
    ----------
    entry : Entry
    estimate : dict
        One attribute of the estimates.
    milestones : sequence of Milestone
        Of this attribute.
    counted, total : int
        Reports on this attribute and on all, at this moment: the estimate may be some seconds old.
    target : float, optional
        The wanted half width of the interval of the mean; a round number if not given.
    now : datetime
    """
    unit = estimate["unit"]
    label = words.label(estimate["name"], unit)
    reports = estimate["reports"]
    is_open = entry.is_open(now)
    rate = current_rate(milestones, counted, now) if is_open else None
    together = None if rate is None else words.rate(rate * total / max(counted, 1))
    if estimate["mean"] is None:
        return AttributeView(estimate, label, unit, together)
    mean = estimate["mean"]
    low, high = mean["interval"]
    widest = (estimate["upper"] - estimate["lower"]) / 2.0
    half = _SCORE * mean["standard_error"]  # of the interval before it is cut at the bounds
    wanted = target or next_target(min(half, widest))
    edges = estimate["histogram"]["edges"]
    figures = _figures(estimate)
    below = ", ".join(f"{each.name} {each.value}" for each in figures[1:4])
    name = f"Estimated distribution of {label}: {below}"
    return AttributeView(
        estimate=estimate,
        label=label,
        unit=unit,
        rate=together,
        mean=Figure.of("Mean", mean["value"], low, high),
        half=show(min(half, widest), min(half, widest)),
        vague=half > widest,
        figures=figures,
        step=words.with_unit(tick_labels([float(f"{edges[1] - edges[0]:.6g}")])[0], unit),
        wide=distribution_svg(estimate, WIDE, label=name),
        narrow=distribution_svg(estimate, NARROW, label=name),
        fit=words.fit(estimate["goodness_of_fit"]),
        history=_history(milestones, estimate, wanted, now),
        milestones=_rows(milestones),
        target=f"{wanted:.6g}",
        target_text=words.with_unit(f"{wanted:,.6g}", unit),
        goal=_goal(entry, half, reports, wanted, rate, now),
    )


def _figures(estimate: dict[str, Any]) -> list[Figure]:
    variance = estimate["variance"]
    spread = [math.sqrt(number) for number in (variance["value"], *variance["interval"])]
    return [
        *(
            Figure.of(_QUANTILES[each["share"]], each["value"], *each["interval"])
            for each in estimate["quantiles"]
        ),
        Figure.of("Standard deviation", *spread),
        Figure.of("Variance", variance["value"], *variance["interval"]),
    ]


def _goal(
    entry: Entry, half: float, reports: int, target: float, rate: float | None, now: datetime
) -> str:
    found = outlook(half, reports, target, rate)
    questions = len(entry.campaign.attributes)
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
    milestones: Sequence[Milestone], estimate: dict[str, Any], target: float, now: datetime
) -> dict[str, Any]:
    """Return the milestones and the present as columns; instants are seconds since 1970."""
    mean = estimate["mean"]
    rows = [
        (parse_instant("at", each.at).timestamp(), each.reports, each.mean, each.low, each.high)
        for each in milestones
    ]
    rows.append((now.timestamp(), estimate["reports"], mean["value"], *mean["interval"]))
    columns = zip(*(row for row in rows if all(map(math.isfinite, row))), strict=True)
    names = ("at", "reports", "mean", "low", "high")
    found = dict(zip(names, map(list, columns), strict=True))
    found["at"] = list(accumulate(found["at"], max))  # a clock may have been set back
    return {**found, "target": target}


def _rows(milestones: Sequence[Milestone]) -> list[dict[str, str]]:
    result = []
    for each in milestones:
        figure = Figure.of("", each.mean, each.low, each.high)
        half = (each.high - each.low) / 2.0
        result.append(
            {
                "at": each.at.replace("T", " ").replace("Z", " UTC"),
                "reports": words.count(each.reports),
                "mean": figure.value,
                "half": show(half, half),
            }
        )
    return result

"""The rounds of a campaign on a page: the time chart, its table, changes, and the present round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noutput.campaign.schedule import EVERY
from noutput.campaign.text import parse_instant
from noutput.collector.dashboard import words
from noutput.collector.dashboard.course import (
    NARROW,
    SMALL,
    WIDE,
    Course,
    Point,
    course_svg,
    span,
)
from noutput.collector.dashboard.reading import Reading, reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from noutput.collector.store.directory import KnownCampaign
    from noutput.estimate.summary import Estimate
    from noutput.questions import Question

__all__ = ["Present", "RoundsView", "Small", "present_round", "rounds_view", "small_multiples"]

_MOST_ROWS = 200
_NONE = "-"


@dataclass(frozen=True, slots=True)
class RoundsView:
    """What the page says about rounds.

    Parameters
    ----------
    title : str
    wide, narrow : str
        The time chart as SVG; empty where no round has an estimate.
    rows : sequence of tuples of str
        Round, beginning, reports, estimate, trend: the newest first.
    texts : sequence of str
        What is said about the round under the pointer.
    first : int
        The first round of the chart.
    changes : sequence of str
        What changed, in sentences.
    note : str
        How often a change is seen where there is none, or why there is no trend.
    unit : str
    """

    title: str
    wide: str
    narrow: str
    rows: Sequence[tuple[str, ...]]
    texts: Sequence[str]
    first: int
    changes: Sequence[str]
    note: str
    unit: str


@dataclass(frozen=True, slots=True)
class Small:
    """One of the small pictures: the rounds of one group."""

    name: str
    picture: str
    text: str


@dataclass(frozen=True, slots=True)
class Present:
    """The round that is open now.

    Parameters
    ----------
    title, span : str
        Its number and when it is.
    percent : int
        How much of its time is over.
    text : str
        What is published of it.
    """

    title: str
    span: str
    percent: int
    text: str


def rounds_view(question: Question, found: Mapping[str, Any], *, pending: bool) -> RoundsView:
    """Prepare what `noutput.collector.trending.course` found.

    Parameters
    ----------
    question : Question
    found : mapping
    pending : bool
        Whether the trend is still being computed.
    """
    told = reading(question, found["statistic"])
    course = _course(told, found)
    title = f"{words.capital(told.noun)} by {found['every']}"
    shown = any(point.figure is not None for point in course.points)
    said = f"{title}, round by round, with its trend; the table below has the same numbers"
    texts = [
        _told(told, point, row, found["every"])
        for point, row in zip(course.points, found["rounds"], strict=True)
    ]
    rows = [
        _row(point, row, found["every"])
        for point, row in zip(course.points, found["rounds"], strict=True)
    ]
    return RoundsView(
        title=title,
        wide=course_svg(course, WIDE, label=said) if shown else "",
        narrow=course_svg(course, NARROW, label=said) if shown else "",
        rows=rows[::-1][:_MOST_ROWS],
        texts=texts,
        first=course.points[0].number if course.points else 0,
        changes=[_change(each, course, found["every"]) for each in found["shifts"]],
        note=" ".join(_notes(found, pending=pending)),
        unit=told.unit,
    )


def small_multiples(
    question: Question, found: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[Small]:
    """Prepare the rounds of several groups, on one scale.

    Groups that are published without their rounds alone have no picture.
    """
    courses = []
    for group, each in found:
        told = reading(question, each["statistic"])
        course = _course(told, each)
        if any(point.figure is not None for point in course.points):
            courses.append((group, told, course))
    ends = span([course for *_, course in courses])
    result = []
    for group, told, course in courses:
        figures = [each for each in course.points if (each.trend or each.figure) is not None]
        last = next(each.trend or each.figure for each in reversed(figures))
        text = "" if last is None else told.write(last)
        label = f"{told.noun} of {group}, round by round; the last is {text}"
        result.append(Small(group, course_svg(course, SMALL, ends, label=label), text))
    return result


def present_round(
    entry: KnownCampaign, rows: Sequence[Mapping[str, Any]], least: int, now: datetime
) -> Present | None:
    """Return the round that is open now, or None."""
    campaign = entry.campaign
    schedule = campaign.schedule
    if schedule is None or not campaign.opens <= now < campaign.closes or entry.closed is not None:
        return None
    number = entry.rounds_begun(now) - 1
    moment = campaign.round(number)
    passed = (now - moment.start).total_seconds() / schedule.seconds
    published = next((row["reports"] for row in rows if row["round"] == number), None)
    text = f"It ends in {words.duration((moment.end - now).total_seconds())}."
    if published:
        text += f" {words.count(int(published))} of its reports are published."
    elif published == 0:
        text += f" Its reports are published from {words.count(least)} on."
    late = number - entry.rounds_over(now)
    if late > 0:
        before = "the round before it" if late == 1 else f"the {late} rounds before it"
        text += f" Late reports of {before} are still counted."
    return Present(
        title=f"Round {number}, of 0 to {words.count(campaign.n_rounds - 1)}",
        span=f"{words.moment(moment.start)} to {words.moment(moment.end)}",
        percent=round(100 * passed),
        text=text,
    )


def _course(told: Reading, found: Mapping[str, Any]) -> Course:
    points = [
        Point(
            number=row["round"],
            start=parse_instant("start", row["start"]),
            is_over=row["is_over"],
            figure=_figure(told, row["estimate"]),
            trend=_figure(told, row["trend"]),
        )
        for row in found["rounds"]
    ]
    first = points[0].number if points else 0
    shifts = [
        (max(each["since"], first), each["alarm"], each["direction"]) for each in found["shifts"]
    ]
    return Course(points, EVERY[found["every"]], shifts)


def _figure(told: Reading, known: Mapping[str, Any] | None) -> Estimate | None:
    return None if known is None else told.figure(known["value"], known["interval"])


def _when(start: datetime, every: str) -> str:
    return words.moment(start) if every == "hour" else words.day(start)


def _told(told: Reading, point: Point, row: Mapping[str, Any], every: str) -> str:
    when = f"{_when(point.start, every)} (round {point.number})"
    if not row["is_whole"]:
        said = f"{when}: not all of its reports are published with their round"
    elif point.figure is None:
        said = f"{when}: too few reports are published"
    else:
        said = f"{when}: {told.write(point.figure)} from {row['reports']:,} reports"
    return said + ("." if point.trend is None else f"; trend {told.write(point.trend)}.")


def _row(point: Point, row: Mapping[str, Any], every: str) -> tuple[str, ...]:
    cells = [f"{point.number}", _when(point.start, every), f"{row['reports']:,}"]
    for figure in (point.figure, point.trend):
        if figure is None:
            cells += [_NONE, _NONE]
        else:
            value, low, high = figure.texts
            cells += [value, f"{low} to {high}"]
    return tuple(cells)


def _change(shift: Mapping[str, Any], course: Course, every: str) -> str:
    """Say between which rounds something changed: the alarm knows when at the latest."""
    starts = {point.number: _when(point.start, every) for point in course.points}
    way = "rose" if shift["direction"] == "up" else "fell"
    since, alarm = shift["since"], shift["alarm"]
    last = f"round {alarm} ({starts[alarm]})"
    if since == alarm:
        return f"It {way} in {last}."
    if since not in starts:
        return f"It {way} after round {since} began, and by {last} at the latest."
    return f"It {way} after round {since} ({starts[since]}) began, and by {last} at the latest."


def _notes(found: Mapping[str, Any], *, pending: bool) -> Iterator[str]:
    if not all(row["is_whole"] for row in found["rounds"]):
        yield (
            "Rounds without a point: what is published of them is not everybody's. Reports of "
            "small groups are missing there."
        )
    if pending:
        yield "The trend is being computed; it appears here in a moment."
    elif found["reason"]:
        yield f"There is no trend: {found['reason']}."
    else:
        rate = found["false_alarms_per_year"]
        often = "once" if rate == 1.0 else f"{rate:g} times"
        yield (
            "A change is marked where the value moves more than in the rounds before. While it "
            f"only varies as before, one is marked by chance about {often} per year at most."
        )

"""Rounds as SVG: a point per round with its interval, the trend with its band, and changes."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from noutput._numbers import tick_labels, ticks
from noutput.collector.dashboard.svg import ACCENT, LINE, MUTED, document, put_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from noutput.estimate.summary import Estimate

__all__ = ["NARROW", "SMALL", "WIDE", "Course", "CourseSize", "Point", "course_svg", "span"]

_LETTER = 7.2  # about the width of one
_WIDEST = 2.5  # times the usual half width: what is wider goes out of the picture
_ROOM = 0.06
_CHANGE = "#b3261e"
_HOUR = 3_600


@dataclass(frozen=True, slots=True)
class Point:
    """One round.

    Parameters
    ----------
    number : int
    start : datetime
    is_over : bool
        Whether no more reports of it will come.
    figure : Estimate or None
        None where too few reports are published.
    trend : Estimate or None
        The smoothed one.
    """

    number: int
    start: datetime
    is_over: bool
    figure: Estimate | None = None
    trend: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """Rounds in their order.

    Parameters
    ----------
    points : sequence of Point
        At least one.
    seconds : int
        The length of a round.
    shifts : sequence of (int, int, str)
        Changes: since which round it may have been, which round showed it, and its direction.
    """

    points: Sequence[Point]
    seconds: int
    shifts: Sequence[tuple[int, int, str]] = ()


@dataclass(frozen=True, slots=True)
class CourseSize:
    """How a picture is divided."""

    width: int
    height: int
    left: int
    right: int = 12
    top: int = 20
    bottom: int = 26
    steps: int = 4
    radius: float = 3.5


WIDE = CourseSize(960, 300, 56)
NARROW = CourseSize(380, 260, 48, radius=3.0)
SMALL = CourseSize(300, 150, 42, top=18, steps=3, radius=2.0)


def span(courses: Iterable[Course]) -> tuple[float, float]:
    """Return between which numbers the figures of rounds lie, but for the widest intervals."""
    points = [point for course in courses for point in course.points]
    figures = [point.figure for point in points if point.figure is not None]
    usual = _WIDEST * median([each.half for each in figures] or [0.0])
    lows = [max(each.low, each.value - usual) for each in figures]
    highs = [min(each.high, each.value + usual) for each in figures]
    trends = [point.trend for point in points if point.trend is not None]
    low = min([*lows, *(each.low for each in trends)], default=0.0)
    high = max([*highs, *(each.high for each in trends)], default=1.0)
    more = _ROOM * ((high - low) or abs(high) or 1.0)
    return low - more, high + more


@dataclass(frozen=True, slots=True)
class _Frame:
    size: CourseSize
    first: int
    last: int
    low: float
    high: float

    @property
    def base(self) -> float:
        return self.size.height - self.size.bottom

    @property
    def step(self) -> float:
        """How far two rounds are apart."""
        return (self.size.width - self.size.left - self.size.right) / (self.last - self.first + 1)

    def x(self, number: float) -> float:
        return self.size.left + (number - self.first + 0.5) * self.step

    def y(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.base - share * (self.base - self.size.top)


def course_svg(
    course: Course,
    size: CourseSize = WIDE,
    ends: tuple[float, float] | None = None,
    *,
    label: str = "",
) -> str:
    """Draw rounds.

    Parameters
    ----------
    course : Course
    size : CourseSize
    ends : (float, float), optional
        Of the vertical axis; those of `span`, if not given.
    label : str
        What the picture says, for those who do not see it.

    Examples
    --------
    >>> from datetime import datetime, timedelta
    >>> from noutput.estimate.summary import Estimate
    >>> points = [
    ...     Point(n, datetime(2026, 5, 1 + n), True, Estimate(50.0 + n, 48.0 + n, 52.0 + n))
    ...     for n in range(3)
    ... ]
    >>> picture = course_svg(Course(points, 86_400, [(1, 2, "up")]))
    >>> picture.count("<circle"), picture.count('class="chart-change"')
    (3, 1)
    """
    points = course.points
    low, high = ends or span([course])
    frame = _Frame(size, points[0].number, points[-1].number, low, high)
    parts = [
        *_grid(frame),
        *_dates(frame, course),
        *_changes(frame, course.shifts),
        *_band(frame, points),
        *_dots(frame, points),
    ]
    return document(size.width, size.height, parts, label=label)


def _grid(frame: _Frame) -> Iterable[str]:
    size = frame.size
    values = ticks(frame.low, frame.high, size.steps)
    for value, text in zip(values, tick_labels(values) if values else (), strict=True):
        y = frame.y(value)
        yield (
            f'<line class="chart-grid" x1="{size.left}" x2="{size.width - size.right}" '
            f'y1="{y:.1f}" y2="{y:.1f}" stroke="{LINE}"/>'
        )
        yield put_text(size.left - 8, y + 4, text, "end")


def _dates(frame: _Frame, course: Course) -> Iterable[str]:
    """Write the axis: its line, and as many dates as there is room for."""
    size = frame.size
    yield (
        f'<line class="chart-base" x1="{size.left}" x2="{size.width - size.right}" '
        f'y1="{frame.base}" y2="{frame.base}" stroke="{MUTED}"/>'
    )
    texts = [_date(point.start, course.seconds) for point in course.points]
    widest = _LETTER * (max(map(len, texts)) + 2)
    every = max(1, -int(-widest // frame.step))
    for point, text in list(zip(course.points, texts, strict=True))[::every]:
        half = _LETTER * len(text) / 2.0
        x = min(frame.x(point.number), size.width - half)
        yield put_text(x, frame.base + 19, text)


def _date(start: datetime, seconds: int) -> str:
    day = f"{start.day} {start:%b}"
    return day if seconds > _HOUR or start.hour == 0 else f"{start:%H:%M}"


def _band(frame: _Frame, points: Sequence[Point]) -> Iterable[str]:
    shown = [(frame.x(each.number), each.trend) for each in points if each.trend is not None]
    if not shown:
        return
    upper = [f"{x:.1f} {frame.y(trend.high):.1f}" for x, trend in shown]
    lower = [f"{x:.1f} {frame.y(trend.low):.1f}" for x, trend in shown]
    middle = [f"{x:.1f} {frame.y(trend.value):.1f}" for x, trend in shown]
    outline = "L".join([*upper, *reversed(lower)])
    yield f'<path class="chart-band" d="M{outline}Z" fill="{ACCENT}" fill-opacity="0.2"/>'
    yield (
        f'<path class="chart-line" d="M{"L".join(middle)}" fill="none" stroke="{ACCENT}" '
        'stroke-width="2.5" stroke-linejoin="round"/>'
    )


def _dots(frame: _Frame, points: Sequence[Point]) -> Iterable[str]:
    for point in points:
        if point.figure is None:
            continue
        x, figure = frame.x(point.number), point.figure
        top, bottom = frame.y(figure.high), frame.y(figure.low)
        yield (
            f'<line class="chart-error" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" '
            f'y2="{bottom:.1f}" stroke="{MUTED}" stroke-opacity="0.6"/>'
        )
        kind, fill = ("point", MUTED) if point.is_over else ("open", "#ffffff")
        yield (
            f'<circle class="chart-{kind}" cx="{x:.1f}" cy="{frame.y(figure.value):.1f}" '
            f'r="{frame.size.radius}" fill="{fill}" stroke="{MUTED}"/>'
        )


def _changes(frame: _Frame, shifts: Sequence[tuple[int, int, str]]) -> Iterable[str]:
    """Mark changes: between which rounds, and an arrow where it was seen."""
    top = frame.size.top
    for since, alarm, direction in shifts:
        left, right = frame.x(since - 0.5), frame.x(alarm)
        yield (
            f'<rect class="chart-since" x="{left:.1f}" y="{top}" width="{right - left:.1f}" '
            f'height="{frame.base - top}" fill="{_CHANGE}" fill-opacity="0.08"/>'
        )
        yield (
            f'<line class="chart-change" x1="{right:.1f}" x2="{right:.1f}" y1="{top - 2}" '
            f'y2="{frame.base}" stroke="{_CHANGE}" stroke-dasharray="4 4"/>'
        )
        yield (
            f'<text class="chart-arrow" x="{right:.1f}" y="{top - 6}" fill="{_CHANGE}" '
            f'text-anchor="middle" font-weight="600">{"▲" if direction == "up" else "▼"}</text>'
        )

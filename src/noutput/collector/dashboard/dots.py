"""Groups as SVG: a dot per group with its interval, one below the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from noutput._numbers import tick_labels, ticks
from noutput.collector.dashboard.labels import columns, shorten
from noutput.collector.dashboard.svg import ACCENT, LINE, document, put_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from noutput.estimate.summary import Estimate

__all__ = ["NARROW", "WIDE", "Dot", "DotsSize", "dots_svg"]

_AXIS = 26  # the height of the labels of the axis
_LETTER = 7.6  # about the width of one
_ROOM = 0.06  # of the width of all intervals, on both sides


@dataclass(frozen=True, slots=True)
class Dot:
    """A group: its name, its figure, and that as a text."""

    name: str
    figure: Estimate
    text: str


@dataclass(frozen=True, slots=True)
class DotsSize:
    """How a picture is divided.

    Parameters
    ----------
    width, row : int
        The width of all, and the height of a row.
    steps : int
        About how many ticks there is room for.
    labels, values : int
        The room for names before the dots, at most, and for texts after them.
    above : int
        The room for both above each dot instead.
    """

    width: int
    row: int
    steps: int
    labels: int = 0
    values: int = 0
    above: int = 0


WIDE = DotsSize(960, 34, 8, labels=280, values=230)
NARROW = DotsSize(380, 48, 4, above=22)


def dots_svg(dots: Sequence[Dot], size: DotsSize = WIDE, *, label: str = "") -> str:
    """Draw at least one group, from top to bottom.

    Examples
    --------
    >>> from noutput.estimate.summary import Estimate
    >>> ios, web = Estimate(50.0, 48.0, 52.0), Estimate(40.0, 36.0, 44.0)
    >>> picture = dots_svg([Dot("ios", ios, "50.0"), Dot("web", web, "40.0")])
    >>> picture.count("<circle"), picture.count('class="chart-whisker"')
    (2, 2)
    """
    low = min(each.figure.low for each in dots)
    high = max(each.figure.high for each in dots)
    span = (high - low) or 1.0
    low, high = low - _ROOM * span, high + _ROOM * span
    longest = max(columns(each.name) for each in dots)
    left = min(size.labels, int(_LETTER * longest) + 18) if size.labels else 8
    right, base = size.width - (size.values or 8), size.row * len(dots) + 4

    def x(number: float) -> float:
        return left + (min(max(number, low), high) - low) / (high - low) * (right - left)

    parts = list(_grid(size, base, [(x(each), each) for each in ticks(low, high, size.steps)]))
    for place, dot in enumerate(dots):
        top = place * size.row
        parts.extend(_texts(size, dot, top, left, right))
        ends = (x(dot.figure.low), x(dot.figure.value), x(dot.figure.high))
        parts.extend(_dot(*ends, top + size.above + (size.row - size.above) / 2))
    return document(size.width, base + _AXIS, parts, label=label)


def _grid(size: DotsSize, base: float, marks: Sequence[tuple[float, float]]) -> Iterable[str]:
    texts = tick_labels([value for _, value in marks]) if marks else []
    for (x, _), text in zip(marks, texts, strict=True):
        yield (
            f'<line class="chart-grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{base}" '
            f'stroke="{LINE}"/>'
        )
        half = _LETTER * len(text) / 2.0
        yield put_text(min(max(x, half), size.width - half), base + 19, text)


def _texts(size: DotsSize, dot: Dot, top: float, left: float, right: float) -> Iterable[str]:
    if size.above:
        room = int((size.width - _LETTER * len(dot.text) - 20) / _LETTER)
        yield put_text(2, top + size.above - 5, shorten(dot.name, room), "start", "strong")
        yield put_text(size.width - 2, top + size.above - 5, dot.text, "end")
        return
    base = top + size.row / 2 + 5
    yield put_text(left - 12, base, shorten(dot.name, int((left - 12) / _LETTER)), "end", "strong")
    yield put_text(right + 14, base, dot.text, "start")


def _dot(low: float, middle: float, high: float, y: float) -> Iterable[str]:
    yield (
        f'<line class="chart-whisker" x1="{low:.1f}" x2="{max(high, low + 1.0):.1f}" y1="{y:.1f}" '
        f'y2="{y:.1f}" stroke="{ACCENT}" stroke-width="4" stroke-linecap="round" '
        'stroke-opacity="0.35"/>'
    )
    yield f'<circle class="chart-dot" cx="{middle:.1f}" cy="{y:.1f}" r="5.5" fill="{ACCENT}"/>'

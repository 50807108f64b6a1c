"""Answers as SVG: a bar per answer, its interval, and its share as a text.

As in `noutput.collector.dashboard.chart`, colors are attributes, and classes let the page's style
sheet put others in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from noutput._numbers import ticks
from noutput.collector.dashboard.labels import columns, shorten
from noutput.collector.dashboard.svg import ACCENT, LINE, MUTED, document, put_text, rectangle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from noutput.estimate.summary import Bar

__all__ = ["NARROW", "WIDE", "BarsSize", "bars_svg"]

_HEADING = 32
_AXIS = 26  # the height of the labels of the axis
_LETTER = 7.6  # about the width of one
_HEADROOM = 1.04
_HIGHEST_BAND = 2.5  # times the largest share: a wider band is cut off
_MANY = 16  # from here on, rows are close together


@dataclass(frozen=True, slots=True)
class BarsSize:
    """How a picture is divided.

    Parameters
    ----------
    width : int
    row, close : int
        The height of a row, and that of a row among many.
    steps : int
        About how many ticks there is room for.
    labels, values : int
        The room for labels before the bars, at most, and for texts after them.
    above : int
        The room for both above each bar instead.
    """

    width: int
    row: int
    close: int
    steps: int
    labels: int = 0
    values: int = 0
    above: int = 0


WIDE = BarsSize(960, 42, 28, 8, labels=300, values=196)
NARROW = BarsSize(380, 54, 46, 4, above=22)


@dataclass(frozen=True, slots=True)
class _Frame:
    size: BarsSize
    left: float
    right: float
    top: int
    row: int
    full: float
    base: float

    def x(self, share: float) -> float:
        inside = min(max(share / self.full, 0.0), 1.0)
        return self.left + inside * (self.right - self.left)


def bars_svg(
    bars: Sequence[Bar],
    size: BarsSize = WIDE,
    full: float | None = None,
    *,
    heading: str = "",
    label: str = "",
) -> str:
    """Draw a bar per answer.

    Parameters
    ----------
    bars : sequence of Bar
        From top to bottom.
    size : BarsSize
    full : float, optional
        The share at the end of the axis; the largest that there is if not given.
    heading : str
        Written at the top of a picture that stands on its own, with a background.
    label : str
        What the picture says, for those who do not see it.
    """
    frame = _frame(bars, size, full, _HEADING if heading else 0)
    parts = [*_grid(frame), *(part for i, bar in enumerate(bars) for part in _row(frame, bar, i))]
    height = int(frame.base) + _AXIS
    return document(size.width, height, parts, heading=heading, label=label)


def _frame(bars: Sequence[Bar], size: BarsSize, full: float | None, top: int) -> _Frame:
    longest = max(columns(bar.label) for bar in bars)
    left = min(size.labels, int(_LETTER * longest) + 16) if size.labels else 1
    right = size.width - (size.values or 1)
    largest = min(max(bar.high for bar in bars), _HIGHEST_BAND * max(bar.share for bar in bars))
    row = size.close if len(bars) >= _MANY else size.row
    return _Frame(size, left, right, top, row, full or largest * _HEADROOM, top + row * len(bars))


def _grid(frame: _Frame) -> Iterable[str]:
    for share in ticks(0.0, frame.full, frame.size.steps):
        x = frame.x(share)
        kind, color = ("grid", LINE) if share else ("base", MUTED)
        yield (
            f'<line class="chart-{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top}" '
            f'y2="{frame.base}" stroke="{color}"/>'
        )
        room = _LETTER * 2.0
        middle = min(max(x, room / 2.0 + 2.0), frame.size.width - room - 2.0)
        yield put_text(middle, frame.base + 19, f"{100 * share:.3g}%")


def _row(frame: _Frame, bar: Bar, place: int) -> Iterable[str]:
    size, top = frame.size, frame.top + place * frame.row
    first = top + size.above
    height = frame.row - size.above - (14 if frame.row == size.row else 8)
    y = first + (frame.row - size.above - height) / 2.0 - (4 if size.above else 0)
    share, low, high = bar.texts
    base: float
    if size.above:
        base = top + size.above - 5
        label = shorten(bar.label, int((size.width - 150) / _LETTER))
        yield put_text(frame.left, base, label, "start", "strong")
        yield _value(frame.right, base, share, low, high, "end")
    else:
        base = top + frame.row / 2 + 5
        label = shorten(bar.label, int((frame.left - 12) / _LETTER))
        yield put_text(frame.left - 12, base, label, "end", "strong")
        yield _value(frame.right + 14, base, share, low, high, "start")
    start, end = frame.x(0.0), frame.x(bar.share)
    yield rectangle("bar", start, y, end - start, height, 0.38)
    low_x, high_x = frame.x(bar.low), frame.x(bar.high)
    yield rectangle("band", low_x, y, max(high_x - low_x, 1.0), height, 0.28)
    yield (
        f'<line class="chart-line" x1="{end:.1f}" x2="{end:.1f}" y1="{y:.1f}" '
        f'y2="{y + height:.1f}" stroke="{ACCENT}" stroke-width="3"/>'
    )


def _value(x: float, y: float, share: str, low: str, high: str, anchor: str) -> str:
    ends = f"{low.removesuffix('%')} to {high}"
    return (
        f'<text class="chart-muted" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{MUTED}">'
        f'<tspan class="chart-strong" font-weight="600">{escape(share)}</tspan>'
        f"  {escape(ends)}</text>"
    )

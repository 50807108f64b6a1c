"""The histogram as SVG: the estimate, its uncertainty and the quartiles.

Colors are attributes, so that the picture stands on its own as a file; the classes let the page's
style sheet put others in their place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from noutput._numbers import show
from noutput.collector.dashboard.ranges import ticks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["NARROW", "WIDE", "Size", "distribution_svg"]

_ACCENT, _TEXT, _MUTED, _LINE = "#2a5bd7", "#1b1f24", "#59616b", "#e3e5e8"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_MARKS = {0.25: "25% below", 0.5: "median", 0.75: "75% below"}
_HEADROOM = 1.04
_ROW = 28
_GAP = 2.0  # between bars
_LABEL = 20  # the height of a row of labels
_LETTER = 8.2  # about the width of one
_SPACIOUS = 500
_HIGHEST_BAND = 2.5  # times the highest estimate: a wider band is cut off


@dataclass(frozen=True, slots=True)
class Size:
    """How large a picture is, and about how many ticks it has room for."""

    width: int
    height: int
    steps: int

    left: int = 46
    right: int = 18
    top: int = 56
    bottom: int = 46


WIDE = Size(960, 344, 9)
NARROW = Size(380, 304, 4)


class _Frame:
    """Where numbers are in the picture."""

    def __init__(self, size: Size, lower: float, upper: float, highest: float) -> None:
        self.size = size
        self._lower, self._width = lower, upper - lower
        self._highest = highest
        self.base = size.height - size.bottom

    def x(self, value: float) -> float:
        size = self.size
        share = (value - self._lower) / self._width
        return size.left + share * (size.width - size.left - size.right)

    def y(self, share: float) -> float:
        inside = min(share / self._highest, 1.0)
        return self.base - inside * (self.base - self.size.top)


def distribution_svg(
    attribute: dict[str, Any], size: Size = WIDE, *, heading: str = "", label: str = ""
) -> str:
    """Draw the distribution of one attribute of the estimates.

    Parameters
    ----------
    attribute : dict
        As `noutput.collector.models.AttributeEstimate` describes it, with a histogram.
    size : Size
    heading : str
        Written at the top of a picture that stands on its own, with a background.
    label : str
        What the picture says, for those who do not see it.
    """
    if heading:
        size = replace(size, top=size.top + _ROW, height=size.height + _ROW)
    found = attribute["histogram"]
    shares = found["probabilities"]
    highest = min(max(found["upper"]), _HIGHEST_BAND * max(shares)) * _HEADROOM
    frame = _Frame(size, attribute["lower"], attribute["upper"], highest)
    parts = [
        *_grid(frame, highest),
        *_axis(frame, attribute),
        *_bars(frame, found),
        *_quartiles(frame, attribute["quantiles"]),
    ]
    shape = f'viewBox="0 0 {size.width} {size.height}"'
    if heading:
        parts = [*_paper(size, heading), *parts]
        shape += f' width="{size.width}" height="{size.height}"'
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" '
        f'aria-label="{escape(label or heading)}" {shape} font-family="{_FONT}" font-size="13">'
        f"{''.join(parts)}</svg>"
    )


def _text(x: float, y: float, text: str, anchor: str = "middle", kind: str = "muted") -> str:
    color = _TEXT if kind == "strong" else _MUTED
    weight = ' font-weight="600"' if kind == "strong" else ""
    return (
        f'<text class="chart-{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'fill="{color}"{weight}>{escape(text)}</text>'
    )


def _paper(size: Size, heading: str) -> list[str]:
    room = size.width // 8
    short = heading if len(heading) <= room else heading[: room - 1] + "…"
    return [
        f'<rect width="{size.width}" height="{size.height}" fill="#ffffff"/>',
        _text(size.left, 24, short, "start", "strong"),
    ]


def _grid(frame: _Frame, highest: float) -> Iterable[str]:
    size = frame.size
    for share in ticks(0.0, highest, 4)[1:]:
        y = frame.y(share)
        yield (
            f'<line class="chart-grid" x1="{size.left}" x2="{size.width - size.right}" '
            f'y1="{y:.1f}" y2="{y:.1f}" stroke="{_LINE}"/>'
        )
        yield _text(size.left - 8, y + 4, f"{100 * share:.3g}%", "end")


def _axis(frame: _Frame, attribute: dict[str, Any]) -> Iterable[str]:
    size, low, high = frame.size, attribute["lower"], attribute["upper"]
    yield (
        f'<line class="chart-base" x1="{size.left}" x2="{size.width - size.right}" '
        f'y1="{frame.base}" y2="{frame.base}" stroke="{_MUTED}"/>'
    )
    for value in ticks(low, high, size.steps):
        yield _text(frame.x(value), frame.base + 19, f"{value:,.6g}")
    unit = attribute["unit"] or attribute["name"].replace("_", " ")
    yield _text(size.width - size.right, frame.base + 38, unit, "end")


def _bars(frame: _Frame, found: dict[str, Any]) -> Iterable[str]:
    """Draw a bar for every bin, its uncertainty as a lighter one, and its estimate as a line."""
    shares, lows, highs = (found[name] for name in ("probabilities", "lower", "upper"))
    outline = []
    for (start, end), share, low, high in zip(
        pairwise(found["edges"]), shares, lows, highs, strict=True
    ):
        x, width = frame.x(start), frame.x(end) - frame.x(start)
        shape = f'x="{x + _GAP / 2:.1f}" width="{max(width - _GAP, 1.0):.1f}"'
        yield _rectangle("area", shape, frame.y(share), frame.base, 0.10)
        yield _rectangle("band", shape, frame.y(high), frame.y(low), 0.20)
        outline.append(f"M{x + _GAP / 2:.1f} {frame.y(share):.1f}h{max(width - _GAP, 1.0):.1f}")
    yield (
        f'<path class="chart-line" d="{"".join(outline)}" fill="none" stroke="{_ACCENT}" '
        f'stroke-width="3"/>'
    )


def _rectangle(kind: str, shape: str, top: float, bottom: float, opacity: float) -> str:
    return (
        f'<rect class="chart-{kind}" {shape} y="{top:.1f}" height="{bottom - top:.1f}" '
        f'fill="{_ACCENT}" fill-opacity="{opacity}"/>'
    )


def _quartiles(frame: _Frame, quantiles: Sequence[dict[str, Any]]) -> Iterable[str]:
    """Mark the quartiles: the median's label above, the others' beside their lines."""
    size = frame.size
    for each in quantiles:
        share, value = each["share"], each["value"]
        if share not in _MARKS:
            continue
        low, high = each["interval"]
        x, middle = frame.x(value), share == 0.5
        top = size.top - (_LABEL + 8 if middle else 16)
        dashes = "" if middle else ' stroke-dasharray="3 4"'
        yield (
            f'<line class="chart-mark" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{frame.base}" '
            f'stroke="{_TEXT}"{dashes}/>'
        )
        name = _MARKS[share] if size.width > _SPACIOUS else _MARKS[share].removesuffix(" below")
        text = f"{name} {show(value, (high - low) / 2.0 or None)}"
        room = _LETTER * len(text)
        if middle:
            center = min(max(x, room / 2.0), size.width - room / 2.0)
            yield _text(center, top - 6, text, "middle", "strong")
            continue
        left = share < 0.5
        inside = x - room > 0.0 if left else x + room < size.width
        # a label that has no room on its own side goes to the other, in a row of its own
        anchor, shift = ("end", -6) if left == inside else ("start", 6)
        yield _text(x + shift, top + (9 if inside else 9 + _LABEL), text, anchor, "strong")

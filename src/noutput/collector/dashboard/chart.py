"""The distribution as SVG: the estimate, its uncertainty and the quartiles.

Colors are attributes, so that the picture stands on its own as a file; the classes let the page's
style sheet put others in their place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from noutput._numbers import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["NARROW", "WIDE", "Size", "distribution_svg", "ticks"]

_ACCENT, _TEXT, _MUTED, _LINE = "#2a5bd7", "#1b1f24", "#59616b", "#e3e5e8"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_MARKS = {0.25: "25% below", 0.5: "median", 0.75: "75% below"}
_HEADROOM = 1.04
_ROW = 28
_HIGHEST_BAND = 2.5  # times the highest estimate: a wider band is cut off


@dataclass(frozen=True, slots=True)
class Size:
    """How large a picture is, and about how many ticks it has room for."""

    width: int
    height: int
    steps: int

    left: int = 46
    right: int = 18
    top: int = 46
    bottom: int = 46


WIDE = Size(960, 340, 9)
NARROW = Size(380, 300, 4)


def ticks(low: float, high: float, steps: int) -> list[float]:
    """Return round numbers between two ends, about so many.

    Examples
    --------
    >>> ticks(0.0, 180.0, 6)
    [0.0, 50.0, 100.0, 150.0]
    >>> ticks(0.0, 0.043, 4)
    [0.0, 0.01, 0.02, 0.03, 0.04]
    """
    rough = (high - low) / steps
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * min((1.0, 2.0, 2.5, 5.0, 10.0), key=lambda each: abs(each - rough / power))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


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

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)


def distribution_svg(
    attribute: dict[str, Any], size: Size = WIDE, *, heading: str = "", label: str = ""
) -> str:
    """Draw the distribution of one attribute of the estimates.

    Parameters
    ----------
    attribute : dict
        As `noutput.collector.models.AttributeEstimate` describes it, with a distribution.
    size : Size
    heading : str
        Written at the top of a picture that stands on its own, with a background.
    label : str
        What the picture says, for those who do not see it.
    """
    if heading:
        size = replace(size, top=size.top + _ROW, height=size.height + _ROW)
    found = attribute["distribution"]
    edges, shares = found["edges"], found["probabilities"]
    highest = min(max(found["upper"]), _HIGHEST_BAND * max(shares)) * _HEADROOM
    frame = _Frame(size, attribute["lower"], attribute["upper"], highest)
    parts = [
        *_grid(frame, highest),
        *_axis(frame, attribute),
        *_curve(frame, edges, shares, found["lower"], found["upper"]),
        *_quartiles(frame, attribute["quantiles"]),
    ]
    if heading:
        parts = [*_paper(size, heading), *parts]
    shape = f'viewBox="0 0 {size.width} {size.height}" font-family="{_FONT}" font-size="13"'
    name = escape(label or heading)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-label="{name}" '
        f"{shape}>{''.join(parts)}</svg>"
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


def _curve(
    frame: _Frame,
    edges: Sequence[float],
    shares: Sequence[float],
    lower: Sequence[float],
    upper: Sequence[float],
) -> Iterable[str]:
    """Draw lines through the middles of the bins, and level to both ends."""

    def line(values: Sequence[float]) -> list[tuple[float, float]]:
        middles = [(low + high) / 2.0 for low, high in pairwise(edges)]
        inner = list(zip(middles, values, strict=True))
        return [(edges[0], values[0]), *inner, (edges[-1], values[-1])]

    area = frame.path([(edges[0], 0.0), *line(shares), (edges[-1], 0.0)])
    band = frame.path([*line(upper), *reversed(line(lower))])
    yield f'<path class="chart-area" d="{area}Z" fill="{_ACCENT}" fill-opacity="0.07"/>'
    yield f'<path class="chart-band" d="{band}Z" fill="{_ACCENT}" fill-opacity="0.18"/>'
    yield (
        f'<path class="chart-line" d="{frame.path(line(shares))}" fill="none" '
        f'stroke="{_ACCENT}" stroke-width="2.5" stroke-linejoin="round"/>'
    )


def _quartiles(frame: _Frame, quantiles: Sequence[dict[str, Any]]) -> Iterable[str]:
    """Mark the quartiles; the median's label has a row of its own, so that none overlap."""
    size = frame.size
    for each in quantiles:
        name = _MARKS.get(each["share"])
        if name is None:
            continue
        low, high = each["interval"]
        half = (high - low) / 2.0
        x, middle = frame.x(each["value"]), each["share"] == 0.5
        top = size.top - (20 if middle else 2)
        yield (
            f'<line class="chart-mark" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{frame.base}" '
            f'stroke="{_TEXT}" stroke-dasharray="{"none" if middle else "3 4"}"/>'
        )
        text = f"{name} {show(each['value'], half or None)}"
        anchor, shift = ("middle", 0) if middle else ("end", -6)
        if each["share"] > 0.5:
            anchor, shift = "start", 6
        room = 7.2 * len(text)
        if anchor == "end" and x - room < 0:
            anchor, shift = "start", 6
        elif anchor == "start" and x + room > size.width:
            anchor, shift = "end", -6
        elif anchor == "middle":
            x = min(max(x, room / 2), size.width - room / 2)
        yield _text(x + shift, top - 6 if middle else top + 9, text, anchor, "strong")

"""The histogram as SVG: the estimate, its uncertainty and the quartiles.

Colors are attributes, so that the picture stands on its own as a file; the classes let the page's
style sheet put others in their place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from noutput._numbers import tick_labels, ticks
from noutput.collector.dashboard.labels import place_labels, shorten
from noutput.collector.dashboard.svg import (
    ACCENT,
    LINE,
    MUTED,
    TEXT,
    document,
    put_text,
    rectangle,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from noutput.estimate.summary import Estimate, Histogram

__all__ = ["NARROW", "WIDE", "Size", "distribution_svg"]

_MARKS = {0.25: "25% below", 0.5: "median", 0.75: "75% below"}
_HEADROOM = 1.04
_HEADING = 28  # the height of the heading
_GAP = 2.0  # between bars
_LABEL = 20  # the height of a row of labels
_BASELINE = 15  # of a label, from the top of its row
_LETTER, _THIN_LETTER = 8.4, 7.8  # about the width of one, in labels of quartiles and of ticks
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
    top: int = 8
    bottom: int = 46


WIDE = Size(960, 344, 9)
NARROW = Size(380, 304, 4)


class _Frame:
    """Where numbers are in the picture, and how many rows of labels stand above it."""

    def __init__(self, size: Size, found: Histogram, quantiles: Mapping[float, Estimate]) -> None:
        self.size = size
        self.lower, self.upper = found.edges[0], found.edges[-1]
        highest = _HIGHEST_BAND * max(found.probabilities)
        self.highest: float = min(max(found.upper), highest) * _HEADROOM
        self.base = size.height - size.bottom
        self.quartiles = {share: quantiles[share] for share in _MARKS}
        self.texts = [self._name(*each) for each in self.quartiles.items()]
        lines = [self.x(each.value) for each in self.quartiles.values()]
        widths = [_LETTER * len(text) for text in self.texts]
        self.labels = place_labels(lines, widths, (0.0, size.width))
        rows = max((1 + each.row for each in self.labels if each is not None), default=0)
        self.top = size.top + rows * _LABEL + 8

    def _name(self, share: float, figure: Estimate) -> str:
        name = _MARKS[share]
        if self.size.width <= _SPACIOUS:
            name = name.removesuffix(" below")
        return f"{name} {figure.texts[0]}"

    def x(self, value: float) -> float:
        size = self.size
        share = (value - self.lower) / (self.upper - self.lower)
        return size.left + share * (size.width - size.left - size.right)

    def y(self, share: float) -> float:
        inside = min(share / self.highest, 1.0)
        return self.base - inside * (self.base - self.top)


def distribution_svg(
    found: Histogram,
    quantiles: Mapping[float, Estimate],
    axis: str,
    size: Size = WIDE,
    *,
    heading: str = "",
    label: str = "",
    note: str = "",
) -> str:
    """Draw the distribution of a number.

    Parameters
    ----------
    found : Histogram
    quantiles : mapping of float to Estimate
        The quartiles among them are marked.
    axis : str
        What the numbers are, or their unit.
    size : Size
    heading : str
        Written at the top of a picture that stands on its own, with a background.
    label : str
        What the picture says, for those who do not see it.
    note : str
        Written at the foot of a picture that stands on its own.
    """
    if heading:
        size = replace(size, top=size.top + _HEADING, height=size.height + _HEADING)
    frame = _Frame(size, found, quantiles)
    parts = [
        *_grid(frame),
        *_axis(frame, axis),
        *_bars(frame, found),
        *_quartiles(frame),
    ]
    if heading and note:
        room = int((size.width - size.left) / _LETTER) - len(axis) - 2
        parts.append(put_text(size.left, frame.base + 38, shorten(note, room), "start"))
    return document(size.width, size.height, parts, heading=heading, label=label)


def _grid(frame: _Frame) -> Iterable[str]:
    size = frame.size
    for share in ticks(0.0, frame.highest, 4)[1:]:
        y = frame.y(share)
        yield (
            f'<line class="chart-grid" x1="{size.left}" x2="{size.width - size.right}" '
            f'y1="{y:.1f}" y2="{y:.1f}" stroke="{LINE}"/>'
        )
        yield put_text(size.left - 8, y + 4, f"{100 * share:.3g}%", "end")


def _axis(frame: _Frame, name: str) -> Iterable[str]:
    size = frame.size
    yield (
        f'<line class="chart-base" x1="{size.left}" x2="{size.width - size.right}" '
        f'y1="{frame.base}" y2="{frame.base}" stroke="{MUTED}"/>'
    )
    for value, text in _fitting_ticks(frame):
        half = _THIN_LETTER * len(text) / 2.0 + 3.0
        yield put_text(min(frame.x(value), size.width - half), frame.base + 19, text)
    short = shorten(name, int((size.width - size.left) / _LETTER))
    yield put_text(size.width - size.right, frame.base + 38, short, "end")


def _fitting_ticks(frame: _Frame) -> list[tuple[float, str]]:
    """Return the ticks of the axis and their labels: so many that none touches the next."""
    for steps in range(frame.size.steps, 0, -1):
        values = ticks(frame.lower, frame.upper, steps)
        texts = tick_labels(values)
        widest = _THIN_LETTER * (max(map(len, texts)) + 1)
        if len(values) < 2 or frame.x(values[1]) - frame.x(values[0]) > widest:
            break
    return list(zip(values, texts, strict=True))


def _bars(frame: _Frame, found: Histogram) -> Iterable[str]:
    """Draw a bar for every bin, its uncertainty as a lighter one, and its estimate as a line."""
    outline = []
    for (start, end), share, low, high in zip(
        pairwise(found.edges), found.probabilities, found.lower, found.upper, strict=True
    ):
        x, width = frame.x(start), frame.x(end) - frame.x(start)
        start, inner = x + _GAP / 2, max(width - _GAP, 1.0)
        top, upper = frame.y(share), frame.y(high)
        yield rectangle("area", start, top, inner, frame.base - top, 0.10)
        yield rectangle("band", start, upper, inner, frame.y(low) - upper, 0.20)
        outline.append(f"M{x + _GAP / 2:.1f} {frame.y(share):.1f}h{max(width - _GAP, 1.0):.1f}")
    yield (
        f'<path class="chart-line" d="{"".join(outline)}" fill="none" stroke="{ACCENT}" '
        f'stroke-width="3"/>'
    )


def _quartiles(frame: _Frame) -> Iterable[str]:
    """Mark the quartiles by lines, and name them where there is room for it."""
    marks = zip(frame.quartiles.items(), frame.texts, frame.labels, strict=True)
    for (share, figure), text, label in marks:
        top = frame.top
        if label is not None:
            top = frame.size.top + label.row * _LABEL
            yield put_text(label.x, top + _BASELINE, text, label.anchor, "strong")
            top += _LABEL if label.anchor == "middle" else 4
        x = frame.x(figure.value)
        dashes = "" if share == 0.5 else ' stroke-dasharray="3 4"'
        yield (
            f'<line class="chart-mark" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" '
            f'y2="{frame.base}" stroke="{TEXT}"{dashes}/>'
        )

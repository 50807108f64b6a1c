"""Sparklines: a figure with its interval over the releases of a campaign, in a line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from noutput.collector.dashboard.svg import ACCENT, document

if TYPE_CHECKING:
    from noutput.estimate.summary import Estimate

__all__ = ["sparkline_svg"]

_WIDTH, _HEIGHT, _MARGIN = 240, 56, 4
_POINTS = 40  # more cannot be told apart
_EARLY = 0.25  # of the releases: their intervals would leave no room for the others'


def sparkline_svg(figures: Sequence[Estimate], *, label: str) -> str:
    """Draw the figures of at least two releases, the last one with a dot.

    Examples
    --------
    >>> from noutput.estimate.summary import Estimate
    >>> figures = [Estimate(30.0, 10.0, 50.0), Estimate(34.0, 28.0, 40.0)]
    >>> picture = sparkline_svg(figures, label="Average")
    >>> picture.count("<path"), picture.count("<circle")
    (2, 1)
    """
    shown = _thinned(figures)
    late = shown[math.floor(_EARLY * len(shown)) :]
    bottom, top = min(each.low for each in late), max(each.high for each in late)
    span = (top - bottom) or 1.0
    step = (_WIDTH - 2 * _MARGIN) / (len(shown) - 1)

    def place(index: int, number: float) -> str:
        share = (min(max(number, bottom), top) - bottom) / span
        y = _HEIGHT - _MARGIN - share * (_HEIGHT - 2 * _MARGIN)
        return f"{_MARGIN + index * step:.1f} {y:.1f}"

    values = [place(index, each.value) for index, each in enumerate(shown)]
    upper = [place(index, each.high) for index, each in enumerate(shown)]
    lower = [place(index, each.low) for index, each in enumerate(shown)]
    x, y = values[-1].split(" ")
    outline = "L".join([*upper, *reversed(lower)])
    parts = (
        f'<path class="chart-band" d="M{outline}Z" fill="{ACCENT}" fill-opacity="0.2"/>',
        f'<path class="chart-line" d="M{"L".join(values)}" fill="none" stroke="{ACCENT}"/>',
        f'<circle class="chart-dot" cx="{x}" cy="{y}" r="3" fill="{ACCENT}"/>',
    )
    return document(_WIDTH, _HEIGHT, parts, label=label)


def _thinned(figures: Sequence[Estimate]) -> list[Estimate]:
    """Return so many figures that their points differ, with the first and the last."""
    if len(figures) <= _POINTS:
        return list(figures)
    last = len(figures) - 1
    return [figures[round(place * last / (_POINTS - 1))] for place in range(_POINTS)]

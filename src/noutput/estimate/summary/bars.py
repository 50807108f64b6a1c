"""Bars of a histogram: as many as the reports can tell apart.

Notes
-----
Without assumptions, reports tell little about the share of a narrow bin: most of what seems to be
in it may as well be in its neighbors. Bars are wide enough where their intervals are, on average,
no wider than an even share: that of 4 bars within 12.5 points, of 10 bars within 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.estimate.counts import Array
    from noutput.estimate.intervals import Intervals

__all__ = ["bar_edges", "edges_within", "told_apart"]

Bars: TypeAlias = tuple["Array", "Array", "Array"]

_ALWAYS = (2, 4)
_SIDES = (slice(None, -1), slice(1, None))  # of bars, among their edges


def bar_edges(lower: float, upper: float, most: int) -> list[Array]:
    """Return the edges of equal bars between two bounds: so many, and fewer, most first.

    Examples
    --------
    >>> [len(edges) - 1 for edges in bar_edges(0, 180, 18)]
    [18, 9, 6, 4, 3, 2]
    >>> bar_edges(0, 180, 18)[2].tolist()
    [0.0, 30.0, 60.0, 90.0, 120.0, 150.0, 180.0]
    >>> [len(edges) - 1 for edges in bar_edges(0, 13, 13)]
    [13, 4, 2]
    """
    numbers = {*_ALWAYS, *(k for k in range(2, most + 1) if most % k == 0)}
    return [np.linspace(lower, upper, 1 + number) for number in sorted(numbers, reverse=True)]


def edges_within(steps: Sequence[Array], lower: float, upper: float) -> list[Array]:
    """Return bars of narrow bounds with one bar on each side of them, up to wider bounds.

    Examples
    --------
    >>> [edges.tolist() for edges in edges_within([np.array([0.0, 60.0, 120.0])], 0.0, 600.0)]
    [[0.0, 60.0, 120.0, 600.0]]
    """
    return [np.unique(np.concatenate([[lower], edges, [upper]])) for edges in steps]


def told_apart(found: Intervals, steps: Sequence[Array], beyond: int = 0) -> Bars:
    """Return edges and ends of the intervals of the most bars that can be told apart.

    Parameters
    ----------
    found : Intervals
        All edges are named.
    steps : sequence of arrays
        The edges of the bars to choose from, most first. The last are taken where none will do.
    beyond : int
        How many of the bars are one of the sides of `edges_within`.

    Notes
    -----
    Looked at are four bars and the next more, and from there still more, two by two, or all fewer
    ones, up to the first that decide: intervals of many bars take hardly longer than those of one.
    """
    counts = [len(edges) - 1 for edges in steps]
    place = counts.index(_ALWAYS[-1] + beyond)
    first, *ahead = _look(found, steps[max(place - 1, 0) : place + 1][::-1])
    if not _are_told(first):
        fewer = [first, *_look(found, steps[place + 1 :])]
        return next(filter(_are_told, fewer), fewer[-1])
    told = first
    while ahead:
        for bars in ahead:
            if not _are_told(bars):
                return told
            told, place = bars, place - 1
        ahead = _look(found, steps[max(place - 2, 0) : place][::-1])
    return told


def _look(found: Intervals, steps: Sequence[Array]) -> list[Bars]:
    """Return the intervals of several choices of bars."""
    if not steps:
        return []
    starts, ends = (np.concatenate([edges[part] for edges in steps]) for part in _SIDES)
    last = np.cumsum([len(edges) - 1 for edges in steps])[:-1]
    low, high = (np.split(each, last) for each in found.shares(starts, ends))
    return list(zip(steps, low, high, strict=True))


def _are_told(bars: Bars) -> bool:
    _, low, high = bars
    return float(np.mean(high - low)) <= 1.0 / len(low)

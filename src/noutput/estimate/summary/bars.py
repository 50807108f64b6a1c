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

__all__ = ["bar_edges", "bar_intervals", "told_apart"]

Bars: TypeAlias = tuple["Array", "Array", "Array"]

_ALWAYS = (2, 4)


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


def bar_intervals(found: Intervals, steps: Sequence[Array]) -> list[Bars]:
    """Return edges, lower and upper ends of the intervals of several sets of bars.

    Parameters
    ----------
    found : Intervals
        All edges are named.
    steps : sequence of arrays
        The edges.
    """
    starts = np.concatenate([edges[:-1] for edges in steps])
    low, high = found.shares(starts, np.concatenate([edges[1:] for edges in steps]))
    ends = np.cumsum([len(edges) - 1 for edges in steps])[:-1]
    return list(zip(steps, np.split(low, ends), np.split(high, ends), strict=True))


def told_apart(sets: Sequence[Bars]) -> Bars:
    """Return the first set of bars that can be told apart, or the last where none can.

    Examples
    --------
    >>> wide = (np.array([0.0, 1.0, 2.0]), np.zeros(2), np.ones(2))
    >>> narrow = (np.array([0.0, 1.0, 2.0]), np.full(2, 0.4), np.full(2, 0.6))
    >>> told_apart([wide, narrow]) is narrow, told_apart([wide]) is wide
    (True, True)
    """
    for bars in sets:
        _, low, high = bars
        if float(np.mean(high - low)) <= 1.0 / len(low):
            return bars
    return sets[-1]

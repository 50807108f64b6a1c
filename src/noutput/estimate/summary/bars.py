"""Bars of a histogram: as many as the reports can tell apart.

Notes
-----
Without assumptions, reports tell little about the share of a narrow bin: most of what seems to be
in it may as well be in its neighbors. Bars are wide enough where their intervals are, on average,
no wider than an even share: that of 4 bars within 12.5 points, of 10 bars within 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.estimate.counts import Array
    from noutput.estimate.intervals import Intervals

__all__ = ["bar_edges", "told_apart"]

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


def told_apart(found: Intervals, steps: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Return edges and ends of the intervals of the most bars that can be told apart.

    Parameters
    ----------
    found : Intervals
        All edges are named.
    steps : sequence of arrays
        The edges of the bars to choose from, most first. The last are taken where none will do.
    """
    starts = np.concatenate([edges[:-1] for edges in steps])
    stops = np.concatenate([edges[1:] for edges in steps])
    low, high = found.shares(starts, stops)
    first = 0
    for edges in steps:
        count = len(edges) - 1
        mine = slice(first, first + count)
        if edges is steps[-1] or float(np.mean(high[mine] - low[mine])) <= 1.0 / count:
            return edges, low[mine], high[mine]
        first += count
    raise AssertionError  # pragma: no cover (the last are taken)

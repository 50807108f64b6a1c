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

__all__ = ["FEWEST", "bar_edges", "numbers_of_bars", "told_apart"]

FEWEST = 2
_ALWAYS = (2, 4)


def numbers_of_bars(bins: int, most: int) -> list[int]:
    """Return into how many equal bars a histogram of equal bins may be joined, most first.

    Examples
    --------
    >>> numbers_of_bars(72, 18), numbers_of_bars(52, 13), numbers_of_bars(7, 7)
    ([18, 9, 6, 4, 3, 2], [13, 4, 2], [7])
    """
    wanted = {k for k in range(FEWEST, most + 1) if most % k == 0}
    wanted |= {k for k in _ALWAYS if k <= most and bins % k == 0}
    return sorted(wanted, reverse=True)


def bar_edges(edges: Array, numbers: Sequence[int]) -> list[Array]:
    """Return the edges of so many bars each, which are edges of the bins."""
    bins = len(edges) - 1
    return [edges[:: bins // number] for number in numbers]


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

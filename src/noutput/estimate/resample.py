"""Bootstrap: counts drawn again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.errors import InvalidArgumentError
from noutput.estimate.counts import Counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.estimate.counts import Array

__all__ = ["generator", "redraw", "redraw_parts"]

_LARGEST_TOTAL = 1 << 62  # with so many reports nothing is left to chance


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """Return the given generator, or a fresh one; nothing secret is drawn here."""
    if rng is None:
        return np.random.default_rng()
    if isinstance(rng, np.random.Generator):
        return rng
    raise InvalidArgumentError("rng", "be a numpy Generator or None", rng)


def redraw(chances: Array, total: int, size: int, rng: np.random.Generator) -> Counts:
    """Draw the counts of `size` campaigns with `total` reports of the given probabilities."""
    reports = min(total, _LARGEST_TOTAL)
    drawn = rng.multinomial(reports, chances / chances.sum(), size=size)
    return Counts(drawn / reports, np.full(size, float(reports)))


def redraw_parts(
    chances: Array, parts: Sequence[tuple[int, int]], size: int, rng: np.random.Generator
) -> Array:
    """Draw the shares of all cells in `size` campaigns whose parts have given numbers of reports.

    Parameters
    ----------
    chances : array of shape (J,)
    parts : sequence of (cells, reports)
    size : int
    rng : numpy Generator

    Examples
    --------
    >>> rng = np.random.default_rng(7)
    >>> redraw_parts(np.array([0.2, 0.2, 0.6]), [(2, 40), (1, 60)], 1, rng).round(2).tolist()
    [[0.21, 0.19, 0.6]]
    """
    if len(parts) == 1:
        return redraw(chances, parts[0][1], size, rng).shares
    everything = sum(reports for _, reports in parts)
    drawn, start = [], 0
    for cells, reports in parts:
        found = redraw(chances[start : start + cells], reports, size, rng)
        drawn.append(found.shares * (reports / everything))
        start += cells
    return np.concatenate(drawn, axis=1)

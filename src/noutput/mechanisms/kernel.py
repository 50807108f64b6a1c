"""Drawing many reports from a table: the array form of `noutput.mechanisms.exact.draw`.

Both searches (which cell holds x, which output holds the threshold) start from a lookup table
over equal buckets and then step over the few boundaries that share a bucket. The result equals
that of the plain-Python path for every input and every word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.mechanisms.exact import SCALE, SCALE_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CHUNK", "TableKernel"]

CHUNK = 1 << 14  # values drawn at once: the temporaries of a chunk stay in the processor's cache
_CELL_BUCKETS = 1024
_MOST_STEPS = 6
_ROUNDING = 2.0**-50
_LARGEST_GUIDE_BITS = 12


class TableKernel:
    """Lookup tables made from the knots and weights of one mechanism.

    Parameters
    ----------
    knots : array of shape (K,)
    weights : array of shape (K, N)
        Positive whole numbers; every row adds up to 2^32.
    """

    def __init__(self, knots: NDArray[np.float64], weights: NDArray[np.int64]) -> None:
        self._n_outputs = weights.shape[1]
        self._build_cells(knots)
        self._build_guide(weights)

    def _build_cells(self, knots: NDArray[np.float64]) -> None:
        self._left = knots[:-1].copy()
        self._rise = SCALE / np.diff(knots)
        self._right = np.append(knots[1:-1], np.inf)
        # x + 1 rounds, so a bucket may receive numbers a little to the left of its edge
        edges = np.arange(_CELL_BUCKETS + 2) * (2.0 / _CELL_BUCKETS) - 1.0
        first = np.searchsorted(knots, edges[:-1] - _ROUNDING, side="right") - 1
        last = np.searchsorted(knots, edges[1:] + _ROUNDING, side="right") - 1
        self._first_cell = np.clip(first, 0, len(knots) - 2)
        self._cell_steps = int(np.max(np.clip(last, 0, len(knots) - 2) - self._first_cell))
        self._knots = knots

    def _build_guide(self, weights: NDArray[np.int64]) -> None:
        sums = np.cumsum(weights, axis=1)
        last = sums - 1  # the largest 32-bit number that still selects the output
        self._last = last.astype(np.uint32).ravel()
        for bits in range(8, _LARGEST_GUIDE_BITS + 1):
            edges = np.arange((1 << bits) + 1, dtype=np.int64) << (SCALE_BITS - bits)
            starts = np.stack([np.searchsorted(row, edges, side="right") for row in sums])
            # the end of a bucket belongs to the next one
            ends = np.stack([np.searchsorted(row, edges - 1, side="right") for row in sums])
            steps = int(np.max(ends[:, 1:] - starts[:, :-1]))
            if steps <= 2:
                break
        rows = np.arange(len(weights))[:, None] * self._n_outputs
        self._guide = (starts[:, :-1] + rows).astype(np.int32).ravel()
        self._guide_bits = bits
        self._guide_steps = steps
        self._keys = (sums + (np.arange(len(weights), dtype=np.int64)[:, None] << 32)).ravel()

    def _rows(self, x: NDArray[np.float64], high: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Round every number to a neighbouring knot."""
        if self._cell_steps > _MOST_STEPS:
            cell = np.searchsorted(self._knots, x, side="right") - 1
            np.minimum(cell, len(self._knots) - 2, out=cell)
        else:
            bucket = (x + 1.0) * (_CELL_BUCKETS / 2)
            cell = self._first_cell.take(bucket.astype(np.intp))
            for _ in range(self._cell_steps):
                cell += x >= self._right.take(cell)
        position = x - self._left.take(cell)
        position *= self._rise.take(cell)
        cell += high.astype(np.float64) < position
        return cell

    def draw(
        self, x: NDArray[np.float64], words: NDArray[np.uint64], out: NDArray[np.uint8]
    ) -> None:
        """Write the outputs for numbers of [-1, 1], one word each."""
        row = self._rows(x, words >> np.uint64(SCALE_BITS))
        low = words.astype(np.uint32)  # the lower half
        if self._guide_steps > _MOST_STEPS:
            keys = (row << SCALE_BITS) | low
            place = np.searchsorted(self._keys, keys, side="right")
        else:
            bucket = (row << self._guide_bits) + (low >> np.uint32(SCALE_BITS - self._guide_bits))
            place = self._guide.take(bucket)
            for _ in range(self._guide_steps):
                place += low > self._last.take(place)
        row *= self._n_outputs
        np.subtract(place, row, out=out, casting="unsafe")

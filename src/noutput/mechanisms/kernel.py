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

__all__ = ["CHUNK", "RowKernel", "TableKernel"]

CHUNK = 1 << 14  # values drawn at once: the temporaries of a chunk stay in the processor's cache
_BUCKETS = 1 << 12  # between the first and the last knot
_SMALLEST_GUIDE_BITS = 8
_LARGEST_GUIDE_BITS = 12
_LARGEST_GUIDE = 1 << 20  # entries
_MOST_STEPS = 6
_LOW = SCALE - 1


class RowKernel:
    """Lookup tables made from the rows of one table.

    Parameters
    ----------
    weights : array of shape (K, N)
        Positive whole numbers; every row adds up to 2^32.
    """

    def __init__(self, weights: NDArray[np.int64]) -> None:
        self._n_outputs = weights.shape[1]
        self._build_guide(weights)

    def _build_guide(self, weights: NDArray[np.int64]) -> None:
        sums = np.cumsum(weights, axis=1)
        rows = np.arange(len(weights), dtype=np.int64)[:, None]
        self._keys = (sums + (rows << SCALE_BITS)).ravel()
        for bits in range(_SMALLEST_GUIDE_BITS, _LARGEST_GUIDE_BITS + 1):
            edges = np.arange((1 << bits) + 1, dtype=np.int64) << (SCALE_BITS - bits)
            starts = np.stack([np.searchsorted(row, edges, side="right") for row in sums])
            # the end of a bucket belongs to the next one
            ends = np.stack([np.searchsorted(row, edges - 1, side="right") for row in sums])
            self._guide_steps = int(np.max(ends[:, 1:] - starts[:, :-1]))
            if self._guide_steps <= 2 or len(weights) << (bits + 1) > _LARGEST_GUIDE:
                break
        self._guide_shift = SCALE_BITS - bits
        first = starts[:, :-1]
        # Adding the lower half of a word to `2^32 - threshold` carries into bit 32 if and only if
        # the threshold is passed, so one sum gives an output and its first step.
        self._guide = (self._distances(sums, first) + ((first - rows) << SCALE_BITS)).ravel()
        later = range(1, self._guide_steps) if self._guide_steps <= _MOST_STEPS else ()
        self._later = [self._distances(sums, first + step).ravel() for step in later]

    def _distances(self, sums: NDArray[np.int64], outputs: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return 2^32 less the threshold after each output of a row; 0 after the last."""
        last = np.minimum(outputs, self._n_outputs - 1)
        result: NDArray[np.int64] = SCALE - np.take_along_axis(sums, last, axis=1)
        return result

    def draw_from_rows(
        self, row: NDArray[np.int64], words: NDArray[np.uint64], out: NDArray[np.uint8]
    ) -> None:
        """Write the outputs for places of rows, one word each; `row` is used as memory."""
        low = words.view(np.int64) & _LOW
        row <<= SCALE_BITS
        key = row | low
        if self._guide_steps > _MOST_STEPS:
            place = np.searchsorted(self._keys, key, side="right")
            row >>= SCALE_BITS
            row *= self._n_outputs
            np.subtract(place, row, out=out, casting="unsafe")
            return
        bucket = np.right_shift(key, self._guide_shift, out=row)
        total = self._guide.take(bucket)
        total += key
        total >>= SCALE_BITS
        for table in self._later:
            step = table.take(bucket)
            step += low
            step >>= SCALE_BITS
            total += step
        out[:] = total


class TableKernel(RowKernel):
    """Lookup tables made from the knots and weights of one mechanism.

    Parameters
    ----------
    knots : array of shape (K,)
        In any unit; they do not decrease.
    weights : array of shape (K, N)
        As `RowKernel` takes them.
    """

    def __init__(self, knots: NDArray[np.float64], weights: NDArray[np.int64]) -> None:
        super().__init__(weights)
        self._build_cells(knots)

    def _build_cells(self, knots: NDArray[np.float64]) -> None:
        self._knots = knots
        self._left = knots[:-1].copy()
        width = np.diff(knots)
        width[width == 0.0] = np.inf  # between the sides of a jump lies no number
        with np.errstate(over="ignore"):  # knots may lie closer than 2^-990, as in plain Python
            self._rise = SCALE / width
            self._buckets_per_unit = float(_BUCKETS / (knots[-1] - knots[0]))
        self._right = np.append(knots[1:-1], np.inf)
        self._cell_steps = _MOST_STEPS + 1
        if self._buckets_per_unit == np.inf:
            return
        # Buckets rise with x, whatever rounding does to them. So a number lies above all knots of
        # earlier buckets and below all knots of later ones, and is compared with those of its own.
        counts = np.bincount(self._bucket(knots), minlength=_BUCKETS + 2)
        first = np.cumsum(counts) - counts - 1
        # rows are shifted by 32 bits, so they need 64 where indexes have 32
        self._first_cell = np.clip(first, 0, len(knots) - 2).astype(np.int64)
        last = np.clip(first + counts, 0, len(knots) - 2)
        self._cell_steps = int(np.max(last - self._first_cell))

    def _bucket(self, x: NDArray[np.float64]) -> NDArray[np.int64]:
        distance = x - self._knots[0]
        distance *= self._buckets_per_unit
        result: NDArray[np.int64] = distance.astype(np.int64)
        return result

    def _rows(self, x: NDArray[np.float64], high: NDArray[np.int64]) -> NDArray[np.int64]:
        """Round every number to an end of its cell."""
        if self._cell_steps > _MOST_STEPS:
            cell = np.searchsorted(self._knots, x, side="right").astype(np.int64, copy=False)
            cell -= 1
            np.minimum(cell, len(self._knots) - 2, out=cell)
        else:
            cell = self._first_cell.take(self._bucket(x))
            for _ in range(self._cell_steps):
                cell += x >= self._right.take(cell)
        position = x - self._left.take(cell)
        with np.errstate(invalid="ignore", over="ignore"):
            position *= self._rise.take(cell)
        cell += high.astype(np.float64) < position
        return cell

    def draw(
        self, x: NDArray[np.float64], words: NDArray[np.uint64], out: NDArray[np.uint8]
    ) -> None:
        """Write the outputs for numbers between the outer knots, one word each."""
        # numpy turns signed numbers into floats eight times as fast as unsigned ones
        row = self._rows(x, (words >> np.uint64(SCALE_BITS)).view(np.int64))
        self.draw_from_rows(row, words, out)

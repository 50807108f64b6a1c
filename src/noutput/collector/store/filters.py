"""Filter of ids that are on disk: one byte per slot says which of them need not be looked up."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

__all__ = ["ANY", "Filters", "build_filter", "slots"]

Words: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]
Bytes: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]
Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]
Places: TypeAlias = np.ndarray[tuple[int], np.dtype[np.intp]]

ANY = 255  # in place of a seed: no seed served, and every id has to be looked up
_SEEDS = 32
_PART = np.uint64((1 << 21) - 1)
_SHIFTS = tuple(map(np.uint64, (43, 22, 1)))


def slots(expected: float) -> int:
    """Return how many slots each third of a filter has for so many ids, or somewhat more.

    Ids fall into filters by chance: six standard deviations above the mean have room.

    Examples
    --------
    >>> slots(50_000)
    21061
    """
    return int((expected + 6.0 * expected**0.5) * 1.23 / 3.0) + 11


def build_filter(high: Words, low: Words, third: int) -> tuple[int, Bytes]:
    r"""Return a filter of different ids as a seed and three thirds of `third` slots.

    Parameters
    ----------
    high, low : array of uint64
        Both halves of the ids' encryptions under a secret key.
    third : int
        As `slots` says.

    Notes
    -----
    An xor filter (Graf and Lemire, 2020, doi:10.1145/3376122). Each id has one slot in every
    third, and the three bytes in them give its fingerprint of 8 bits. A slot that one id alone
    has can be set last, so this id is taken away, which leaves other slots to one id alone;
    with 1.23 slots per id nearly always all are taken away. Slots are then set in the opposite
    order. An id that is not in the filter passes with a chance of 1/256.

    Examples
    --------
    >>> high, low = np.random.default_rng(1).integers(0, 1 << 63, (2, 400)).astype(np.uint64)
    >>> seed, table = build_filter(high, low, slots(400))
    >>> filters = Filters(chunks=1, third=slots(400))
    >>> filters.put(0, seed, table)
    >>> bool(filters.pass_(np.zeros(400, np.intp), high, low).all())
    True
    """
    for seed in range(_SEEDS):
        places = _places(low, np.full(len(low), seed, np.uint64), third)
        order = _peel(places, 3 * third)
        if order is not None:
            return seed, _fill(order, places, _fingerprints(high), 3 * third)
    return ANY, np.zeros(3 * third, np.uint8)


def _peel(places: np.ndarray[tuple[int, int], np.dtype[np.intp]], size: int
          ) -> list[tuple[Places, Places]] | None:  # fmt: skip
    """Return rounds of ids and the slots that each of them sets; None where that is impossible."""
    number = places.shape[1]
    counts = np.bincount(places.ravel(), minlength=size)
    # The sum of the ids that share a slot: of one that is alone there, its own number.
    sums = np.zeros(size, np.intp)
    for row in places:
        np.add.at(sums, row, np.arange(number))
    chosen = np.empty(number, np.intp)
    order: list[tuple[Places, Places]] = []
    left = number
    while left:
        alone = np.flatnonzero(counts == 1)
        if not alone.size:
            return None
        ids = sums[alone]
        chosen[ids] = alone  # an id that is alone in two slots gets the last
        kept = chosen[ids] == alone
        ids, alone = ids[kept], alone[kept]
        order.append((ids, alone))
        left -= len(ids)
        for row in places:
            slot = row[ids]
            np.subtract.at(counts, slot, 1)
            np.subtract.at(sums, slot, ids)
    return order


def _fill(
    order: list[tuple[Places, Places]],
    places: np.ndarray[tuple[int, int], np.dtype[np.intp]],
    wanted: Bytes,
    size: int,
) -> Bytes:
    table = np.zeros(size, np.uint8)
    first, second, third = places
    for ids, alone in reversed(order):
        others = table[first[ids]] ^ table[second[ids]] ^ table[third[ids]]
        table[alone] = wanted[ids] ^ others
    return table


class Filters:
    """Filters of one size side by side, each of which is put into its place when it is needed.

    Parameters
    ----------
    chunks : int
        How many there are.
    third : int
        A third of the slots of each.

    Notes
    -----
    The operating system gives memory to those that were put, and to no others.
    """

    def __init__(self, chunks: int, third: int) -> None:
        self._third = third
        self._table = np.zeros((chunks, 3 * third), np.uint8)
        self._seeds = np.zeros(chunks, np.uint64)
        self.loaded = np.zeros(chunks, np.bool_)

    def put(self, chunk: int, seed: int, table: Bytes) -> None:
        """Keep the filter of a chunk."""
        self._table[chunk] = table
        self._seeds[chunk] = seed
        self.loaded[chunk] = True

    def pass_(self, chunk: Places, high: Words, low: Words) -> Mask:
        """Say which ids may be in their chunks; those that are, always pass."""
        seeds = self._seeds[chunk]
        starts = chunk * (3 * self._third)
        first, second, third = _places(low, seeds, self._third)
        table = self._table.reshape(-1)
        found = table.take(starts + first)
        found ^= table.take(starts + second)
        found ^= table.take(starts + third)
        passed: Mask = found == _fingerprints(high)
        passed |= seeds == ANY
        return passed


def _places(low: Words, seeds: Words, third: int) -> np.ndarray[tuple[int, int], np.dtype[np.intp]]:
    """Return the slots of ids, one row per third of the filter."""
    mixed = low * (seeds * np.uint64(2) + np.uint64(1))
    found = np.empty((3, len(low)), np.intp)
    for row, shift in enumerate(_SHIFTS):
        part = (mixed >> shift) & _PART
        found[row] = ((part * np.uint64(third)) >> np.uint64(21)) + np.uint64(row * third)
    return found


def _fingerprints(high: Words) -> Bytes:
    return high.astype(np.uint8)  # the last bits; the first say which chunk

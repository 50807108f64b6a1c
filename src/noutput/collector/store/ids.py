"""Set of 128-bit ids that takes thousands at a time, whoever chose them."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

__all__ = ["IdSet"]

Words: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]
Places: TypeAlias = np.ndarray[tuple[int], np.dtype[np.intp]]
Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]

_FIRST_BITS = 12
_FULL = 0.6
_BRIM = 0.85  # a table that is being moved takes ids up to here
_ROOMY = 0.35
# While the table grows, every call moves this many places, or so many per id that it adds.
_LEAST_MOVE = 1 << 14
_MOVE = 8
_CHUNK = 1 << 16
_FEW = 16  # ids that are put one by one: a step for all takes longer


class IdSet:
    r"""Which ids were counted; exact, 27 to 54 bytes per id, up to 81 while it grows.

    Parameters
    ----------
    expected : int
        How many ids there will be soon: room for them is made at once.
    key : bytes, optional
        16 secret bytes; by default from the operating system.

    Attributes
    ----------
    probes, moves : int
        Places of the table that were looked at for ids that came, and places of a former table
        that were moved to a larger one: all work that depends on the ids, counted.

    Notes
    -----
    An open-addressing hash table over two arrays. An id is stored as its encryption by AES under
    a secret key of this object, which is a permutation of all 128-bit numbers: equal encryptions
    mean equal ids, so the set is exact, and whoever does not know the key cannot choose ids
    whose encryptions start with the same bits, which is where the search for a place begins. A
    first half of 0 marks a free place; ids that encrypt to it live in a set of their own.

    A full table is not copied at once. A larger one is made, and every later call moves the next
    part of the former one. Where an id begins its search in the former table says which of the
    two it belongs to, so only one is searched, and the memory of the larger one is first touched
    part by part as well. So a call takes work in proportion to the ids it adds, however many
    there are.

    Examples
    --------
    >>> ids = IdSet()
    >>> ids.add(bytes(16) + b"a" * 16 + bytes(16)).tolist()
    [True, True, False]
    >>> ids.add(b"b" * 16 + b"a" * 16).tolist(), len(ids)
    ([True, False], 3)
    >>> ids.undo()
    >>> ids.add(b"b" * 16).tolist()
    [True]
    """

    def __init__(self, expected: int = 0, key: bytes | None = None) -> None:
        # One block per id and no two alike: what ECB must not be used for does not arise.
        cipher = Cipher(AES(os.urandom(16) if key is None else key), ECB())  # noqa: S305
        self._encryptor = cipher.encryptor()
        self._count = 0
        self._odd_ones: set[int] = set()
        self.probes = self.moves = 0
        self._table = _Table(_bits(expected))
        self._former: _Table | None = None
        self._start = self._moved = 0  # where moving began, and how many places it has left behind
        self._added: list[tuple[_Table, Places]] = []
        self._added_odd: list[int] = []

    def __len__(self) -> int:
        return self._count + len(self._odd_ones)

    def add(self, ids: bytes | memoryview[Any]) -> Mask:
        """Add ids of 16 bytes each; say which were new (the first of equal ones)."""
        halves = np.frombuffer(self._encryptor.update(ids), np.uint64).reshape(-1, 2)
        high, low = np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1])
        self._added, self._added_odd = [], []
        self._make_room(len(high))
        ordered = np.sort(high)
        if ordered.size and ordered[0] and not (ordered[1:] == ordered[:-1]).any():
            return self._add_different(high, low)
        new = np.zeros(len(high), np.bool_)
        first = _first_of_equal(high, low)
        odd = high[first] == 0
        for place in first[odd].tolist():
            new[place] = self._add_odd(int(low[place]))
        usual = first[~odd]
        new[usual] = self._add_different(high[usual], low[usual])
        return new

    def contain(self, ids: bytes | memoryview[Any]) -> Mask:
        """Say which ids of 16 bytes each are in the set, without adding any."""
        halves = np.frombuffer(self._encryptor.update(ids), np.uint64).reshape(-1, 2)
        high, low = np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1])
        found = np.zeros(len(high), np.bool_)
        odd = high == 0
        for place in np.flatnonzero(odd).tolist():
            found[place] = int(low[place]) in self._odd_ones
        usual = np.flatnonzero(~odd)
        for table in (self._table, self._former):
            if table is not None:
                found[usual] |= self._find(table, high[usual], low[usual])
        return found

    def _find(self, table: _Table, high: Words, low: Words) -> Mask:
        found, probes = table.find(high, low)
        self.probes += probes
        return found

    def undo(self) -> None:
        """Forget the ids that were new in the last call of `add`."""
        for table, places in self._added:  # the last that were put: no other id lies behind them
            table.highs[places] = 0
            table.used -= len(places)
            self._count -= len(places)
        self._odd_ones.difference_update(self._added_odd)
        self._added, self._added_odd = [], []

    def _add_odd(self, low: int) -> bool:
        new = low not in self._odd_ones
        if new:
            self._odd_ones.add(low)
            self._added_odd.append(low)
        return new

    def _add_different(self, high: Words, low: Words) -> Mask:
        """Add ids that differ from each other, and whose first half is not 0."""
        if self._former is None:
            new = self._put(self._table, high, low)
        else:
            new = np.empty(len(high), np.bool_)
            left = self._former.distance(high, self._start) < self._moved
            for table, where in ((self._table, left), (self._former, ~left)):
                new[where] = self._put(table, high[where], low[where])
        self._count += int(np.count_nonzero(new))
        return new

    def _put(self, table: _Table, high: Words, low: Words) -> Mask:
        new, added, probes = table.put(high, low)
        self._added += [(table, places) for places in added]
        self.probes += probes
        return new

    def _make_room(self, more: int) -> None:
        """Go on with moving the former table; start a larger one where this one gets full."""
        if self._count + more > _FULL * self._table.size:
            self._move(self._table.size)  # all was moved, unless `more` is like the table itself
            self._former, self._table = self._table, _Table(_bits(self._count + more))
            self._start, self._moved = self._former.next_free(0), 0
        self._move(max(_LEAST_MOVE, _MOVE * more))
        if self._former is not None and self._former.used + more > _BRIM * self._former.size:
            self._move(self._former.size)

    def _move(self, most: int) -> None:
        while self._former is not None and most > 0:
            end = min(self._moved + min(most, _CHUNK), self._former.size)
            # Up to a free place: then all ids that begin their search before it lie before it.
            # The last part also has the ids that found their places beyond the start.
            end = self._former.next_free(self._start + end) - self._start
            self._table.put(*self._former.part(self._start + self._moved, self._start + end))
            self.moves += end - self._moved
            most -= end - self._moved
            self._moved = end
            if end >= self._former.size:
                self._former = None


class _Table:
    """Places for ids: two arrays of halves."""

    def __init__(self, bits: int) -> None:
        self.size = 1 << bits
        self.used = 0
        self._shift = np.uint64(64 - bits)
        self.highs: Words = np.zeros(self.size, np.uint64)
        self.lows: Words = np.zeros(self.size, np.uint64)

    def put(self, high: Words, low: Words) -> tuple[Mask, list[Places], int]:
        """Find or make places for different ids, all of them in one step after another.

        Say which are new, the places they got, and how many places were looked at.
        """
        new = np.zeros(len(high), np.bool_)
        added: list[Places] = []
        probes = 0
        who = np.arange(len(high))
        slot = (high >> self._shift).view(np.intp)
        while slot.size > _FEW:
            probes += slot.size
            free = self.highs.take(slot) == 0
            place = slot[free]
            self.highs[place] = high[free]  # of several that want one place, the last gets it
            self.lows[place] = low[free]
            settled = self.highs.take(slot) == high
            settled &= self.lows.take(slot) == low
            free &= settled
            new[who[free]] = True
            added.append(slot[free])
            rest = (~settled).nonzero()[0]
            who, high, low = who.take(rest), high.take(rest), low.take(rest)
            slot = (slot.take(rest) + 1) & (self.size - 1)
        last: list[int] = []
        left = (each.tolist() for each in (who, slot, high, low))
        for one, start, *halves in zip(*left, strict=True):
            end, steps, fresh = self._put_one(start, *halves)
            probes += steps
            if fresh:
                new[one] = True
                last.append(end)
        added.append(np.array(last, np.intp))
        self.used += sum(map(len, added))
        return new, added, probes

    def find(self, high: Words, low: Words) -> tuple[Mask, int]:
        """Say which ids are there, and how many places were looked at."""
        found = np.zeros(len(high), np.bool_)
        probes = 0
        who = np.arange(len(high))
        slot = (high >> self._shift).view(np.intp)
        while slot.size:
            probes += slot.size
            there = self.highs.take(slot)
            same = there == high
            same &= self.lows.take(slot) == low
            found[who[same]] = True
            rest = (~same & (there != 0)).nonzero()[0]
            who, high, low = who.take(rest), high.take(rest), low.take(rest)
            slot = (slot.take(rest) + 1) & (self.size - 1)
        return found, probes

    def _put_one(self, place: int, high: int, low: int) -> tuple[int, int, bool]:
        """Find or make a place for one id; say which, after how many, and whether it is new."""
        start = place
        while found := self.highs.item(place & (self.size - 1)):
            if found == high and self.lows.item(place & (self.size - 1)) == low:
                return place & (self.size - 1), place - start + 1, False
            place += 1
        steps = place - start + 1
        place &= self.size - 1
        self.highs[place] = high
        self.lows[place] = low
        return place, steps, True

    def distance(self, high: Words, start: int) -> Places:
        """Return how many places behind `start` the search for each id begins."""
        return ((high >> self._shift).view(np.intp) - start) & (self.size - 1)

    def next_free(self, place: int) -> int:
        """Return the first free place from this one on; past the end, the places begin again."""
        while self.highs.item(place & (self.size - 1)):
            place += 1
        return place

    def part(self, start: int, end: int) -> tuple[Words, Words]:
        """Return the ids from one place to another; past the end, the places begin again."""
        places = np.arange(start, end) & (self.size - 1)
        high = self.highs.take(places)
        used = np.flatnonzero(high)
        return high.take(used), self.lows.take(places.take(used))


def _first_of_equal(high: Words, low: Words) -> Places:
    """Return the places of the first of equal ids, in their order."""
    order = np.lexsort((low, high))  # stable: of equal ids, the first comes first
    high, low = high[order], low[order]
    start = np.ones(len(order), np.bool_)
    start[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    return order[start]


def _bits(size: int) -> int:
    """Return the binary logarithm of the places that so many ids get."""
    return max(_FIRST_BITS, int(size / _ROOMY).bit_length())

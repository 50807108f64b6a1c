"""A set of 128-bit ids that takes thousands at a time."""

from __future__ import annotations

import secrets
from typing import Any, TypeAlias

import numpy as np

__all__ = ["IdSet"]

Words: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]
Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]

_FIRST_BITS = 12
_FULL = 0.6
_ROOMY = 0.35
_CHUNK = 1 << 16


class IdSet:
    r"""Which ids were counted; exact, 27 to 54 bytes per id.

    Notes
    -----
    An open-addressing hash table over two arrays. The key of an id with the halves h and l is
    :math:`k = a h + b l \bmod 2^{64}` with odd secrets a and b of this object, so nobody can
    choose ids that collide. As a is odd, k and l together determine h: equal (k, l) means equal
    ids. A key of 0 marks a free place; the few ids with this key live in a set of their own.

    Examples
    --------
    >>> ids = IdSet()
    >>> ids.add(bytes(16) + b"a" * 16 + bytes(16)).tolist()
    [True, True, False]
    >>> ids.add(b"b" * 16 + b"a" * 16).tolist(), len(ids)
    ([True, False], 3)
    """

    def __init__(self) -> None:
        self._factors = np.array([secrets.randbits(64) | 1 for _ in range(2)], np.uint64)
        self._count = 0
        self._odd_ones: set[int] = set()
        self._allocate(_FIRST_BITS)

    def __len__(self) -> int:
        return self._count + len(self._odd_ones)

    def add(self, ids: bytes | memoryview[Any]) -> Mask:
        """Add ids of 16 bytes each; say which were new (the first of equal ones)."""
        halves = np.frombuffer(ids, ">u8").reshape(-1, 2).astype(np.uint64)
        low = np.ascontiguousarray(halves[:, 1])
        key = halves[:, 0] * self._factors[0] + low * self._factors[1]
        if not key.all() or _has_equal(key):
            return self._add_with_care(key, low)
        return self._add_different(key, low)

    def _add_with_care(self, key: Words, low: Words) -> Mask:
        """Add ids of which some have equal keys, or the key 0."""
        new = np.zeros(len(key), np.bool_)
        for place in np.flatnonzero(key == 0).tolist():
            new[place] = int(low[place]) not in self._odd_ones
            self._odd_ones.add(int(low[place]))
        rest = np.flatnonzero(key != 0)
        while rest.size:  # one of each key at a time
            first = rest[np.unique(key[rest], return_index=True)[1]]
            new[first] = self._add_different(key[first], low[first])
            rest = np.setdiff1d(rest, first, assume_unique=True)
        return new

    def _add_different(self, key: Words, low: Words) -> Mask:
        if self._count + len(key) > _FULL * len(self._keys):
            self._grow(self._count + len(key))
        new = self._put(key, low)
        self._count += int(np.count_nonzero(new))
        return new

    def _put(self, key: Words, low: Words) -> Mask:
        """Find or make a place for different keys, all of them in one step after another."""
        new = np.zeros(len(key), np.bool_)
        who = np.arange(len(key))
        slot = (key >> self._shift).view(np.int64)
        last = len(self._keys) - 1
        while slot.size:
            free = np.flatnonzero(self._keys.take(slot) == 0)
            place, wanted = slot.take(free), key.take(free)
            self._keys[place] = wanted  # of several that want one place, one gets it
            won = np.flatnonzero(self._keys.take(place) == wanted)
            winner = free.take(won)
            self._lows[place.take(won)] = low.take(winner)
            new[who.take(winner)] = True
            settled = self._keys.take(slot) == key
            if np.count_nonzero(settled) > len(won):  # ids that were there before
                settled &= self._lows.take(slot) == low
            rest = np.flatnonzero(~settled)
            who, key, low = who.take(rest), key.take(rest), low.take(rest)
            slot = (slot.take(rest) + 1) & last
        return new

    def _allocate(self, bits: int) -> None:
        self._shift = np.uint64(64 - bits)
        self._keys: Words = np.zeros(1 << bits, np.uint64)
        self._lows: Words = np.zeros(1 << bits, np.uint64)

    def _grow(self, size: int) -> None:
        keys, lows = self._keys, self._lows
        self._allocate(int(size / _ROOMY).bit_length())
        used = np.flatnonzero(keys)
        for start in range(0, len(used), _CHUNK):
            part = used[start : start + _CHUNK]
            key, low = keys[part], lows[part]
            if _has_equal(key):
                for place in range(len(part)):
                    self._put(key[place : place + 1], low[place : place + 1])
            else:
                self._put(key, low)


def _has_equal(key: Words) -> bool:
    ordered = np.sort(key)
    return bool((ordered[1:] == ordered[:-1]).any())

"""Runs and pools of ids: groups in which nothing tells which report came first.

A run is a sorted sequence of ids that is written once. The ids that came last are in a pool,
which is sorted as well. Once it is full, most of its ids leave for a run, chosen by chance: half
of its places stay taken, so that the next id to come is never alone in it.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from typing import TypeAlias

import numpy as np

__all__ = ["ID", "KEPT", "LARGE", "POOL", "mixed", "ordered", "padded", "some"]

Indexes: TypeAlias = np.ndarray[tuple[int], np.dtype[np.intp]]

ID = 16  # bytes
POOL = 1024  # ids that a pool has room for
KEPT = 512  # ids that stay in a pool when the others leave: the smallest group of a large campaign
LARGE = 2048  # ids; a smaller run is replaced by one that has the next ids as well
_FEW = 8  # ids that are put into a pool one by one: sorting it takes longer


def ordered(ids: bytes, *, parts: bool = False) -> bytes:
    """Return ids in the order of their bytes, whatever their order was.

    With `parts`, they are a few parts that are in order: these are merged.

    Examples
    --------
    >>> ordered(b"b" * 16 + b"a" * 16) == b"a" * 16 + b"b" * 16
    True
    """
    return np.frombuffer(ids, "V16").take(_order(ids, parts=parts)).tobytes()


def _order(ids: bytes, *, parts: bool = False) -> Indexes:
    """Return the places of ids in the order of their bytes."""
    halves = np.frombuffer(ids, ">u8").reshape(-1, 2)
    high = halves[:, 0].astype(np.uint64)
    order = np.argsort(high, kind="stable" if parts else "quicksort")
    found = high[order]
    if (found[1:] == found[:-1]).any():
        order = np.lexsort((halves[:, 1], high))
    return order


def mixed(pool: bytes, fresh: bytes) -> tuple[bytes, bytes]:
    """Put ids into a pool; return the pool, and the ids that leave it, both ordered.

    Examples
    --------
    >>> pool, run = mixed(b"b" * 16, b"a" * 16)
    >>> pool == b"a" * 16 + b"b" * 16, run
    (True, b'')
    >>> pool, run = mixed(pool, bytes(range(16)) * 2000)
    >>> len(pool) // 16, len(run) // 16
    (512, 1490)
    """
    count = (len(pool) + len(fresh)) // ID
    if count <= POOL and len(fresh) <= ID * _FEW:
        return _inserted(pool, fresh), b""
    together = pool + fresh
    if count <= POOL:
        return ordered(together), b""
    stay = np.zeros(count, np.bool_)
    stay[some(count, KEPT)] = True
    ids, order = np.frombuffer(together, "V16"), _order(together)
    return ids.take(order[stay]).tobytes(), ids.take(order[~stay]).tobytes()


def _inserted(pool: bytes, fresh: bytes) -> bytes:
    """Return a pool with a few more ids, each put in its place."""
    for start in range(0, len(fresh), ID):
        each = fresh[start : start + ID]
        places = range(len(pool) // ID)
        place = ID * bisect_left(places, each, key=lambda k: pool[ID * k : ID * k + ID])
        pool = pool[:place] + each + pool[place:]
    return pool


def padded(pool: bytes) -> bytes:
    """Return a pool as it is stored: as many bytes as a full one."""
    return pool.ljust(ID * POOL, b"\0")


def some(count: int, number: int) -> Indexes:
    """Return so many of the numbers below `count`, chosen by the operating system's chance."""
    if count < 8 * number:
        words = np.frombuffer(os.urandom(4 * count), np.uint32)
        return np.argpartition(words, number)[:number]
    # Few of many: draw them one by one, and again those that were drawn before.
    found = np.empty(0, np.intp)
    while len(found) < number:
        words = np.frombuffer(os.urandom(8 * number), np.uint64) % np.uint64(count)
        found = np.concatenate((found, words.astype(np.intp)))
        _, first = np.unique(found, return_index=True)
        found = found[np.sort(first)][:number]
    return found

"""Ids in a SQLite file: rows of sorted ids, and all of them in memory."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from noutput.collector.store.ids import IdSet
from noutput.collector.store.runs import ID, LARGE, POOL, mixed, ordered, padded

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from noutput.collector.store.groups import Group

__all__ = ["SqliteIds"]

_PIECE = 1 << 20
# These run at every commit.
_UNSEEN = "SELECT sequence, ids FROM id_runs WHERE campaign = ? AND sequence > ? ORDER BY sequence"
_POOL = "SELECT substr(ids, 1, 16 * number) FROM id_pools WHERE campaign = ?"
_KEEP = "UPDATE id_pools SET number = ?, ids = ? WHERE campaign = ?"
# And these where a pool is full.
_SMALL = "SELECT ids FROM id_runs WHERE sequence = ? AND length(ids) < ?"
_REMOVE = "DELETE FROM id_runs WHERE sequence = ?"
_ADD = "INSERT INTO id_runs (campaign, ids) VALUES (?, ?)"
_FIRST = "INSERT INTO id_pools (number, ids, campaign) VALUES (?, ?, ?)"
_SIZE = "SELECT coalesce(sum(length(ids)), 0) FROM id_runs WHERE campaign = ?"


class SqliteIds:
    """Which ids the campaigns of a SQLite file have; called inside of writing transactions.

    Notes
    -----
    Ids are stored as sorted rows: `id_pools` has one per campaign, which every commit overwrites
    in its place, and `id_runs` has those of thousands of reports each, written in sequence, where
    an index over random ids would touch a page for every report; see
    `noutput.collector.store.runs`. A commit that fills the pool writes a run, together with the
    ids of the newest one while that is small: at most `LARGE` ids more than it counted.

    Which ids are known is asked of an `IdSet` in memory. Inside every writing transaction it first
    takes in all rows that it has not seen, so it is right after a crash and where another process
    wrote to the file meanwhile. Ids of a transaction that failed are taken out again.
    """

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}
        # By campaign: what was known before the transaction; None where it cannot be undone.
        self._before: dict[int, tuple[int, bytes] | None] = {}

    def begin(self) -> None:
        """Let the transactions before be as they are."""
        self._before.clear()

    def remember(
        self, raw: sqlite3.Connection, group: Group
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Keep the ids of a group; say which are new."""
        known = self._known.pop(group.key, None)
        if known is None:
            (size,) = raw.execute(_SIZE, (group.key,)).fetchone()
            known = _Known(size // ID + POOL)
        known.catch_up(raw, group.key)
        self._known[group.key] = known
        again = group.key in self._before
        self._before[group.key] = None if again else (known.newest, known.pool)
        new = known.ids.add(group.ids)
        if new.any():
            fresh = np.frombuffer(group.ids, "V16")[new]
            known.write(raw, group.key, fresh.tobytes())
        return new

    def undo(self) -> None:
        """Take out the ids of a transaction that failed, or may have: it is looked up again."""
        for key, before in self._before.items():
            known = self._known.pop(key, None)
            if known is not None and before is not None:
                known.ids.undo()
                known.newest, known.pool = before
                self._known[key] = known

    def forget(self, key: int) -> None:
        """Give back the memory of a campaign's ids."""
        self._known.pop(key, None)

    @staticmethod
    def read(raw: sqlite3.Connection, key: int) -> Iterator[bytes]:
        """Return all ids of a campaign in pieces of whole ids."""
        pool = raw.execute(_POOL, (key,)).fetchone() or (b"",)
        runs = raw.execute(_UNSEEN, (key, 0))
        yield from _joined(chain(pool, (ids for _, ids in runs)))


class _Known:
    """The ids of one campaign in memory, and how far the rows of the file were taken in."""

    def __init__(self, expected: int) -> None:
        self.ids = IdSet(expected)
        self.newest = 0
        self.pool = b""

    def catch_up(self, raw: sqlite3.Connection, key: int) -> None:
        """Take in what this process or another has written; some of it may be known."""
        (pool,) = raw.execute(_POOL, (key,)).fetchone() or (b"",)
        if pool != self.pool:
            self.ids.add(pool)
            self.pool = pool
        rows = raw.execute(_UNSEEN, (key, self.newest))
        for piece in _joined(self._noted(rows)):
            self.ids.add(piece)

    def _noted(self, rows: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
        for self.newest, ids in rows:
            yield ids

    def write(self, raw: sqlite3.Connection, key: int, fresh: bytes) -> None:
        """Write new ids to the file: into the pool, and where it is full, into the newest run."""
        self.pool, leaving = mixed(self.pool, fresh)
        values = (len(self.pool) // ID, padded(self.pool), key)
        if not raw.execute(_KEEP, values).rowcount:
            raw.execute(_FIRST, values)
        if leaving:
            small = raw.execute(_SMALL, (self.newest, ID * LARGE)).fetchone()
            if small:
                raw.execute(_REMOVE, (self.newest,))
                leaving = ordered(small[0] + leaving, parts=True)
            self.newest = raw.execute(_ADD, (key, leaving)).lastrowid or 0


def _joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join pieces to some of a megabyte or more, and the rest."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    if size:
        yield b"".join(waiting)

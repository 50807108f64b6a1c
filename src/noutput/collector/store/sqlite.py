"""SQLite store, the embedded default: one file, one writer, thousands of reports per commit."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sqlalchemy import Connection, Engine, create_engine, event

from noutput.collector.store.ids import IdSet
from noutput.collector.store.interface import CampaignRow, UnavailableError
from noutput.collector.store.runs import ID, LARGE, POOL, mixed, ordered, padded
from noutput.collector.store.sql import SqlStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy.engine import URL

    from noutput.collector.store.groups import Group

__all__ = ["SqliteStore"]

_BUSY_SECONDS = 30.0
_PIECE = 1 << 20
_LOG_BYTES = 1 << 22
# These run at every commit, on the driver's own connection.
_OPEN = "SELECT 1 FROM campaigns WHERE key = ? AND closed IS NULL"
_UNSEEN = "SELECT sequence, ids FROM id_runs WHERE campaign = ? AND sequence > ? ORDER BY sequence"
_POOL = "SELECT substr(ids, 1, 16 * number) FROM id_pools WHERE campaign = ?"
_KEEP = "UPDATE id_pools SET number = ?, ids = ? WHERE campaign = ?"
_COUNT = "UPDATE counts SET reports = reports + ? WHERE campaign = ? AND cell = ?"
# And these where a pool is full.
_SMALL = "SELECT ids FROM id_runs WHERE sequence = ? AND length(ids) < ?"
_REMOVE = "DELETE FROM id_runs WHERE sequence = ?"
_ADD = "INSERT INTO id_runs (campaign, ids) VALUES (?, ?)"
_FIRST = "INSERT INTO id_pools (number, ids, campaign) VALUES (?, ?, ?)"
_SIZE = "SELECT coalesce(sum(length(ids)), 0) FROM id_runs WHERE campaign = ?"


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


class SqliteStore(SqlStore):
    """A store in one SQLite file.

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

    Guarantees
    ----------
    As in `Store`. A commit is durable before `add` returns: write-ahead log with
    ``synchronous=FULL``. The file has each id once, what is deleted is overwritten, and all that
    tells when an id came is its row: a run of 2,048 ids or more, the newest run, or the pool.
    The pool has all ids of a campaign up to 1,024, and never less than 512 from then on.
    """

    def __init__(self, url: URL) -> None:
        self._known: dict[int, _Known] = {}
        # By campaign: what was known before the transaction; None where it cannot be undone.
        self._before: dict[int, tuple[int, bytes] | None] = {}
        self._writing = threading.RLock()
        super().__init__(_engine(url))

    def _lock_schema(self, connection: Connection) -> None:
        """Nothing to do: a writing transaction has the whole file for itself."""

    def _open_keys(self, connection: Connection, keys: list[int]) -> set[int]:
        raw = _raw(connection)
        return {key for key in keys if raw.execute(_OPEN, (key,)).fetchone()}

    def _remember(
        self, connection: Connection, group: Group
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        raw = _raw(connection)
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

    def _count(self, connection: Connection, more: list[tuple[int, int, int]]) -> None:
        _raw(connection).executemany(_COUNT, more)

    def _ids(self, connection: Connection, key: int) -> Iterator[bytes]:
        pool = _raw(connection).execute(_POOL, (key,)).fetchone() or (b"",)
        runs = _raw(connection).execute(_UNSEEN, (key, 0))
        yield from _joined(chain(pool, (ids for _, ids in runs)))

    def merge_ids(self) -> None:
        """Do nothing: every commit has done it."""

    def close_campaign(self, campaign_id: str, now: str) -> CampaignRow | None:
        """Count no more reports of a campaign, and give back the memory of its ids."""
        row = super().close_campaign(campaign_id, now)
        self._forget(row)
        return row

    def delete(self, campaign_id: str) -> bool:
        """Forget a campaign with its counts and ids."""
        self._forget(self.campaign(campaign_id))
        return super().delete(campaign_id)

    def _forget(self, row: CampaignRow | None) -> None:
        with self._writing:
            if row is not None:
                self._known.pop(row.key, None)

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self._writing:
            self._before.clear()
            try:
                with super()._write() as connection:
                    yield connection
            except BaseException as error:
                self._undo()
                if isinstance(error, sqlite3.Error):
                    raise UnavailableError(f"the database is unavailable: {error}") from error
                raise

    def _undo(self) -> None:
        """Take out the ids of a transaction that failed, or may have: it is looked up again."""
        for key, before in self._before.items():
            known = self._known.pop(key, None)
            if known is not None and before is not None:
                known.ids.undo()
                known.newest, known.pool = before
                self._known[key] = known


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


def _raw(connection: Connection) -> sqlite3.Connection:
    """Return the driver's connection, on which a statement takes a tenth of the time."""
    return cast(sqlite3.Connection, connection.connection.driver_connection)


def _engine(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": _BUSY_SECONDS})

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # transactions begin below, not in the driver
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON",
                        "secure_delete=ON", f"journal_size_limit={_LOG_BYTES}"):  # fmt: skip
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine

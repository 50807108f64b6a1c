"""SQLite store, the embedded default: one file, one writer, thousands of reports per commit."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sqlalchemy import Connection, Engine, create_engine, event, select

from noutput.collector.store.files import create_private, keep_private
from noutput.collector.store.ids import IdSet
from noutput.collector.store.interface import CampaignRow, UnavailableError
from noutput.collector.store.schema import id_runs
from noutput.collector.store.sql import SqlStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import URL

    from noutput.collector.store.groups import Group

__all__ = ["SqliteStore"]

_BUSY_SECONDS = 30.0
_PIECE = 1 << 20
# These four run at every commit, on the driver's own connection.
_OPEN = "SELECT 1 FROM campaigns WHERE key = ? AND closed IS NULL"
_UNSEEN = "SELECT sequence, ids FROM id_runs WHERE campaign = ? AND sequence > ? ORDER BY sequence"
_REMEMBER = "INSERT INTO id_runs (campaign, ids) VALUES (?, ?)"
_COUNT = "UPDATE counts SET reports = reports + ? WHERE campaign = ? AND cell = ?"


class SqliteStore(SqlStore):
    """A store in one SQLite file.

    Notes
    -----
    The ids that one commit counted are one sorted row of `id_runs`: 16 bytes per report, written
    in sequence, where an index over random ids would touch a page for every report. Which ids
    are known is asked of an `IdSet` in memory. Inside every writing transaction it first takes
    in all rows that it has not seen, so it is right after a crash and where another process
    wrote to the file meanwhile; after a transaction that failed it is made anew.

    Guarantees
    ----------
    As in `Store`. A commit is durable before `add` returns: write-ahead log with
    ``synchronous=FULL``. Ids are sorted inside a row, so the file does not keep their order.

    Only its owner can open the file: rights of others are taken away.
    """

    def __init__(self, url: URL) -> None:
        self._known: dict[int, tuple[int, IdSet]] = {}
        self._writing = threading.RLock()
        path = None if url.database in (None, "", ":memory:") else Path(str(url.database))
        if path is not None:
            create_private(path)
            keep_private(path)
        super().__init__(_engine(url))
        if path is not None:  # where SQLite had to make it
            keep_private(path)

    def _lock_schema(self, connection: Connection) -> None:
        """Nothing to do: a writing transaction has the whole file for itself."""

    def _open_keys(self, connection: Connection, keys: list[int]) -> set[int]:
        raw = _raw(connection)
        return {key for key in keys if raw.execute(_OPEN, (key,)).fetchone()}

    def _remember(
        self, connection: Connection, group: Group
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        last, known = self._known.pop(group.key, (0, IdSet()))
        raw = _raw(connection)
        for sequence, ids in raw.execute(_UNSEEN, (group.key, last)):
            known.add(ids)
            last = sequence
        new = known.add(group.ids)
        if new.any():
            added = (group.key, _ordered(group.ids, new))
            last = raw.execute(_REMEMBER, added).lastrowid or last
        self._known[group.key] = last, known
        return new

    def _count(self, connection: Connection, more: list[tuple[int, int, int]]) -> None:
        _raw(connection).executemany(_COUNT, more)

    def _ids(self, connection: Connection, key: int) -> Iterator[bytes]:
        query = select(id_runs.c.ids).where(id_runs.c.campaign == key)
        pieces: list[bytes] = []
        size = 0
        for ids in connection.execute(query).scalars():
            pieces.append(ids)
            size += len(ids)
            if size >= _PIECE:
                yield b"".join(pieces)
                pieces, size = [], 0
        if pieces:
            yield b"".join(pieces)

    def close_campaign(
        self, campaign_id: str, now: str, *, key: int | None = None
    ) -> CampaignRow | None:
        """Count no more reports of a campaign, and give back the memory of its ids."""
        row = super().close_campaign(campaign_id, now, key=key)
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
            try:
                with super()._write() as connection:
                    yield connection
            except BaseException as error:
                self._known.clear()  # some ids in memory may not have been committed
                if isinstance(error, sqlite3.Error):
                    raise UnavailableError(f"the database is unavailable: {error}") from error
                raise


def _ordered(ids: bytes, new: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> bytes:
    """Return the new ids in the order of their first halves, whatever their order was."""
    fresh = np.frombuffer(ids, ">u8").reshape(-1, 2)[new]
    return fresh[np.argsort(fresh[:, 0].astype(np.uint64))].tobytes()


def _raw(connection: Connection) -> sqlite3.Connection:
    """Return the driver's connection, on which a statement takes a tenth of the time."""
    return cast(sqlite3.Connection, connection.connection.driver_connection)


def _engine(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": _BUSY_SECONDS}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # transactions begin below, not in the driver
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine

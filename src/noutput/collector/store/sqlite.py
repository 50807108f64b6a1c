"""SQLite store, the embedded default: one file, one writer, thousands of reports per commit."""

from __future__ import annotations

import logging
import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from noutput.collector.logs import event
from noutput.collector.store.files import create_private, keep_private
from noutput.collector.store.interface import Action, UnavailableError
from noutput.collector.store.losses import Losses
from noutput.collector.store.mark import HighWater
from noutput.collector.store.schema import high_water, report_ids
from noutput.collector.store.seal import SUM_MASK
from noutput.collector.store.sql import SqlStore
from noutput.collector.store.sqlite_engine import (
    check_files,
    driver,
    empty_log,
    file_of,
    is_overwritten,
    sqlite_engine,
)
from noutput.collector.store.sqlite_ids import SqliteIds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import URL

    from noutput.collector.store.seal import Seal

__all__ = ["SqliteStore"]

_CLOSE_SECONDS = 2.0
_CHEAP_BYTES = 1 << 26
_log = logging.getLogger("noutput.collector")
# These run at every commit, on the driver's own connection.
_OPEN = "SELECT 1 FROM campaigns WHERE key = ? AND closed IS NULL"
_HERE = "SELECT 1 FROM campaigns WHERE key = ?"
_COUNT = (
    "INSERT INTO counts (reports, campaign, cell) VALUES (?, ?, ?)"
    " ON CONFLICT (campaign, cell) DO UPDATE SET reports = reports + excluded.reports"
)
_SEAL = (
    "UPDATE seals SET reports = reports + ?, ids = ids + ?,"
    " id_sum = (id_sum + ?) & ?, count_sum = (count_sum + ?) & ?"
    " WHERE campaign = ?"
)
_ADVANCE = (
    "UPDATE high_water SET commits = commits + 1, reports = reports + ?"
    " RETURNING database, commits, reports"
)


class SqliteStore(SqlStore):
    """A store in one SQLite file.

    Notes
    -----
    Ids are rows of sorted ids, and a set in memory says which are known; see `SqliteIds`.

    Every transaction that changes something also counts itself in `high_water`, and after its
    commit in a `MarkFile` next to the database. A write-ahead log of which a part cannot be read
    takes the database back to an earlier commit, and is as good as any other; only the mark
    tells that there was more.

    Transactions that write share one connection, and one of them is under way at a time.

    Guarantees
    ----------
    As in `Store`. A commit is durable before `add` returns: write-ahead log with
    ``synchronous=FULL``. It raises where the file, or its write-ahead log, was deleted or
    replaced: what is written then, nobody would find.

    What is deleted is overwritten, and all that tells when an id came is its row: a run of 2,048
    ids or more, the newest run, the pool, or a segment of a million ids or more. The pool has all
    ids of a campaign up to 1,024, and never less than 512 from then on.

    Only its owner can open the file: rights of others are taken away.
    """

    reads_quickly = True

    def __init__(self, url: URL) -> None:
        self._writing = threading.RLock()
        self._connection: Connection | None = None
        self._counted = 0
        path = file_of(url)
        self._losses = Losses(path, self.add_problem)
        if path is not None:
            create_private(path)
        super().__init__(sqlite_engine(url), SqliteIds(report_ids("sqlite")))
        try:
            if path is not None:
                keep_private(path)  # not before it is known to be a database
            self._losses.compare(self._high_water())
        except BaseException:
            self.close()
            raise

    def _high_water(self) -> HighWater:
        table = high_water
        with self._read() as connection:
            row = connection.execute(select(table.c.database, table.c.commits, table.c.reports))
            return HighWater(*row.one())

    def _lock_schema(self, connection: Connection) -> None:
        """Nothing to do: a writing transaction has the whole file for itself."""

    def _lock_log(self, connection: Connection) -> None:
        """Nothing to do, for the same reason."""

    def _open_keys(self, connection: Connection, keys: list[int]) -> set[int]:
        raw = driver(connection)
        return {key for key in keys if raw.execute(_OPEN, (key,)).fetchone()}

    def _hold(self, connection: Connection, key: int) -> bool:
        return driver(connection).execute(_HERE, (key,)).fetchone() is not None

    def _count(self, connection: Connection, more: list[tuple[int, int, int]]) -> None:
        driver(connection).executemany(_COUNT, more)

    def _add_seals(self, connection: Connection, more: dict[int, Seal]) -> None:
        rows = [
            (seal.reports, seal.ids, seal.id_sum, SUM_MASK, seal.count_sum, SUM_MASK, key)
            for key, seal in more.items()
        ]
        driver(connection).executemany(_SEAL, rows)
        self._counted = sum(seal.reports for seal in more.values())

    def _forget(self, key: int) -> None:
        with self._writing:
            self._remembered.forget(key)

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self._writing:
            self._remembered.begin()
            try:
                with super()._write() as connection:
                    raw, self._counted = driver(connection), 0
                    before, reached = raw.total_changes, None
                    yield connection
                    if is_overwritten(connection):
                        self.add_problem("the head of the database's file was overwritten")
                        raise UnavailableError("the file is not a database any more")
                    if raw.total_changes != before:
                        reached = HighWater(*raw.execute(_ADVANCE, (self._counted,)).fetchone())
                    checked = connection
                with self._translated():
                    check_files(checked)
                if reached is not None:
                    self._losses.advance(reached)
            except BaseException:
                self._remembered.undo()
                self._disconnect()
                raise

    @contextmanager
    def _writer(self) -> Iterator[Connection]:
        """Use the one connection that writes again: making it ready takes as long as a commit."""
        if self._connection is None:
            self._connection = self._connect().execution_options(write=True)
        yield self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def inspect(self, *, cheap: bool) -> list[str]:
        """Let SQLite check the form of its file; with `cheap`, only where that is a small one."""
        with self._read() as connection:
            raw = driver(connection)
            (pages,), (size,) = (
                raw.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size")
            )
            if cheap and pages * size > _CHEAP_BYTES:
                return []
            found = raw.execute("PRAGMA quick_check" if cheap else "PRAGMA integrity_check")
            told = [f"SQLite: {line}" for (line,) in found if line != "ok"]
        return told + super().inspect(cheap=cheap)

    def accept(self, action: Action | None = None) -> None:
        """Seal what there is now, and forget what was lost."""
        super().accept(action)
        self._losses.accept(self._high_water())

    def close(self) -> None:
        """Move everything out of the write-ahead log, and close all connections."""
        if self._closed:
            return
        if self._writing.acquire(timeout=_CLOSE_SECONDS):  # else a commit hangs
            try:
                self._disconnect()
                with self._read() as connection:  # in which no transaction has begun
                    empty_log(connection, _CLOSE_SECONDS)
            except (UnavailableError, sqlite3.Error) as error:
                _log.error(
                    "the write-ahead log stays as it is: %s",
                    error,
                    extra=event("write-ahead-log-kept"),
                )
            finally:
                super().close()
                self._writing.release()
        else:
            super().close()
        self._losses.close()

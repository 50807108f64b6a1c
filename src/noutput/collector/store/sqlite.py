"""SQLite store, the embedded default: one file, one writer, thousands of reports per commit."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sqlalchemy import Connection, Engine, create_engine, event, select

from noutput.collector.store.files import FileIdentity, HighWater, MarkFile, identify
from noutput.collector.store.ids import IdSet
from noutput.collector.store.interface import CampaignRow, UnavailableError
from noutput.collector.store.schema import high_water, id_runs
from noutput.collector.store.seal import SUM_MASK
from noutput.collector.store.sql import SqlStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import URL

    from noutput.collector.store.groups import Group
    from noutput.collector.store.seal import Seal

__all__ = ["SqliteStore"]

_BUSY_SECONDS = 30.0
_CLOSE_SECONDS = 2.0
_CHEAP_BYTES = 1 << 26
_FILES = "noutput_files"
_SETTINGS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cell_size_check=ON")
_log = logging.getLogger("noutput.collector")
_PIECE = 1 << 20
# These run at every commit, on the driver's own connection.
_OPEN = "SELECT 1 FROM campaigns WHERE key = ? AND closed IS NULL"
_UNSEEN = "SELECT sequence, ids FROM id_runs WHERE campaign = ? AND sequence > ? ORDER BY sequence"
_REMEMBER = "INSERT INTO id_runs (campaign, ids) VALUES (?, ?)"
_SEAL = (
    "UPDATE seals SET reports = reports + ?, ids = ids + ?,"
    " id_sum = (id_sum + ?) & ?, count_sum = (count_sum + ?) & ?"
    " WHERE campaign = ?"
)
_ADVANCE = (
    "UPDATE high_water SET commits = commits + 1, reports = reports + ?"
    " RETURNING database, commits, reports"
)
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

    Every transaction that changes something also counts itself in `high_water`, and after its
    commit in a `MarkFile` next to the database. A write-ahead log of which a part cannot be read
    takes the database back to an earlier commit, and is as good as any other; only the mark
    tells that there was more.

    Guarantees
    ----------
    As in `Store`. A commit is durable before `add` returns: write-ahead log with
    ``synchronous=FULL``. It raises where the file, or its write-ahead log, was deleted or
    replaced: what is written then, nobody would find. Ids are sorted inside a row, so the file
    does not keep their order.
    """

    reads_quickly = True

    def __init__(self, url: URL) -> None:
        self._known: dict[int, tuple[int, IdSet]] = {}
        self._writing = threading.RLock()
        self._closed = False
        self._counted = 0
        self._reached: HighWater | None = None
        self._mark: MarkFile | None = None
        path = url.database
        marked = None
        if path and path != ":memory:" and not path.startswith("file:"):
            self._mark = MarkFile(Path(f"{path}-mark").absolute())
            marked = self._mark.read()  # before the database: it only ever gets ahead of the mark
        super().__init__(_engine(url))
        if self._mark is not None:
            try:
                self._compare(self._mark, marked)
            except BaseException:
                self.close()
                raise

    def _compare(self, mark: MarkFile, marked: HighWater | None) -> None:
        """Find out whether the database is behind its mark, and remember if so."""
        reached = self._high_water()
        self._reached = reached
        lost = mark.read_lost()
        if lost is None or lost.database != reached.database:
            lost = HighWater(reached.database, 0, 0)
        if marked is None or marked.database != reached.database:
            if reached.commits:
                _log.info("%s was missing: losses before now cannot be noticed", mark.path.name)
            mark.write(reached)
            mark.write_lost(lost)
        elif marked.commits > reached.commits:
            _keep_log(mark.path)
            commits = lost.commits + marked.commits - reached.commits
            lost = HighWater(
                reached.database, commits, lost.reports + marked.reports - reached.reports
            )
            mark.write_lost(lost)
            mark.write(reached)
        if lost.commits:
            self.add_problem(
                f"{lost.commits:,} commits with {lost.reports:,} acknowledged reports are missing "
                "from the database"
            )

    def _high_water(self) -> HighWater:
        table = high_water
        with self._read() as connection:
            row = connection.execute(select(table.c.database, table.c.commits, table.c.reports))
            return HighWater(*row.one())

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

    def _add_seals(self, connection: Connection, more: dict[int, Seal]) -> None:
        rows = [
            (seal.reports, seal.ids, seal.id_sum, SUM_MASK, seal.count_sum, SUM_MASK, key)
            for key, seal in more.items()
        ]
        _raw(connection).executemany(_SEAL, rows)
        self._counted = sum(seal.reports for seal in more.values())

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
            try:
                with super()._write() as connection:
                    raw, self._counted = _raw(connection), 0
                    before, reached = raw.total_changes, None
                    yield connection
                    if raw.total_changes != before:
                        reached = HighWater(*raw.execute(_ADVANCE, (self._counted,)).fetchone())
                    files: list[FileIdentity] = connection.info[_FILES]
                _check_files(files)
                if reached is not None:
                    self._advance(reached)
            except BaseException as error:
                self._known.clear()  # some ids in memory may not have been committed
                if isinstance(error, sqlite3.Error):
                    raise UnavailableError(f"the database is unavailable: {error}") from error
                raise

    def _advance(self, reached: HighWater) -> None:
        """Note a commit in the mark, and that it is newer than all before."""
        if self._reached is not None and reached.commits <= self._reached.commits:
            lost = self._reached.commits - reached.commits + 1
            self.add_problem(f"the database went back in time: {lost:,} commits are missing")
        self._reached = reached
        if self._mark is not None:
            try:
                self._mark.write(reached)
            except OSError as error:
                _log.warning("no mark was written: %s", error)

    def inspect(self, *, cheap: bool) -> list[str]:
        """Let SQLite check the form of its file; with `cheap`, only where that is a small one."""
        with self._read() as connection:
            raw = _raw(connection)
            (pages,), (size,) = (
                raw.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size")
            )
            if cheap and pages * size > _CHEAP_BYTES:
                return []
            found = raw.execute("PRAGMA quick_check" if cheap else "PRAGMA integrity_check")
            return [f"SQLite: {line}" for (line,) in found if line != "ok"]

    def accept(self) -> None:
        """Seal what there is now, and forget what was lost."""
        super().accept()
        self._reached = reached = self._high_water()
        if self._mark is not None:
            self._mark.write(reached)
            self._mark.write_lost(HighWater(reached.database, 0, 0))

    def close(self) -> None:
        """Move everything out of the write-ahead log, and close all connections."""
        if self._closed:
            return
        self._closed = True
        if self._writing.acquire(timeout=_CLOSE_SECONDS):  # else a commit hangs
            try:
                self._empty_log()
            except (UnavailableError, sqlite3.Error) as error:
                _log.error("the write-ahead log stays as it is: %s", error)
            finally:
                self._writing.release()
        super().close()
        if self._mark is not None:
            self._mark.sync()
            self._mark.close()

    def _empty_log(self) -> None:
        with self._read() as connection:  # in which no transaction has begun
            _check_files(connection.info[_FILES])
            raw = _raw(connection)
            raw.execute(f"PRAGMA busy_timeout={int(1000 * _CLOSE_SECONDS)}")
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _check_files(files: list[FileIdentity]) -> None:
    for each in files:
        if not each.still_there():
            name = Path(each.path).name
            raise UnavailableError(f"{name} was deleted or replaced while it was in use")


def _keep_log(mark: Path) -> None:
    """Copy a write-ahead log that could not be read to its end, before it is overwritten."""
    log = mark.with_name(mark.name.removesuffix("-mark") + "-wal")
    with suppress(OSError):
        if log.stat().st_size:
            shutil.copyfile(log, f"{log}-damaged")


def _ordered(ids: bytes, new: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> bytes:
    """Return the new ids in the order of their first halves, whatever their order was."""
    fresh = np.frombuffer(ids, ">u8").reshape(-1, 2)[new]
    return fresh[np.argsort(fresh[:, 0].astype(np.uint64))].tobytes()


def _raw(connection: Connection) -> sqlite3.Connection:
    """Return the driver's connection, on which a statement takes a tenth of the time."""
    return cast(sqlite3.Connection, connection.connection.driver_connection)


def _engine(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": _BUSY_SECONDS})
    first: list[FileIdentity] = []

    @event.listens_for(engine, "do_connect")
    def _look(*_: object) -> None:
        if first and not first[0].still_there():  # SQLite would make a new one
            name = Path(first[0].path).name
            raise sqlite3.OperationalError(f"{name} was deleted or replaced while it was in use")

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin below, not in the driver
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        connection.execute("SELECT count(*) FROM sqlite_master")  # opens the write-ahead log
        path = connection.execute("PRAGMA database_list").fetchone()[2]
        found = [identify(f"{path}{end}") for end in ("", "-wal")] if path else []
        record.info[_FILES] = files = [each for each in found if each is not None]
        first[:] = first or files[:1]

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine

"""SQLite store, the embedded default: one file, one writer, thousands of reports per commit."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sqlalchemy import Connection, Engine, create_engine, event, select

from noutput.collector.store.files import (
    FileIdentity,
    create_private,
    identify,
    keep_private,
)
from noutput.collector.store.ids import IdSet
from noutput.collector.store.interface import CampaignRow, UnavailableError
from noutput.collector.store.mark import HighWater, MarkFile
from noutput.collector.store.runs import ID, LARGE, POOL, mixed, ordered, padded
from noutput.collector.store.schema import high_water
from noutput.collector.store.seal import SUM_MASK
from noutput.collector.store.sql import SqlStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy.engine import URL

    from noutput.collector.store.groups import Group
    from noutput.collector.store.seal import Seal

__all__ = ["SqliteStore"]

_BUSY_SECONDS = 30.0
_CLOSE_SECONDS = 2.0
_CHEAP_BYTES = 1 << 26
_FILES = "noutput_files"
_PIECE = 1 << 20
_LOG_BYTES = 1 << 22
_SETTINGS = (
    "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cell_size_check=ON",
    "secure_delete=ON", f"journal_size_limit={_LOG_BYTES}",
)  # fmt: skip
_log = logging.getLogger("noutput.collector")
# These run at every commit, on the driver's own connection.
_OPEN = "SELECT 1 FROM campaigns WHERE key = ? AND closed IS NULL"
_UNSEEN = "SELECT sequence, ids FROM id_runs WHERE campaign = ? AND sequence > ? ORDER BY sequence"
_POOL = "SELECT substr(ids, 1, 16 * number) FROM id_pools WHERE campaign = ?"
_KEEP = "UPDATE id_pools SET number = ?, ids = ? WHERE campaign = ?"
_COUNT = "UPDATE counts SET reports = reports + ? WHERE campaign = ? AND cell = ?"
_SEAL = (
    "UPDATE seals SET reports = reports + ?, ids = ids + ?,"
    " id_sum = (id_sum + ?) & ?, count_sum = (count_sum + ?) & ?"
    " WHERE campaign = ?"
)
_ADVANCE = (
    "UPDATE high_water SET commits = commits + 1, reports = reports + ?"
    " RETURNING database, commits, reports"
)
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

    Every transaction that changes something also counts itself in `high_water`, and after its
    commit in a `MarkFile` next to the database. A write-ahead log of which a part cannot be read
    takes the database back to an earlier commit, and is as good as any other; only the mark
    tells that there was more.

    Guarantees
    ----------
    As in `Store`. A commit is durable before `add` returns: write-ahead log with
    ``synchronous=FULL``. It raises where the file, or its write-ahead log, was deleted or
    replaced: what is written then, nobody would find.

    The file has each id once, what is deleted is overwritten, and all that tells when an id came
    is its row: a run of 2,048 ids or more, the newest run, or the pool. The pool has all ids of a
    campaign up to 1,024, and never less than 512 from then on.

    Only its owner can open the file: rights of others are taken away.
    """

    reads_quickly = True

    def __init__(self, url: URL) -> None:
        self._known: dict[int, _Known] = {}
        # By campaign: what was known before the transaction; None where it cannot be undone.
        self._before: dict[int, tuple[int, bytes] | None] = {}
        self._writing = threading.RLock()
        self._closed = False
        self._counted = 0
        self._reached: HighWater | None = None
        self._mark: MarkFile | None = None
        path = _path(url)
        if path is None:
            super().__init__(_engine(url))
            return
        self._mark = MarkFile(path.with_name(f"{path.name}-mark"))
        marked = self._mark.read()  # before the database: it only ever gets ahead of the mark
        create_private(path)
        keep_private(path)
        super().__init__(_engine(url))
        try:
            keep_private(path)  # where SQLite had to make it
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

    def _add_seals(self, connection: Connection, more: dict[int, Seal]) -> None:
        rows = [
            (seal.reports, seal.ids, seal.id_sum, SUM_MASK, seal.count_sum, SUM_MASK, key)
            for key, seal in more.items()
        ]
        _raw(connection).executemany(_SEAL, rows)
        self._counted = sum(seal.reports for seal in more.values())

    def _ids(self, connection: Connection, key: int) -> Iterator[bytes]:
        pool = _raw(connection).execute(_POOL, (key,)).fetchone() or (b"",)
        runs = _raw(connection).execute(_UNSEEN, (key, 0))
        yield from _joined(chain(pool, (ids for _, ids in runs)))

    def merge_ids(self) -> None:
        """Do nothing: every commit has done it."""

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
            self._before.clear()
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
                self._undo()
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

    def _undo(self) -> None:
        """Take out the ids of a transaction that failed, or may have: it is looked up again."""
        for key, before in self._before.items():
            known = self._known.pop(key, None)
            if known is not None and before is not None:
                known.ids.undo()
                known.newest, known.pool = before
                self._known[key] = known


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
            create_private(Path(f"{log}-damaged"))
            shutil.copyfile(log, f"{log}-damaged")


def _path(url: URL) -> Path | None:
    """Return where the file of a database is, or None where it is in memory."""
    name = url.database
    if not name or name == ":memory:" or name.startswith("file:"):
        return None
    return Path(name).absolute()


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
    engine = create_engine(url, connect_args={"timeout": _BUSY_SECONDS}, hide_parameters=True)
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

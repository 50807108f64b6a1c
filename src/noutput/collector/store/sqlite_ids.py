"""Ids in a SQLite file: a pool that every commit overwrites, and rows of sorted ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput.collector.store.remembered import RememberedIds
from noutput.collector.store.runs import ID, LARGE, POOL, mixed, ordered, padded
from noutput.collector.store.segments import DEAD, SegmentRow
from noutput.collector.store.sqlite_engine import driver

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from noutput.collector.store.known import Known
    from noutput.collector.store.schema import IdTables

__all__ = ["SqliteIds"]

_COLUMNS = ", ".join(SegmentRow._fields)


class _Statements:
    """Statements on the driver's own connection, for tables of any name."""

    def __init__(self, tables: IdTables) -> None:
        runs, pools, segments = tables.runs.name, tables.pools.name, tables.segments.name
        # These run at every commit. None of them has a value in its text.
        self.unseen = (
            f"SELECT sequence, ids FROM {runs} WHERE campaign = ? AND sequence > ?"  # noqa: S608
            " AND sequence <= ? ORDER BY sequence"
        )
        self.pool = f"SELECT substr(ids, 1, 16 * number) FROM {pools} WHERE campaign = ?"  # noqa: S608
        self.keep = f"UPDATE {pools} SET number = ?, ids = ? WHERE campaign = ?"  # noqa: S608
        self.segments = f"SELECT {_COLUMNS} FROM {segments} WHERE campaign = ? AND state < {DEAD}"  # noqa: S608
        # And these where a pool is full.
        self.small = f"SELECT ids FROM {runs} WHERE sequence = ? AND length(ids) < ?"  # noqa: S608
        self.remove = f"DELETE FROM {runs} WHERE sequence = ?"  # noqa: S608
        self.add = f"INSERT INTO {runs} (campaign, ids) VALUES (?, ?)"  # noqa: S608
        self.first = f"INSERT INTO {pools} (number, ids, campaign) VALUES (?, ?, ?)"  # noqa: S608
        self.size = f"SELECT coalesce(sum(length(ids)), 0) FROM {runs} WHERE campaign = ?"  # noqa: S608


class _Rows:
    """The rows of one campaign as a transaction sees them."""

    def __init__(self, raw: sqlite3.Connection, statements: _Statements, key: int) -> None:
        self.raw = raw
        self.statements = statements
        self.key = key

    def look(self, after: int) -> tuple[tuple[SegmentRow, ...], Iterator[tuple[int, bytes]]]:
        found = self.raw.execute(self.statements.segments, (self.key,)).fetchall()
        return tuple(SegmentRow(*row) for row in found), self.runs(after)

    def runs(self, after: int, upto: int | None = None) -> Iterator[tuple[int, bytes]]:
        last = (1 << 63) - 1 if upto is None else upto
        return self.raw.execute(self.statements.unseen, (self.key, after, last))

    def staying(self, upto: int) -> bytes:  # noqa: ARG002 (all runs become segments)
        return b""

    def pool(self) -> bytes:
        (pool,) = self.raw.execute(self.statements.pool, (self.key,)).fetchone() or (b"",)
        return bytes(pool)


class SqliteIds(RememberedIds):
    """Which ids the campaigns of a SQLite file have.

    Notes
    -----
    Ids that came last are stored as sorted rows: the table of pools has one per campaign, which
    every commit overwrites in its place, and the table of runs has those of thousands of reports
    each, written in sequence, where an index over random ids would touch a page for every report;
    see `noutput.collector.store.runs`. A commit that fills the pool writes a run, together with
    the ids of the newest one while that is small: at most `LARGE` ids more than it counted.
    """

    def __init__(self, tables: IdTables) -> None:
        super().__init__(tables)
        self._statements = _Statements(tables)

    def _rows(self, connection: Connection, key: int) -> _Rows:
        return _Rows(driver(connection), self._statements, key)

    def _size(self, connection: Connection, key: int) -> int:
        (size,) = driver(connection).execute(self._statements.size, (key,)).fetchone()
        return int(size) // ID + POOL

    def _write(self, connection: Connection, key: int, known: Known, fresh: bytes) -> None:
        """Write new ids to the file: into the pool, and where it is full, into the newest run."""
        raw, statements = driver(connection), self._statements
        known.pool, leaving = mixed(known.pool, fresh)
        values = (len(known.pool) // ID, padded(known.pool), key)
        if not raw.execute(statements.keep, values).rowcount:
            raw.execute(statements.first, values)
        if not leaving:
            return
        small = None
        if known.newest > known.floor:  # else it becomes a segment
            small = raw.execute(statements.small, (known.newest, ID * LARGE)).fetchone()
        if small:
            raw.execute(statements.remove, (known.newest,))
            leaving = ordered(small[0] + leaving, parts=True)
        known.newest = raw.execute(statements.add, (key, leaving)).lastrowid or 0

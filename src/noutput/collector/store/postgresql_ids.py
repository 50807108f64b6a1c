"""Ids in PostgreSQL: a row per commit, and few larger rows that small ones become."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sqlalchemy import Connection, text

from noutput.collector.store.remembered import RememberedIds
from noutput.collector.store.runs import ID, KEPT, mixed, ordered, some
from noutput.collector.store.segments import DEAD, SegmentRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import psycopg

    from noutput.collector.store.known import Known
    from noutput.collector.store.schema import IdTables

__all__ = ["PostgresqlIds"]

# What `recent` says of a run: a group for good, in the pool, or as it came.
_GROUP, _POOLED, _FRESH = 0, 1, 2
_MOST = 256  # runs that one step of merging takes, of 512 ids at most, and the pool
_COLUMNS = ", ".join(SegmentRow._fields)


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    """Return the driver's connection, on which a statement takes half of the time."""
    return cast("psycopg.Connection[Any]", connection.connection.driver_connection)


class _Statements:
    """Statements for tables of any name."""

    def __init__(self, tables: IdTables) -> None:
        runs, segments = tables.runs.name, tables.segments.name
        # None of them has a value in its text.
        self.unseen = text(
            f"SELECT sequence, ids FROM {runs} WHERE campaign = :campaign"  # noqa: S608
            " AND sequence > :after AND sequence <= :upto ORDER BY sequence"
        )
        self.staying = text(
            f"SELECT ids FROM {runs} WHERE campaign = :campaign"  # noqa: S608
            " AND recent > 0 AND sequence <= :upto"
        )
        self.segments = text(
            f"SELECT {_COLUMNS} FROM {segments} WHERE campaign = :campaign AND state < {DEAD}"  # noqa: S608
            " ORDER BY number"
        )
        # These two run at every commit, on the driver's own connection.
        nothing = ", ".join(f"NULL AS {name}" for name in SegmentRow._fields)
        self.look = (
            f"SELECT sequence, ids, {nothing} FROM {runs}"  # noqa: S608
            " WHERE campaign = %(campaign)s AND sequence > %(after)s"
            f" UNION ALL SELECT NULL, NULL, {_COLUMNS} FROM {segments}"
            f" WHERE campaign = %(campaign)s AND state < {DEAD}"
        ).encode()
        self.add = (
            f"INSERT INTO {runs} (campaign, recent, ids) VALUES (%s, %s, %s)"  # noqa: S608
            " RETURNING sequence"
        ).encode()
        self.size = text(
            f"SELECT coalesce(sum(length(ids)), 0) FROM {runs} WHERE campaign = :campaign"  # noqa: S608
        )
        self.pooled = text(
            f"SELECT coalesce(sum(length(ids)), 0) FROM {runs}"  # noqa: S608
            " WHERE campaign = :campaign AND recent > 0"
        )
        self.fresh = text(f"SELECT DISTINCT campaign FROM {runs} WHERE recent = {_FRESH}")  # noqa: S608
        # The pool comes first, then what came first.
        self.take = text(
            f"DELETE FROM {runs} WHERE sequence IN (SELECT sequence FROM {runs}"  # noqa: S608
            " WHERE campaign = :campaign AND recent > 0 ORDER BY recent, sequence LIMIT :most)"
            " RETURNING ids"
        )


class _Rows:
    """The rows of one campaign as a transaction sees them."""

    def __init__(self, connection: Connection, statements: _Statements, key: int) -> None:
        self._connection = connection
        self._statements = statements
        self._key = key

    def _execute(self, statement: Any, **values: int) -> Any:
        return self._connection.execute(statement, {"campaign": self._key, **values})

    def look(self, after: int) -> tuple[tuple[SegmentRow, ...], Iterable[tuple[int, bytes]]]:
        if not after:
            found = self._execute(self._statements.segments)
            return tuple(SegmentRow(*row) for row in found), self.runs(0)
        values = {"campaign": self._key, "after": after}
        rows = _driver(self._connection).execute(self._statements.look, values, binary=True)
        states, runs = [], []
        for sequence, ids, *segment in rows:
            if sequence is None:
                states.append(SegmentRow(*segment))
            else:
                runs.append((sequence, ids))
        return tuple(sorted(states)), sorted(runs)

    def runs(self, after: int, upto: int | None = None) -> Iterator[tuple[int, bytes]]:
        last = (1 << 63) - 1 if upto is None else upto
        statement = self._statements.unseen
        if not after:  # there may be many: they are not read at once
            statement = statement.execution_options(stream_results=True, yield_per=16)
        for sequence, ids in self._execute(statement, after=after, upto=last):
            yield sequence, bytes(ids)

    def staying(self, upto: int) -> bytes:
        return b"".join(map(bytes, self._execute(self._statements.staying, upto=upto).scalars()))

    def pool(self) -> bytes:
        return b""  # its ids are a run


class PostgresqlIds(RememberedIds):
    """Which ids the campaigns of a PostgreSQL database have.

    Notes
    -----
    Every commit writes one row with its new ids, sorted, where an index over random ids would
    take a hundred times as long. One of 512 ids or more is a group for good. Smaller ones are put
    into the pool by `merge`, which itself is a row, and leave it as a group; see
    `noutput.collector.store.runs`.

    Transactions that write hold the campaign's own row. So the rows of a campaign are numbered
    in the order of their commits, and whoever has seen one has seen all before it.
    """

    def __init__(self, tables: IdTables) -> None:
        super().__init__(tables)
        self._statements = _Statements(tables)
        self._pools: set[int] = set()  # campaigns whose pools have ids enough

    def _rows(self, connection: Connection, key: int) -> _Rows:
        return _Rows(connection, self._statements, key)

    def _size(self, connection: Connection, key: int) -> int:
        size = connection.execute(self._statements.size, {"campaign": key}).scalar_one()
        return int(size) // ID

    def _write(self, connection: Connection, key: int, known: Known, fresh: bytes) -> None:
        fresh = ordered(fresh)
        if len(fresh) < ID * KEPT:
            known.newest = self._add(connection, key, _FRESH, fresh)
            return
        if key not in self._pools:
            values = {"campaign": key}
            pooled = connection.execute(self._statements.pooled, values).scalar_one()
            if pooled >= ID * KEPT:
                self._pools.add(key)
            elif len(fresh) < 2 * ID * KEPT:  # no group without the pool
                known.newest = self._add(connection, key, _FRESH, fresh)
                return
            else:  # the next id to come must not be alone
                stay = np.zeros(len(fresh) // ID, np.bool_)
                stay[some(len(stay), KEPT)] = True
                ids = np.frombuffer(fresh, "V16")
                known.newest = self._add(connection, key, _FRESH, ids[stay].tobytes())
                fresh = ids[~stay].tobytes()
        known.newest = self._add(connection, key, _GROUP, fresh)

    def _add(self, connection: Connection, key: int, recent: int, ids: bytes) -> int:
        done = _driver(connection).execute(self._statements.add, (key, recent, ids))
        (sequence,) = done.fetchone() or (0,)
        return int(sequence)

    def unmerged(self, connection: Connection) -> list[int]:
        """Return the campaigns with ids that are stored as they came."""
        return list(connection.execute(self._statements.fresh).scalars())

    def merge(self, connection: Connection, key: int) -> bool:
        """Put ids of a campaign, which is held, into groups; say whether there may be more."""
        values = {"campaign": key, "most": _MOST}
        taken = list(connection.execute(self._statements.take, values).scalars())
        pool, leaving = mixed(b"", b"".join(map(bytes, taken)))
        for ids, recent in ((leaving, _GROUP), (pool, _POOLED)):
            if ids:
                self._add(connection, key, recent, ids)
        return len(taken) == _MOST

"""PostgreSQL store, for production: several collector processes on one database."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sqlalchemy import Connection, create_engine, delete, select, text

from noutput.collector.store.schema import campaigns, report_ids
from noutput.collector.store.seal import SUM_MASK
from noutput.collector.store.sql import SqlStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import URL

    from noutput.collector.store.groups import Group
    from noutput.collector.store.seal import Seal

__all__ = ["PostgresqlStore"]

_LOCK = 0x6E6F7574  # "nout": one number that all collectors of a database agree on
_PIECE = 1 << 16
_REACHED = "noutput_reached"
# The ids travel as one value there, and the new ones as one value back.
_remember = text(
    "WITH added AS ("
    " INSERT INTO report_ids (campaign, id)"
    " SELECT :campaign, substring(CAST(:ids AS bytea) FROM 16 * place + 1 FOR 16)"
    " FROM generate_series(0, :count - 1) AS place"
    " ON CONFLICT DO NOTHING RETURNING id)"
    " SELECT count(*), CASE WHEN count(*) < :count THEN string_agg(id, ''::bytea) END FROM added"
)


_count = text(
    "UPDATE counts SET reports = reports + :number WHERE campaign = :campaign AND cell = :cell"
)

_seal = text(
    "UPDATE seals SET reports = reports + :reports, ids = ids + :ids,"
    " id_sum = (id_sum + :id_sum) & :mask, count_sum = (count_sum + :count_sum) & :mask"
    " WHERE campaign = :campaign RETURNING reports"
)


class PostgresqlStore(SqlStore):
    """A store in a PostgreSQL database, which any number of processes may share.

    Notes
    -----
    The index of `report_ids` decides which ids are new, also between processes: a second insert
    of the same id waits for the first to commit. All transactions take their locks in one
    order: campaigns (shared), ids in their order, cells in their order, seals in the order of
    campaigns. So none waits for another in a circle.

    The number of reports that every seal reached is remembered while the store is open. A
    database that falls behind it has lost commits, as after a switch to a standby that had not
    received them.

    Guarantees
    ----------
    As in `Store`, as long as the server runs with ``fsync`` and ``synchronous_commit`` on,
    which is its default; the session asks for the latter itself.
    """

    _snapshot_options: ClassVar[dict[str, Any]] = {"isolation_level": "REPEATABLE READ"}

    def __init__(self, url: URL) -> None:
        self._reached: dict[int, int] = {}
        settings = "-c synchronous_commit=on -c lock_timeout=30s -c statement_timeout=120s"
        super().__init__(
            create_engine(
                url.set(drivername="postgresql+psycopg"),
                pool_size=4,
                max_overflow=8,
                pool_pre_ping=True,
                connect_args={"options": settings, "connect_timeout": 5},
            )
        )

    def _lock_schema(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})

    def _open_keys(self, connection: Connection, keys: list[int]) -> set[int]:
        table = campaigns
        wanted = select(table.c.key).where(table.c.key.in_(keys), table.c.closed.is_(None))
        locked = wanted.order_by(table.c.key).with_for_update(read=True)
        return set(connection.execute(locked).scalars())

    def _remember(
        self, connection: Connection, group: Group
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        given = np.frombuffer(group.ids, "S16")
        # np.unique sorts, and keeps the first of equal ids.
        different, first = np.unique(given, return_index=True)
        values = {"campaign": group.key, "ids": different.tobytes(), "count": len(different)}
        count, added = connection.execute(_remember, values).one()
        new = np.zeros(len(given), np.bool_)
        if count == len(different):
            new[first] = True
        elif count:
            new[first] = np.isin(different, np.frombuffer(added, "S16"), assume_unique=True)
        return new

    def _count(self, connection: Connection, more: list[tuple[int, int, int]]) -> None:
        names = ("number", "campaign", "cell")
        connection.execute(_count, [dict(zip(names, values, strict=True)) for values in more])

    def _add_seals(self, connection: Connection, more: dict[int, Seal]) -> None:
        reached = dict(self._reached)
        for key, seal in more.items():
            values = {"campaign": key, "mask": SUM_MASK, **asdict(seal)}
            reports = connection.execute(_seal, values).scalar_one()
            self._look_back(key, reports - seal.reports, reached)
            connection.info[_REACHED][key] = reports

    def _look_back(self, key: int, reports: int, reached: dict[int, int]) -> None:
        lost = reached.get(key, 0) - reports
        if lost > 0:
            self.add_problem(
                f"the database went back in time: {lost:,} acknowledged reports of the campaign "
                f"with the number {key} are missing"
            )

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with super()._write() as connection:
            reached: dict[int, int] = {}
            connection.info[_REACHED] = reached
            yield connection
        for key, reports in reached.items():  # only now they are committed
            self._reached[key] = max(reports, self._reached.get(key, 0))

    def probe(self, size: int = 0) -> None:
        """Write and commit, and see whether the database went back in time."""
        super().probe(size)
        reached = dict(self._reached)
        with self._read() as connection:
            for key, seal in self._seals(connection).items():
                self._look_back(key, seal.reports, reached)

    def accept(self) -> None:
        """Seal what there is now, and forget what was lost."""
        super().accept()
        self._reached.clear()

    def _delete(self, connection: Connection, campaign_id: str) -> int | None:
        key = super()._delete(connection, campaign_id)
        connection.execute(delete(report_ids).where(report_ids.c.campaign == key))
        return key

    def _ids(self, connection: Connection, key: int) -> Iterator[bytes]:
        query = select(report_ids.c.id).where(report_ids.c.campaign == key)
        # Options of the statement, not of the connection, which may be writing next.
        streamed = query.execution_options(stream_results=True, yield_per=_PIECE)
        for part in connection.execute(streamed).scalars().partitions():
            yield b"".join(part)

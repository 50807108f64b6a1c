"""PostgreSQL store, for production: several collector processes on one database."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sqlalchemy import Connection, create_engine, delete, select, text

from noutput.collector.store.runs import ID, KEPT, mixed, some
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
# A server that is gone without a word is noticed within half a minute, not after TCP's quarter of
# an hour. (For one that is there and does not answer, callers have their own deadlines.)
_CONNECT = {
    "connect_timeout": 5, "tcp_user_timeout": 20_000,
    "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
}  # fmt: skip
_MOST = 8192  # ids per step of `merge_ids`
# What `report_ids.recent` says: in a group for good, in the pool, or as it came.
_SETTLED, _POOLED, _FRESH = 0, 1, 2
_REACHED = "noutput_reached"
# The ids travel as one value there, and the new ones as one value back.
_try_lock = text("SELECT pg_try_advisory_xact_lock(:lock, :what)")
_given = (
    " INSERT INTO report_ids (campaign, id, recent)"
    " SELECT :campaign, substring(CAST(:ids AS bytea) FROM 16 * place + 1 FOR 16),"
    " get_byte(CAST(:recent AS bytea), place) FROM generate_series(0, :count - 1) AS place"
)
_remember = text(
    f"WITH added AS ({_given} ON CONFLICT DO NOTHING RETURNING id)"  # noqa: S608 (no value in it)
    " SELECT count(*), CASE WHEN count(*) < :count THEN string_agg(id, ''::bytea) END FROM added"
)
_put_back = text(_given)
_take = text(
    "WITH taken AS (DELETE FROM report_ids WHERE ctid = ANY(ARRAY("
    " SELECT ctid FROM report_ids WHERE campaign = :campaign AND recent > 0 LIMIT :most))"
    " RETURNING id) SELECT string_agg(id, ''::bytea) FROM taken"
)
_pooled = text(
    "SELECT count(*) FROM (SELECT FROM report_ids WHERE campaign = :campaign AND recent > 0"
    " LIMIT :most) AS counted"
)
_fresh = text("SELECT DISTINCT campaign FROM report_ids WHERE recent = :fresh")
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
    of the same id waits for the first to commit, and also for `merge_ids`, which takes the ids
    of small commits out of the table and puts them back in one transaction, sorted. So rows of
    one transaction, and rows side by side, are those of 512 reports or more; see
    `noutput.collector.store.runs`. A larger commit is such a group at once.

    All transactions take their locks in one order: campaigns (shared), ids in their order, cells
    in their order, seals in the order of campaigns. `merge_ids` never waits for an id, and leaves
    the seals alone, which do not depend on where an id is. So none waits for another in a circle.

    The number of reports that every seal reached is remembered while the store is open. A
    database that falls behind it has lost commits, as after a switch to a standby that had not
    received them.

    Guarantees
    ----------
    As in `Store`, as long as the server runs with ``fsync`` and ``synchronous_commit`` on,
    which is its default; the session asks for the latter itself. Ids of commits that counted
    fewer than 512 reports are in the order in which they came until `merge_ids` was called, and
    the server keeps the former rows until it vacuums the table.
    """

    _snapshot_options: ClassVar[dict[str, Any]] = {"isolation_level": "REPEATABLE READ"}

    def __init__(self, url: URL) -> None:
        self._pools: set[int] = set()  # campaigns whose pools have ids enough
        self._reached: dict[int, int] = {}
        settings = "-c synchronous_commit=on -c lock_timeout=10s -c statement_timeout=120s"
        super().__init__(
            create_engine(
                url.set(drivername="postgresql+psycopg"),
                pool_size=4,
                max_overflow=8,
                pool_timeout=5.0,
                pool_pre_ping=True,
                hide_parameters=True,  # errors are logged, and ids are not
                connect_args={"options": settings, **_CONNECT},
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
        values = _values(group.key, different.tobytes())
        values["recent"] = self._marks(connection, group.key, len(different))
        count, added = connection.execute(_remember, values).one()
        new = np.zeros(len(given), np.bool_)
        if count == len(different):
            new[first] = True
        elif count:
            new[first] = np.isin(different, np.frombuffer(added, "S16"), assume_unique=True)
        return new

    def _marks(self, connection: Connection, key: int, count: int) -> bytes:
        """Say which of new ids are a group by themselves, and which need others around them."""
        marks = np.full(count, _FRESH, np.uint8)
        if count >= KEPT:
            if key not in self._pools:
                values = {"campaign": key, "most": KEPT}
                if connection.execute(_pooled, values).scalar_one() == KEPT:
                    self._pools.add(key)
            marks[:] = _SETTLED
            if key not in self._pools:  # the next id to come must not be alone
                marks[some(count, KEPT)] = _FRESH
        return marks.tobytes()

    def merge_ids(self) -> None:
        """Hide the order of the ids that came last, in steps."""
        with self._read() as connection:
            keys = connection.execute(_fresh, {"fresh": _FRESH}).scalars().all()
        for key in keys:
            while self._merge_step(key) == _MOST:
                pass

    def _merge_step(self, key: int) -> int:
        """Put ids of a campaign into groups in one transaction; say how many there were."""
        table = campaigns
        held = select(table.c.key).where(table.c.key == key).with_for_update(read=True)
        with self._write() as connection:
            if not connection.execute(_try_lock, {"lock": _LOCK, "what": 1}).scalar_one():
                return 0  # another collector is at it
            if connection.execute(held).scalar() is None:
                return 0  # it was deleted meanwhile
            values = {"campaign": key, "most": _MOST}
            taken = bytes(connection.execute(_take, values).scalar_one() or b"")
            pool, leaving = mixed(b"", taken)
            for ids, mark in ((leaving, _SETTLED), (pool, _POOLED)):
                values = _values(key, ids)
                connection.execute(_put_back, {**values, "recent": bytes([mark]) * values["count"]})
        return len(taken) // ID

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


def _values(key: int, ids: bytes) -> dict[str, Any]:
    return {"campaign": key, "ids": ids, "count": len(ids) // ID}

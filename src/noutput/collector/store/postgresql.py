"""PostgreSQL store, for production: several collector processes on one database."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import Connection, create_engine, text

from noutput.collector.store.interface import UnavailableError
from noutput.collector.store.postgresql_ids import PostgresqlIds
from noutput.collector.store.schema import report_ids
from noutput.collector.store.seal import SUM_MASK
from noutput.collector.store.sql import SqlStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import URL

    from noutput.collector.store.filters import Mask
    from noutput.collector.store.interface import Action, Outcome, Submission
    from noutput.collector.store.seal import Seal

__all__ = ["PostgresqlStore"]

_LOCK = 0x6E6F7574  # "nout": one number that all collectors of a database agree on
# A server that is gone without a word is noticed within half a minute, not after TCP's quarter of
# an hour. (For one that is there and does not answer, callers have their own deadlines.)
_CONNECT = {
    "connect_timeout": 5, "tcp_user_timeout": 20_000,
    "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
}  # fmt: skip
# A deadlock, or a conflict of transactions: the server took back all of one of them.
_VICTIM_STATES = ("40P01", "40001")
_MAX_ATTEMPTS = 4
_REACHED, _ADDING = "noutput_reached", "noutput_adding"
_try_lock = text("SELECT pg_try_advisory_xact_lock(:lock, :what)")
_lock = text("SELECT pg_advisory_xact_lock(:lock, :what)")
_open = text(
    "SELECT key FROM campaigns WHERE key = ANY(:keys) AND closed IS NULL"
    " ORDER BY key FOR NO KEY UPDATE"
)
_held = text("SELECT key FROM campaigns WHERE key = :key FOR NO KEY UPDATE")
_count = text(
    "INSERT INTO counts (campaign, cell, reports) VALUES (:campaign, :cell, :number)"
    " ON CONFLICT (campaign, cell) DO UPDATE SET reports = counts.reports + excluded.reports"
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
    A transaction that counts or publishes reports, or moves ids, first takes the row of its
    campaign, so that transactions on one campaign come one after the other, in all processes.
    What the others committed is then read, before it is decided which ids are new; see
    `PostgresqlIds`. Reports of other campaigns do not wait. (Transactions on one campaign wait
    for each other in any case: all of them update its seal.)

    All transactions take their locks in one order: the schema's, campaigns in the order of their
    numbers, what belongs to each of them, the log's. So none waits for another in a circle. Where
    the server ends a transaction that counts for its locks all the same, it begins again.

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
        self._reached: dict[int, int] = {}
        self._adding = threading.RLock()
        self._rows = PostgresqlIds(report_ids("postgresql"))
        settings = (
            "-c synchronous_commit=on -c lock_timeout=10s -c statement_timeout=120s"
            # Whoever waited for a lock sees what was committed meanwhile.
            " -c default_transaction_isolation=read\\ committed"
        )
        super().__init__(
            create_engine(
                url.set(drivername="postgresql+psycopg"),
                pool_size=4,
                max_overflow=8,
                pool_timeout=5.0,
                pool_pre_ping=True,
                hide_parameters=True,  # errors are logged, and ids are not
                connect_args={"options": settings, **_CONNECT},
            ),
            self._rows,
        )

    def _lock_schema(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})

    def _lock_log(self, connection: Connection) -> None:
        connection.execute(_lock, {"lock": _LOCK, "what": 2})

    def _open_keys(self, connection: Connection, keys: list[int]) -> set[int]:
        return set(connection.execute(_open, {"keys": keys}).scalars())

    def _hold(self, connection: Connection, key: int) -> bool:
        return connection.execute(_held, {"key": key}).scalar() is not None

    def _add(self, submissions: Sequence[Submission]) -> list[Outcome | None]:
        for _ in range(_MAX_ATTEMPTS - 1):
            try:
                return super()._add(submissions)
            except UnavailableError as error:
                cause = getattr(error.__cause__, "orig", error.__cause__)
                if getattr(cause, "sqlstate", None) not in _VICTIM_STATES:
                    raise
        return super()._add(submissions)

    def _remember(self, connection: Connection, key: int, ids: bytes) -> Mask:
        """Keep ids; from here to the end of the transaction, no other thread does."""
        if not connection.info[_ADDING]:
            self._adding.acquire()
            connection.info[_ADDING] = True
            self._remembered.begin()
        return super()._remember(connection, key, ids)

    def merge_ids(self) -> None:
        """Hide the order of the ids that came last, in steps, and settle older ones."""
        with self._read() as connection:
            keys = self._rows.unmerged(connection)
        for key in keys:
            while self._merge_step(key):
                pass
        super().merge_ids()

    def _merge_step(self, key: int) -> bool:
        """Put ids of a campaign into groups in one transaction; say whether there may be more."""
        with self._write() as connection:
            if not connection.execute(_try_lock, {"lock": _LOCK, "what": 1}).scalar_one():
                return False  # another collector is at it
            return self._hold(connection, key) and self._rows.merge(connection, key)

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
        reached: dict[int, int] = {}
        info: dict[str, Any] = {}
        try:
            with super()._write() as connection:
                info = connection.info
                info[_REACHED], info[_ADDING] = reached, False
                yield connection
            for key, reports in reached.items():  # only now they are committed
                self._reached[key] = max(reports, self._reached.get(key, 0))
        except BaseException:
            if info.get(_ADDING):
                self._remembered.undo()
            raise
        finally:
            if info.pop(_ADDING, False):
                self._adding.release()

    def probe(self, size: int = 0) -> None:
        """Write and commit, and see whether the database went back in time."""
        super().probe(size)
        reached = dict(self._reached)
        with self._read() as connection:
            for key, seal in self._seals(connection).items():
                self._look_back(key, seal.reports, reached)

    def accept(self, action: Action | None = None) -> None:
        """Seal what there is now, and forget what was lost."""
        super().accept(action)
        self._reached.clear()

    def _forget(self, key: int) -> None:
        if self._adding.acquire(blocking=False):  # else a commit is under way
            self._remembered.forget(key)
            self._adding.release()

"""SQL store: what SQLite and PostgreSQL have in common."""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import Connection, Engine, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from noutput.campaign.campaign import Campaign
from noutput.collector.cells import CellLayout
from noutput.collector.logs import event
from noutput.collector.store import schema
from noutput.collector.store.groups import groups
from noutput.collector.store.interface import (
    Action,
    CampaignRow,
    ConflictError,
    Counted,
    DamagedError,
    Outcome,
    Snapshot,
    Submission,
    UnavailableError,
)
from noutput.collector.store.issued import SqlIssued
from noutput.collector.store.releases import SqlReleases
from noutput.collector.store.seal import Seal
from noutput.collector.store.tokens import SqlTokens
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from noutput.collector.store.filters import Mask
    from noutput.collector.store.interface import LogEntry, Store
    from noutput.collector.store.remembered import RememberedIds

__all__ = ["SqlStore"]

_ROWS = [schema.campaigns.c[name] for name in CampaignRow.__slots__]
_log = logging.getLogger("noutput.collector")
_STEPS = 64  # of settling the ids of a campaign, at each call: about four million ids


class SqlStore(SqlReleases, SqlTokens, SqlIssued):
    """A store on a database that speaks SQL; see `Store`."""

    reads_quickly = False
    _snapshot_options: ClassVar[dict[str, Any]] = {}

    def __init__(self, engine: Engine, remembered: RememberedIds) -> None:
        self._engine = engine
        self._remembered = remembered
        self._settling = threading.Lock()
        self._closed = False
        self._problems: list[str] = []
        try:
            with self._write() as connection:
                self._lock_schema(connection)
                schema.create(connection)
        except BaseException:
            engine.dispose()
            raise

    @abstractmethod
    def _open_keys(self, connection: Connection, keys: list[int]) -> set[int]:
        """Say which campaigns exist and are not closed, and keep it so until the commit."""

    @abstractmethod
    def _count(self, connection: Connection, more: list[tuple[int, int, int]]) -> None:
        """Add numbers of reports to cells of campaigns, in the given order."""

    @abstractmethod
    def _add_seals(self, connection: Connection, more: dict[int, Seal]) -> None:
        """Add to the seals of campaigns, in the given order."""

    @abstractmethod
    def _forget(self, key: int) -> None:
        """Give back the memory of a campaign's ids."""

    def _remember(self, connection: Connection, key: int, ids: bytes) -> Mask:
        """Keep the ids of counted reports; say which are new."""
        return self._remembered.remember(connection, key, ids)

    def _ids(self, connection: Connection, key: int) -> Iterator[bytes]:
        """Return all counted ids of a campaign in pieces of whole ids."""
        return self._remembered.read(connection, key)

    def add(self, submissions: Sequence[Submission]) -> list[Outcome | None]:
        """Count reports; None where the campaign is gone or closed."""
        result = self._add(submissions)
        for key in self._remembered.crowded():
            self._settle(key)
        return result

    def _add(self, submissions: Sequence[Submission]) -> list[Outcome | None]:
        """Count reports in one transaction."""
        result: list[Outcome | None] = [None] * len(submissions)
        with self._write() as connection:
            waiting = groups(submissions)
            open_keys = self._open_keys(connection, [group.key for group in waiting])
            more: list[tuple[int, int, int]] = []
            seals: dict[int, Seal] = {}
            for group in waiting:
                if group.key not in open_keys:
                    self._remembered.forget(group.key)
                    continue
                new = self._remember(connection, group.key, group.ids)
                for place, outcome in group.outcomes(new):
                    result[place] = outcome
                counted = group.count(new)
                if counted:
                    seals[group.key] = group.seal(new, counted)
                more += counted
            if more:
                self._count(connection, more)
                self._add_seals(connection, seals)
        return result

    def merge_ids(self) -> None:
        """Bring ids that came long ago into segments."""
        with self._read() as connection:
            keys = self._remembered.settler.waiting(connection)
        for key in keys:
            for _ in range(_STEPS):
                if not self._settle(key):
                    break

    def _settle(self, key: int) -> bool:
        """Do a step of settling ids; say whether there was one to do."""
        with self._settling:
            return self._remembered.settler.step(key, self._read, self._write_to)

    @contextmanager
    def _write_to(self, key: int) -> Iterator[Connection | None]:
        """Begin a transaction that writes to a campaign; None where that is gone."""
        with self._write() as connection:
            yield connection if self._hold(connection, key) else None

    def create(
        self, campaign_id: str, fingerprint: str, document: str, now: str,
        action: Action | None = None,
    ) -> tuple[CampaignRow, bool]:  # fmt: skip
        """Keep a campaign; also say whether it is new. Raise `ConflictError` for another one."""
        row = CampaignRow(0, campaign_id, fingerprint, document, now, None)
        found = self.campaign(campaign_id)
        if found is None:
            try:
                return self.restore(Snapshot(row, {}, iter(())), action), True
            except ConflictError:  # another process was faster
                found = self.campaign(campaign_id)
        if found is None or not _is_wave(found, fingerprint):
            raise ConflictError(f"a campaign {campaign_id!r} with another fingerprint exists")
        return found, False

    def campaigns(self) -> list[CampaignRow]:
        """Return all campaigns in the order of their creation."""
        query = select(*_ROWS).order_by(schema.campaigns.c.key)
        with self._read() as connection:
            return [CampaignRow(*row) for row in connection.execute(query)]

    def campaign(self, campaign_id: str) -> CampaignRow | None:
        """Return one campaign."""
        with self._read() as connection:
            return self._campaign(connection, campaign_id)

    def _campaign(self, connection: Connection, campaign_id: str) -> CampaignRow | None:
        query = select(*_ROWS).where(schema.campaigns.c.id == campaign_id)
        row = connection.execute(query).first()
        return None if row is None else CampaignRow(*row)

    def close_campaign(
        self, campaign_id: str, now: str, *, key: int | None = None, action: Action | None = None
    ) -> CampaignRow | None:
        """Count no more reports of a campaign; keep the first closing time."""
        table = schema.campaigns
        with self._write() as connection:
            change = update(table).where(table.c.id == campaign_id, table.c.closed.is_(None))
            if key is not None:
                change = change.where(table.c.key == key)
            closed = connection.execute(change.values(closed=now)).rowcount
            found = self._campaign(connection, campaign_id)
            self._note(connection, action if closed else None)
        if found is not None:
            self._forget(found.key)
        return found

    def succeed(self, key: int, predecessor: str, fingerprint: str, document: str) -> bool:
        """Replace the document of an open campaign by that of its next wave; say whether it was."""
        table = schema.campaigns
        change = update(table).where(
            table.c.key == key, table.c.fingerprint == predecessor, table.c.closed.is_(None)
        )
        with self._write() as connection:
            values = {"fingerprint": fingerprint, "document": document}
            if not connection.execute(change.values(values)).rowcount:
                return False
            layout = CellLayout(Campaign.from_json(document))
            *_, newest = layout.waves
            self._add_cells(connection, key, layout, newest.start, {})
        return True

    def delete(self, campaign_id: str, action: Action | None = None) -> bool:
        """Forget a campaign with its counts and ids."""
        table = schema.campaigns
        found = select(table.c.key).where(table.c.id == campaign_id).with_for_update()
        with self._write() as connection:
            key = connection.execute(found).scalar()
            if key is None:
                return False
            self._remembered.delete(connection, key)
            connection.execute(delete(table).where(table.c.key == key))
            self._note(connection, action)
        self._forget(key)
        return True

    def counts(self, key: int) -> dict[int, int]:
        """Return the count of every cell with a report."""
        with self._read() as connection:
            return self._counts(connection, key)

    def _counts(self, connection: Connection, key: int) -> dict[int, int]:
        table = schema.counts
        query = select(table.c.cell, table.c.reports).where(
            table.c.campaign == key, table.c.reports > 0
        )
        return dict(connection.execute(query).all())

    def totals(self) -> dict[int, int]:
        """Return the number of reports of every campaign with a report."""
        table = schema.counts
        query = select(table.c.campaign, func.sum(table.c.reports)).group_by(table.c.campaign)
        with self._read() as connection:
            return {key: int(total) for key, total in connection.execute(query) if total}

    @contextmanager
    def snapshot(self, campaign_id: str) -> Iterator[Snapshot | None]:
        """Return all that is known about a campaign at one moment."""
        with self._read(**self._snapshot_options) as connection:
            row = self._campaign(connection, campaign_id)
            if row is None:
                yield None
                return
            counts = self._cells(connection, row.key)
            known = self._history(connection, row.key)
            seal = self._seals(connection).get(row.key)
            releases = self._releases(connection, row.key)
            issued = self._issued(connection, row.key)
            ids = self._ids(connection, row.key)
            yield Snapshot(row, counts, ids, known, seal, releases, issued)

    def restore(self, snapshot: Snapshot, action: Action | None = None) -> CampaignRow:
        """Keep a campaign that comes from elsewhere; the number in its row is not used."""
        with self._write() as connection:
            row = self._restore(connection, snapshot)
            self._note(connection, action)
        return row

    def restore_all(self, source: Store, action: Action | None = None) -> list[CampaignRow]:
        """Keep all that another database has: campaigns, tokens and log, in an empty one."""
        result: list[CampaignRow] = []
        keys: dict[int | None, int | None] = {None: None}  # here, by the key there
        with self._write() as connection:
            self._lock_schema(connection)
            _check_empty(connection)
            for row in source.campaigns():
                with source.snapshot(row.id) as snapshot:
                    if snapshot is not None and snapshot.row.key == row.key:
                        result.append(self._restore(connection, snapshot))
                        keys[row.key] = result[-1].key
            # A token comes after its parent. Those of campaigns that came meanwhile stay behind.
            tokens = [
                {**asdict(token), "campaign": keys[token.campaign]}
                for token in sorted(source.tokens(), key=lambda token: token.parent is not None)
                if token.campaign in keys
            ]
            log = [{"number": entry.number, **asdict(entry.action)} for entry in _log_of(source)]
            for table, rows in ((schema.tokens, tokens), (schema.admin_log, log)):
                if rows:
                    connection.execute(insert(table), rows)
            self._note(connection, action)
        return result

    def _restore(self, connection: Connection, snapshot: Snapshot) -> CampaignRow:
        row = snapshot.row
        values = {name: getattr(row, name) for name in CampaignRow.__slots__ if name != "key"}
        try:
            table = schema.campaigns
            added = insert(table).values(values).returning(table.c.key)
            key: int = connection.execute(added).scalar_one()
        except IntegrityError:
            raise ConflictError(f"a campaign {row.id!r} exists") from None
        layout = CellLayout(row.read())
        self._add_cells(connection, key, layout, 0, snapshot.counts)
        self._put_releases(connection, key, snapshot.releases)
        self._add_history(connection, key, snapshot.history)
        self._issue(connection, key, snapshot.issued)
        seal = Seal.of_counts(snapshot.reports.items())
        for piece in snapshot.ids:
            seal += Seal.of_ids(piece, self._remember(connection, key, piece))
            if key in self._remembered.crowded():
                self._remembered.settler.settle(key, connection)
        if snapshot.seal is not None and (found := snapshot.seal.problems(seal)):
            raise DamagedError(f"campaign {row.id!r} is damaged: " + "; ".join(found))
        self._put_seal(connection, key, seal)
        return replace(row, key=key)

    def _add_cells(
        self, connection: Connection, key: int, layout: CellLayout, start: int,
        counts: dict[int, Counted],
    ) -> None:  # fmt: skip
        """Make a row for every cell; where they are many, for those with reports."""
        cells = range(start, layout.size) if layout.strata.size == 1 else sorted(counts)
        nothing = Counted(0)
        rows = [
            {"campaign": key, "cell": cell, **counts.get(cell, nothing)._asdict()} for cell in cells
        ]
        if rows:
            connection.execute(insert(schema.counts), rows)

    def _seals(self, connection: Connection) -> dict[int, Seal]:
        rows = connection.execute(select(schema.seals))
        return {key: Seal(*values) for key, *values in rows}

    def _put_seal(self, connection: Connection, key: int, seal: Seal) -> None:
        table = schema.seals
        connection.execute(delete(table).where(table.c.campaign == key))
        connection.execute(insert(table).values(campaign=key, **asdict(seal)))

    def _seal_all(self, connection: Connection) -> None:
        """Seal what all campaigns have now."""
        for key in sorted(connection.execute(select(schema.campaigns.c.key)).scalars()):
            self._hold(connection, key)  # nobody counts meanwhile
            seal = Seal.of(self._counts(connection, key), self._ids(connection, key))
            self._put_seal(connection, key, seal)

    def probe(self, size: int = 0) -> None:
        """Write and commit bytes that mean nothing; raise `UnavailableError` where that fails."""
        with self._write() as connection:
            connection.execute(update(schema.high_water).values(padding=bytes(size)))

    def problems(self) -> tuple[str, ...]:
        """Return what was found to be damaged or lost since the store was opened."""
        return tuple(self._problems)

    def add_problem(self, problem: str) -> None:
        """Log damage or a loss, and keep it among the problems."""
        if problem not in self._problems:
            _log.error("%s", problem, extra=event("damage"))
            self._problems.append(problem)

    def inspect(self, *, cheap: bool) -> list[str]:
        """Look for ids that are not where they are looked for; the server checks its own pages."""
        if cheap:
            return []
        with self._read(**self._snapshot_options) as connection:
            return list(self._remembered.problems(connection))

    def accept(self, action: Action | None = None) -> None:
        """Seal what there is now, and forget what was lost."""
        with self._write() as connection:
            self._lock_schema(connection)
            self._seal_all(connection)
            self._note(connection, action)
        self._problems.clear()

    def close(self) -> None:
        """Give back all connections; whoever still asks gets an `UnavailableError`."""
        self._closed = True
        self._engine.dispose()

    def _connect(self) -> Connection:
        if self._closed:
            raise UnavailableError("the database was closed")
        return self._engine.connect()

    @contextmanager
    def _read(self, **options: Any) -> Iterator[Connection]:
        with self._translated(), self._connect() as connection:
            yield connection.execution_options(**options)

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self._translated(), self._writer() as connection, connection.begin():
            yield connection

    @contextmanager
    def _writer(self) -> Iterator[Connection]:
        """Return a connection for one transaction that writes."""
        with self._connect() as connection:
            yield connection.execution_options(write=True)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn errors of the driver into `UnavailableError`."""
        try:
            yield
        except IntegrityError:
            raise
        except (SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            raise UnavailableError(f"the database is unavailable: {cause}") from error


def _check_empty(connection: Connection) -> None:
    """Refuse a database that has campaigns, tokens or a log."""
    parts = {
        "campaigns": schema.campaigns,
        "tokens": schema.tokens,
        "log entries": schema.admin_log,
    }
    counts = {
        name: connection.execute(select(func.count()).select_from(table)).scalar_one()
        for name, table in parts.items()
    }
    if any(counts.values()):
        rule = "be empty: neither serve it nor add to it before a backup is restored"
        content = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        raise InvalidArgumentError("database", rule, content)


def _log_of(source: Store) -> Iterator[LogEntry]:
    before = None
    while entries := source.log(before=before, limit=1000):
        yield from entries
        before = entries[-1].number


def _is_wave(row: CampaignRow, fingerprint: str) -> bool:
    """Say whether a campaign has, or had before its next wave, this fingerprint."""
    if row.fingerprint == fingerprint:
        return True
    return row.read().wave(fingerprint) is not None

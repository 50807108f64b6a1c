"""Tables, and how a database gets from one version of them to the next."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    func,
    inspect,
    select,
)

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "MIGRATIONS", "campaigns", "counts", "high_water", "history", "id_runs", "report_ids", "seals",
    "tokens", "upgrade",
]  # fmt: skip

_metadata = MetaData()
_number = BigInteger().with_variant(Integer, "sqlite")

schema_version = Table("noutput_schema", _metadata, Column("version", Integer, nullable=False))

campaigns = Table(
    "campaigns", _metadata,
    Column("key", _number, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("fingerprint", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("closed", Text),
    sqlite_autoincrement=True,
)  # fmt: skip

_campaign = ForeignKey("campaigns.key", ondelete="CASCADE")

counts = Table(
    "counts", _metadata,
    Column("campaign", _number, _campaign, primary_key=True),
    Column("cell", Integer, primary_key=True, autoincrement=False),
    Column("reports", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip

# SQLite: what one commit counted, as one sorted row; see `noutput.collector.store.sqlite`.
id_runs = Table(
    "id_runs", _metadata,
    Column("sequence", _number, primary_key=True, autoincrement=True),
    Column("campaign", _number, ForeignKey("campaigns.key", ondelete="CASCADE"), nullable=False),
    Column("ids", LargeBinary, nullable=False),
    Index("id_runs_of_campaign", "campaign", "sequence"),
    sqlite_autoincrement=True,
)  # fmt: skip

# PostgreSQL: one row per id, found by its index. No foreign key: it would be looked up for every
# row, and the campaign's own row is locked anyway while its reports are counted.
report_ids = Table(
    "report_ids", _metadata,
    Column("campaign", _number, primary_key=True, autoincrement=False),
    Column("id", LargeBinary, primary_key=True),
)  # fmt: skip

tokens = Table(
    "tokens", _metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("campaign", Text),
    Column("salt", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("created", Text, nullable=False),
)  # fmt: skip

# What was known when: a few hundred rows per campaign, see `noutput.collector.ingest.history`.
history = Table(
    "history", _metadata,
    Column("campaign", _number, ForeignKey("campaigns.key", ondelete="CASCADE"), primary_key=True),
    Column("attribute", Integer, primary_key=True, autoincrement=False),
    Column("reports", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("mean", Double, nullable=False),
    Column("low", Double, nullable=False),
    Column("high", Double, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip

# What counts and ids of a campaign add up to, see `noutput.collector.store.seal`.
seals = Table(
    "seals", _metadata,
    Column("campaign", _number, ForeignKey("campaigns.key", ondelete="CASCADE"), primary_key=True,
           autoincrement=False),
    Column("reports", BigInteger, nullable=False),
    Column("ids", BigInteger, nullable=False),
    Column("id_sum", BigInteger, nullable=False),
    Column("count_sum", BigInteger, nullable=False),
)  # fmt: skip

# One row: how far this database got, and room for a write that tries whether there is room.
high_water = Table(
    "high_water", _metadata,
    Column("database", Text, nullable=False),
    Column("commits", BigInteger, nullable=False),
    Column("reports", BigInteger, nullable=False),
    Column("padding", LargeBinary, nullable=False),
)  # fmt: skip


def _first_tables(connection: Connection) -> None:
    ids = id_runs if connection.dialect.name == "sqlite" else report_ids
    _metadata.create_all(connection, tables=[campaigns, counts, ids, tokens])


def _history_table(connection: Connection) -> None:
    _metadata.create_all(connection, tables=[history])


def _seal_tables(connection: Connection) -> None:
    _metadata.create_all(connection, tables=[seals, high_water])
    if connection.execute(select(func.count()).select_from(high_water)).scalar():
        return
    first = {"database": secrets.token_hex(16), "commits": 0, "reports": 0, "padding": b""}
    connection.execute(high_water.insert().values(first))


# The step at place v makes version v + 1 out of version v. Steps are added, never changed.
MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_first_tables, _history_table, _seal_tables)


def upgrade(connection: Connection) -> None:
    """Bring a database to the newest version, inside the caller's transaction.

    Raises
    ------
    InvalidArgumentError
        If the database was made by a newer noutput; nothing is changed then.
    """
    newest = len(MIGRATIONS)
    known = inspect(connection).has_table(schema_version.name)
    version = 0
    if known:
        version = connection.execute(select(func.max(schema_version.c.version))).scalar() or 0
    if version > newest:
        rule = f"have a version up to {newest}, the newest that this noutput knows"
        raise InvalidArgumentError("database", rule, version)
    if not known:
        _metadata.create_all(connection, tables=[schema_version])
    for step in MIGRATIONS[version:]:
        step(connection)
    if version < newest:
        connection.execute(schema_version.delete())
        connection.execute(schema_version.insert().values(version=newest))

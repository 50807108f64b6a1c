"""Tables, and how a database gets from one version of them to the next."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import asdict
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    func,
    insert,
    inspect,
    select,
)

from noutput.campaign.campaign import Campaign
from noutput.collector.cells import CellLayout
from noutput.collector.store.id_tables import report_ids
from noutput.collector.store.interface import Published
from noutput.collector.store.runs import KEPT, rewrite_runs
from noutput.errors import InvalidArgumentError, NoutputError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "MIGRATIONS", "admin_log", "campaigns", "counts", "high_water", "history", "issued_tokens",
    "releases", "seals", "tokens", "upgrade",
]  # fmt: skip

_metadata = MetaData()
_RUN = 1 << 16  # ids per row that a migration writes
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

# Of `reports`, everybody may see `released` with their labels, and `rest` without them.
counts = Table(
    "counts", _metadata,
    Column("campaign", _number, _campaign, primary_key=True),
    Column("cell", Integer, primary_key=True, autoincrement=False),
    Column("reports", BigInteger, nullable=False),
    Column("released", BigInteger, nullable=False, server_default="0"),
    Column("rest", BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)  # fmt: skip

# Versions 1 to 5: everybody saw every report at once.
_first_counts = Table(
    "counts", MetaData(),
    Column("campaign", _number, primary_key=True),
    Column("cell", Integer, primary_key=True, autoincrement=False),
    Column("reports", BigInteger, nullable=False),
    ForeignKeyConstraint(["campaign"], [campaigns.c.key], ondelete="CASCADE"),
    sqlite_with_rowid=False,
)  # fmt: skip

# The last release of every question, see `noutput.collector.store.releases`.
releases = Table(
    "releases", _metadata,
    Column("campaign", _number, ForeignKey("campaigns.key", ondelete="CASCADE"), primary_key=True),
    Column("question", Integer, primary_key=True, autoincrement=False),
    Column("reports", BigInteger, nullable=False),
    Column("at", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("smallest", BigInteger, nullable=False),
    Column("last", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip

# Up to version 6: one row per id in PostgreSQL, found by its index.
_server_ids = Table(
    "report_ids", MetaData(),
    Column("campaign", _number, primary_key=True, autoincrement=False),
    Column("id", LargeBinary, primary_key=True),
    Column("recent", SmallInteger, nullable=False),
)  # fmt: skip
Index("recent_ids", _server_ids.c.recent, _server_ids.c.campaign,
      postgresql_where=_server_ids.c.recent > 0)  # fmt: skip

tokens = Table(
    "tokens", _metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("campaign", _number, ForeignKey("campaigns.key", ondelete="CASCADE")),
    Column("label", Text, nullable=False),
    Column("salt", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("created", Text, nullable=False),
    Column("expires", Text),
    Column("last_used", Text),
    Column("parent", Text, ForeignKey("tokens.id", ondelete="CASCADE")),
)  # fmt: skip

# Versions 1 and 2: a token named its campaign.
_first_tokens = Table(
    "tokens", MetaData(),
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("campaign", Text),
    Column("salt", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("created", Text, nullable=False),
)  # fmt: skip

# Hashes of the one-time tokens that were handed out; see `noutput.collector.store.issued`.
issued_tokens = Table(
    "issued_tokens", _metadata,
    Column("campaign", _number, ForeignKey("campaigns.key", ondelete="CASCADE"), primary_key=True,
           autoincrement=False),
    Column("digest", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)  # fmt: skip

# What was known when: a few hundred rows per campaign, see `noutput.collector.ingest.history`.
history = Table(
    "history", _metadata,
    Column("campaign", _number, ForeignKey("campaigns.key", ondelete="CASCADE"), primary_key=True),
    Column("attribute", Integer, key="question", primary_key=True, autoincrement=False),
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


# Who did what and when, see `noutput.collector.store.log`. Campaigns and tokens are named, and not
# referred to: entries stay when those are gone.
admin_log = Table(
    "admin_log", _metadata,
    Column("number", _number, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("campaign", Text),
    Column("token", Text),
    Column("detail", Text, nullable=False),
)  # fmt: skip


# What the first version of `report_ids` was.
_first_report_ids = Table(
    "report_ids", MetaData(),
    Column("campaign", _number, primary_key=True, autoincrement=False),
    Column("id", LargeBinary, primary_key=True),
)  # fmt: skip


def _first_tables(connection: Connection) -> None:
    _metadata.create_all(connection, tables=[campaigns])
    _first_counts.create(connection)
    _first_tokens.create(connection)
    if connection.dialect.name == "sqlite":
        report_ids("sqlite").runs.create(connection)
    else:
        _first_report_ids.create(connection)


def _history_table(connection: Connection) -> None:
    _metadata.create_all(connection, tables=[history])


def _bound_tokens(connection: Connection) -> None:
    """Bind tokens to campaigns rather than to their names.

    A token that is older than the campaign of its name may have been for an earlier one, and goes.
    So do the read tokens that browsers had in place of an admin token: people sign in again.
    """
    wanted = select(campaigns.c.id, campaigns.c.key, campaigns.c.created)
    named = {row.id: row for row in connection.execute(wanted)}
    rows = connection.execute(select(_first_tokens)).mappings().all()
    signed_in = {_first_reading_id(row["id"]) for row in rows if row["kind"] == "admin"}
    _first_tokens.drop(connection)
    tokens.create(connection)
    for row in rows:
        owner = named.get(row["campaign"])
        lost = owner is None or row["created"] < owner.created
        if row["id"] in signed_in or (row["campaign"] is not None and lost):
            continue
        key = None if row["campaign"] is None or owner is None else owner.key
        connection.execute(insert(tokens).values({**row, "campaign": key, "label": ""}))


def _first_reading_id(admin: str) -> str:
    """Return the id that the read token of an admin token had up to version 2."""
    return hashlib.sha256(b"noutput read token of " + admin.encode()).hexdigest()[:12]


def _ids_without_order(connection: Connection) -> None:
    """Make the tables for the ids that came last; sort those that were stored as they came."""
    if connection.dialect.name == "sqlite":
        report_ids("sqlite").pools.create(connection, checkfirst=True)
        rewrite_runs(connection)
        return
    run = connection.exec_driver_sql
    run("SET LOCAL statement_timeout = 0")
    run("ALTER TABLE report_ids RENAME TO former_ids")
    run("ALTER INDEX report_ids_pkey RENAME TO former_ids_pkey")
    _server_ids.create(connection)
    run(
        "INSERT INTO report_ids (campaign, id, recent)"
        " SELECT campaign, id, CASE WHEN place <= %s THEN 1 ELSE 0 END FROM ("
        " SELECT campaign, id,"
        " row_number() OVER (PARTITION BY campaign ORDER BY gen_random_uuid()) AS place"
        " FROM former_ids) AS shuffled ORDER BY campaign, id",
        (KEPT,),
    )
    run("DROP TABLE former_ids")
    run("ALTER TABLE report_ids SET (autovacuum_vacuum_scale_factor = 0.02)")


def _seal_tables(connection: Connection) -> None:
    _metadata.create_all(connection, tables=[seals, high_water])
    if connection.execute(select(func.count()).select_from(high_water)).scalar():
        return
    first = {"database": secrets.token_hex(16), "commits": 0, "reports": 0, "padding": b""}
    connection.execute(high_water.insert().values(first))


def _releases_of_counts(connection: Connection) -> None:
    """Make the tables for what is published in steps.

    Up to version 5, counts were published after every report: they stay as they are, with 1 as the
    size of their steps.
    """
    _metadata.create_all(connection, tables=[releases])
    run = connection.exec_driver_sql
    run("ALTER TABLE counts ADD COLUMN released BIGINT NOT NULL DEFAULT 0")
    run("UPDATE counts SET released = reports")
    wanted = select(campaigns.c.key, campaigns.c.document, campaigns.c.created)
    for key, document, created in connection.execute(wanted).all():
        try:
            layout = CellLayout(Campaign.from_json(document))
        except NoutputError:  # this version shows nothing of it
            continue
        query = select(counts.c.cell, counts.c.reports).where(counts.c.campaign == key)
        known = {cell: reports for cell, reports in connection.execute(query) if reports}
        parts = [block.cells for block in layout.blocks]
        for each in Published.at_once(known, parts, created).releases:
            connection.execute(insert(releases).values(campaign=key, **asdict(each)))


def _ids_in_runs(connection: Connection) -> None:
    """Put the ids of PostgreSQL into sorted rows of thousands; make room for segments in both."""
    tables = report_ids(connection.dialect.name)
    tables.create(connection)
    if connection.dialect.name == "sqlite":
        return
    run = connection.exec_driver_sql
    run("SET LOCAL statement_timeout = 0")
    run(
        "INSERT INTO id_runs (campaign, recent, ids)"
        " SELECT campaign, pooled, string_agg(id, ''::bytea ORDER BY id) FROM ("
        " SELECT campaign, id, pooled, (row_number() OVER ("
        " PARTITION BY campaign, pooled ORDER BY id) - 1) / %s AS part FROM ("
        " SELECT campaign, id, CASE WHEN recent > 0 OR"
        " count(*) FILTER (WHERE recent = 0) OVER (PARTITION BY campaign) < %s"
        " THEN 1 ELSE 0 END AS pooled FROM report_ids) AS marked) AS parts"
        " GROUP BY campaign, pooled, part ORDER BY campaign, pooled, part",
        (_RUN, KEPT),
    )
    run("DROP TABLE report_ids")


def _issued_tokens(connection: Connection) -> None:
    _metadata.create_all(connection, tables=[issued_tokens])


def _log_of_actions(connection: Connection) -> None:
    """Make the log of administrative actions, which the database itself keeps from changes."""
    _metadata.create_all(connection, tables=[admin_log])
    run = connection.exec_driver_sql
    if connection.dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            run(
                f"CREATE TRIGGER admin_log_{change.lower()} BEFORE {change} ON admin_log"
                " BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
            )
        return
    run(
        "CREATE OR REPLACE FUNCTION noutput_append_only() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'the log is append-only'; END $$"
    )
    run(
        "CREATE TRIGGER admin_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON admin_log"
        " FOR EACH STATEMENT EXECUTE FUNCTION noutput_append_only()"
    )


def _counts_in_rests(connection: Connection) -> None:
    """Make room for how many reports were published without their labels: none so far."""
    connection.exec_driver_sql("ALTER TABLE counts ADD COLUMN rest BIGINT NOT NULL DEFAULT 0")


# The step at place v makes version v + 1 out of version v. Steps are added, never changed.
MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    _first_tables,
    _history_table,
    _bound_tokens,
    _ids_without_order,
    _seal_tables,
    _releases_of_counts,
    _ids_in_runs,
    _issued_tokens,
    _log_of_actions,
    _counts_in_rests,
)


def upgrade(connection: Connection) -> bool:
    """Bring a database to the newest version, inside the caller's transaction; say if it was older.

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
    return version < newest

"""Tables of a database, version 1, with the sense of every column.

Changes need no migration as long as nothing was released: a database of any other version is
refused. From the first release on, a change here gets one.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cache

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
    SmallInteger,
    Table,
    Text,
    func,
    insert,
    inspect,
    select,
)

from noutput.errors import InvalidArgumentError

__all__ = [
    "VERSION", "IdTables", "admin_log", "campaigns", "counts", "create", "high_water", "history",
    "issued_tokens", "releases", "report_ids", "schema_version", "seals", "tokens",
]  # fmt: skip

VERSION = 1
_metadata = MetaData()
_number = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by INTEGER alone


def _campaign() -> ForeignKey:
    """Refer to a campaign: the row goes with it."""
    return ForeignKey("campaigns.key", ondelete="CASCADE")


# One row: which version of these tables the database has.
schema_version = Table("noutput_schema", _metadata, Column("version", Integer, nullable=False))

campaigns = Table(
    "campaigns", _metadata,
    # What all other tables know it by; never used again after a campaign was deleted.
    Column("key", _number, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),  # its name in addresses
    Column("fingerprint", Text, nullable=False),  # of its newest wave
    Column("document", Text, nullable=False),  # JSON, up to its newest wave
    Column("created", Text, nullable=False),  # instants are texts: 2026-03-01T00:00:00Z
    Column("closed", Text),  # when it was closed by hand or by its time; empty while it is open
    sqlite_autoincrement=True,
)  # fmt: skip

counts = Table(
    "counts", _metadata,
    Column("campaign", _number, _campaign(), primary_key=True),
    # Wave, round, labels, question, and output as one number; see `noutput.collector.cells`.
    Column("cell", Integer, primary_key=True, autoincrement=False),
    Column("reports", BigInteger, nullable=False),  # all that were counted
    Column("released", BigInteger, nullable=False, server_default="0"),  # that everybody may see
    # Those counted here that everybody may see in a row without labels, or without a round.
    Column("moved", BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)  # fmt: skip

# The last release of every block of counts; see `noutput.collector.store.releases`.
releases = Table(
    "releases", _metadata,
    Column("campaign", _number, _campaign(), primary_key=True),
    Column("question", Integer, primary_key=True, autoincrement=False),  # its number
    Column("reports", BigInteger, nullable=False),  # how many are published
    Column("at", Text, nullable=False),
    Column("number", BigInteger, nullable=False),  # how many releases there have been
    Column("smallest", BigInteger, nullable=False),  # reports that the smallest release added
    Column("last", BigInteger, nullable=False),  # reports that this release added
    sqlite_with_rowid=False,
)  # fmt: skip

# What was known when: a few hundred rows per campaign; see `noutput.collector.ingest.history`.
history = Table(
    "history", _metadata,
    Column("campaign", _number, _campaign(), primary_key=True),
    Column("question", Integer, primary_key=True, autoincrement=False),  # its index
    Column("reports", BigInteger, primary_key=True, autoincrement=False),  # published by then
    Column("at", Text, nullable=False),
    Column("mean", Double, nullable=False),  # the estimate that is followed, and its interval
    Column("low", Double, nullable=False),
    Column("high", Double, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip

# Tokens that administrate and read; see `noutput.collector.store.tokens`.
tokens = Table(
    "tokens", _metadata,
    Column("id", Text, primary_key=True),  # the part of a token that names it
    Column("kind", Text, nullable=False),  # "admin", "read" or "metrics"
    Column("campaign", _number, _campaign()),  # the only one that it is for; empty for all
    Column("label", Text, nullable=False),  # what people call it
    Column("salt", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),  # of salt and secret; the secret is not kept
    Column("created", Text, nullable=False),
    Column("expires", Text),
    Column("last_used", Text),  # a day
    # The admin token that signed in: this one goes with it.
    Column("parent", Text, ForeignKey("tokens.id", ondelete="CASCADE")),
)  # fmt: skip

# One-time tokens that were handed out; see `noutput.collector.store.issued`. One that was spent is
# among the ids of counted reports.
issued_tokens = Table(
    "issued_tokens", _metadata,
    Column("campaign", _number, _campaign(), primary_key=True, autoincrement=False),
    Column("digest", LargeBinary, primary_key=True),  # 16 bytes
    sqlite_with_rowid=False,
)  # fmt: skip

# What counts and ids of a campaign add up to; see `noutput.collector.store.seal`.
seals = Table(
    "seals", _metadata,
    Column("campaign", _number, _campaign(), primary_key=True, autoincrement=False),
    Column("reports", BigInteger, nullable=False),  # the sum of all counts
    Column("ids", BigInteger, nullable=False),  # how many ids there are
    Column("id_sum", BigInteger, nullable=False),  # sums of hashes, in any order
    Column("count_sum", BigInteger, nullable=False),
)  # fmt: skip

# One row: how far this database got.
high_water = Table(
    "high_water", _metadata,
    Column("database", Text, nullable=False),  # a random name, which the mark file has as well
    Column("commits", BigInteger, nullable=False),  # SQLite only
    Column("reports", BigInteger, nullable=False),  # counted by these commits
    Column("padding", LargeBinary, nullable=False),  # written to see whether there is room
)  # fmt: skip

# Who did what and when; see `noutput.collector.store.log`. Campaigns and tokens are named, and not
# referred to: entries stay when those are gone.
admin_log = Table(
    "admin_log", _metadata,
    Column("number", _number, primary_key=True, autoincrement=False),  # 1, 2, ... without a gap
    Column("at", Text, nullable=False),
    Column("by", Text, nullable=False),  # the id of a token, or the command line
    Column("name", Text, nullable=False),  # what was done, such as "campaign.close"
    Column("campaign", Text),  # its id
    Column("token", Text),  # its id
    Column("detail", Text, nullable=False),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class IdTables:
    """Tables of the ids of counted reports; see `noutput.collector.store.runs`.

    Parameters
    ----------
    runs : Table
        Sorted ids, thousands per row. In PostgreSQL also those that came last.
    pools : Table
        SQLite only: the ids that came last.
    segments : Table
        What millions of older ids are made of; see `noutput.collector.store.segments`.
    pieces, filters : Table
        Their ids and filters.
    """

    runs: Table
    pools: Table
    segments: Table
    pieces: Table
    filters: Table

    def create(self, connection: Connection) -> None:
        """Make the tables."""
        server = connection.dialect.name != "sqlite"
        mine = [self.runs, self.segments, self.pieces, self.filters]
        mine += [] if server else [self.pools]
        self.runs.metadata.create_all(connection, tables=mine)
        if server:
            # Random bytes: no compression is tried, and small rows stay where they are.
            for table, storage in ((self.runs, "EXTERNAL"), (self.pieces, "MAIN")):
                alter = f"ALTER TABLE {table.name} ALTER COLUMN ids SET STORAGE {storage}"
                connection.exec_driver_sql(alter)
            connection.exec_driver_sql(
                f"ALTER TABLE {self.runs.name} SET (autovacuum_vacuum_scale_factor = 0.02,"
                " toast.autovacuum_vacuum_scale_factor = 0.02)"
            )


@cache
def report_ids(dialect: str) -> IdTables:
    """Return the tables of ids for "sqlite" or "postgresql"."""
    found = MetaData()
    Table("campaigns", found, Column("key", _number, primary_key=True))
    lite = dialect == "sqlite"
    runs = Table(
        "id_runs", found,
        Column("sequence", _number, primary_key=True, autoincrement=True),  # in order of commits
        Column("campaign", _number, _campaign(), nullable=False),
        Column("ids", LargeBinary, nullable=False),  # 16 bytes each, sorted
        # 0: a group for good; 1: in the pool; 2: as it came.
        *([] if lite else [Column("recent", SmallInteger, nullable=False)]),
        Index("id_runs_of_campaign", "campaign", "sequence"),
        sqlite_autoincrement=True,
    )  # fmt: skip
    if not lite:
        Index("id_recent", runs.c.recent, runs.c.campaign, postgresql_where=runs.c.recent > 0)
    pools = Table(
        "id_pools", found,
        Column("campaign", _number, _campaign(), primary_key=True, autoincrement=False),
        Column("number", Integer, nullable=False),  # of ids
        Column("ids", LargeBinary, nullable=False),  # sorted; always of one size: overwritten
    )  # fmt: skip
    segments = Table(
        "id_segments", found,
        Column("number", _number, primary_key=True, autoincrement=True),
        Column("campaign", _number, _campaign(), nullable=False, index=True),
        Column("level", Integer, nullable=False),  # how often its ids were merged
        Column("state", Integer, nullable=False),  # being built, in use, or to be deleted
        Column("size", BigInteger, nullable=False),  # how many ids it has
        Column("bits", Integer, nullable=False),  # binary logarithm of the number of its pieces
        Column("upto", BigInteger, nullable=False),  # the newest run that it has, and all before
        Column("secret", LargeBinary, nullable=False),  # the key by which ids have their pieces
        Column("done", BigInteger, nullable=False),  # chunks that are built, or pieces deleted
        Column("goal", BigInteger),  # the segment that it is merged into
        sqlite_autoincrement=True,
    )  # fmt: skip
    pieces, filters = (
        Table(
            f"id_{part}", found,
            # The upper half is the segment's number, the lower one the piece's.
            Column("key", _number, primary_key=True, autoincrement=False),
            Column(value, LargeBinary, nullable=False),
        )
        for part, value in (("pieces", "ids"), ("filters", "filter"))
    )  # fmt: skip
    return IdTables(runs, pools, segments, pieces, filters)


def create(connection: Connection) -> None:
    """Make the tables of an empty database, inside the caller's transaction.

    Raises
    ------
    InvalidArgumentError
        If the database has tables of another version; nothing is changed then.
    """
    if inspect(connection).has_table(schema_version.name):
        version = connection.execute(select(func.max(schema_version.c.version))).scalar()
        if version != VERSION:
            rule = f"have version {VERSION}, the only one that this noutput reads"
            raise InvalidArgumentError("database", rule, version)
        return
    _metadata.create_all(connection)
    connection.execute(insert(schema_version).values(version=VERSION))
    first = {"database": secrets.token_hex(16), "commits": 0, "reports": 0, "padding": b""}
    connection.execute(insert(high_water).values(first))
    report_ids(connection.dialect.name).create(connection)
    _keep_log(connection)


def _keep_log(connection: Connection) -> None:
    """Let the database itself keep the log of actions from changes."""
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

"""Tables of ids: sorted rows of those that came last, and segments of older ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
)

__all__ = ["IdTables", "report_ids"]

_number = BigInteger().with_variant(Integer, "sqlite")


@dataclass(frozen=True, slots=True)
class IdTables:
    """Tables of one set of ids per campaign; see `noutput.collector.store.runs`.

    Parameters
    ----------
    runs : Table
        Sorted ids, thousands per row. In PostgreSQL also those that came last, as `recent` says:
        0 for a group for good, 1 in the pool, 2 as it came.
    pools : Table
        SQLite only: the ids that came last, sorted, in a value of one size, which is overwritten
        in its place.
    segments : Table
        What millions of older ids are made of; see `noutput.collector.store.segments`.
    pieces, filters : Table
        Their ids and filters. The upper half of a key is the segment's number.
    """

    runs: Table
    pools: Table
    segments: Table
    pieces: Table
    filters: Table

    @classmethod
    def named(cls, name: str, dialect: str) -> IdTables:
        """Return the tables of a set of this name for "sqlite" or "postgresql"."""
        found = MetaData()
        Table("campaigns", found, Column("key", _number, primary_key=True))
        lite = dialect == "sqlite"
        runs = Table(
            f"{name}_runs", found,
            Column("sequence", _number, primary_key=True, autoincrement=True),
            Column("campaign", _number, _reference(), nullable=False),
            Column("ids", LargeBinary, nullable=False),
            *([] if lite else [Column("recent", SmallInteger, nullable=False)]),
            Index(f"{name}_runs_of_campaign", "campaign", "sequence"),
            sqlite_autoincrement=True,
        )  # fmt: skip
        if not lite:
            Index(f"{name}_recent", runs.c.recent, runs.c.campaign,
                  postgresql_where=runs.c.recent > 0)  # fmt: skip
        pools = Table(
            f"{name}_pools", found,
            Column("campaign", _number, _reference(), primary_key=True, autoincrement=False),
            Column("number", Integer, nullable=False),
            Column("ids", LargeBinary, nullable=False),
        )  # fmt: skip
        segments = Table(
            f"{name}_segments", found,
            Column("number", _number, primary_key=True, autoincrement=True),
            Column("campaign", _number, _reference(), nullable=False, index=True),
            Column("level", Integer, nullable=False),
            Column("state", Integer, nullable=False),
            Column("size", BigInteger, nullable=False),
            Column("bits", Integer, nullable=False),
            Column("upto", BigInteger, nullable=False),
            Column("secret", LargeBinary, nullable=False),
            Column("done", BigInteger, nullable=False),
            Column("goal", BigInteger),
            sqlite_autoincrement=True,
        )  # fmt: skip
        pieces, filters = (
            Table(
                f"{name}_{part}", found,
                Column("key", _number, primary_key=True, autoincrement=False),
                Column(value, LargeBinary, nullable=False),
            )
            for part, value in (("pieces", "ids"), ("filters", "filter"))
        )  # fmt: skip
        return cls(runs, pools, segments, pieces, filters)

    def create(self, connection: Connection) -> None:
        """Make the tables that are not there yet."""
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
    """Return the tables of the ids of counted reports."""
    return IdTables.named("id", dialect)


def _reference() -> ForeignKey:
    return ForeignKey("campaigns.key", ondelete="CASCADE")

"""Databases as former versions made them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, insert, text

from noutput.campaign import Campaign
from noutput.collector.cells import CellLayout
from noutput.collector.store import schema

CREATED = "2026-05-01T00:00:00Z"


@contextmanager
def tables(database: str) -> Iterator[Connection]:
    """Begin a transaction behind the back of any store, and commit it."""
    server = "://" in database
    url = database.replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(url if server else f"sqlite:///{database}")
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


_LATER = {
    "admin_log": 9,
    "issued_tokens": 8,
    "releases": 6,
    "seals": 5,
    "high_water": 5,
}  # by version
_COUNTS = {"rest": 10, "released": 6}


def old_database(database: str, version: int, campaign: Campaign, patch: pytest.MonkeyPatch) -> int:
    """Make a database of a former version, with one campaign; return the campaign's number."""
    with patch.context() as old, tables(database) as connection:
        old.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:version])
        schema.upgrade(connection)
        row = {"id": campaign.id, "fingerprint": campaign.fingerprint, "created": CREATED,
               "document": campaign.to_json()}  # fmt: skip
        done = connection.execute(insert(schema.campaigns).values(row))
        (key,) = done.inserted_primary_key or (0,)
        cells = range(CellLayout(campaign).size)
        rows = [{"campaign": key, "cell": cell, "reports": 0} for cell in cells]
        connection.execute(insert(schema.counts), rows)
        return int(key)


def set_back(database: str, version: int) -> None:
    """Make a database one of a former version, without tokens."""
    with tables(database) as connection:
        run = connection.exec_driver_sql
        lite = connection.dialect.name == "sqlite"
        for name in (name for name, since in _LATER.items() if version < since):
            run(f"DROP TABLE {name}")
        if version <= schema.MIGRATIONS.index(schema._ids_in_runs):
            for name in ("segments", "pieces", "filters"):
                run(f"DROP TABLE id_{name}")
            if not lite:
                schema._server_ids.create(connection)
                run("INSERT INTO report_ids SELECT campaign,"
                    " substring(ids FROM 16 * place + 1 FOR 16), recent FROM id_runs,"
                    " generate_series(0, length(ids) / 16 - 1) AS place")  # fmt: skip
                run("DROP TABLE id_runs")
        for name in (name for name, since in _COUNTS.items() if version < since):
            run(f"ALTER TABLE counts DROP COLUMN {name}")
        if version < 4 and lite:
            run("INSERT INTO id_runs (campaign, ids)"
                " SELECT campaign, substr(ids, 1, 16 * number) FROM id_pools")  # fmt: skip
            run("DROP TABLE id_pools")
        elif version < 4:
            run("ALTER TABLE report_ids DROP COLUMN recent")
        if version < 3:
            run("DROP TABLE tokens")
            schema._first_tokens.create(connection)
        if version < 2:
            run("DROP TABLE history")
        connection.execute(text("UPDATE noutput_schema SET version = :version"),
                           {"version": version})  # fmt: skip
    Path(f"{database}-mark").unlink(missing_ok=True)

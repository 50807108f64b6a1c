from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from noutput.campaign import Attribute, Campaign
from noutput.collector.store import open_store
from noutput.collector.store.interface import Store
from tests.collector.postgresql import PostgresqlServer, binaries
from tests.collector.service import Service, start_service
from tests.tables import window_table


def make_campaign(name: str = "commute", *, public: bool = False, outputs: int = 5) -> Campaign:
    return Campaign(
        id=name, title="Commute", question="How long was your way to work?", public=public,
        attributes=(
            Attribute("minutes", "min", 0, 180), Attribute("rides", "", 0, 10),
            Attribute("cost", "USD", 0, 50),
        ),
        table=window_table(2.0, outputs, 7, 0.4).plain,
        opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
    )  # fmt: skip


@pytest.fixture(scope="session")
def campaign() -> Campaign:
    return make_campaign()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlServer]:
    if binaries() is None:
        reason = "no PostgreSQL binaries (initdb, pg_ctl) were found"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with PostgresqlServer.start() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "reports.db")
    server: PostgresqlServer = request.getfixturevalue("postgresql")
    return server.new_database()


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    opened = open_store(database)
    yield opened
    opened.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A collector on SQLite, called without a socket."""
    opened = open_store(str(tmp_path / "service.db"))
    with start_service(opened) as running:
        yield running
    opened.close()

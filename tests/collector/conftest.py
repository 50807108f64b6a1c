from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from noutput.campaign import Campaign, Number
from noutput.campaign.campaign import fit_table
from noutput.collector.store import open_store
from noutput.collector.store.interface import Store
from noutput.questions import Question
from tests.collector.postgresql import PostgresqlServer, binaries
from tests.collector.service import Service, start_service
from tests.tables import window_table

NUMBERS = (
    Number(0, 180, "min", name="minutes"), Number(0, 10, name="rides"),
    Number(0, 50, "USD", name="cost"),
)  # fmt: skip


def make_campaign(
    name: str = "commute",
    *,
    public: bool = False,
    outputs: int = 5,
    questions: Sequence[Question] = NUMBERS,
    **parts: Any,
) -> Campaign:
    """Return a campaign that asks for numbers, where no other questions and tables are given.

    Tables of numbers are moved to the bounds of their questions.
    """
    table = window_table(2.0, outputs, 7, 0.4).plain
    found: dict[str, Any] = {
        "title": "Commute", "text": "How long was your way to work?", "public": public,
        "questions": tuple(questions), "tables": (table,) * len(questions),
        "opens": datetime(2026, 3, 1, tzinfo=UTC), "closes": datetime(2036, 4, 1, tzinfo=UTC),
    }  # fmt: skip
    found |= parts
    found["tables"] = tuple(map(fit_table, found["tables"], found["questions"]))
    return Campaign(id=name, **found)


def with_questions(campaign: Campaign, *questions: Question) -> Campaign:
    """Return a campaign that asks other questions, all with its first table."""
    tables = tuple(fit_table(campaign.tables[0], each) for each in questions)
    objectives = campaign.objectives[:1] * len(questions)
    return replace(campaign, questions=questions, tables=tables, objectives=objectives)


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

"""Databases of the release before: migrated at the start, in one transaction."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noutput.campaign import Campaign
from noutput.collector.services import Services
from noutput.collector.steps import Steps
from noutput.collector.store import open_store, schema
from noutput.collector.store.check import check_database
from noutput.collector.store.interface import Store, Submission, UnavailableError
from tests.collector.labeled import labeled_campaign
from tests.collector.service import Clock
from tests.collector.versions import set_back, tables

# What version 9 wrote: 320 reports, of which 300 are published, an entry of the log, no tokens.
RELEASED = Path(__file__).with_name("schema9.sql")


@pytest.fixture
def released(tmp_path: Path) -> str:
    file = tmp_path / "reports.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript(RELEASED.read_text())
    return str(file)


def version(database: str) -> int:
    with tables(database) as connection:
        found = connection.exec_driver_sql("SELECT version FROM noutput_schema").scalar_one()
        return int(found)


def columns(database: str) -> list[str]:
    with closing(sqlite3.connect(database)) as opened:
        return [row[1] for row in opened.execute("PRAGMA table_info(counts)")]


def check_content(store: Store, campaign: Campaign) -> int:
    (row,) = store.campaigns()
    assert row.fingerprint == campaign.fingerprint
    published = store.published(row.key)
    assert published.counts == dict.fromkeys(range(15), 20)
    assert [(each.question, each.reports, each.number) for each in published.releases] == [
        (0, 100, 1), (1, 100, 1), (2, 100, 1),
    ]  # fmt: skip
    assert sum(store.counts(row.key).values()) == 320
    assert [each.reports for each in store.history(row.key)] == [100] * 3
    return row.key


def test_a_file_of_the_release_before_goes_on(
    released: str, campaign: Campaign, rng: np.random.Generator
) -> None:
    assert version(released) == 9
    store = open_store(released)
    key = check_content(store, campaign)
    assert version(released) == len(schema.MIGRATIONS) == 10
    assert [entry.action.name for entry in store.log()] == ["campaign.add"]
    assert not any(found.problems for found in check_database(store))
    services = Services(store, Clock(), steps=Steps(50, 0.1))
    more = Submission(key, rng.bytes(16 * 150), (np.arange(150) % 15).astype("<i4").tobytes())
    store.add([more])
    services.recorder.look()
    assert [each.reports for each in store.published(key).releases] == [160, 155, 155]
    with store.snapshot("commute") as snapshot:
        assert snapshot is not None
        assert snapshot.rest == {}
    labeled = labeled_campaign(name="labeled")
    store.create(labeled.id, labeled.fingerprint, labeled.to_json(), "2026-05-01T00:00:00Z")
    store.close()
    with closing(open_store(released)) as again:
        assert sum(again.counts(key).values()) == 470


def test_what_fails_leaves_the_file_as_it_was(
    released: str, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> None:
        raise sqlite3.OperationalError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, fail))
        with pytest.raises(UnavailableError, match="the disk is full"):
            open_store(released)
    assert (version(released), columns(released)) == (
        9,
        ["campaign", "cell", "reports", "released"],
    )
    with closing(open_store(released)) as store:
        check_content(store, campaign)
    assert columns(released)[-1] == "rest"


def test_both_databases_get_the_column(
    database: str, campaign: Campaign, rng: np.random.Generator
) -> None:
    store = open_store(database)
    row, _ = store.create(
        campaign.id, campaign.fingerprint, campaign.to_json(), "2026-05-01T00:00:00Z"
    )
    cells = (np.arange(90) % 15).astype("<i4").tobytes()
    store.add([Submission(row.key, rng.bytes(16 * 90), cells)])
    Services(store, Clock(), steps=Steps(10, 0.1)).note()
    before, counts = store.published(row.key), store.counts(row.key)
    store.close()
    set_back(database, 9)
    assert version(database) == 9
    with closing(open_store(database)) as again:
        assert version(database) == 10
        assert (again.published(row.key), again.counts(row.key)) == (before, counts)
        again.add([Submission(row.key, rng.bytes(16 * 90), cells)])
        assert sum(again.counts(row.key).values()) == 180

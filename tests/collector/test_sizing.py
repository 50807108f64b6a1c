"""The sizes that docs/collector.md states are those of real databases."""

from __future__ import annotations

import sqlite3
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import psycopg
import pytest

from noutput.campaign import Campaign
from noutput.collector.store import open_store
from noutput.collector.store.interface import Store, Submission
from tests.collector.postgresql import PostgresqlServer
from tests.docs.stated import stated

PAGE = "docs/collector.md"
THOUSANDS = 5_000
SINGLE = 1_500


def add(store: Store, campaign: Campaign, reports: int, per_commit: int) -> Iterator[int]:
    """Count so many reports with ids of their own; yield how many there are after each commit."""
    key = store.create(
        campaign.id, campaign.fingerprint, campaign.to_json(), "2026-05-01T00:00:00Z"
    )[0].key
    rng = np.random.default_rng(7)
    cells = np.zeros(per_commit, "<i4").tobytes()
    for done in range(per_commit, reports + 1, per_commit):
        store.add([Submission(key, rng.bytes(16 * per_commit), cells)])
        yield done


def in_use(file: Path) -> int:
    """How many bytes the pages of a SQLite database take."""
    with closing(sqlite3.connect(file)) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int(pages * size)


@pytest.mark.parametrize(
    ("place", "per_commit", "reports"), [(0, THOUSANDS, 200_000), (1, 1, SINGLE)]
)
def test_disk_of_sqlite(
    place: int, per_commit: int, reports: int, tmp_path: Path, campaign: Campaign
) -> None:
    shown = stated(
        PAGE,
        r"\| (\d+) bytes per report where a commit counts thousands, (\d+) where it counts one",
    )
    file = tmp_path / "reports.db"
    with closing(open_store(str(file))) as store:
        before = in_use(file)
        *_, done = add(store, campaign, reports, per_commit)
        found = (in_use(file) - before) / done
    assert found == pytest.approx(shown[place], rel=0.1)


def test_memory_with_sqlite(tmp_path: Path, campaign: Campaign) -> None:
    low, high = stated(PAGE, r"\| (\d+) to (\d+) bytes per report of the campaigns that are open")
    with closing(open_store(str(tmp_path / "reports.db"))) as store:
        tracemalloc.start()
        try:
            found = [
                tracemalloc.get_traced_memory()[0] / done
                for done in add(store, campaign, 500_000, THOUSANDS)
            ]
        finally:
            tracemalloc.stop()
    found = found[len(found) // 5 :]  # before, what a store takes anyway weighs
    assert low <= min(found) < low + 2
    assert high - 2 < max(found) <= high


def test_disk_of_postgresql(postgresql: PostgresqlServer, campaign: Campaign) -> None:
    (shown,) = stated(PAGE, r"about (\d+) bytes per report, with its index")
    database = postgresql.new_database()
    with closing(open_store(database)) as store:
        *_, reports = add(store, campaign, 100_000, THOUSANDS)
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT pg_total_relation_size('report_ids')").fetchone()
    assert row is not None
    assert row[0] / reports == pytest.approx(shown, rel=0.1)

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


@pytest.mark.parametrize(("per_commit", "reports"), [(THOUSANDS, 200_000), (1, SINGLE)])
def test_disk_of_sqlite(per_commit: int, reports: int, tmp_path: Path, campaign: Campaign) -> None:
    each, more = stated(
        PAGE,
        r"\| (\d+) bytes per report, however few a commit counts, and up to (\d+) kB per campaign",
    )
    file = tmp_path / "reports.db"
    with closing(open_store(str(file))) as store:
        before = in_use(file)
        *_, done = add(store, campaign, reports, per_commit)
        found = in_use(file) - before
    assert each * done < found < each * done + 1000 * more


def test_runs_do_not_depend_on_commits(tmp_path: Path, campaign: Campaign) -> None:
    """Few reports per commit make as many runs as if they had come together: they load alike."""
    file = tmp_path / "reports.db"
    with closing(open_store(str(file))) as store:
        *_, done = add(store, campaign, 40_000, 400)
    with closing(sqlite3.connect(file)) as connection:
        (runs,) = connection.execute("SELECT count(*) FROM id_runs").fetchone()
    assert runs <= 1 + done / 2048


def test_memory_with_sqlite(tmp_path: Path, campaign: Campaign) -> None:
    low, high = stated(PAGE, r"\| (\d+) to (\d+) bytes per report that came last")
    (growing,) = stated(PAGE, r"and up to (\d+) while the table of ids grows")
    with closing(open_store(str(tmp_path / "reports.db"))) as store:
        tracemalloc.start()
        try:
            found: dict[bool, list[float]] = {False: [], True: []}
            for done in add(store, campaign, 500_000, THOUSANDS):
                (known,) = store._remembered._known.values()  # type: ignore[attr-defined]
                if done >= 100_000:  # before, what a store takes anyway weighs
                    bytes_each = tracemalloc.get_traced_memory()[0] / done
                    found[known.ids._former is not None].append(bytes_each)
        finally:
            tracemalloc.stop()
    assert low <= min(found[False]) < low + 2
    assert max(found[False]) <= high
    assert high < max(found[True]) <= growing


def test_disk_of_postgresql(postgresql: PostgresqlServer, campaign: Campaign) -> None:
    (shown,) = stated(PAGE, r"about (\d+) bytes per report; until")
    database = postgresql.new_database()
    with closing(open_store(database)) as store:
        *_, reports = add(store, campaign, 100_000, THOUSANDS)
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT pg_total_relation_size('id_runs')").fetchone()
    assert row is not None
    assert row[0] / reports == pytest.approx(shown, rel=0.1)

"""A database does not tell in which order reports came, beyond groups of 512 or more."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import psycopg
import pytest
from sqlalchemy import Connection

from noutput.campaign import Campaign
from noutput.collector.store import open_store, runs
from noutput.collector.store.archive import export_campaign, restore
from noutput.collector.store.interface import Outcome, Store, Submission, UnavailableError
from noutput.collector.store.sql import SqlStore
from noutput.collector.store.sqlite import SqliteStore
from tests.collector.postgresql import PostgresqlServer
from tests.collector.test_ids import hostile
from tests.docs.stated import stated

NOW = "2026-05-01T00:00:00Z"
PAGE = "docs/collector.md"


def create(store: Store, campaign: Campaign) -> int:
    return store.create(campaign.id, campaign.fingerprint, campaign.to_json(), NOW)[0].key


def add(store: Store, key: int, ids: list[bytes]) -> Outcome | None:
    return store.add([Submission(key, b"".join(ids), np.zeros(len(ids), "<i4").tobytes())])[0]


def split(ids: bytes) -> list[bytes]:
    return [ids[start : start + 16] for start in range(0, len(ids), 16)]


def some_bytes(count: int, seed: int = 1) -> bytes:
    return np.random.default_rng(seed).bytes(16 * count)


def some_ids(count: int, seed: int = 1) -> list[bytes]:
    return split(some_bytes(count, seed))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller pools and runs, so that few commits show what many do."""
    for name, value in {"POOL": 32, "KEPT": 16, "LARGE": 256}.items():
        monkeypatch.setattr(runs, name, value)
    monkeypatch.setattr("noutput.collector.store.sqlite_ids.POOL", 32)
    monkeypatch.setattr("noutput.collector.store.sqlite_ids.LARGE", 256)
    monkeypatch.setattr("noutput.collector.store.postgresql_ids.KEPT", 16)


def sqlite_groups(file: Path) -> list[list[bytes]]:
    """Return the ids of every row of a SQLite file, runs first, the pool at the end."""
    with closing(sqlite3.connect(file)) as connection:
        found = [ids for (ids,) in connection.execute("SELECT ids FROM id_runs ORDER BY sequence")]
        for number, ids in connection.execute("SELECT number, ids FROM id_pools"):
            found.append(ids[: 16 * number])
    return [split(ids) for ids in found]


def places(content: bytes, ids: list[bytes]) -> list[int]:
    """Return where ids are in a file; none is there twice, and few lie on two pages."""
    assert max(content.count(entry) for entry in ids) == 1
    found = [content.index(entry) for entry in ids if entry in content]
    assert len(found) > 0.95 * len(ids)
    return found


def test_the_file_has_300_reports_in_the_order_of_their_ids(
    tmp_path: Path, campaign: Campaign
) -> None:
    file = tmp_path / "reports.db"
    ids = some_ids(300)
    with closing(open_store(str(file))) as store:
        key = create(store, campaign)
        for entry in ids:
            add(store, key, [entry])
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"reports.db", "reports.db-mark"}  # and no log of commits
    assert sqlite_groups(file) == [sorted(ids)]
    found = places(file.read_bytes(), sorted(ids))
    assert sum(a > b for a, b in pairwise(found)) <= 2  # the pages of the row have any order


@pytest.mark.usefixtures("small")
def test_groups_are_large_sorted_and_mixed(tmp_path: Path, campaign: Campaign) -> None:
    file = tmp_path / "reports.db"
    ids = some_ids(1_000)
    with closing(open_store(str(file))) as store:
        key = create(store, campaign)
        for start in range(0, 600, 3):
            add(store, key, ids[start : start + 3])
            groups = sqlite_groups(file)
            assert len(groups[-1]) >= min(start + 3, runs.KEPT)
            assert all(len(group) >= runs.LARGE for group in groups[:-2])
            assert all(len(group) >= runs.KEPT for group in groups[:-1])
        add(store, key, ids[600:])
    groups = sqlite_groups(file)
    assert [group == sorted(group) for group in groups] == [True] * len(groups)
    assert sorted(chain(*groups)) == sorted(ids)
    arrived = {entry: place for place, entry in enumerate(ids)}
    first = [arrived[entry] for entry in groups[0]]
    assert max(first) > len(first) + 3  # some that came earlier are in the next group
    places(file.read_bytes(), ids)  # no page keeps what was deleted


@pytest.mark.usefixtures("small")
def test_what_stays_in_a_pool_is_left_to_chance() -> None:
    ids = b"".join(sorted(some_ids(40)))
    stays = [set(split(runs.mixed(ids[:320], ids[320:])[0])) for _ in range(60)]
    seen: set[bytes] = set.union(*stays)
    assert len(seen) == 40
    assert {len(stay) for stay in stays} == {runs.KEPT}


def postgresql_groups(database: str) -> list[list[bytes]]:
    """Return the ids of every row in the order of their numbers."""
    query = b"SELECT ids FROM id_runs ORDER BY sequence"
    with psycopg.connect(database) as connection:
        return [split(ids) for (ids,) in connection.execute(query)]


@pytest.mark.usefixtures("small")
def test_postgresql_has_groups_as_well(postgresql: PostgresqlServer, campaign: Campaign) -> None:
    database = postgresql.new_database()
    ids = some_ids(260)
    with closing(open_store(database)) as store:
        key = create(store, campaign)
        for entry in ids[:30]:
            add(store, key, [entry])
        assert postgresql_groups(database) == [[entry] for entry in ids[:30]]
        store.merge_ids()
        assert postgresql_groups(database) == [sorted(ids[:30])]
        add(store, key, ids[30:100])  # a group by itself
        for entry in ids[100:200]:
            add(store, key, [entry])
        store.merge_ids()
        for entry in ids[200:]:
            add(store, key, [entry])
        store.merge_ids()
        store.merge_ids()  # nothing to do
        found = postgresql_groups(database)
        assert sorted(chain(*found)) == sorted(ids)
        assert all(len(group) >= runs.KEPT for group in found)
        assert all(group == sorted(group) for group in found)
        assert found[0] == sorted(ids[30:100])
        assert add(store, key, ids) == Outcome(0, 260)


@pytest.mark.usefixtures("small")
def test_the_next_report_after_a_large_commit_is_not_alone(
    database: str, campaign: Campaign
) -> None:
    ids = some_ids(101)
    with closing(open_store(database)) as store:
        key = create(store, campaign)
        add(store, key, ids[:100])
        add(store, key, ids[100:])
        store.merge_ids()
    groups = postgresql_groups(database) if "://" in database else sqlite_groups(Path(database))
    (last,) = [group for group in groups if ids[100] in group]
    assert len(last) == runs.KEPT + 1


@pytest.mark.usefixtures("small")
def test_merging_loses_nothing_where_a_collector_dies_or_another_counts(
    postgresql: PostgresqlServer, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = some_ids(90)
    database = postgresql.new_database()
    with closing(open_store(database)) as store, closing(open_store(database)) as other:
        key = create(store, campaign)
        for entry in ids:
            add(store, key, [entry])

        def die(*_: object) -> tuple[bytes, bytes]:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("noutput.collector.store.postgresql_ids.mixed", die)
            with pytest.raises(KeyboardInterrupt):
                store.merge_ids()
        assert add(other, key, ids) == Outcome(0, 90)

        def meanwhile(pool: bytes, fresh: bytes) -> tuple[bytes, bytes]:
            other.merge_ids()  # of two collectors, one merges
            return runs.mixed(pool, fresh)

        monkeypatch.setattr("noutput.collector.store.postgresql_ids.mixed", meanwhile)
        store.merge_ids()
        assert add(other, key, ids) == Outcome(0, 90)
        assert other.totals() == {key: 90}
        assert other.delete("commute")
        store.merge_ids()
        assert postgresql_groups(database) == []


def test_the_documented_sizes_of_groups() -> None:
    shown = stated(
        PAGE, r"groups of (\d+) or more.*runs of ([\d,]+) or more.*campaign up to ([\d,]+)\."
    )
    assert shown == [runs.KEPT, runs.LARGE, runs.POOL]


@pytest.mark.usefixtures("small")
def test_a_failed_commit_forgets_nothing_else(
    tmp_path: Path, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No id is read again after a failure, and those of the failure count when they come again."""
    ids = some_ids(300)
    with closing(open_store(str(tmp_path / "reports.db"))) as store:
        assert isinstance(store, SqliteStore)
        key = create(store, campaign)
        add(store, key, ids[:200])
        known = store._remembered._known[key].ids

        def fail(*_: object) -> None:
            raise UnavailableError("the disk is full")

        for count in (201, 300):  # into the pool, and through it
            with monkeypatch.context() as patch:
                patch.setattr(SqliteStore, "_count", fail)
                with pytest.raises(UnavailableError):
                    add(store, key, ids[150:count])
            assert store._remembered._known[key].ids is known
            assert len(known) == 200
        before = known.probes
        assert add(store, key, ids[199:201]) == Outcome(1, 1)
        assert known.probes - before < 20  # no more than the two ids take
        assert add(store, key, ids) == Outcome(99, 201)
        assert store.totals() == {key: 300}


def test_a_commit_that_only_seemed_to_fail_is_noticed(
    tmp_path: Path, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_store(str(tmp_path / "reports.db"))) as store:
        key = create(store, campaign)
        ids = some_ids(10)
        add(store, key, ids[:5])
        commit = SqlStore._write

        @contextmanager
        def commit_and_fail(self: SqlStore) -> Iterator[Connection]:
            with commit(self) as connection:
                yield connection
            raise UnavailableError("no answer")

        with monkeypatch.context() as patch:
            patch.setattr(SqlStore, "_write", commit_and_fail)
            with pytest.raises(UnavailableError):
                add(store, key, ids[3:8])
        assert store.totals() == {key: 8}
        assert add(store, key, ids) == Outcome(2, 8)


def test_a_start_with_chosen_ids_takes_no_more_work_than_others(
    tmp_path: Path, campaign: Campaign
) -> None:
    """A linear hash would take 22 seconds for chosen ids, at every start."""
    batches = {"chosen": hostile(10_000), "random": some_bytes(10_000)}
    work: dict[str, int] = {}
    for name, batch in batches.items():
        database = str(tmp_path / f"{name}.db")
        with closing(open_store(database)) as store:
            key = create(store, campaign)
            add(store, key, split(batch))
        with closing(open_store(database)) as store:
            assert isinstance(store, SqliteStore)
            assert add(store, key, [b"x" * 16]) == Outcome(1, 0)
            known = store._remembered._known[key].ids
            work[name] = known.probes + known.moves
            assert add(store, key, split(batch)) == Outcome(0, 10_000)
    assert work["chosen"] < 1.5 * work["random"] < 4 * 10_000


def test_an_import_leaves_a_pool(store: Store, tmp_path: Path, campaign: Campaign) -> None:
    key = create(store, campaign)
    ids = [os.urandom(16) for _ in range(1_500)]
    add(store, key, ids)
    export_campaign(store, "commute", tmp_path / "x.noutput")
    with closing(open_store(str(tmp_path / "other.db"))) as other:
        restore(other, tmp_path / "x.noutput")
    groups = sqlite_groups(tmp_path / "other.db")
    assert [len(group) for group in groups] == [988, 512]

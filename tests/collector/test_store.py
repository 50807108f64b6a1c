from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from noutput.campaign import Campaign
from noutput.collector.http.auth import new_token
from noutput.collector.store import open_store
from noutput.collector.store.interface import (
    CampaignRow,
    ConflictError,
    Outcome,
    Store,
    Submission,
    UnavailableError,
)
from noutput.collector.store.schema import report_ids
from noutput.errors import InvalidArgumentError
from tests.collector.conftest import make_campaign
from tests.collector.service import Clock
from tests.collector.tables import tables

NOW = "2026-05-01T00:00:00Z"


def create(store: Store, campaign: Campaign) -> CampaignRow:
    return store.create(campaign.id, campaign.fingerprint, campaign.to_json(), NOW)[0]


def submission(key: int, ids: list[bytes], cells: list[int]) -> Submission:
    return Submission(key, b"".join(ids), np.array(cells, "<i4").tobytes())


def test_reports_are_counted_once(store: Store, campaign: Campaign) -> None:
    key = create(store, campaign).key
    a, b, zero, tail = b"a" * 16, b"b" * 16, bytes(16), b"a" * 8 + bytes(8)
    first = submission(key, [a, b, zero], [0, 14, 14])
    assert store.add([first]) == [Outcome(3, 0)]
    assert store.add([first]) == [Outcome(0, 3)]
    # An id that was counted changes nothing, whatever else the report says.
    assert store.add([submission(key, [a, tail], [7, 7])]) == [Outcome(1, 1)]
    assert store.counts(key) == {0: 1, 7: 1, 14: 2}
    assert store.totals() == {key: 4}
    with store.snapshot("commute") as found:
        assert found is not None
        ids = b"".join(found.ids)
    assert sorted(ids[i : i + 16] for i in range(0, 64, 16)) == sorted([a, b, zero, tail])


def test_one_group_may_repeat_ids_and_mix_campaigns(store: Store, campaign: Campaign) -> None:
    key = create(store, campaign).key
    other = create(store, make_campaign("other")).key
    ids = [os.urandom(16) for _ in range(4)]
    outcomes = store.add(
        [
            submission(key, ids[:2], [1, 2]),
            submission(other, ids[:1], [3]),
            submission(key, [ids[1], ids[2]], [5, 6]),
            submission(999, ids, [0, 0, 0, 0]),
        ]
    )
    assert outcomes == [Outcome(2, 0), Outcome(1, 0), Outcome(1, 1), None]
    assert sum(store.counts(key).values()) == 3
    assert store.counts(other) == {3: 1}


def test_a_closed_or_deleted_campaign_counts_nothing(store: Store, campaign: Campaign) -> None:
    key = create(store, campaign).key
    store.add([submission(key, [b"a" * 16], [0])])
    closed = store.close_campaign("commute", NOW)
    assert closed is not None
    assert closed.closed == NOW
    again = store.close_campaign("commute", "2027-01-01T00:00:00Z")
    assert again == closed
    assert store.add([submission(key, [b"b" * 16], [0])]) == [None]
    assert store.counts(key) == {0: 1}
    assert store.delete("commute")
    assert not store.delete("commute")
    assert store.campaign("commute") is None
    assert store.counts(key) == {}
    twin = create(store, campaign)
    assert twin.key != key
    assert store.add([submission(twin.key, [b"a" * 16], [0])]) == [Outcome(1, 0)]
    assert store.delete("commute")
    sqlite = store._engine.name == "sqlite"  # type: ignore[attr-defined]
    with store._read() as connection:  # type: ignore[attr-defined]
        tables = report_ids("sqlite" if sqlite else "postgresql")
        for table in [tables.runs, *([tables.pools] if sqlite else [])]:
            assert connection.execute(table.select()).first() is None
    assert store.close_campaign("nothing", NOW) is None


def test_another_campaign_of_an_id_is_refused(store: Store, campaign: Campaign) -> None:
    row = create(store, campaign)
    same = store.create(campaign.id, campaign.fingerprint, campaign.to_json(), NOW)
    assert same == (row, False)
    twin = make_campaign(outputs=6)
    with pytest.raises(ConflictError, match="another fingerprint"):
        create(store, twin)
    assert store.campaigns() == [row]


def test_two_processes_count_an_id_once(database: str, campaign: Campaign) -> None:
    """Two stores have no memory in common, as two processes have none."""
    one, two = open_store(database), open_store(database)
    try:
        key = create(one, campaign).key
        ids = [os.urandom(16) for _ in range(2000)]
        pieces = [submission(key, ids[i : i + 100], [i % 15] * 100) for i in range(0, 2000, 100)]

        def work(store: Store) -> int:
            outcomes = [store.add([piece])[0] for piece in pieces]
            return sum(outcome.accepted for outcome in outcomes if outcome)

        with ThreadPoolExecutor(2) as pool:
            accepted = sum(pool.map(work, (one, two)))
        assert accepted == 2000
        assert sum(two.counts(key).values()) == 2000
    finally:
        one.close()
        two.close()


def test_ids_are_known_after_opening_again(database: str, campaign: Campaign) -> None:
    store = open_store(database)
    key = create(store, campaign).key
    piece = submission(key, [os.urandom(16) for _ in range(50)], [3] * 50)
    store.add([piece])
    store.close()
    again = open_store(database)
    assert again.add([piece]) == [Outcome(0, 50)]
    again.close()


def test_a_failed_commit_is_forgotten(
    tmp_path: Path, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    key = create(store, campaign).key
    piece = submission(key, [b"a" * 16], [0])

    def fail(*_: object) -> None:
        raise UnavailableError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "_count", fail)
        with pytest.raises(UnavailableError):
            store.add([piece])
    assert store.counts(key) == {}
    assert store.add([piece]) == [Outcome(1, 0)]
    assert store.add([piece]) == [Outcome(0, 1)]
    store.close()


@pytest.mark.parametrize("version", [0, 2, 10, None])
def test_a_database_of_another_version_is_refused_as_it_is(
    database: str, version: int | None
) -> None:
    open_store(database).close()
    with tables(database) as connection:
        connection.exec_driver_sql("DELETE FROM noutput_schema")
        if version is not None:
            connection.exec_driver_sql(f"INSERT INTO noutput_schema VALUES ({version})")  # noqa: S608
    rule = f"database must have version 1, the only one that this noutput reads; found {version}"
    with pytest.raises(InvalidArgumentError, match=rule):
        open_store(database)
    with tables(database) as connection:
        kept = connection.exec_driver_sql("SELECT version FROM noutput_schema").scalar()
        assert kept == version


def test_sqlite_commits_are_durable(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    with store._read() as connection:  # type: ignore[attr-defined]
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    store.close()


def test_nothing_but_counts_and_ids_is_kept(tmp_path: Path, campaign: Campaign) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    key = create(store, campaign).key
    store.add([submission(key, [b"b" * 16, b"a" * 16], [3, 4])])
    store.close()
    with sqlite3.connect(tmp_path / "reports.db") as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master"
                                                         " WHERE type = 'table'")}  # fmt: skip
        (pool,) = connection.execute("SELECT * FROM id_pools").fetchall()
        assert connection.execute("SELECT * FROM id_runs").fetchall() == []
    connection.close()
    assert tables == {
        "admin_log", "noutput_schema", "campaigns", "counts", "high_water", "history", "id_filters",
        "id_pieces", "id_pools", "id_runs", "id_segments", "issued_tokens", "releases", "seals",
        "sqlite_sequence", "tokens",
    }  # fmt: skip
    assert pool == (key, 2, b"a" * 16 + b"b" * 16 + bytes(16 * 1022))


def test_tokens(store: Store, campaign: Campaign) -> None:
    now = Clock()()
    key = create(store, campaign).key
    _, bound = new_token("admin", key, now)
    assert store.add_token(bound)
    _, admin = new_token("admin", None, now)
    assert store.add_token(admin, first=True)
    _, second = new_token("admin", None, now)
    assert not store.add_token(second, first=True)
    _, read = new_token("read", None, now, parent=admin.id, label="A browser")
    assert store.add_token(read)
    _, lost = new_token("read", key + 1, now)
    assert not store.add_token(lost)
    assert {row.id for row in store.tokens()} == {bound.id, admin.id, read.id}
    assert store.token(read.id) == read
    assert store.delete_token(admin.id)
    assert not store.delete_token(admin.id)
    assert store.token(read.id) is None
    assert store.delete(campaign.id)
    assert store.tokens() == []


def test_tokens_know_their_last_day_and_their_end(store: Store) -> None:
    now = Clock()()
    _, short = new_token("read", None, now, expires=now + timedelta(days=1))
    _, long = new_token("read", None, now)
    store.add_token(short)
    store.add_token(long)
    for day, kept in (("2026-05-02", "2026-05-02"), ("2026-05-01", "2026-05-02")):
        store.use_token(long.id, day)
        assert store.token(long.id) == replace(long, last_used=kept)
    store.drop_expired_tokens("2026-05-01T23:59:59Z")
    assert store.token(short.id) == short
    store.drop_expired_tokens("2026-05-02T00:00:00Z")
    assert [row.id for row in store.tokens()] == [long.id]


def test_bad_addresses_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="be SQLite or PostgreSQL"):
        open_store("mysql://root@localhost/x")
    with pytest.raises(UnavailableError):
        open_store(str(tmp_path / "no" / "folder" / "x.db"))
    with pytest.raises(UnavailableError):
        open_store("postgresql://noutput@127.0.0.1:9/nothing")

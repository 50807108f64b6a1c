"""Seals fit what is stored, wherever pools and runs put the ids, and damage is not merged away."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection

from noutput.campaign import Campaign
from noutput.collector.store import open_store
from noutput.collector.store.check import check_database
from noutput.collector.store.interface import Outcome, Store, UnavailableError
from noutput.collector.store.sql import SqlStore
from tests.collector.test_order import add, create, small, some_ids, sqlite_groups

__all__ = ["small"]  # a fixture


def told(store: Store) -> list[str]:
    return [problem for checked in check_database(store) for problem in checked.problems]


@pytest.mark.usefixtures("small")
def test_seals_fit_while_ids_are_merged(store: Store, campaign: Campaign) -> None:
    key, ids = create(store, campaign), some_ids(330)
    for start in range(0, 330, 11):
        add(store, key, ids[start : start + 11])
        if start % 3 == 0:
            store.merge_ids()
        if start % 30 == 0:
            assert told(store) == []
    store.merge_ids()
    assert told(store) == []
    assert store.totals() == {key: 330}


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.usefixtures("small")
def test_a_failed_commit_moves_both_or_neither(
    store: Store, campaign: Campaign, monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    """One that fills the pool, and fails before or after the database has it."""
    key, ids = create(store, campaign), some_ids(120)
    add(store, key, ids[:30])
    write = SqlStore._write

    @contextmanager
    def failing(self: SqlStore) -> Iterator[Connection]:
        with write(self) as connection:
            yield connection
            if not durable:
                raise UnavailableError("no database")
        raise UnavailableError("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(SqlStore, "_write", failing)
        with pytest.raises(UnavailableError):
            add(store, key, ids[30:100])
    assert store.totals() == {key: 100 if durable else 30}
    assert told(store) == []
    assert add(store, key, ids) == (Outcome(20, 100) if durable else Outcome(90, 30))
    assert told(store) == []


@pytest.mark.parametrize("table", ["id_pools", "id_runs"])
@pytest.mark.usefixtures("small")
def test_merging_does_not_hide_damage(tmp_path: Path, campaign: Campaign, table: str) -> None:
    file, ids = tmp_path / "reports.db", some_ids(150)
    with closing(open_store(str(file))) as store:
        key = create(store, campaign)
        add(store, key, ids[:60])
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        other = "CAST(X'FF' || substr(ids, 2) AS BLOB)"  # the smallest id begins with less
        assert connection.execute(f"UPDATE {table} SET ids = {other}").rowcount == 1  # noqa: S608
    with closing(open_store(str(file))) as store:
        before = sqlite_groups(file)
        add(store, key, ids[60:])  # into the same run
        assert len(sqlite_groups(file)) == len(before) == 2
        assert told(store) == ["its ids are not those that were committed"]

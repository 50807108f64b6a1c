"""Older ids in segments: exact, whatever processes do to them at the same time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, func, select

from noutput.campaign import Campaign
from noutput.collector.store import open_store, runs, segments, settling
from noutput.collector.store.archive import back_up
from noutput.collector.store.interface import Outcome, Store, UnavailableError
from noutput.collector.store.segments import LIVE, Segments, read_segments
from noutput.collector.store.sql import SqlStore
from tests.collector.tables import tables
from tests.collector.test_order import add, create, small, some_ids, split
from tests.collector.test_seals import told

__all__ = ["small"]  # a fixture


@pytest.fixture(autouse=True)
def tiny(small: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 (a fixture)
    """Segments of few ids, pieces of some, and filters of four pieces."""
    monkeypatch.setattr(settling, "SETTLED", 96)
    monkeypatch.setattr(settling, "_CLEARED", 8)
    monkeypatch.setattr(segments, "_PIECE", 8)
    for module in (segments, settling):
        monkeypatch.setattr(module, "CHUNK_BITS", 3)


def known_ids(store: Store) -> list[bytes]:
    with store.snapshot("commute") as found:
        assert found is not None
        return sorted(split(b"".join(found.ids)))


def levels(store: Store, key: int) -> list[int]:
    assert isinstance(store, SqlStore)
    with store._read() as connection:
        rows = read_segments(connection, store._remembered.tables, key, LIVE)
    return [row.level for row in rows]


def rows_of(store: Store) -> dict[str, int]:
    assert isinstance(store, SqlStore)
    all_tables = store._remembered.tables
    found: dict[str, int] = {}
    with store._read() as connection:
        for name in ("runs", "segments", "pieces", "filters"):
            table = getattr(all_tables, name)
            found[name] = connection.execute(select(func.count()).select_from(table)).scalar_one()
    return found


def fill(store: Store, key: int, ids: list[bytes], size: int = 100) -> None:
    """Add ids in commits that are groups, and settle after each."""
    for start in range(0, len(ids), size):
        part = ids[start : start + size]
        assert add(store, key, part) == Outcome(len(part), 0)
        store.merge_ids()


def test_old_ids_leave_memory_and_are_known(store: Store, campaign: Campaign) -> None:
    ids, key = some_ids(1_200), create(store, campaign)
    fill(store, key, ids, size=120)
    assert len(levels(store, key)) <= 6
    assert max(levels(store, key)) >= 1
    known = store._remembered._known[key]  # type: ignore[attr-defined]
    add(store, key, ids[:1])
    assert known.recent <= 96 + 2 * runs.POOL
    assert known_ids(store) == sorted(ids)
    assert told(store) == []
    assert add(store, key, ids) == Outcome(0, 1_200)
    fresh = some_ids(100, seed=2)
    assert add(store, key, [*fresh, *ids[:50], *fresh]) == Outcome(100, 150)


def test_they_are_known_after_a_restart(
    database: str, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the ids whose filters were not read, because one batch asked for too many."""
    monkeypatch.setattr(segments, "_LOADS", 2)
    ids = some_ids(700)
    with closing(open_store(database)) as store:
        key = create(store, campaign)
        fill(store, key, ids)
    with closing(open_store(database)) as store:
        assert add(store, key, ids) == Outcome(0, 700)
        known = store._remembered._known[key].segments  # type: ignore[attr-defined]
        assert 0 < known.loads <= 2 * len(levels(store, key)) < rows_of(store)["filters"]
        assert store.totals() == {key: 700}


def fail(store: Store, key: int, ids: list[bytes], *, durable: bool) -> None:
    """Add ids in a commit that fails, or only seems to."""
    write = SqlStore._write

    @contextmanager
    def failing(self: SqlStore) -> Iterator[Connection]:
        with write(self) as connection:
            yield connection
            if not durable:
                raise UnavailableError("no database")
        raise UnavailableError("no answer")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlStore, "_write", failing)
        with pytest.raises(UnavailableError):
            add(store, key, ids)


@pytest.mark.parametrize("seed", range(2))
def test_any_interleaving_of_two_processes_gives_the_exact_set(
    database: str, campaign: Campaign, seed: int
) -> None:
    """Commits, repetitions, failures before and after the commit, steps of settling, restarts."""
    rng = random.Random(seed)  # noqa: S311
    source, known = some_ids(1_500, seed), set[bytes]()
    stores = [open_store(database) for _ in range(2)]
    key = create(stores[0], campaign)
    for _ in range(60):
        place = rng.randrange(2)
        store = stores[place]
        ids = rng.sample(source, rng.choice([1, 3, 40, 90]))
        action = rng.choice(["add", "add", "add", "merge", "step", "step", "fail", "open"])
        if action == "add":
            wanted = len(set(ids) - known)
            assert add(store, key, ids) == Outcome(wanted, len(ids) - wanted)
            known |= set(ids)
        elif action == "merge":
            store.merge_ids()
        elif action == "step":
            SqlStore._settle(store, key)  # type: ignore[arg-type]  # is one
        elif action == "fail":
            durable = rng.random() < 0.5
            fail(store, key, ids, durable=durable)
            known |= set(ids) if durable else set()
        else:
            store.close()
            stores[place] = open_store(database)
    assert known_ids(stores[0]) == sorted(known)
    assert stores[1].totals() == {key: len(known)}
    assert told(stores[1]) == []
    for store in stores:
        assert add(store, key, sorted(known)) == Outcome(0, len(known))
        store.close()


def test_ids_that_come_while_a_segment_is_built_are_kept_apart(
    store: Store, campaign: Campaign
) -> None:
    assert isinstance(store, SqlStore)
    ids, key = some_ids(600), create(store, campaign)
    add(store, key, ids[:200])
    for start in range(200, 600, 20):
        assert store._settle(key) or start > 300
        part = ids[start : start + 20]
        assert add(store, key, part) == Outcome(20, 0)
        assert add(store, key, [*part, *ids[:start:7]]) == Outcome(0, 20 + -(-start // 7))
    assert told(store) == []


def test_known_ids_take_one_read_each_and_others_hardly_any(
    store: Store, campaign: Campaign
) -> None:
    """Whoever sends old ids again costs one small read per id, however many segments there are."""
    ids, key = some_ids(1_300), create(store, campaign)
    fill(store, key, ids, size=120)
    assert len(levels(store, key)) >= 2
    add(store, key, ids[:1])
    known = store._remembered._known[key].segments  # type: ignore[attr-defined]
    before, loads = known.reads, known.loads
    old = ids[:900]
    for start in range(0, 900, 90):
        assert add(store, key, old[start : start + 90]) == Outcome(0, 90)
    # Some share a piece; one id in 256 is looked up in vain in each segment.
    assert 300 < known.reads - before < 900 * (1 + 3 * len(levels(store, key)) / 256)
    before = known.reads
    fresh = some_ids(900, seed=5)
    assert add(store, key, fresh) == Outcome(900, 0)
    assert known.reads - before < 3 * 900 * len(levels(store, key)) / 256
    assert known.loads - loads <= rows_of(store)["filters"]  # each filter is read once
    one = known.reads
    assert add(store, key, [ids[0]] * 400) == Outcome(0, 400)
    assert known.reads - one <= len(levels(store, key))


def test_chosen_ids_fill_pieces_as_evenly_as_others(store: Store, campaign: Campaign) -> None:
    assert isinstance(store, SqlStore)
    key = create(store, campaign)
    fill(store, key, [number.to_bytes(16, "big") for number in range(500)], size=250)
    table = store._remembered.tables.pieces
    with store._read() as connection:
        longest = connection.execute(select(func.max(func.length(table.c.ids)))).scalar()
    assert longest is not None
    assert 16 * 8 < longest <= 16 * 28


def test_a_false_positive_drops_no_report(
    store: Store, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where every id passes the filters, as with the worst luck, all new ones are counted."""
    ids, key = some_ids(900), create(store, campaign)
    fill(store, key, ids[:600])

    def all_pass(*values: Any) -> Any:
        return values[-1] == values[-1]  # an array of True

    monkeypatch.setattr(Segments, "_pass", all_pass)
    assert add(store, key, ids) == Outcome(300, 600)


@pytest.mark.parametrize("statement", [
    "DELETE FROM id_filters", "UPDATE id_filters SET filter = {zeros}",
])  # fmt: skip
def test_a_damaged_filter_is_told_and_loses_nothing(
    database: str, campaign: Campaign, statement: str
) -> None:
    ids = some_ids(400)
    with closing(open_store(database)) as store:
        key = create(store, campaign)
        fill(store, key, ids)
    zeros = "decode('00000000000000', 'hex')" if "://" in database else "X'00000000000000'"
    with tables(database) as connection:
        connection.exec_driver_sql(statement.format(zeros=zeros))
    with closing(open_store(database)) as store:
        assert any("filter of the segment" in problem for problem in told(store))
        assert add(store, key, ids) == Outcome(0, 400)


def test_ids_in_the_wrong_piece_are_told(database: str, campaign: Campaign) -> None:
    ids = some_ids(400)
    with closing(open_store(database)) as store:
        key = create(store, campaign)
        fill(store, key, ids)
    with tables(database) as connection:
        first, second = (
            connection.exec_driver_sql(f"SELECT key FROM id_pieces ORDER BY key {order} LIMIT 1")  # noqa: S608
            .scalar() for order in ("", "DESC")
        )  # fmt: skip
        for old, new in ((first, 0), (second, first), (0, second)):
            connection.exec_driver_sql(f"UPDATE id_pieces SET key = {new} WHERE key = {old}")  # noqa: S608
    with closing(open_store(database)) as store:
        (problem, *_) = told(store)
        assert "ids are not where they are looked for" in problem
    with tables(database) as connection:
        connection.exec_driver_sql(f"DELETE FROM id_pieces WHERE key = {first}")  # noqa: S608
    with closing(open_store(database)) as store:
        assert "it has" in told(store)[-1]


def test_nothing_is_left_of_a_deleted_campaign(store: Store, campaign: Campaign) -> None:
    assert isinstance(store, SqlStore)
    key = create(store, campaign)
    fill(store, key, some_ids(400))
    add(store, key, some_ids(200, seed=3))
    for _ in range(3):
        store._settle(key)  # one is being built
    assert all(rows_of(store).values())
    assert store.delete("commute")
    assert not any(rows_of(store).values())


def test_what_was_merged_is_cleared(store: Store, campaign: Campaign) -> None:
    key = create(store, campaign)
    fill(store, key, some_ids(600), size=120)
    assert isinstance(store, SqlStore)
    with store._read() as connection:
        rows = read_segments(connection, store._remembered.tables, key, 0, 1, 2)
    assert {row.state for row in rows} == {LIVE}
    pieces = sum(1 << row.bits for row in rows)
    assert rows_of(store)["pieces"] <= pieces


def test_imports_and_backups_have_segments_of_their_own(
    store: Store, campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, key = some_ids(600), create(store, campaign)
    fill(store, key, ids)
    monkeypatch.setattr("noutput.collector.store.known._PIECE", 16 * 100)
    url = store._engine.url  # type: ignore[attr-defined]
    source = url.render_as_string(hide_password=False).replace("+psycopg", "")
    back_up(source.removeprefix("sqlite:///"), tmp_path / "copy.db")
    with closing(open_store(str(tmp_path / "copy.db"))) as copy:
        assert known_ids(copy) == sorted(ids)
        assert levels(copy, 1)
        assert told(copy) == []
        assert add(copy, 1, ids) == Outcome(0, 600)

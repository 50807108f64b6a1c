from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from noutput.campaign import Campaign
from noutput.campaign.text import format_instant
from noutput.collector.ingest import history
from noutput.collector.services import Services
from noutput.collector.store import open_store
from noutput.collector.store.archive import back_up
from noutput.collector.store.interface import Milestone, Store, Submission, UnavailableError
from noutput.collector.store.sql import SqlStore
from tests.collector.service import Clock


def add(services: Services, campaign: Campaign, count: int, rng: np.random.Generator) -> int:
    """Count reports, spread evenly over all cells."""
    values = (campaign.id, campaign.fingerprint, campaign.to_json())
    row, _ = services.store.create(*values, format_instant(services.clock()))
    services.directory.take(row)
    cells = np.arange(count) % (len(campaign.questions) * campaign.tables[0].n_outputs)
    services.store.add([Submission(row.key, rng.bytes(16 * count), cells.astype("<i4").tobytes())])
    return row.key


def test_milestones_are_a_tenth_apart(
    store: Store, campaign: Campaign, rng: np.random.Generator
) -> None:
    clock = Clock()
    services = Services(store, clock)
    services.recorder.look()
    for _ in range(40):
        clock.now += timedelta(minutes=1)
        key = add(services, campaign, 150, rng)
        services.recorder.look()
    found = store.history(key)
    assert {each.attribute for each in found} == {0, 1, 2}
    for place in range(3):
        mine = [each for each in found if each.attribute == place]
        counts = np.array([each.reports for each in mine])
        assert counts[0] == 50
        assert (counts[1:] >= 1.1 * counts[:-1]).all()
        assert 15 <= len(mine) <= 25
        assert [each.at for each in mine] == sorted(each.at for each in mine)
        widths = np.array([each.high - each.low for each in mine])
        assert (np.diff(widths) < 0.0).all()
        assert all(each.low < each.mean < each.high for each in mine)


def test_milestones_tell_nothing_about_one_report(
    store: Store, campaign: Campaign, rng: np.random.Generator
) -> None:
    services = Services(store, Clock())
    for _ in range(120):
        key = add(services, campaign, 1, rng)
        services.recorder.look()
    counts = [each.reports for each in store.history(key) if each.attribute == 0]
    assert (np.diff([0, *counts]) >= 10).all()
    assert len(counts) == 11


def test_a_restart_goes_on_and_two_processes_agree(
    database: str, campaign: Campaign, rng: np.random.Generator
) -> None:
    first, second = open_store(database), open_store(database)
    one, two = Services(first, Clock()), Services(second, Clock())
    key = add(one, campaign, 300, rng)
    add(two, campaign, 300, rng)
    one.recorder.look()
    before = first.history(key)
    two.recorder.look()  # it has the same counts
    assert second.history(key) == before
    add(two, campaign, 30, rng)
    two.recorder.look()  # too few more
    assert second.history(key) == before
    add(two, campaign, 60, rng)
    two.recorder.look()
    assert len(second.history(key)) == 2 * len(before)
    first.close()
    second.close()


def test_the_same_milestone_twice_and_one_of_nothing_are_dropped(
    store: Store, campaign: Campaign, rng: np.random.Generator
) -> None:
    key = add(Services(store, Clock()), campaign, 30, rng)
    milestone = Milestone(0, 10, "2026-05-01T00:00:00Z", 90.0, 60.0, 120.0)
    store.add_history(key, [milestone], {})
    store.add_history(key, [milestone], {})
    store.add_history(key + 1, [milestone], {})
    store.add_history(key, [], {})
    assert store.history(key) == [milestone]
    assert store.history(key + 1) == []
    store.delete(campaign.id)
    assert store.history(key) == []


def test_two_processes_at_the_same_moment(
    database: str, campaign: Campaign, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = open_store(database), open_store(database)
    one, two = Services(first, Clock()), Services(second, Clock())
    key = add(one, campaign, 300, rng)
    seen = first.history

    def slow(number: int) -> list[Milestone]:
        known = seen(number)
        monkeypatch.undo()
        add(two, campaign, 15, rng)
        two.recorder.look()  # meanwhile, with five more reports on each attribute
        return known

    monkeypatch.setattr(first, "history", slow)
    one.recorder.look()
    found = first.history(key)
    assert [(each.attribute, each.reports) for each in found] == [(0, 105), (1, 105), (2, 105)]
    first.close()
    second.close()


def test_it_looks_by_itself_and_outlives_an_outage(
    tmp_path: Path, campaign: Campaign, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_LOOK_SECONDS", 0.01)
    store = open_store(str(tmp_path / "reports.db"))
    services = Services(store, Clock())

    async def until(wanted: int) -> None:
        async with asyncio.timeout(20):
            while len(store.history(key)) < wanted:
                await asyncio.sleep(0.01)

    async def work() -> None:
        services.recorder.start()
        with monkeypatch.context() as patch:
            patch.setattr(store, "totals", fail)
            services.metrics.accepted += 1
            await asyncio.sleep(0.1)
        services.metrics.accepted += 299
        await until(3)
        add(services, campaign, 300, rng)
        await services.recorder.stop()

    def fail() -> None:
        raise UnavailableError("no database")

    key = add(services, campaign, 300, rng)
    asyncio.run(work())
    assert len(store.history(key)) == 6  # the end is noted too
    store.close()


def test_a_backup_has_the_history(
    database: str, campaign: Campaign, rng: np.random.Generator, tmp_path: Path
) -> None:
    store = open_store(database)
    services = Services(store, Clock())
    key = add(services, campaign, 300, rng)
    services.recorder.look()
    known = store.history(key)
    store.close()
    back_up(database, tmp_path / "copy.db")
    copy = open_store(str(tmp_path / "copy.db"))
    row = copy.campaign(campaign.id)
    assert row is not None
    assert known
    assert copy.history(row.key) == known
    copy.close()


def test_a_database_of_the_first_version_gets_a_history(
    database: str, campaign: Campaign, rng: np.random.Generator
) -> None:
    old = open_store(database)
    key = add(Services(old, Clock()), campaign, 300, rng)
    assert isinstance(old, SqlStore)
    with old._write() as connection:  # as it was before there was a history
        connection.execute(text("DROP TABLE history"))
        connection.execute(text("UPDATE noutput_schema SET version = 1"))
    old.close()
    store = open_store(database)
    services = Services(store, Clock())
    assert store.totals() == {key: 300}
    services.directory.all()
    services.recorder.look()
    assert len(store.history(key)) == 3
    store.close()

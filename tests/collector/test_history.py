from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import astuple
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete

from noutput.campaign import Campaign
from noutput.campaign.segments import Segments
from noutput.campaign.text import format_instant
from noutput.collector.cells import CellLayout
from noutput.collector.ingest import history
from noutput.collector.publishing import Publishing, ReleasePolicy
from noutput.collector.services import Services
from noutput.collector.store import open_store, schema
from noutput.collector.store.archive import back_up, export_campaign, restore
from noutput.collector.store.interface import Published, Store, Submission, UnavailableError
from tests.collector.labeled import OPENS, scheduled_campaign
from tests.collector.service import Clock


def add(services: Services, campaign: Campaign, count: int, rng: np.random.Generator) -> int:
    """Count reports, spread evenly over all cells."""
    values = (campaign.id, campaign.fingerprint, campaign.to_json())
    row, _ = services.store.create(*values, format_instant(services.clock()))
    services.directory.take(row)
    cells = np.arange(count) % (len(campaign.questions) * campaign.tables[0].n_outputs)
    services.store.add([Submission(row.key, rng.bytes(16 * count), cells.astype("<i4").tobytes())])
    return row.key


def test_releases_grow_with_the_reports(
    store: Store, campaign: Campaign, rng: np.random.Generator
) -> None:
    clock = Clock()
    services = Services(store, clock, policy=ReleasePolicy(50, 0.1))
    services.recorder.look()
    for _ in range(40):
        clock.now += timedelta(minutes=1)
        key = add(services, campaign, 150, rng)
        services.recorder.look()
    found = store.history(key)
    assert {each.question for each in found} == {0, 1, 2}
    for place in range(3):
        mine = [each for each in found if each.question == place]
        counts = np.array([each.reports for each in mine])
        assert counts[0] == 50
        assert (10 * counts[1:] >= 11 * counts[:-1]).all()
        assert 15 <= len(mine) <= 25
        assert [each.at for each in mine] == sorted(each.at for each in mine)
        widths = np.array([each.high - each.low for each in mine])
        assert (np.diff(widths) < 0.0).all()
        assert all(each.low < each.mean < each.high for each in mine)
        release = store.published(key).releases[place]
        steps = np.diff([0, *counts])
        wanted = (place, counts[-1], mine[-1].at, len(mine), steps.min(), steps[-1])
        assert astuple(release) == wanted


def test_reports_one_by_one_are_published_together(
    store: Store, campaign: Campaign, rng: np.random.Generator
) -> None:
    services = Services(store, Clock(), policy=ReleasePolicy(10, 0.0))
    for sent in range(1, 121):
        key = add(services, campaign, 1, rng)
        services.recorder.look()
        shown = store.published(key).counts
        assert sum(shown.values()) in (0, sent // 10 * 10)
    counts = [each.reports for each in store.history(key) if each.question == 0]
    assert counts == list(range(10, 121, 10))


def test_what_is_published_stays_where_collectors_restart_and_share(
    database: str, campaign: Campaign, rng: np.random.Generator
) -> None:
    policy = ReleasePolicy(30, 0.1)
    first, second = open_store(database), open_store(database)
    one = Services(first, Clock(), policy=policy)
    two = Services(second, Clock(), policy=policy)
    key = add(one, campaign, 300, rng)
    one.recorder.look()
    before = first.published(key)
    assert {each.reports for each in before.releases} == {100}
    add(two, campaign, 60, rng)
    for each in (one, two):  # 20 more on each question: too few
        each.recorder.look()
        assert each.store.published(key) == before
        assert each.store.published_totals() == {key: 300}
    first.close()
    second.close()
    with closing(open_store(database)) as again:
        three = Services(again, Clock(), policy=policy)
        assert three.recorder.is_due()  # a killed collector may have left something
        three.recorder.look()
        assert again.published(key) == before
        add(three, campaign, 30, rng)
        three.recorder.look()
        after = again.published(key)
        assert [(each.reports, each.number, each.smallest) for each in after.releases] == [
            (130, 2, 30)
        ] * 3
        assert after.counts == again.counts(key)
        assert len(again.history(key)) == 6
        assert again.delete(campaign.id)
        assert again.published(key) == Published({}, [])
        assert again.history(key) == []


def test_two_processes_at_the_same_moment(
    database: str, campaign: Campaign, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both see that a step is due; the second one finds that it was published meanwhile."""
    first, second = open_store(database), open_store(database)
    one = Services(first, Clock(), policy=ReleasePolicy(30, 0.0))
    two = Services(second, Clock(), policy=ReleasePolicy(30, 0.0))
    key = add(one, campaign, 300, rng)
    kind: Any = type(first)
    write = kind._write

    def slow(store: Any) -> Any:
        monkeypatch.undo()
        add(two, campaign, 15, rng)
        two.recorder.look()  # meanwhile, with five more reports on each question
        add(one, campaign, 60, rng)
        return write(store)

    monkeypatch.setattr(kind, "_write", slow)
    one.recorder.look()
    found = first.history(key)
    assert [(each.question, each.reports) for each in found] == [(0, 105), (1, 105), (2, 105)]
    assert {each.last for each in first.published(key).releases} == {105}
    first.close()
    second.close()


def test_two_processes_publish_what_is_left_of_a_period_once(
    database: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both see that it is due: one of them publishes it, without labels and rounds."""
    first, second = open_store(database), open_store(database)
    clock = Clock(OPENS + timedelta(hours=1))
    one, two = (Services(each, clock, policy=ReleasePolicy(50, 0.0)) for each in (first, second))
    segments = Segments({"platform": ("ios", "web")}, 100)  # type: ignore[arg-type]  # is taken
    campaign = scheduled_campaign(segments=segments)
    values = (campaign.id, campaign.fingerprint, campaign.to_json())
    row, _ = first.create(*values, format_instant(OPENS))
    for services in (one, two):
        services.directory.take(row)
    layout = CellLayout(campaign)
    strata = layout.strata

    def shown() -> dict[int, int]:
        return layout.totals(first.published(row.key).counts)

    for number in range(7):
        cells = np.full(60, strata.number(number, 1) * 5, "<i4")
        first.add([Submission(row.key, rng.bytes(16 * 60), cells.tobytes())])
        clock.now = OPENS + timedelta(days=number + 2)  # the round before is over
        one.recorder.look()
    assert shown() == {}
    clock.now += timedelta(minutes=1)
    kind: Any = type(first)
    write = kind._write

    def slow(store: Any) -> Any:
        monkeypatch.undo()
        two.recorder.look()
        return write(store)

    monkeypatch.setattr(kind, "_write", slow)
    one.recorder.look()
    left = strata.number(strata.rounds, strata.combinations)
    assert shown() == {left: 420}
    (release,) = first.published(row.key).releases
    assert (release.number, release.smallest, release.last) == (1, 420, 420)
    with first.snapshot(campaign.id) as found:
        assert found is not None
        moved = {cell: known.moved for cell, known in found.counts.items() if known.moved}
        assert moved == {strata.number(number, 1) * 5: 60 for number in range(7)}
    first.close_campaign(campaign.id, format_instant(clock.now))
    for services in (one, two):
        services.directory.find(campaign.id)
        services.recorder.look()
    assert shown() == {left: 420}
    first.close()
    second.close()


def test_the_end_of_a_round_is_published_where_another_publishes_meanwhile(
    database: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other's clock is behind: it publishes a step of the next round, and not the end."""
    first, second = open_store(database), open_store(database)
    late = Clock(OPENS + timedelta(days=2, minutes=1))
    one, two = (Services(each, late, policy=ReleasePolicy(50, 1.0)) for each in (first, second))
    two.recorder._clock = Clock(OPENS + timedelta(days=1, hours=1))
    campaign = scheduled_campaign()
    values = (campaign.id, campaign.fingerprint, campaign.to_json())
    row, _ = first.create(*values, format_instant(OPENS))
    for services in (one, two):
        services.directory.take(row)

    def count(number: int, reports: int) -> None:
        cells = np.full(reports, CellLayout(campaign).first_cell(number), "<i4")
        first.add([Submission(row.key, rng.bytes(16 * reports), cells.tobytes())])

    count(0, 60)
    two.recorder.look()
    count(0, 50)
    kind: Any = type(first)
    write = kind._write

    def slow(store: Any) -> Any:
        monkeypatch.undo()
        count(1, 70)
        two.recorder.look()
        return write(store)

    monkeypatch.setattr(kind, "_write", slow)
    one.recorder.look()
    one.recorder.look()
    assert [each.reports for each in first.published(row.key).releases] == [110, 70]
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("counted", "published"),
    [
        ((30,), 0),  # all there is, and too little
        ((60, 15), 60),  # what is left would be seen alone
        ((600, 45), 645),  # enough to hide in, if not a tenth
    ],
)
def test_the_last_release(
    store: Store,
    campaign: Campaign,
    rng: np.random.Generator,
    counted: tuple[int, ...],
    published: int,
) -> None:
    services = Services(store, Clock(), policy=ReleasePolicy(12, 0.1))
    for count in counted:
        key = add(services, campaign, count, rng)
        services.recorder.look()
    row = store.close_campaign(campaign.id, "2026-06-01T00:00:00Z")
    assert row is not None
    services.directory.take(row)
    assert services.recorder.is_due()
    services.recorder.look()
    assert store.published_totals() == ({key: published} if published else {})
    assert all(each.smallest >= 12 for each in store.published(key).releases)


def test_it_looks_by_itself_and_outlives_an_outage(
    tmp_path: Path, campaign: Campaign, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_LOOK_SECONDS", 0.01)
    store = open_store(str(tmp_path / "reports.db"))
    services = Services(store, Clock(), policy=ReleasePolicy(50, 0.1))

    async def until(wanted: int) -> None:
        async with asyncio.timeout(20):
            while len(store.history(key)) < wanted:
                await asyncio.sleep(0.01)

    async def work() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(store, "totals", fail)
            services.recorder.start()
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
    assert len(store.history(key)) == 6  # the end is published too
    store.close()


def test_copies_go_on_where_the_original_was(
    database: str, campaign: Campaign, rng: np.random.Generator, tmp_path: Path
) -> None:
    """Else the first step of a copy would differ by a few reports from what was published."""
    store = open_store(database)
    services = Services(store, Clock(), policy=ReleasePolicy(50, 0.1))
    key = add(services, campaign, 300, rng)
    services.recorder.look()
    add(services, campaign, 30, rng)
    known, shown = store.history(key), store.published(key)
    assert known
    export_campaign(store, campaign.id, tmp_path / "commute.noutput")
    store.close()
    back_up(database, tmp_path / "copy.db")
    with closing(open_store(str(tmp_path / "copy.db"))) as copy:
        row = copy.campaign(campaign.id)
        assert row is not None
        assert copy.history(row.key) == known
        assert copy.published(row.key) == shown
    with closing(open_store(str(tmp_path / "other.db"))) as other:
        (moved,) = restore(other, tmp_path / "commute.noutput")
        assert other.published(moved.key) == shown
        assert sum(other.counts(moved.key).values()) == 330


def test_a_campaign_that_is_deleted_meanwhile(
    database: str, campaign: Campaign, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_store(database)) as store:
        services = Services(store, Clock(), policy=ReleasePolicy(30, 0.0))
        key = add(services, campaign, 300, rng)
        kind: Any = type(store)
        publish = kind._publish

        def late(self: Any, connection: Any, *rest: Any) -> None:
            connection.execute(delete(schema.campaigns))
            publish(self, connection, *rest)

        with monkeypatch.context() as patch:
            patch.setattr(kind, "_publish", late)
            services.recorder.look()
        assert store.published(key) == Published({}, [])
        assert store.delete(campaign.id)
        publishing = Publishing(CellLayout(campaign), ReleasePolicy(1, 0.0))
        assert store.release(key, publishing, "", lambda *_: None) == []

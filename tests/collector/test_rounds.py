"""Reports with labels and rounds: which are counted, where, and until when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from noutput.campaign import Campaign, Number, Report
from noutput.campaign.packed import encode_packed, widths
from noutput.campaign.schedule import Schedule
from noutput.campaign.segments import Segments
from noutput.campaign.wire import BATCH_TYPE, PACKED_TYPE, encode_batch
from noutput.collector.cells import CellLayout
from noutput.collector.store.directory import KnownCampaign
from noutput.collector.store.interface import Store
from tests.collector.conftest import make_campaign
from tests.collector.labeled import (
    MINUTES,
    OPENS,
    PLATFORMS,
    labeled_campaign,
    reports,
    scheduled_campaign,
)
from tests.collector.service import Service, problem, start_service


@pytest.fixture
def either(store: Store) -> Iterator[Service]:
    """A collector on each kind of database."""
    with start_service(store) as running:
        yield running


def key(service: Service) -> int:
    row = service.store.campaign("commute")
    assert row is not None
    return row.key


def both() -> Campaign:
    segments = Segments(PLATFORMS, 100)  # type: ignore[arg-type]  # a mapping is taken
    return scheduled_campaign(segments=segments)


def cells_of(campaign: Campaign, sent: list[Report]) -> dict[int, int]:
    layout, found = CellLayout(campaign), dict[int, int]()
    for report in sent:
        stratum = layout.strata.renumbered(campaign.stratum(report.labels, report.round))
        cell = layout.cell(report.question, report.output, stratum)
        assert cell is not None
        found[cell] = found.get(cell, 0) + 1
    return found


def test_single_reports_and_batches_count_for_their_labels_and_rounds(
    either: Service, rng: np.random.Generator
) -> None:
    campaign = both()
    assert either.create(campaign).status_code == 201
    sent: list[Report] = []
    for number, labels in (
        (0, {}), (0, {"plan": "paid"}), (1, {"platform": "web"}),
        (2, {"platform": "ios", "plan": "free"}),
    ):  # fmt: skip
        either.clock.now = OPENS + timedelta(days=number, hours=3)
        for report in reports(campaign, 3, rng, labels, number):
            assert either.report(report).json() == {"accepted": 1, "repeated": 0}
            sent.append(report)
        many = reports(campaign, 30, rng, labels, number)
        assert either.batch(campaign, many).json() == {"accepted": 30, "repeated": 0}
        others = reports(campaign, 5, rng, labels, number)
        answer = either.send(encode_batch(others), BATCH_TYPE)
        assert answer.json() == {"accepted": 5, "repeated": 0}
        assert either.batch(campaign, many + others).json() == {"accepted": 0, "repeated": 35}
        sent += many + others
    assert either.store.counts(key(either)) == cells_of(campaign, sent)


def test_reports_of_rounds_to_come_or_long_past_are_refused(
    service: Service, rng: np.random.Generator
) -> None:
    campaign = scheduled_campaign(schedule=Schedule("day", 7, grace=3600))
    service.create(campaign)
    early, late, right = (reports(campaign, 1, rng, number=n)[0] for n in (5, 3, 4))
    service.clock.now = OPENS + timedelta(days=4, seconds=3600)
    assert problem(service.report(early)) == (403, "round-not-begun")
    assert problem(service.report(late)) == (403, "round-over")
    assert "round must be 4 or later" in service.report(late).json()["detail"]
    answer = service.batch(campaign, [replace(right, id="f" * 32), replace(late, id="0" * 32)])
    assert problem(answer) == (403, "round-over")
    assert "reports[0].round" in answer.json()["detail"]
    assert service.total() == 0  # of a batch nothing, too
    service.clock.now -= timedelta(seconds=1)
    assert service.report(late).status_code == service.report(right).status_code == 200
    service.clock.now += timedelta(days=1)
    assert service.report(early).status_code == 200


def test_the_last_round_has_its_grace_time_after_the_campaign_closed(
    service: Service, rng: np.random.Generator
) -> None:
    campaign = scheduled_campaign(schedule=Schedule("day", 7, grace=3600))
    service.create(campaign)
    one, other = reports(campaign, 2, rng, number=13)
    service.clock.now = campaign.closes + timedelta(seconds=3599)
    assert service.report(one).status_code == 200
    service.clock.now += timedelta(seconds=1)
    assert problem(service.report(other)) == (403, "campaign-not-open")
    row = service.store.campaign("commute")
    assert row is not None
    assert row.closed == "2026-05-15T01:00:00Z"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"labels": (("platform", "gnu"),)}, "unknown-label"),
        ({"labels": (("size", "1"),)}, "unknown-label"),
        ({"round": 14}, "unknown-round"),
        ({"round": None}, "malformed-body"),
    ],
)
def test_labels_and_rounds_that_there_are_not(
    change: dict[str, Any], name: str, service: Service, rng: np.random.Generator
) -> None:
    campaign = both()
    service.create(campaign)
    (report,) = reports(campaign, 1, rng, {"platform": "ios"}, 0)
    wrong = replace(report, **change)
    assert problem(service.report(wrong))[1] == name
    assert problem(service.send(encode_batch([wrong]), BATCH_TYPE))[1] == name
    assert service.total() == 0


def test_labels_of_a_campaign_without_segments_are_refused(
    service: Service, rng: np.random.Generator
) -> None:
    campaign = make_campaign(questions=MINUTES)
    service.create(campaign)
    (report,) = reports(campaign, 1, rng)
    changes: tuple[dict[str, Any], ...] = ({"labels": (("platform", "ios"),)}, {"round": 0})
    for change in changes:
        wrong = replace(report, **change)
        assert problem(service.report(wrong)) == (400, "malformed-body")


def test_a_packed_batch_with_a_stratum_that_there_is_not(
    service: Service, rng: np.random.Generator
) -> None:
    campaign = both()
    service.create(campaign)
    service.clock.now = OPENS + timedelta(days=13)
    wider = replace(campaign, closes=campaign.closes + timedelta(days=7))
    assert (campaign.n_rounds * 12 - 1).bit_length() == (wider.n_rounds * 12 - 1).bit_length() == 8
    many = reports(wider, 3, rng, number=20)
    body = encode_packed(wider, many)
    forged = body.replace(bytes.fromhex(wider.fingerprint), bytes.fromhex(campaign.fingerprint))
    assert problem(service.send(forged, PACKED_TYPE)) == (422, "unknown-round")
    assert service.total() == 0


def test_what_is_too_little_is_published_without_its_labels(
    either: Service, rng: np.random.Generator
) -> None:
    campaign = labeled_campaign()
    either.create(campaign)
    layout = CellLayout(campaign)
    ios, web = {"platform": "ios"}, {"platform": "web"}
    numbers = {name: campaign.stratum(each, None) for name, each in (("ios", ios), ("web", web))}

    def shown() -> dict[int, int]:
        return layout.totals(either.store.published(key(either)).counts)

    either.batch(campaign, reports(campaign, 60, rng, ios))
    assert shown() == {}
    either.batch(campaign, reports(campaign, 49, rng, web))
    assert shown() == {}  # half of the minimum is to be of others than ios
    either.batch(campaign, reports(campaign, 1, rng, web))
    assert shown() == {12: 110}  # the rest
    either.batch(campaign, reports(campaign, 99, rng, ios))  # 60 are in the rest for good
    assert shown() == {12: 110}
    either.batch(campaign, reports(campaign, 1, rng, ios))
    assert shown() == {12: 110, numbers["ios"]: 100}
    either.batch(campaign, reports(campaign, 79, rng, web))
    either.store.close_campaign("commute", "2026-06-01T00:00:00Z")
    either.app.services.directory.find("commute")
    either.publish()  # 79 of web are too few, and stay hidden
    assert shown() == {12: 110, numbers["ios"]: 100}
    assert either.total() == 60 + 50 + 100 + 79


def test_a_round_is_published_to_its_end_when_it_is_over(
    either: Service, rng: np.random.Generator
) -> None:
    campaign = both()
    either.create(campaign)
    layout, services = CellLayout(campaign), either.app.services
    ios, web = {"platform": "ios"}, {"platform": "web"}

    def shown(number: int) -> dict[int, int]:
        found = layout.totals(either.store.published(key(either)).counts)
        return {stratum % 13: n for stratum, n in found.items() if stratum // 13 == number}

    services.directory.find("commute")
    services.recorder.look()
    for labels, count in ((ios, 150), (web, 60)):
        either.batch(campaign, reports(campaign, count, rng, labels, 0))
    services.recorder.is_due()
    assert shown(0) == {3: 150}
    either.batch(campaign, reports(campaign, 70, rng, ios, 0))
    assert shown(0) == {3: 150}
    either.clock.now = OPENS + timedelta(days=2, seconds=29)
    services.recorder.is_due()
    assert not services.recorder.is_due()
    either.clock.now += timedelta(seconds=1)  # the round, its grace time, and the last commits
    assert services.recorder.is_due()
    services.recorder.look()
    assert shown(0) == {3: 150, 12: 130}
    milestone = either.store.history(key(either))[-1]
    assert milestone.reports == 280
    either.batch(campaign, reports(campaign, 100, rng, ios, 2))
    assert shown(2) == {3: 100}


def test_which_rounds_are_over(campaign: Campaign) -> None:
    scheduled = scheduled_campaign(schedule=Schedule("day", 7, grace=3600))
    entry = KnownCampaign(1, scheduled, b"", OPENS, None)
    hour = timedelta(hours=1)
    assert (entry.rounds_begun(OPENS - hour), entry.rounds_over(OPENS - hour)) == (0, 0)
    assert (entry.rounds_begun(OPENS), entry.rounds_over(OPENS)) == (1, 0)
    assert entry.rounds_over(OPENS + 25 * hour - timedelta(seconds=1)) == 0
    assert entry.rounds_over(OPENS + 25 * hour) == 1
    assert entry.rounds_begun(OPENS + 1000 * hour) == entry.rounds_over(OPENS + 1000 * hour) == 14
    plain = KnownCampaign(1, campaign, b"", OPENS, None)
    assert (plain.rounds_begun(OPENS), plain.rounds_over(OPENS), plain.ends) == (
        1, 0, campaign.closes,
    )  # fmt: skip


def test_answers_that_take_more_than_32_bits(service: Service, rng: np.random.Generator) -> None:
    many = Segments((("a", tuple(map(str, range(98)))), ("b", tuple(map(str, range(9))))))
    questions = tuple(Number(0, 1, name=f"q{n}") for n in range(33))
    schedule = Schedule("hour", 50)
    campaign = scheduled_campaign(100, schedule=schedule, segments=many, questions=questions)
    assert sum(widths(campaign)) == 32
    service.create(campaign)
    service.clock.now = campaign.closes - timedelta(seconds=1)
    sent = reports(campaign, 50, rng, {"a": "97", "b": "8"}, 4999)
    assert service.batch(campaign, sent).json() == {"accepted": 50, "repeated": 0}
    found = service.store.counts(key(service))
    assert found == cells_of(campaign, sent)
    assert min(found) > 1 << 29
    service.publish()


def test_a_plain_campaign_takes_the_same_steps_as_before(
    service: Service, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One statement that counts, one row per cell from the start, and no report is parsed."""
    service.create(campaign)
    statements: list[str] = []
    store: Any = service.store
    for name in ("decode_entry", "check_rounds"):
        target = f"noutput.collector.ingest.{'columns' if name[0] == 'd' else 'reports'}.{name}"
        monkeypatch.setattr(target, lambda *_: pytest.fail("not for this campaign"))
    count = type(store)._count

    def counted(self: Any, connection: Any, more: list[tuple[int, int, int]]) -> None:
        statements.append(f"{len(more)} cells")
        count(self, connection, more)

    monkeypatch.setattr(type(store), "_count", counted)
    with store._read() as connection:
        before = connection.exec_driver_sql("SELECT count(*) FROM counts").scalar()
    report = Report(campaign.fingerprint, "rides", 3, "f" * 32)
    assert service.report(report).json() == {"accepted": 1, "repeated": 0}
    with store._read() as connection:
        after = connection.exec_driver_sql("SELECT count(*) FROM counts").scalar()
    assert (before, after, statements) == (15, 15, ["1 cells"])
    assert service.store.counts(key(service)) == {8: 1}

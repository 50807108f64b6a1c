"""Adaptive campaigns in the collector: cells, publishing per block, and exactly one successor."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noutput import frames
from noutput.campaign import Admission, Campaign, NextWave, Report, Table, draw_report
from noutput.campaign.wire import BATCH_TYPE, PACKED_TYPE, REPORT_TYPE, encode_batch, encode_report
from noutput.collector.archive.archive import open_archive
from noutput.collector.cells import CellLayout
from noutput.collector.ingest import adapting
from noutput.collector.issuing import issue_tokens
from noutput.collector.pooled import Part, estimated
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.services import Services
from noutput.collector.store import open_store
from noutput.collector.store.archive import back_up, export_campaign, restore
from noutput.collector.store.interface import Store
from noutput.interval import Interval
from noutput.planner import successors
from noutput.planner.adaptive import range_choices
from noutput.questions import Number, YesNo
from noutput.tally import Tally
from tests.campaign.examples import answer_table, next_wave
from tests.collector.conftest import make_campaign
from tests.collector.service import Service, problem, start_service
from tests.tables import window_table

AT = "2026-05-01T00:00:00Z"
VALUES: dict[str, float | str] = {"minutes": 30, "late": "no"}


def adaptive(**parts: Any) -> Campaign:
    wanted: dict[str, Any] = {
        "questions": (Number(0, 600, "min", name="minutes"), YesNo(name="late")),
        "tables": (window_table(2.0, 5, 7, 0.4).plain, answer_table(1.0, 2)),
        "next_wave": NextWave(40, 200),
        "public": True,
    }
    return make_campaign(**(wanted | parts))


@dataclass
class Chosen:
    """What the rule returns; `noutput.planner.adaptive` has the real one."""

    bounds: Interval
    mechanism: Any
    narrowed: bool = True
    reason: str = "few are above 120"


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a wave begin after fewer reports than the rule needs."""
    monkeypatch.setattr(adapting, "FEWEST_REPORTS", 1)


@pytest.fixture
def rule(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A rule that always narrows to 120, and what it was called with."""
    calls: list[dict[str, Any]] = []

    def choose(mechanism: Any, tally: Any, bounds: Any, **options: Any) -> Chosen:
        calls.append({"mechanism": mechanism, "tally": tally, "bounds": bounds, **options})
        return Chosen(Interval(0, 120), window_table(2.0, 3, 4, 0.4))

    monkeypatch.setattr(successors, "choose_range", choose)
    return calls


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A collector with SQLite; what the database itself does is tested with `either`."""
    store = open_store(str(tmp_path / "reports.db"))
    with start_service(store, policy=ReleasePolicy(10, 0.0)) as found:
        yield found
    store.close()


@pytest.fixture
def either(store: Store) -> Iterator[Service]:
    """A collector with each kind of database."""
    with start_service(store, policy=ReleasePolicy(10, 0.0)) as found:
        yield found


def reports(campaign: Campaign, count: int) -> list[Report]:
    return [draw_report(campaign, VALUES) for _ in range(count)]


def send(service: Service, campaign: Campaign, count: int) -> list[Report]:
    sent = reports(campaign, count)
    answer = service.batch(campaign, sent)
    assert answer.json() == {"accepted": count, "repeated": 0}, answer.text
    return sent


def begin(service: Service) -> Campaign:
    """Let the second wave begin, and return it as devices get it."""
    service.app.services.adapter.look()
    return Campaign.from_json(service.call("GET", "/campaigns/commute").text)


def counted(service: Service) -> dict[int, int]:
    row = service.store.campaign("commute")
    assert row is not None
    return service.store.counts(row.key)


def test_every_number_waits_for_the_reports_that_the_rule_needs(
    service: Service, rule: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each person answers one of two questions, so half of the reports are about the number."""
    monkeypatch.setattr(adapting, "FEWEST_REPORTS", 61)
    first = adaptive()
    assert service.create(first).status_code == 201
    send(service, first, 60)  # 40 are wanted
    assert begin(service).fingerprint == first.fingerprint
    assert not rule
    send(service, first, 300)
    assert begin(service).predecessor == first
    assert rule[0]["tally"].total >= 61


def test_cells_of_a_new_wave_come_after_all_others() -> None:
    first = adaptive()
    second = next_wave(first)
    before, after = CellLayout(first), CellLayout(second)
    assert after.blocks[: len(before.blocks)] == before.blocks
    assert [block.wave for block in after.blocks] == [0, 0, 1, 1]
    assert after.size == before.size + 5 + 2
    cells = np.arange(after.size, dtype=np.int32)
    blocks, _, outputs = after.places(cells)
    assert [after.blocks[b].cells[o] for b, o in zip(blocks, outputs, strict=True)] == list(cells)
    wave = after.wave(first.fingerprint)
    assert wave is not None
    assert wave.cell("late", 1) == before.cell("late", 1) == 6
    assert after.cell("late", 1) == 13
    assert after.wave("0" * 64) is None
    assert after.wave(["no text"]) is None


def test_the_second_wave_is_of_published_counts_and_late_reports_count(
    either: Service, rule: list[dict[str, Any]]
) -> None:
    service = either
    first = adaptive()
    assert service.create(first).status_code == 201
    send(service, first, 39)
    assert begin(service).fingerprint == first.fingerprint  # 40 are wanted
    send(service, first, 30)
    row = service.store.campaign("commute")
    assert row is not None
    shown = service.store.published(row.key).counts
    second = begin(service)
    assert second.predecessor == first
    layout = CellLayout(first)
    assert second.inputs == tuple((tally.counts,) for tally in layout.tallies(shown))
    assert second.bounds == ((0.0, 120.0), None)
    assert second.reasons == ("few are above 120", "")
    assert second.tables[1] == first.tables[1]
    (call,) = rule
    published = call["tally"].total
    assert call["bounds"] == (0.0, 600.0)
    assert (call["expected"], call["objective"]) == (100 - published, "balanced")
    before = counted(service)
    send(service, second, 7)
    late = send(service, first, 2)  # drawn before the second wave, and sent after it
    after = counted(service)
    assert sum(after.values()) == sum(before.values()) + 9
    again = CellLayout(second)
    newer = [block for block in again.blocks if block.wave == 1]
    assert sum(block.tally(after).total for block in newer) == 7
    assert service.report(late[0]).json() == {"accepted": 0, "repeated": 1}
    assert begin(service) == second  # there is one successor


@pytest.mark.usefixtures("rule")
@pytest.mark.parametrize("kind", [REPORT_TYPE, BATCH_TYPE, PACKED_TYPE])
def test_reports_of_all_waves_are_counted_in_every_form(kind: str, service: Service) -> None:
    first = adaptive()
    service.create(first)
    send(service, first, 50)
    second = begin(service)
    for wave in (first, second):
        (report,) = reports(wave, 1)
        if kind == PACKED_TYPE:
            answer = service.batch(wave, [report])
        else:
            body = encode_report(report) if kind == REPORT_TYPE else encode_batch([report])
            answer = service.send(body, kind)
        assert answer.json() == {"accepted": 1, "repeated": 0}
        layout = CellLayout(second).wave(wave.fingerprint)
        assert layout is not None
        cell = layout.cell(report.question, report.output)
        assert counted(service)[cell or 0] >= 1
        spaced = json.dumps(json.loads(encode_report(report))).encode()
        assert service.send(spaced, REPORT_TYPE).json() == {"accepted": 0, "repeated": 1}
    other = replace(report, campaign="0" * 64)
    assert problem(service.report(other)) == (409, "wrong-fingerprint")
    assert problem(service.report(replace(report, output=200)))[1] == "unknown-output"


@pytest.mark.usefixtures("rule")
def test_old_documents_stay_and_the_campaign_is_known_by_all_of_its_waves(service: Service) -> None:
    first = adaptive()
    service.create(first)
    send(service, first, 50)
    second = begin(service)
    for wave in (first, second):
        answer = service.call("GET", f"/campaigns/commute/waves/{wave.fingerprint}")
        assert answer.text == wave.to_json()
        assert service.create(wave).status_code == 200  # it is there already
    answer = service.call("GET", f"/campaigns/commute/waves/{'0' * 64}")
    assert problem(answer) == (404, "unknown-campaign")
    tag = {"If-None-Match": f'"{first.fingerprint}"'}
    assert service.call("GET", "/campaigns/commute", headers=tag).status_code == 200
    tag = {"If-None-Match": f'"{second.fingerprint}"'}
    assert service.call("GET", "/campaigns/commute", headers=tag).status_code == 304
    fork = next_wave(first, 80.0)
    assert problem(service.create(fork)) == (409, "campaign-exists")


@pytest.mark.usefixtures("rule")
def test_estimates_name_the_waves(service: Service) -> None:
    first = adaptive()
    service.create(first)
    send(service, first, 50)
    assert len(service.call("GET", "/campaigns/commute/estimates").json()["waves"]) == 1
    second = begin(service)
    send(service, second, 60)
    found = service.call("GET", "/campaigns/commute/estimates").json()
    assert [wave["fingerprint"] for wave in found["waves"]] == [
        first.fingerprint, second.fingerprint
    ]  # fmt: skip
    minutes, late = found["waves"][1]["questions"]
    assert (minutes["lower"], minutes["upper"]) == (0.0, 120.0)
    assert minutes["reason"] == "few are above 120"
    assert (late["lower"], late["upper"], late["reason"]) == (None, None, "")
    waves = [each["reports"] for wave in found["waves"] for each in wave["questions"]]
    assert sum(waves) == found["reports"]
    assert found["questions"][0]["reports"] == waves[0] + waves[2]


def test_answers_of_two_tables_are_estimated_together(service: Service) -> None:
    """No rule changes the table of answers, but a chain may have two, of the same epsilon."""
    first = adaptive()
    service.create(first)
    send(service, first, 60)
    row = service.store.campaign("commute")
    assert row is not None
    table, (low, high) = first.tables[0], first.tables[1].weights
    rows = tuple((each[0] // 2, each[0] - each[0] // 2, each[1]) for each in (low, high))
    second = first.successor(
        (table, Table(1.0, (2,), rows)), ((0.0, 600.0), None),
        tuple((tally.counts,) for tally in CellLayout(first).tallies(counted(service))), ("", ""),
    )  # fmt: skip
    values = (first.fingerprint, second.fingerprint, second.to_json())
    assert service.store.succeed(row.key, *values)
    service.app.services.directory.find("commute")
    send(service, second, 60)
    found = service.call("GET", "/campaigns/commute/estimates").json()
    late = found["questions"][1]
    assert late["reports"] == sum(wave["questions"][1]["reports"] for wave in found["waves"]) > 40
    low, high = late["yes"]["interval"]
    assert 0.0 <= low < high <= 1.0
    page = service.call("GET", "/campaigns/commute?question=late", headers={"Accept": "text/html"})
    assert page.status_code == 200


def test_the_bounds_that_could_be_chosen_are_counted_once() -> None:
    m = window_table(2.0, 5, 7, 0.4)
    tally = Tally(m.fingerprint, (9,) * 5)
    parts = [Part(m, tally, (0.0, 600.0)), Part(m, tally, (0.0, 120.0))]
    evidence, none = estimated(parts)
    assert none is None
    assert evidence.choices == range_choices(Interval(0, 600)) == 1_830
    assert estimated(parts[:1]) == (m, tally)


@pytest.mark.usefixtures("rule")
def test_a_late_report_of_an_old_wave_is_not_seen_alone(either: Service) -> None:
    service = either
    first = adaptive()
    service.create(first)
    send(service, first, 60)
    row = service.store.campaign("commute")
    assert row is not None
    second = begin(service)
    send(service, second, 100)
    before = service.store.published(row.key)
    send(service, first, 3)
    after = service.store.published(row.key)
    assert after.counts == before.counts
    service.call("POST", "/campaigns/commute/close", headers=service.admin)
    service.publish()
    closed = service.store.published(row.key)
    assert min(release.smallest for release in closed.releases) >= 10
    assert sum(closed.counts.values()) < 163  # what is less than a step stays unseen


@pytest.mark.usefixtures("rule")
def test_a_block_of_a_later_wave_with_few_reports_is_never_published(service: Service) -> None:
    first = adaptive()
    service.create(first)
    send(service, first, 60)
    second = begin(service)
    send(service, second, 3)
    service.call("POST", "/campaigns/commute/close", headers=service.admin)
    service.publish()
    row = service.store.campaign("commute")
    assert row is not None
    assert {release.question for release in service.store.published(row.key).releases} == {0, 1}


def test_exactly_one_successor_is_kept(store: Store) -> None:
    first = adaptive()
    row, _ = store.create("commute", first.fingerprint, first.to_json(), AT)
    documents = [next_wave(first, upper) for upper in (100.0, 110.0, 120.0, 130.0)]
    kept: list[bool] = []

    def work(found: Campaign) -> None:
        values = (first.fingerprint, found.fingerprint, found.to_json())
        kept.append(store.succeed(row.key, *values))

    threads = [threading.Thread(target=work, args=(each,)) for each in documents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(kept) == [False, False, False, True]
    found = store.campaign("commute")
    assert found is not None
    assert found.fingerprint in {each.fingerprint for each in documents}
    assert Campaign.from_json(found.document).root == first.fingerprint
    assert found.key == row.key


def test_a_closed_campaign_gets_no_wave(store: Store) -> None:
    first = adaptive()
    row, _ = store.create("commute", first.fingerprint, first.to_json(), AT)
    store.close_campaign("commute", AT)
    second = next_wave(first)
    values = (first.fingerprint, second.fingerprint, second.to_json())
    assert not store.succeed(row.key, *values)
    assert not store.succeed(row.key + 1, *values)
    assert store.campaign("commute") == replace(row, closed=AT)


@pytest.mark.usefixtures("rule")
def test_a_process_that_does_not_know_the_wave_looks_it_up(service: Service) -> None:
    first = adaptive()
    service.create(first)
    send(service, first, 50)
    other = Services(service.store, service.clock, policy=ReleasePolicy(10, 0.0))
    other.adapter.look()  # another process begins the wave; this one has not seen it
    row = service.store.campaign("commute")
    assert row is not None
    second = Campaign.from_json(row.document)
    assert second.predecessor == first
    send(service, second, 5)
    assert service.app.services.directory.find("commute") is not None


def test_the_time_begins_a_wave_where_reports_are_few(
    service: Service, rule: list[dict[str, Any]]
) -> None:
    until = datetime(2026, 5, 2, tzinfo=UTC)
    first = adaptive(next_wave=NextWave(10_000, 50_000, until))
    service.create(first)
    adapter = service.app.services.adapter
    service.clock.now = until
    adapter.look()
    assert not rule  # nothing is published
    service.clock.now = datetime(2026, 5, 1, tzinfo=UTC)
    send(service, first, 50)
    assert begin(service) == first
    service.clock.now = until
    assert len(begin(service).waves) == 2


def test_a_rule_that_fails_stops_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first = adaptive()
    service.create(first)
    calls = []

    def fails(*args: object, **options: object) -> None:
        calls.append((args, options))
        raise ArithmeticError("no fit")

    monkeypatch.setattr(successors, "choose_range", fails)
    send(service, first, 60)
    assert begin(service) == first
    assert "has no second wave" in caplog.text
    begin(service)
    assert len(calls) == 1  # not again for the same counts
    send(service, first, 60)
    begin(service)
    assert len(calls) == 2


def test_reports_are_counted_while_the_rule_is_computed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = adaptive()
    service.create(first)
    send(service, first, 60)
    started, done = threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> Chosen:
        started.set()
        assert done.wait(30)
        return Chosen(Interval(0, 120), window_table(2.0, 3, 4, 0.4))

    monkeypatch.setattr(successors, "choose_range", slow)
    services = service.app.services
    assert services.adapter._lane is services.lanes.waves
    thread = threading.Thread(target=services.adapter.look)
    thread.start()
    assert started.wait(30)
    send(service, first, 20)
    assert service.call("GET", "/campaigns/commute/estimates").status_code == 200
    done.set()
    thread.join()
    second = begin(service)
    assert len(second.waves) == 2
    assert sum(sum(parts[0]) for parts in second.inputs) <= 60  # what was published before


@pytest.mark.usefixtures("rule")
def test_looks_are_made_while_a_wave_is_awaited(service: Service) -> None:
    adapter = service.app.services.adapter
    assert adapter.is_due()
    adapter.look()
    assert not adapter.is_due()
    first = adaptive()
    service.create(first)
    send(service, first, 60)
    assert adapter.is_due()
    assert not adapter.is_due()  # nothing came since
    assert [adapter.is_due() for _ in range(12)].count(True) == 1  # now and then
    adapter.look()
    send(service, first, 1)
    assert not adapter.is_due()  # the wave has begun


@pytest.mark.usefixtures("rule")
def test_a_token_is_counted_once_over_all_waves(service: Service) -> None:
    first = adaptive(admission=Admission("token"))
    service.create(first)
    row = service.store.campaign("commute")
    assert row is not None
    tokens = issue_tokens(service.store, row.key, first, 61)
    sent = [draw_report(first, VALUES, token) for token in tokens[:60]]
    assert service.batch(first, sent).json() == {"accepted": 60, "repeated": 0}
    second = begin(service)
    again = [draw_report(second, VALUES, token) for token in tokens]
    assert service.batch(second, again).json() == {"accepted": 1, "repeated": 60}
    more = issue_tokens(service.store, row.key, second, 1)
    assert service.report(draw_report(first, VALUES, more[0])).json()["accepted"] == 1


@pytest.mark.usefixtures("rule")
def test_exports_and_backups_carry_the_chain(
    either: Service, tmp_path: Path, database: str
) -> None:
    service = either
    first = adaptive()
    service.create(first)
    send(service, first, 60)
    second = begin(service)
    send(service, second, 70)
    row = service.store.campaign("commute")
    assert row is not None
    wanted = service.store.counts(row.key), service.store.published(row.key)
    export_campaign(service.store, "commute", tmp_path / "export.zip")
    back_up(database, tmp_path / "copy.db")
    other = open_store(str(tmp_path / "other.db"))
    copy = open_store(str(tmp_path / "copy.db"))
    try:
        (kept,) = restore(other, tmp_path / "export.zip")
        assert kept.document == second.to_json()
        assert (other.counts(kept.key), other.published(kept.key)) == wanted
        (found,) = copy.campaigns()
        assert found.document == second.to_json()
        assert (copy.counts(found.key), copy.published(found.key)) == wanted
    finally:
        other.close()
        copy.close()


@pytest.mark.usefixtures("rule")
def test_the_archive_carries_the_chain(tmp_path: Path) -> None:
    archive, store = open_archive(tmp_path / "archive"), open_store(str(tmp_path / "reports.db"))
    first = adaptive()
    with start_service(store, archive=archive, policy=ReleasePolicy(10, 0.0)) as service:
        service.create(first)
        send(service, first, 60)
        second = begin(service)
        send(service, second, 70)
        late = send(service, first, 3)
        wanted = CellLayout(second).tallies(counted(service))
    archive.flush()
    archive.close()
    store.close()
    found = frames.tally_reports(tmp_path / "archive")
    assert found.campaign == second
    assert found.reports == 133
    assert [tally for wave in found.waves for tally in wave.values()] == wanted
    assert found.tallies == found.waves[-1]
    assert late[0].campaign == first.fingerprint

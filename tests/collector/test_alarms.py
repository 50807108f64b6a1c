"""Alarms: a sudden change of how many reports come in, or of what they say."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

import httpx
import numpy as np
import pytest

from benchmarks.alarms import commuters, detections, false_rates, false_shapes
from noutput.campaign import Admission, Campaign
from noutput.collector.alarms import BLOCK, Alarm, ShapeWatch, Watch, _level
from noutput.collector.http.auth import new_token
from noutput.collector.store.directory import KnownCampaign
from noutput.collector.store.interface import Submission
from noutput.tally import Tally
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import PAGE, get, read, read_token, sign_in
from tests.collector.service import Service

START = datetime(2026, 5, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def watch(campaign: Campaign) -> Watch:
    return Watch(KnownCampaign(1, campaign, b"", START, None))


def rates(counts: list[float], campaign: Campaign | None = None) -> list[tuple[int, Alarm]]:
    """Let so many reports come per minute; return the alarms by their minute."""
    found = watch(campaign or make_campaign())
    result, total = [], 0.0
    for minute, count in enumerate(counts):
        total += count
        alarms = found.note_rate(START + minute * MINUTE, int(total))
        result += [(minute, alarm) for alarm in alarms]
    return result


def test_a_steady_rate_is_no_alarm() -> None:
    assert rates([10.0] * 600) == []
    assert rates([0.0] * 600) == []


def test_one_client_that_sends_all_it_may_is_noticed_within_the_minute() -> None:
    ((minute, alarm),) = rates([*[10.0] * 131, 1016.0, *[10.0] * 30])
    assert (minute, alarm.kind, alarm.reports, alarm.expected) == (131, "rate-rise", 1016, 100.0)
    assert alarm.text == (
        "1,016 reports came within ten minutes; after the hour before, about 100 were expected."
    )


def test_reports_that_stop_are_noticed_after_ten_minutes() -> None:
    ((minute, alarm),) = rates([100.0] * 121 + [0.0] * 40)
    assert (minute, alarm.kind, alarm.reports) == (130, "rate-drop", 0)
    assert alarm.text.startswith("0 reports came within ten minutes; after the hour before, about")


def test_an_invitation_to_everybody_is_a_sudden_change() -> None:
    burst = [10.0 + 3000.0 * 0.5 ** (minute / 20.0) for minute in range(240)]
    kinds = [alarm.kind for _, alarm in rates([10.0] * 130 + burst)]
    assert kinds[0] == "rate-rise"


def test_a_campaign_has_an_hour_before_its_rate_is_watched() -> None:
    assert rates([0.0] * 30 + [5000.0]) == []
    assert rates([0.0] * 69 + [5000.0]) == []  # six whole intervals have not been seen
    assert [alarm.kind for _, alarm in rates([0.0] * 75 + [5000.0])] == ["rate-rise"]
    assert rates([0.0] * 75 + [99.0]) == []  # too few to matter


def test_people_who_answer_many_questions_at_once_are_not_many_people() -> None:
    counts = [10.0] * 131 + [500.0]
    assert len(rates(counts)) == 1
    assert rates(counts, make_campaign(ask="all")) == []


def test_the_day_has_its_course() -> None:
    """Ten weeks of a stream with the variance of four times its mean, 19 times as busy at noon."""
    rng = np.random.default_rng(1)
    minutes = np.arange(70 * 1440)
    for mean in (0.1, 3.0, 300.0):
        expected = mean * (1.0 - 0.9 * np.cos(2.0 * np.pi * minutes[::10] / 1440))
        counts = rng.poisson(rng.gamma(10.0 * expected / 3.0, 3.0))
        found, total, alarms = watch(make_campaign()), 0, []
        for place, count in enumerate(counts.tolist()):
            total += count
            alarms += found.note_rate(START + place * 10 * MINUTE, total)
        assert alarms == [], mean


def test_a_clock_that_jumps_and_counts_that_shrink_start_anew() -> None:
    found = watch(make_campaign())
    for minute in range(130):
        assert found.note_rate(START + minute * MINUTE, 10 * minute) == []
    for jump in (timedelta(days=-1), timedelta(days=5)):
        assert found.note_rate(START + jump, 10**6) == []
        assert found.note_rate(START + jump + MINUTE, 2 * 10**6) == []
    assert found.note_rate(START + timedelta(days=5, minutes=2), 5) == []


def test_alarms_of_an_hour_are_one_with_the_largest_size() -> None:
    found = watch(make_campaign())
    for minute in range(131):
        assert found.note_rate(START + minute * MINUTE, 10 * minute) == []
    at = START + 131 * MINUTE
    assert len(found.note_rate(at, 3000)) == 1
    assert found.note_rate(at + MINUTE, 9000) == []
    (alarm,) = found.shown(at + MINUTE)
    assert (alarm.at, alarm.reports) == (at, 7700)
    assert [each.reports for each in found.note_refused(at, 5, 2000)] == [5]
    assert found.note_refused(at + MINUTE, 7, 2000) == []
    newest, _ = found.shown(at + MINUTE)
    assert newest.text == "12 reports were refused: the campaign expects 2,000 per hour."
    assert len(found.note_refused(at + timedelta(hours=1), 1, 2000)) == 1
    assert found.note_refused(at + timedelta(hours=1), 0, 2000) == []
    assert found.shown(at + timedelta(days=8)) == ()


def test_the_forger_of_one_number_shows_in_the_shape() -> None:
    """Such reports fit honest people perfectly; that there are suddenly so many does not."""
    rng = np.random.default_rng(3)
    _, liar, _ = commuters()
    assert detections(1_000, 0.5, liar, 5, rng) == [1] * 5
    assert detections(10_000, 0.5, liar, 5, rng) == [1] * 5
    assert detections(1_000_000, 0.05, liar, 5, rng) == [1] * 5
    # One in a hundred is within what honest people may change.
    assert detections(10_000_000, 0.01, liar, 3, rng) == [None] * 3


@pytest.mark.slow
def test_honest_campaigns_raise_no_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    assert false_shapes(100, 10_000, rng) == 0
    assert [false_rates(mean, 0.9, 365, rng) for mean in (0.3, 30.0, 3_000.0)] == [0] * 3
    monkeypatch.setattr("noutput.collector.alarms._SHAPE_LEVEL", 0.1)
    assert false_shapes(200, 10_000, rng) <= 20  # a test that never rejects would be no test
    monkeypatch.setattr("noutput.collector.alarms._SHAPE_LEVEL", 10.0)
    assert false_shapes(50, 10_000, rng) >= 25


def test_a_block_needs_reports_to_be_compared_with() -> None:
    shape = ShapeWatch((0, 0), None)
    assert shape.missing(0) == BLOCK
    assert shape.note((0, BLOCK - 1), 1) is None
    assert shape.note((0, BLOCK), 1) is None  # the first block of all
    found = shape.note((BLOCK, BLOCK), 1)
    assert found is not None
    assert found[:2] == (BLOCK, BLOCK)
    assert found[2] == pytest.approx(1.0, abs=0.03)
    assert shape.note((BLOCK, 0), 1) is None  # older counts were put in place
    assert shape.missing(BLOCK) == BLOCK


def test_the_levels_of_all_blocks_add_up() -> None:
    before, spent = BLOCK, 0.0
    places = set()
    while before < 10**12:
        places.add(_level(before))
        spent += _level(before)
        before += max(BLOCK, -(-before // 10))
    assert len(places) > 200
    assert 0.0 < spent < 0.001


@pytest.fixture
def watched(service: Service) -> tuple[Service, Campaign]:
    campaign = make_campaign(public=True, admission=Admission(reports_per_hour=5000))
    service.create(campaign)
    return service, campaign


def add(service: Service, output: int, count: int) -> None:
    row = service.store.campaign("commute")
    assert row is not None
    ids = np.random.default_rng(count + output).bytes(16 * count)
    cells = np.full(count, output, "<i4").tobytes()
    service.store.add([Submission(row.key, ids, cells)])
    service.app.services.metrics.accepted += count


def look_at(service: Service, path: str, token: str | None) -> httpx.Response:
    return get(service, path, **({} if token is None else {"Authorization": f"Bearer {token}"}))


def raise_alarm(service: Service) -> None:
    """Let the reports on the first question change their output."""
    watcher = service.app.services.watcher
    for output, count in ((1, 600), (2, 700)):
        add(service, output, count)
        watcher.look()


def test_only_operators_see_alarms(
    watched: tuple[Service, Campaign], caplog: pytest.LogCaptureFixture
) -> None:
    service, _ = watched
    service.create(make_campaign("other"))
    operator = service.admin["Authorization"].removeprefix("Bearer ")
    stranger = read_token(service, "other")
    reader = read_token(service, "commute")  # sees what is published, and no more
    assert "alarms-title" not in look_at(service, PAGE, operator).text
    with caplog.at_level(logging.WARNING, "noutput.collector"):
        raise_alarm(service)
    expected = "Of the newest 700 reports on minutes, at least about 9"
    assert expected in caplog.text
    assert "alarm (shape) of campaign 'commute'" in caplog.text
    page = read(look_at(service, PAGE, operator)).text
    assert expected in page
    assert "The reports suddenly look different" in page
    assert "1 May 2026, 00:00 UTC" in page
    for other in (None, stranger, reader):
        assert "suddenly" not in look_at(service, PAGE, other).text
        assert "badge-alarm" not in look_at(service, "/", other).text
    assert "badge-alarm" in look_at(service, "/", operator).text
    service.clock.now += timedelta(days=8)
    assert "suddenly" not in look_at(service, PAGE, operator).text


def test_metrics_count_alarms_of_campaigns(watched: tuple[Service, Campaign]) -> None:
    service, _ = watched
    raise_alarm(service)
    service.app.services.quotas._campaigns[1].refused = 7
    service.app.services.watcher.look()
    text = service.call("GET", "/metrics", headers=service.admin).text
    assert 'noutput_alarms_total{campaign="commute",kind="shape"} 1\n' in text
    assert 'noutput_alarms_total{campaign="commute",kind="limit"} 1\n' in text
    moment = service.clock().timestamp()
    assert f'noutput_alarm_timestamp_seconds{{campaign="commute",kind="shape"}} {moment}\n' in text


def test_readers_learn_nothing_from_the_alarms_of_metrics(
    watched: tuple[Service, Campaign],
) -> None:
    """A shape depends on what reports say that no step has published yet."""
    service, _ = watched

    def scraped(token: str) -> str:
        bearer = {"Authorization": f"Bearer {token}"}
        return service.call("GET", "/metrics", headers=bearer).text

    reader = read_token(service)
    scraper, row = new_token("metrics", None, service.clock())
    assert service.store.add_token(row)
    raise_alarm(service)
    assert 'kind="shape"' in scraped(scraper)
    assert "noutput_reports_accepted_total 1300\n" in scraped(reader)
    assert "noutput_alarm" not in scraped(reader)
    operator = service.admin["Authorization"].removeprefix("Bearer ")
    cookie = sign_in(service, operator).headers["set-cookie"].partition(";")[0]
    assert 'kind="shape"' in service.call("GET", "/metrics", headers={"Cookie": cookie}).text


def test_the_database_is_asked_once_per_second_with_reports_and_once_per_minute_without(
    watched: tuple[Service, Campaign],
) -> None:
    service, _ = watched
    watcher = service.app.services.watcher
    assert watcher.is_due()
    assert [watcher.is_due() for _ in range(60)] == [False] * 59 + [True]
    service.app.services.metrics.accepted += 1
    assert watcher.is_due()
    service.app.services.metrics.refused_reports["campaign"] += 1
    assert watcher.is_due()
    assert not watcher.is_due()


def test_counts_are_read_only_where_a_block_may_be_complete(
    watched: tuple[Service, Campaign], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, _ = watched
    watcher = service.app.services.watcher
    add(service, 1, 600)
    watcher.look()
    read_counts = service.store.counts
    asked: list[int] = []

    def counts(key: int) -> dict[int, int]:
        asked.append(key)
        return read_counts(key)

    monkeypatch.setattr(service.store, "counts", counts)
    for count in (100, 101, 102, 103):
        add(service, 1, count)
        watcher.look()
    assert asked == []
    add(service, 1, 104)
    watcher.look()
    assert len(asked) == 1


def test_a_closed_campaign_is_not_watched(watched: tuple[Service, Campaign]) -> None:
    service, campaign = watched
    raise_alarm(service)
    service.clock.now = campaign.closes + timedelta(days=1)
    add_total = service.total()
    service.app.services.watcher.look()
    assert service.total() == add_total
    entry = service.app.services.directory.known()[0]
    assert service.app.services.watcher.alarms(entry, campaign.closes) == ()


def test_a_watch_compares_every_question_on_its_own() -> None:
    campaign = make_campaign()
    found = watch(campaign)
    fingerprint = campaign.tables[0].fingerprint

    def tallies(*counts: tuple[int, ...]) -> list[Tally]:
        return [Tally(fingerprint, each) for each in counts]

    even = (200,) * 5
    assert found.note_shape(START, tallies(even, even, even)) == []
    assert not found.wants_counts(3000 + BLOCK - 1)
    assert found.wants_counts(3000 + BLOCK)
    new = (200, 200, 200, 200, 900)
    (only,) = found.note_shape(START, tallies((300,) * 5, new, even))
    assert (only.kind, only.question, only.reports, only.expected) == ("shape", "rides", 700, 1000)
    assert found.note_shape(START, tallies((300,) * 5, new, even)) == []

"""A database that does not answer: requests get 503 in time, and every report counts once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from noutput.campaign import Campaign, Report, draw_report
from noutput.campaign.wire import REPORT_TYPE, encode_report
from noutput.collector import readiness
from noutput.collector.http.auth import RecentTokens, new_token
from noutput.collector.ingest.writer import Writer
from noutput.collector.lanes import BusyError
from noutput.collector.metrics import Metrics
from noutput.collector.store import open_store
from noutput.collector.store.check import check_database
from noutput.collector.store.interface import Outcome, Store, Submission
from tests.collector.postgresql import PostgresqlServer
from tests.collector.service import Service, problem, start_service

VALUES = {"minutes": 40.0, "rides": 2.0, "cost": 12.5}


class Frozen:
    """A store that stops where its gate is closed, as a server that got SIGSTOP does."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.gate = threading.Event()
        self.gate.set()
        self.commits: list[int] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.store, name)

        def call(*arguments: Any, **options: Any) -> Any:
            self.gate.wait(30)
            return method(*arguments, **options)

        return call

    def add(self, submissions: list[Submission]) -> list[Outcome | None]:
        self.commits.append(len(submissions))
        self.gate.wait(30)
        return self.store.add(submissions)


@pytest.fixture
def frozen(tmp_path: Path) -> Iterator[tuple[Service, Frozen]]:
    store = Frozen(open_store(str(tmp_path / "frozen.db")))
    with start_service(store) as service:  # type: ignore[arg-type]
        yield service, store
        store.gate.set()
    store.close()


def impatient(service: Service) -> None:
    service.app.services.writer._seconds = 0.02
    service.app.services.lanes.store.seconds = 0.02


def send(service: Service, report: Report) -> Future[httpx.Response]:
    request = service._client.post(
        "/campaigns/commute/reports", content=encode_report(report),
        headers={"Content-Type": REPORT_TYPE},
    )  # fmt: skip
    return asyncio.run_coroutine_threadsafe(request, service._loop)


def test_reports_that_wait_for_a_frozen_database_get_503_and_count_once(
    frozen: tuple[Service, Frozen], campaign: Campaign
) -> None:
    service, store = frozen
    service.create(campaign)
    reports = [draw_report(campaign, VALUES) for _ in range(20)]
    assert service.report(reports[0]).json() == {"accepted": 1, "repeated": 0}
    impatient(service)
    store.gate.clear()
    for answer in [send(service, report) for report in reports]:
        refused = answer.result(30)
        assert problem(refused) == (503, "unavailable")
        assert refused.headers["retry-after"] == "5"
    assert len(store.commits) == 2  # one before, one that does not end: none for each that waits
    queued = service.app.services.metrics.queued
    assert 0 < queued <= 20  # and bounded by the limit
    store.gate.set()
    while service.app.services.metrics.queued:
        service.call("GET", "/metrics")
    service.app.services.writer._seconds = 30
    again = [service.report(report).json() for report in reports]
    assert all(sum(each.values()) == 1 for each in again)
    assert again[0] == {"accepted": 0, "repeated": 1}
    assert service.total() == 20


def test_a_postgresql_that_is_stopped_loses_and_doubles_nothing(
    postgresql: PostgresqlServer, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "_LONGEST_COMMIT_SECONDS", 0.01)
    store = open_store(postgresql.new_database())
    with start_service(store) as service:
        service.create(campaign)
        reports = [draw_report(campaign, VALUES) for _ in range(12)]
        assert [service.report(report).status_code for report in reports[:4]] == [200] * 4
        services = service.app.services
        impatient(service)
        with postgresql.frozen():
            waiting = [send(service, report) for report in reports]
            for refused in [answer.result(30) for answer in waiting]:
                assert problem(refused) == (503, "unavailable")
                assert refused.headers["retry-after"] == "5"
            assert service.call("GET", "/health/live").status_code == 200
            assert problem(service.call("GET", "/health")) == (503, "unavailable")
        services.writer._seconds = services.lanes.store.seconds = 30.0
        again = [service.report(report).json() for report in reports]
        assert all(sum(each.values()) == 1 for each in again)
        assert again[:4] == [{"accepted": 0, "repeated": 1}] * 4
        assert service.total() == 12
        assert [found.problems for found in check_database(store)] == [(), ()]
    store.close()


def test_everything_else_that_asks_a_frozen_database_gets_503(
    frozen: tuple[Service, Frozen],
) -> None:
    service, store = frozen
    impatient(service)
    store.gate.clear()
    for path in ("/campaigns/unknown", "/campaigns", "/"):
        assert problem(service.call("GET", path)) == (503, "unavailable")
    refused = service.call("GET", "/campaigns/unknown", headers={"Accept": "text/html"})
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")


def test_the_metrics_of_a_frozen_database_can_be_read_by_who_has_read_them(
    frozen: tuple[Service, Frozen],
) -> None:
    service, store = frozen
    made = {
        kind: service.call("POST", "/tokens", json={"kind": kind}, headers=service.admin).json()
        for kind in ("metrics", "read")
    }
    known, other = ({"Authorization": f"Bearer {made[kind]['token']}"} for kind in made)
    scrape = partial(service.call, "GET", "/metrics")
    cookie = {"Cookie": f"noutput_token={made['read']['token']}"}
    assert scrape(headers=known).status_code == scrape(headers=cookie).status_code == 200
    impatient(service)
    store.gate.clear()
    assert "noutput_queued_reports" in scrape(headers=known).text
    for headers in (other, cookie, {"Cookie": f"noutput_token=noutput_{'0' * 12}_{'0' * 43}"}):
        assert problem(scrape(headers=headers)) == (503, "unavailable")
    assert problem(scrape()) == (401, "token-required")
    # nothing else follows from it
    assert problem(service.call("GET", "/campaigns", headers=known)) == (503, "unavailable")


def test_tokens_are_taken_for_valid_for_an_hour_and_not_beyond_their_end() -> None:
    start, seconds = datetime(2026, 5, 1, tzinfo=UTC), [0.0]
    recent = RecentTokens(lambda: seconds[0])
    rows = [new_token("metrics", None, start, expires=start + timedelta(minutes=1))[1],
            *(new_token("metrics", None, start)[1] for _ in range(16))]  # fmt: skip
    for number, row in enumerate(rows[:16]):
        recent.note(f"Bearer {number}", row)
    assert recent.get("Bearer 0", start) is rows[0]
    assert recent.get("Bearer 0", start + timedelta(minutes=1)) is None
    recent.note("Bearer 1", None)  # it was deleted meanwhile
    assert recent.get("Bearer 1", start) is None
    for number in (16, 17):
        recent.note(f"Bearer {number}", rows[2])
    assert recent.get("Bearer 0", start) is None  # the newest 16 are kept
    seconds[0] = 3600.0
    assert recent.get("Bearer 2", start) is rows[2]
    seconds[0] = 3601.0
    assert recent.get("Bearer 2", start) is None


def test_while_a_commit_does_not_end_no_more_is_taken() -> None:
    class Stuck:
        gate = threading.Event()

        def add(self, submissions: list[Submission]) -> list[Outcome | None]:
            self.gate.wait(30)
            return [Outcome(submission.size, 0) for submission in submissions]

    async def main() -> None:
        moment = [0.0]
        metrics = Metrics()
        writer = Writer(Stuck(), metrics, 100, 5.0, lambda: moment[0])  # type: ignore[arg-type]
        writer.start()
        piece = Submission(1, bytes(16), bytes(4))
        first = writer.submit(piece)
        while writer.commit_since is None:
            await asyncio.sleep(0)
        second = writer.submit(piece)
        moment[0] = 5.1
        for _ in range(10):
            with pytest.raises(BusyError, match="does not commit"):
                writer.submit(piece)
        assert metrics.queued == 2
        second.cancel()  # as `count` does when its time is over
        Stuck.gate.set()
        assert await first == Outcome(1, 0)
        assert await writer.count(piece) == Outcome(1, 0)
        assert (metrics.accepted, metrics.queued) == (2, 0)  # nobody waited for the second
        await writer.stop()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("length", "status"), [("9" * 5000, 413), ("0" * 5000 + "9999", 413), ("9" * 19, 413)]
)
def test_a_content_length_may_have_any_number_of_digits(
    service: Service, campaign: Campaign, length: str, status: int
) -> None:
    service.create(campaign)
    headers = {"Content-Type": REPORT_TYPE, "Content-Length": length}
    answer = service.call("POST", "/campaigns/commute/reports", content=b"{}", headers=headers)
    assert problem(answer) == (status, "body-too-large")
    headers["Content-Length"] = "0" * 5000 + "2"
    answer = service.call("POST", "/campaigns/commute/reports", content=b"{}", headers=headers)
    assert problem(answer) == (400, "malformed-body")

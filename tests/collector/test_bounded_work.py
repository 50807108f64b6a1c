"""Nobody can stop the collector: what one kind of request costs is bounded, and 503 beyond."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from noutput.campaign import Campaign, draw_report
from noutput.campaign.batch import MAX_ENTRY
from noutput.campaign.packed import HEADER_BYTES, encode_packed
from noutput.campaign.report import ID_BYTES
from noutput.campaign.wire import (
    BATCH_TYPE,
    MAX_BATCH,
    MAX_BATCH_BYTES,
    PACKED_TYPE,
    decode_batch,
    encode_batch,
)
from noutput.collector import estimates
from noutput.collector.cells import CellLayout
from noutput.collector.dashboard import routes
from noutput.collector.http.body import LARGE_BODY
from noutput.collector.http.limits import Limits
from noutput.collector.ingest import columns, reports
from noutput.collector.lanes import Lane, Lanes, Once
from noutput.collector.store import open_store
from noutput.mechanisms import document
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import HTML
from tests.collector.service import Service, problem, start_service

PATH = "/campaigns/commute/estimates"
VALUES = {"minutes": 40.0, "rides": 2.0, "cost": 12.5}


def start(service: Service, path: str, **headers: str) -> Future[httpx.Response]:
    """Begin a request, and do not wait for its answer."""
    request = service._client.request("GET", path, headers=headers)
    return asyncio.run_coroutine_threadsafe(request, service._loop)


def fill(service: Service, lane: Lane, size: int) -> None:
    """Let the collector turn until so much work has been taken."""
    while lane.size < size:
        service.call("GET", "/metrics")


def post(service: Service, body: bytes, media: str) -> Future[httpx.Response]:
    """Begin to send reports, and do not wait for the answer."""
    headers = {"Content-Type": media}
    request = service._client.post("/campaigns/commute/reports", content=body, headers=headers)
    return asyncio.run_coroutine_threadsafe(request, service._loop)


@contextmanager
def gated(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str
) -> Iterator[tuple[threading.Event, list[int]]]:
    """Let a function wait until the block is left; the list has an entry for every call."""
    gate, begun = threading.Event(), threading.Event()
    calls: list[int] = []
    original: Callable[..., Any] = getattr(module, name)

    def wait(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        begun.set()
        gate.wait(30)
        return original(*arguments, **options)

    monkeypatch.setattr(module, name, wait)
    try:
        yield begun, calls
    finally:
        gate.set()


def test_estimates_are_computed_one_at_a_time_and_keep_nobody_else_waiting(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = make_campaign(public=True)
    service.create(campaign)
    allowed = estimates.allowed_bins(campaign)
    lane = service.app.services.lanes.estimates
    lane._most = 4  # one that runs, three that wait
    with gated(monkeypatch, estimates, "_compute") as (begun, calls):
        waiting = [start(service, f"{PATH}?bins={bins}") for bins in allowed[:4]]
        assert begun.wait(30)
        fill(service, lane, 4)
        shared = [start(service, f"{PATH}?bins={bins}") for bins in allowed[:4] for _ in range(6)]
        for bins in allowed[4:]:
            answer = service.call("GET", f"{PATH}?bins={bins}")
            assert problem(answer) == (503, "unavailable")
            assert answer.headers["retry-after"] == "5"
            assert answer.json()["detail"] == "4 estimates wait already; try again"
        assert (lane.size, len(calls)) == (4, 1)
        assert service.call("GET", "/health").status_code == 200
        assert service.report(draw_report(campaign, VALUES)).json()["accepted"] == 1
    assert {each.result(30).status_code for each in (*waiting, *shared)} == {200}
    assert len(calls) == 4  # one per number of bins
    assert service.app.services.metrics.estimates == 4


def test_an_answer_from_before_is_better_than_none(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.create(make_campaign(public=True))
    moment = [1000.0]
    monkeypatch.setattr("noutput.collector.estimates.time.monotonic", lambda: moment[0])
    before = service.call("GET", PATH)
    moment[0] += 3600
    service.app.services.lanes.estimates._most = 0
    assert service.call("GET", PATH).content == before.content
    assert problem(service.call("GET", f"{PATH}?bins=8")) == (503, "unavailable")


@pytest.mark.parametrize("path", ["/campaigns/commute", "/campaigns/commute?target=2&other=1"])
def test_many_viewers_cost_one_drawing(
    service: Service, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    service.create(make_campaign(public=True))
    with gated(monkeypatch, routes, "question_view") as (begun, calls):
        viewers = [start(service, path, **HTML)]
        assert begun.wait(30)
        viewers += [start(service, f"{path}{'&' if '?' in path else '?'}x={number}", **HTML)
                    for number in range(50)]  # fmt: skip
    assert len({viewer.result(30).content for viewer in viewers}) == 1
    service.call("GET", path, headers=HTML)
    assert calls == [1]


def test_pages_that_nobody_shares_are_drawn_a_few_at_a_time(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.create(make_campaign(public=True))
    lane = service.app.services.lanes.pages
    lane._most = 3
    with gated(monkeypatch, routes, "question_view") as (begun, calls):
        viewers = [start(service, f"/campaigns/commute?target={n}", **HTML) for n in range(1, 4)]
        assert begun.wait(30)
        fill(service, lane, 3)
        refused = service.call("GET", "/campaigns/commute?target=9", headers=HTML)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert len(calls) == 1
    assert {viewer.result(30).status_code for viewer in viewers} == {200}


def batch(campaign: Campaign, size: int) -> bytes:
    report = draw_report(campaign, VALUES)
    return encode_batch(
        [type(report)(report.campaign, report.question, 0, f"{n:032x}") for n in range(size)]
    )


def test_large_bodies_are_decoded_one_at_a_time_and_keep_nobody_else_waiting(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = make_campaign(public=True)
    service.create(campaign)
    lane = service.app.services.lanes.bodies
    lane._most = 3
    body = batch(campaign, 300)
    with gated(monkeypatch, reports, "read_columns") as (begun, calls):
        waiting = [post(service, body, BATCH_TYPE) for _ in range(3)]
        assert begun.wait(30)
        fill(service, lane, 3)
        refused = service.send(body, BATCH_TYPE)
        assert problem(refused) == (503, "unavailable")
        assert refused.headers["retry-after"] == "5"
        assert (lane.size, len(calls)) == (3, 1)
        assert service.call("GET", "/health").status_code == 200
    found = [each.result(30).json() for each in waiting]
    assert sum(each["accepted"] for each in found) == service.total() == 300


def test_so_many_large_bodies_are_read_at_once(service: Service) -> None:
    campaign = make_campaign(public=True)
    service.create(campaign)
    route = service.app._reports
    assert isinstance(route, reports.ReportsRoute)
    route._large = service.app.services.limits.large_bodies
    for media, body in (
        (BATCH_TYPE, batch(campaign, 1_000)),
        (PACKED_TYPE, encode_packed(campaign, decode_batch(batch(campaign, 5_000), campaign))),
    ):
        refused = service.send(body, media)
        assert problem(refused) == (503, "unavailable")
        assert refused.headers["connection"] == "close"
    assert service.report(draw_report(campaign, VALUES)).json()["accepted"] == 1
    route._large = 0
    assert service.send(batch(campaign, 1_000), BATCH_TYPE).json()["accepted"] == 1_000
    assert route._large == 0


def test_every_64_kib_count_as_a_request(tmp_path: Path) -> None:
    campaign = make_campaign(public=True)
    store = open_store(str(tmp_path / "reports.db"))
    with start_service(store, Limits(1e-6, burst=10, client_reports_per_hour=0)) as service:
        service.create(campaign)
        body = batch(campaign, 5_000)
        assert 5 <= len(body) >> 16 < 9
        assert service.send(body, BATCH_TYPE).status_code == 200
        left = 10 - 1 - 1 - (len(body) >> 16)
        answers = [service.report(draw_report(campaign, VALUES)) for _ in range(left + 1)]
        assert [each.status_code for each in answers] == [200] * left + [429]
        assert "connection" not in answers[-1].headers
        refused = service.send(body, BATCH_TYPE)
        assert problem(refused) == (429, "too-many-requests")
        assert refused.headers["connection"] == "close"  # the rest is not read
    store.close()


def test_a_thread_that_reads_a_large_batch_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = make_campaign()
    pauses: list[float] = []
    monkeypatch.setattr("noutput.collector.ingest.columns.time.sleep", pauses.append)
    body, layout = batch(campaign, 300), CellLayout(campaign)
    whole = columns.read_columns(BATCH_TYPE.encode(), body, layout)
    assert not pauses
    assert columns.read_columns(BATCH_TYPE.encode(), body, layout, aside=True) == whole
    assert len(pauses) == 4


NASTY = {
    "lists": b"[" + b"[]," * 690_000 + b"[]]",
    "numbers": b'{"version":1,"reports":[' + b"1," * 1_000_000 + b"1]}",
    "deep": b'{"reports":[' + b"[" * 2_000_000,
    "objects": b'{"version":1,"reports":[' + b"{}," * 690_000 + b"{}]}",
    "spaces": b'{"version":1,"reports":[' + b" " * 2_000_000 + b"]}",
    "text": b'{"version":1,"reports":[{"id":"' + b"x" * 2_000_000 + b'"}]}',
    "keys": b'{"version":1,' + b'"a":1,' * 300_000 + b'"reports":[]}',
}


@pytest.mark.parametrize("name", sorted(NASTY))
def test_no_step_of_reading_a_batch_parses_more_than_a_report(
    service: Service, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    campaign = make_campaign(public=True)
    service.create(campaign)
    parsed: list[int] = []
    parse = document.parse

    def measured(text: str) -> dict[str, Any]:
        parsed.append(len(text))
        return parse(text)

    monkeypatch.setattr(document, "parse", measured)
    status, _ = problem(service.send(NASTY[name], BATCH_TYPE))
    assert status in (400, 413)
    assert sum(parsed) <= MAX_ENTRY


def test_the_page_of_limits_says_what_holds() -> None:
    page = Path("docs/collector.md").read_text()
    limits, lanes = Limits(), Lanes()
    sizes = {
        name: (lane._most_threads, lane._most - lane._most_threads, lane.seconds)
        for name in ("bodies", "estimates", "pages", "store")
        for lane in [getattr(lanes, name)]
    }
    rates = [
        int(limits.requests_per_second / (1 + size // LARGE_BODY))
        for size in (MAX_BATCH_BYTES, HEADER_BYTES + MAX_BATCH * ID_BYTES)
    ]
    for text in (
        "that is {} JSON batches of 2 MiB per second, or {} packed batches".format(*rates),
        f"{limits.header_bytes:,} bytes in total, {limits.header_seconds:g} seconds to arrive",
        f"| {limits.large_bodies} |",
        "| {} is decoded at a time, {} wait |".format(*sizes["bodies"]),
        f"| {limits.queued_reports:,} reports, for 5 seconds each |",
        "| {} at once, {} wait, for {:g} seconds each |".format(*sizes["store"]),
        "| {} campaign at a time, {} wait,".format(*sizes["estimates"]),
        f"and {Once()._most} requests wait",
        "| {} is drawn at a time, {} wait;".format(*sizes["pages"]),
        f"| {limits.connections:,}, or as many as",
    ):
        assert text in page, text
    levels = ", ".join(f"{level:g}" for level in estimates.LEVELS[:-1])
    assert f"`level` is {levels} or {estimates.LEVELS[-1]:g} |" in page
    assert f"at most {MAX_ENTRY:,} characters" in Path("docs/wire.md").read_text()

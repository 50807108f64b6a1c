"""Nobody can stop the collector: what one kind of request costs is bounded, and 503 beyond."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from noutput.campaign import Campaign, Choice, Number, draw_report, draw_reports
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
from noutput.collector import cache as cache_module
from noutput.collector import estimates
from noutput.collector.cache import MAX_BYTES, Cache
from noutput.collector.cells import CellLayout
from noutput.collector.comparing import MAX_PAIRED_GROUPS
from noutput.collector.dashboard import routes
from noutput.collector.http.body import LARGE_BODY
from noutput.collector.http.limits import Limits
from noutput.collector.ingest import columns, reports
from noutput.collector.lanes import Lane, Lanes
from noutput.collector.store import open_store
from noutput.mechanisms import document
from tests.campaign.examples import answer_table
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import HTML
from tests.collector.labeled import labeled_campaign
from tests.collector.service import Service, problem, start_service

PATH = "/campaigns/commute/estimates"
VALUES = {"minutes": 40.0, "rides": 2.0, "cost": 12.5}


def start(
    service: Service, path: str, client: str = "127.0.0.1", **headers: str
) -> Future[httpx.Response]:
    """Begin a request of a client, and do not wait for its answer."""

    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(app=service.app, client=(client, 123))
        async with httpx.AsyncClient(transport=transport, base_url="http://collector") as own:
            return await own.get(path, headers=headers)

    return asyncio.run_coroutine_threadsafe(get(), service._loop)


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
    lane = service.app.services.lanes.slow
    lane._max_size = 4  # one that runs, three that wait
    with gated(monkeypatch, estimates, "estimates_document") as (begun, calls):
        waiting = [start(service, f"{PATH}?bins={bins}") for bins in allowed[:4]]
        assert begun.wait(30)
        fill(service, lane, 4)
        shared = [start(service, f"{PATH}?bins={bins}") for bins in allowed[:4] for _ in range(6)]
        for bins in allowed[4:]:
            answer = service.call("GET", f"{PATH}?bins={bins}")
            assert problem(answer) == (503, "unavailable")
            assert answer.headers["retry-after"] == "5"
            assert answer.json()["detail"] == "4 slow estimates wait already; try again"
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
    monkeypatch.setattr("noutput.collector.cache.time.monotonic", lambda: moment[0])
    before = service.call("GET", PATH)
    moment[0] += 3600
    service.app.services.lanes.slow._max_size = 0
    assert service.call("GET", PATH).content == before.content
    assert problem(service.call("GET", f"{PATH}?bins=8")) == (503, "unavailable")


def labeled_service(service: Service) -> Campaign:
    """Let a campaign have published reports of some labels, on a question with answers."""
    question = Choice("car", "train", "bike", name="way")
    tables = (answer_table(1.0, 3),)
    campaign = labeled_campaign(questions=(question,), tables=tables, public=True)
    service.create(campaign)
    labels = [{"platform": name, "plan": "free"} for name in ("ios", "android", "web")]
    drawn = [draw_reports(campaign, {"way": "car"}, labels=each) for each in labels * 110]
    service.batch(campaign, [report for reports in drawn for report in reports])
    return campaign


def check_bound(cache: Cache) -> None:
    held = sum(len(answer.content) + 1024 for answer, _ in cache._kept.values())
    assert cache.size == held == sum(cache._held.values())
    assert cache.size <= cache_module.MAX_BYTES


def test_weights_take_no_memory(service: Service) -> None:
    """What every group says is computed once, and kept once, for any number of weights."""
    labeled_service(service)
    path, services = "/campaigns/commute/segments?by=platform&weight=ios:1", service.app.services
    values = [service.call("GET", path).json()["statistics"]]
    size = services.cache.size
    for weight in range(1, 89):
        answer = service.call("GET", f"{path}&weight=web:{weight}")
        values.append(answer.json()["statistics"])
        assert services.cache.size == size
    assert services.metrics.estimates == 1
    assert len({each[0]["standardized"]["value"] for each in values}) == 89
    check_bound(services.cache)


def test_differences_are_on_request_and_of_few_groups(service: Service) -> None:
    names = {"a": tuple(map(str, range(19))), "b": tuple(map(str, range(20)))}
    service.create(labeled_campaign(names, public=True))
    path = "/campaigns/commute/segments?differences=true&by="
    (few,) = service.call("GET", f"{path}a").json()["statistics"]
    assert few["differences"] == []  # there are no reports
    answer = service.call("GET", f"{path}b")
    assert problem(answer) == (422, "invalid-parameter")
    assert answer.json()["detail"] == ("differences must be false for more than 20 groups")
    (many,) = service.call("GET", "/campaigns/commute/segments?by=b").json()["statistics"]
    assert many["differences"] is None
    for by, said in (("a", False), ("b", True)):
        page = service.call("GET", f"/campaigns/commute?by={by}", headers=HTML)
        assert ("Pairs are compared of 20 groups at most." in page.text) == said


def test_hundreds_of_answers_have_bounded_bytes(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    labeled_service(service)
    monkeypatch.setattr(cache_module, "MAX_BYTES", 300_000)
    cache, full = service.app.services.cache, 0
    queries = [
        f"{path}{'&' if '?' in path else '?'}{more}"
        for more in ("", "segment=platform:ios", "segment=plan:free", "segment=platform:web")
        for path in (
            *(f"?target={number}" for number in range(1, 40)),
            *(f"/estimates?level={level}&bins={bins}" for level in (0.5, 0.9) for bins in (4, 8)),
            *(f"/segments?by={by}&format={form}" for by in ("plan",) for form in ("json", "csv")),
            "/estimates.csv",
            "/distribution.svg",
        )
    ]
    for query in queries:
        answer = service.call("GET", f"/campaigns/commute{query}", headers=HTML)
        assert answer.status_code in (200, 422)  # nobody is compared within their own group
        check_bound(cache)
        full += cache.size > 0.7 * cache_module.MAX_BYTES
    assert full > 100


def test_what_is_refused_or_fails_evicts_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    labeled_service(service)
    path, cache = "/campaigns/commute", service.app.services.cache
    for more in ("", "/estimates", "/segments?by=plan", "/estimates.csv"):
        assert service.call("GET", path + more, headers=HTML).status_code == 200
    monkeypatch.setattr(cache_module, "MAX_BYTES", cache.size)  # it is full
    before = dict(cache._kept)
    for query in ("level=0.94", "bins=5", "segment=gnu:1", "rounds=3"):
        assert service.call("GET", f"{path}/estimates?{query}").status_code == 422
    for query in ("weight=gnu:1", "by=size", "statistic=size", "weight=ios:0"):
        assert service.call("GET", f"{path}/segments?{query}").status_code == 422
    monkeypatch.setattr(estimates, "_summary", None)  # every computation fails
    for label in ("ios", "android", "web"):
        refused = service.call("GET", f"{path}/estimates?segment=platform:{label}")
        assert refused.status_code == 500
    service.app.services.lanes.estimates._max_size = 0
    for label in ("ios", "android", "web"):
        refused = service.call("GET", f"{path}/estimates?segment=platform:{label}")
        assert problem(refused) == (503, "unavailable")
    assert dict(cache._kept) == before


def test_one_client_cannot_keep_another_from_its_page(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A known page is the last good one at once; of a new one, the estimate is next in turn."""
    campaign = labeled_service(service)
    service.create(make_campaign("other", public=True, questions=[Number(0, 9, name="size")]))
    services = service.app.services
    known = service.call("GET", "/campaigns/commute", headers=HTML)
    turns: list[str] = []
    with gated(monkeypatch, estimates, "_summary") as (begun, _):
        summary = estimates._summary

        def noted(parts: Any, question: Any, *others: Any) -> Any:
            turns.append(question.name)
            return summary(parts, question, *others)

        monkeypatch.setattr(estimates, "_summary", noted)
        labels = [
            f"segment=platform:{first}&segment=plan:{second}"
            for first in ("ios", "android", "web", "")
            for second in ("free", "paid", "")
        ]
        waiting = [
            start(service, f"/campaigns/commute?{each}", client="192.0.2.66", **HTML)
            for each in labels
        ]
        assert begun.wait(30)
        fill(service, services.lanes.estimates, len(labels))
        for name, (answer, client) in services.cache._kept.items():  # all answers are old
            services.cache._kept[name] = replace(answer, until=0.0), client
        service.batch(campaign, draw_reports(campaign, {"way": "car"}))
        services.cache.patience = 0.0
        again = service.call("GET", "/campaigns/commute", headers=HTML)
        assert (again.status_code, again.content) == (200, known.content)
        assert not any(each.done() for each in waiting)
        new = start(service, "/campaigns/other", client="192.0.2.7", **HTML)
        fill(service, services.lanes.estimates, len(labels) + 3)  # with two of the known page
    assert new.result(30).status_code == 200
    assert {each.result(60).status_code for each in waiting} == {200}
    assert turns.index("size") == 1  # the next after the one that ran


def test_an_old_page_is_shown_to_those_with_the_same_rights_alone(service: Service) -> None:
    headers: list[dict[str, str]] = []
    for name in ("mine", "yours"):
        service.create(make_campaign(name))
        body = {"kind": "read", "campaign": name}
        made = service.call("POST", "/tokens", json=body, headers=service.admin).json()
        headers.append({"Authorization": f"Bearer {made['token']}", **HTML})
    pages = [service.call("GET", "/", headers=each).text for each in headers]
    for page, own, other in zip(pages, ("mine", "yours"), ("yours", "mine"), strict=True):
        assert f"/campaigns/{own}" in page
        assert f"/campaigns/{other}" not in page
    service.app.services.lanes.pages._max_size = 0  # nothing new is drawn
    service.call("POST", "/campaigns/mine/close", headers=service.admin)
    assert [service.call("GET", "/", headers=each).text for each in headers] == pages


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
    lane._max_size = 3
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
    lane._max_size = 3
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
        name: (lane._max_threads, lane._max_size - lane._max_threads, lane.seconds)
        for name in ("bodies", "estimates", "pages", "slow", "store")
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
        "| {} at a time, {} wait;".format(*sizes["estimates"]),
        "{} at a time, {} wait |".format(*sizes["slow"]),
        f"| {MAX_BYTES >> 20} MiB;",
        f"{MAX_PAIRED_GROUPS} groups at most",
        "| {} is drawn at a time, {} wait;".format(*sizes["pages"]),
        f"| {limits.connections:,}, or as many as",
    ):
        assert text in page, text
    levels = ", ".join(f"{level:g}" for level in estimates.LEVELS[:-1])
    assert f"`level` is {levels} or {estimates.LEVELS[-1]:g} |" in page
    assert f"at most {MAX_ENTRY:,} characters" in Path("docs/wire.md").read_text()

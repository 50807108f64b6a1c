"""Nobody can stop the collector: what one kind of request costs is bounded, and 503 beyond."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from noutput.campaign import draw_report
from noutput.collector import estimates
from noutput.collector.dashboard import routes
from noutput.collector.lanes import Lane
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import HTML
from tests.collector.service import Service, problem

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
        shared = [
            start(service, f"{PATH}?bins={bins}&level={level}")
            for bins in allowed[:4]
            for level in estimates.LEVELS
        ]
        for bins in allowed[4:]:
            answer = service.call("GET", f"{PATH}?bins={bins}")
            assert problem(answer) == (503, "unavailable")
            assert answer.headers["retry-after"] == "5"
            assert answer.json()["detail"] == "4 estimates wait already; try again"
        assert (lane.size, len(calls)) == (4, 1)
        assert service.call("GET", "/health").status_code == 200
        assert service.report(draw_report(campaign, VALUES)).json()["accepted"] == 1
    assert {each.result(30).status_code for each in (*waiting, *shared)} == {200}
    assert len(calls) == 4  # one per number of bins, whatever the level
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
    with gated(monkeypatch, routes, "attribute_view") as (begun, calls):
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
    with gated(monkeypatch, routes, "attribute_view") as (begun, calls):
        viewers = [start(service, f"/campaigns/commute?target={n}", **HTML) for n in range(1, 4)]
        assert begun.wait(30)
        fill(service, lane, 3)
        refused = service.call("GET", "/campaigns/commute?target=9", headers=HTML)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert len(calls) == 1
    assert {viewer.result(30).status_code for viewer in viewers} == {200}

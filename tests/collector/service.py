"""A collector called in this process, without a socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from noutput.campaign import Campaign, Report
from noutput.campaign.packed import encode_packed
from noutput.campaign.wire import PACKED_TYPE, PROBLEM_TYPE, REPORT_TYPE, encode_report
from noutput.collector.app import create_app
from noutput.collector.archive.archive import Archive
from noutput.collector.http.auth import first_admin_token
from noutput.collector.http.guard import Guard
from noutput.collector.http.limits import Limits
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.store.interface import Store, UnavailableError

UNLIMITED = Limits(requests_per_second=0, client_reports_per_hour=0)
JSON = {"Content-Type": "application/json"}


@dataclass
class Clock:
    now: datetime = datetime(2026, 5, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Service:
    app: Guard
    store: Store
    clock: Clock
    admin: dict[str, str]
    _loop: asyncio.AbstractEventLoop
    _client: httpx.AsyncClient = field(init=False)

    def __post_init__(self) -> None:
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://collector")

    def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        request = self._client.request(method, path, **options)
        return asyncio.run_coroutine_threadsafe(request, self._loop).result(30)

    def create(self, campaign: Campaign) -> httpx.Response:
        headers = {**self.admin, **JSON}
        return self.call("POST", "/campaigns", content=campaign.to_json(), headers=headers)

    def send(self, body: bytes, media: str, name: str = "commute") -> httpx.Response:
        path = f"/campaigns/{name}/reports"
        answer = self.call("POST", path, content=body, headers={"Content-Type": media})
        self.publish()
        return answer

    def publish(self) -> None:
        """Publish what is due, as the background does every second where it can."""
        with suppress(UnavailableError):
            self.app.services.recorder.look()

    def report(self, report: Report) -> httpx.Response:
        return self.send(encode_report(report), REPORT_TYPE)

    def batch(self, campaign: Campaign, reports: list[Report]) -> httpx.Response:
        return self.send(encode_packed(campaign, reports), PACKED_TYPE)

    def total(self, name: str = "commute") -> int:
        row = self.store.campaign(name)
        return 0 if row is None else sum(self.store.counts(row.key).values())


def problem(response: httpx.Response) -> tuple[int, str]:
    """Return the status and the name of a problem document, which must be well formed."""
    assert response.headers["content-type"] == PROBLEM_TYPE, response.text
    content = response.json()
    assert set(content) == {"type", "title", "status", "detail"}
    assert content["status"] == response.status_code
    prefix, _, name = content["type"].rpartition(":")
    assert prefix == "urn:noutput:problem"
    return response.status_code, name


AT_ONCE = ReleasePolicy(1, 0.0)  # everything is published as soon as it is counted


@contextmanager
def start_service(
    store: Store,
    limits: Limits | None = None,
    archive: Archive | None = None,
    *,
    policy: ReleasePolicy = AT_ONCE,
) -> Iterator[Service]:
    clock = Clock()
    token = first_admin_token(store, clock())
    limits = limits or UNLIMITED
    app = create_app(store, clock=clock, limits=limits, policy=policy, archive=archive)
    app.services.cache.patience = 30.0  # so that no test depends on how fast the machine is
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def wait(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(30)

    async def start() -> None:
        app.services.writer.start()

    wait(start())
    service = Service(app, store, clock, {"Authorization": f"Bearer {token}"}, loop)
    try:
        yield service
    finally:
        wait(service._client.aclose())
        wait(app.services.writer.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()

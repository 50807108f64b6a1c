"""The route of single reports is as short as it was: no campaign pays for what others ask for."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from noutput.campaign import Campaign, Report
from noutput.campaign.wire import REPORT_TYPE, encode_report
from noutput.collector.app import create_app
from noutput.collector.http.guard import Guard
from noutput.collector.http.limits import Limits
from noutput.collector.store import open_store
from tests.collector.conftest import make_campaign

CALLS = 167  # for one report, as in the version before labels, rounds and waves
LIMIT = 1.05
REPORTS = 100


async def post(app: Guard, body: bytes) -> int:
    """Send a report without a server and a client, and return the status."""
    sent: list[Any] = []
    headers = [(b"content-type", REPORT_TYPE.encode()), (b"content-length", b"%d" % len(body))]
    path = "/campaigns/commute/reports"
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(),
             "query_string": b"", "headers": headers, "client": ("127.0.0.1", 1)}  # fmt: skip

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return int(sent[0]["status"])


async def count_calls(app: Guard, campaign: Campaign) -> float:
    """Return how many functions the event loop calls for one report."""
    name = campaign.questions[0].name
    bodies = [
        encode_report(Report(campaign.fingerprint, name, number % 5, f"{number:032x}"))
        for number in range(REPORTS + 10)
    ]
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    app.services.writer.start()
    try:
        for place, body in enumerate(bodies):
            if place == 10:  # all is loaded and known
                sys.setprofile(count)
            status = await post(app, body)
            assert status == 200
    finally:
        sys.setprofile(None)
        await app.services.writer.stop()
    return calls / REPORTS


def test_a_plain_report_takes_no_more_calls_than_before(tmp_path: Path) -> None:
    store, campaign = open_store(str(tmp_path / "reports.db")), make_campaign()
    limits = Limits(requests_per_second=0, client_reports_per_hour=0)
    app = create_app(store, clock=lambda: datetime(2026, 5, 1, tzinfo=UTC), limits=limits)
    try:
        store.create(campaign.id, campaign.fingerprint, campaign.to_json(), "2026-05-01T00:00:00Z")
        found = asyncio.run(count_calls(app, campaign))
    finally:
        store.close()
    assert CALLS / 2 < found <= LIMIT * CALLS

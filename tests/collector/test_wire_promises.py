"""What `docs/wire.md` promises about HTTP, promise by promise, in the order of the page."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import numpy as np
import pytest

from noutput.campaign import Admission, Campaign, draw_report
from noutput.campaign.packed import encode_packed
from noutput.campaign.segments import Segments
from noutput.campaign.tokens import new_token
from noutput.campaign.wire import (
    BATCH_TYPE,
    MAX_BATCH,
    MAX_BATCH_BYTES,
    MAX_REPORT_BYTES,
    PACKED_TYPE,
    REPORT_TYPE,
    encode_batch,
    encode_report,
)
from noutput.collector.http.body import read_body
from noutput.collector.http.limits import Limits
from noutput.collector.http.problems import ProblemError
from noutput.collector.store import open_store
from tests.collector.conftest import make_campaign
from tests.collector.labeled import OPENS, reports, scheduled_campaign
from tests.collector.service import Service, problem, start_service

VALUES = {"minutes": 40.0, "rides": 2.0, "cost": 12.5}
PAGE = "/campaigns/commute"
REPORTS = f"{PAGE}/reports"
ROUTES = (PAGE, REPORTS)
FROM_ELSEWHERE = {"Origin": "https://elsewhere.example"}
PREFLIGHT = {
    **FROM_ELSEWHERE,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type",
}


@pytest.fixture
def open_service(service: Service, campaign: Campaign) -> Service:
    assert service.create(campaign).status_code == 201
    return service


def changed(campaign: Campaign, /, **changes: object) -> bytes:
    body = json.loads(encode_report(draw_report(campaign, VALUES)))
    return json.dumps({**body, **changes}).encode()


# The route of a campaign document


def test_anyone_gets_the_document_and_its_strong_tag(
    open_service: Service, campaign: Campaign
) -> None:
    answer = open_service.call("GET", PAGE)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["etag"] == f'"{campaign.fingerprint}"'
    assert Campaign.from_json(answer.text) == campaign


# The route of reports


@pytest.mark.parametrize("media", [REPORT_TYPE, BATCH_TYPE, PACKED_TYPE])
@pytest.mark.parametrize("parameters", ["", "; charset=utf-8", ";x=1"])
def test_anyone_may_send_each_kind_of_body(
    open_service: Service, campaign: Campaign, media: str, parameters: str
) -> None:
    report = draw_report(campaign, VALUES)
    bodies = {
        REPORT_TYPE: encode_report(report), BATCH_TYPE: encode_batch([report]),
        PACKED_TYPE: encode_packed(campaign, [report]),
    }  # fmt: skip
    for outcome in ({"accepted": 1, "repeated": 0}, {"accepted": 0, "repeated": 1}):
        answer = open_service.send(bodies[media], media + parameters)
        assert (answer.status_code, answer.json()) == (200, outcome)
        assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("media", "limit"), [(REPORT_TYPE, MAX_REPORT_BYTES), (BATCH_TYPE, MAX_BATCH_BYTES)]
)
def test_bodies_may_have_as_many_bytes_as_the_page_says(
    open_service: Service, campaign: Campaign, media: str, limit: int
) -> None:
    assert f"{limit:,} bytes" in Path("docs/wire.md").read_text()
    report = draw_report(campaign, VALUES)
    body = encode_report(report) if media == REPORT_TYPE else encode_batch([report])
    assert open_service.send(body.ljust(limit), media).json()["accepted"] == 1
    assert problem(open_service.send(body.ljust(limit + 1), media)) == (413, "body-too-large")


def test_a_batch_has_1_to_10_000_reports(open_service: Service, campaign: Campaign) -> None:
    report = draw_report(campaign, VALUES)
    ids = [f"{number:032x}" for number in range(MAX_BATCH + 1)]
    reports = [type(report)(report.campaign, report.question, 0, each) for each in ids]
    body = json.loads(encode_batch(reports[:1]))
    none = json.dumps({**body, "reports": []}).encode()
    assert problem(open_service.send(none, BATCH_TYPE)) == (400, "malformed-body")
    shape = body["reports"][0]
    many = json.dumps({**body, "reports": [{**shape, "id": each} for each in ids]}).encode()
    assert problem(open_service.send(many, BATCH_TYPE)) == (413, "body-too-large")
    packed = bytearray(encode_packed(campaign, reports[:1]))
    packed[4:8] = bytes(4)
    assert problem(open_service.send(bytes(packed), PACKED_TYPE)) == (400, "malformed-body")
    assert open_service.batch(campaign, reports[:-1]).json()["accepted"] == MAX_BATCH
    assert open_service.total() == MAX_BATCH


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_batch_is_counted_as_a_whole_or_refused_as_a_whole(
    open_service: Service, campaign: Campaign, bad: int
) -> None:
    body = json.loads(encode_batch([draw_report(campaign, VALUES) for _ in range(3)]))
    good = json.dumps(body).encode()
    body["reports"][bad]["output"] = campaign.tables[0].n_outputs
    refused = open_service.send(json.dumps(body).encode(), BATCH_TYPE)
    assert problem(refused) == (422, "unknown-output")
    assert open_service.total() == 0
    assert open_service.send(good, BATCH_TYPE).json() == {"accepted": 3, "repeated": 0}


def test_an_id_that_was_counted_changes_no_count(open_service: Service, campaign: Campaign) -> None:
    first = draw_report(campaign, VALUES)
    open_service.report(first)
    row = open_service.store.campaign("commute")
    assert row is not None
    before = open_service.store.counts(row.key)
    for place, question in enumerate(VALUES):
        other = type(first)(first.campaign, question, place, first.id)
        assert open_service.report(other).json() == {"accepted": 0, "repeated": 1}
    assert open_service.store.counts(row.key) == before


# Refusals


def read_slowly(limits: Limits) -> ProblemError:
    """Read a body that never comes to its end."""

    async def work() -> None:
        pieces = [{"type": "http.request", "body": b"{", "more_body": True}]

        async def receive() -> dict[str, Any]:
            return pieces.pop() if pieces else await asyncio.Future()

        await read_body(receive, [], MAX_REPORT_BYTES, limits.body_seconds)

    with pytest.raises(ProblemError) as caught:
        asyncio.run(work())
    return caught.value


Refused: TypeAlias = Callable[[Service, Campaign], httpx.Response]
REFUSED: dict[str, Refused] = {
    "malformed-body": lambda service, _: service.send(b"{", REPORT_TYPE),
    "unknown-campaign": lambda service, _: service.send(b"{}", REPORT_TYPE, "nothing"),
    "wrong-fingerprint": lambda service, campaign: service.send(
        changed(campaign, campaign="0" * 64), REPORT_TYPE
    ),
    "body-too-large": lambda service, _: service.send(b" " * 2049, REPORT_TYPE),
    "unsupported-media-type": lambda service, _: service.send(b"{}", "application/json"),
    "unknown-question": lambda service, campaign: service.send(
        changed(campaign, question="nothing"), REPORT_TYPE
    ),
    "unknown-output": lambda service, campaign: service.send(
        changed(campaign, output=campaign.tables[0].n_outputs), REPORT_TYPE
    ),
    "repeated-id": lambda service, campaign: service.send(
        encode_batch([draw_report(campaign, VALUES)] * 2), BATCH_TYPE
    ),
}


def invalid_token(service: Service, _: Campaign) -> httpx.Response:
    invited = make_campaign("invited", admission=Admission("token"))
    service.create(invited)
    report = draw_report(invited, VALUES, new_token())
    return service.send(encode_report(report), REPORT_TYPE, invited.id)


def close(service: Service, campaign: Campaign) -> httpx.Response:
    service.clock.now = campaign.closes
    return service.report(draw_report(campaign, VALUES))


def overflow(service: Service, campaign: Campaign) -> httpx.Response:
    service.app.services.metrics.queued = service.app.services.limits.queued_reports
    return service.report(draw_report(campaign, VALUES))


def hurry(service: Service, campaign: Campaign) -> httpx.Response:
    report = draw_report(campaign, VALUES)
    return [service.report(report) for _ in range(service.app.services.limits.burst)][-1]


def flood(service: Service, campaign: Campaign) -> httpx.Response:
    quotas = service.app.services.quotas
    quotas._clients._burst = 0.5
    return service.report(draw_report(campaign, VALUES))


def crowd(service: Service, _: Campaign) -> httpx.Response:
    small = make_campaign("small", admission=Admission(reports_per_hour=1))
    service.create(small)
    quotas = service.app.services.quotas
    quotas.look(service.app.services.directory.known()[-1], 0)
    next(iter(quotas._campaigns.values())).level = 0.0
    return service.send(encode_report(draw_report(small, VALUES)), REPORT_TYPE, small.id)


def in_round(number: int, labels: tuple[tuple[str, str], ...] = ()) -> Refused:
    """Return what is sent on the third day: a report of some round, with some labels."""

    def send(service: Service, _: Campaign) -> httpx.Response:
        daily = scheduled_campaign(name="daily", segments=Segments((("plan", ("free", "paid")),)))
        service.create(daily)
        service.clock.now = OPENS + timedelta(days=2)
        (report,) = reports(daily, 1, np.random.default_rng(1), number=2)
        sent = replace(report, labels=labels, round=number)
        return service.send(encode_report(sent), REPORT_TYPE, daily.id)

    return send


def documented() -> dict[str, tuple[int, bool]]:
    """Return status and "send again" of every refusal of the page."""
    rows = re.findall(
        r"^\| `([a-z-]+)` \| (\d{3}) \| [^|]+ \| (yes|no) \|$",
        Path("docs/wire.md").read_text(),
        re.MULTILINE,
    )
    return {name: (int(status), again == "yes") for name, status, again in rows}


ALL_REFUSED = {
    **REFUSED, "campaign-not-open": close, "unavailable": overflow, "too-many-requests": hurry,
    "too-many-reports": flood, "campaign-limit": crowd,
    "invalid-token": invalid_token, "unknown-label": in_round(2, (("plan", "gold"),)),
    "unknown-round": in_round(14), "round-not-begun": in_round(3), "round-over": in_round(0),
}  # fmt: skip


def test_every_refusal_of_the_page_is_tried() -> None:
    assert set(documented()) == {*ALL_REFUSED, "request-timeout"}


@pytest.mark.parametrize("name", sorted(ALL_REFUSED))
def test_refusals_are_what_the_page_says(tmp_path: Path, campaign: Campaign, name: str) -> None:
    store = open_store(str(tmp_path / "refusals.db"))
    limits = Limits(requests_per_second=0.001, burst=3)
    with start_service(store, limits) as service:
        assert service.create(campaign).status_code == 201
        answer = ALL_REFUSED[name](service, campaign)
        status, again = documented()[name]
        assert problem(answer) == (status, name)
        waits = int(answer.headers.get("retry-after", 0))
        assert (waits > 0) is again
        check_headers(answer)
        assert service.total() == (1 if name == "too-many-requests" else 0)
    store.close()


def test_a_body_that_does_not_arrive_is_a_request_timeout() -> None:
    problem = read_slowly(Limits(body_seconds=0.01)).problem
    assert documented()[problem.name] == (problem.status, True)
    assert problem.name == "request-timeout"


def test_a_mistake_of_the_collector_is_a_problem_document_too(
    open_service: Service, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr(open_service.app.services.writer, "submit", fail)
    answer = open_service.report(draw_report(campaign, VALUES))
    assert problem(answer) == (500, "internal-error")
    assert "secret words" not in answer.text
    check_headers(answer)


# Browsers


def check_headers(answer: httpx.Response) -> None:
    """What every answer of the two routes has: it may be read anywhere, and run nowhere."""
    names = [name for name, _ in answer.headers.multi_items()]
    assert len(names) == len(set(names))
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-expose-headers"] == "Retry-After"
    assert "access-control-allow-credentials" not in answer.headers
    policy = "default-src 'none'; frame-ancestors 'none'"
    assert answer.headers["content-security-policy"] == policy
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", [*ROUTES, "/campaigns/nothing", "/campaigns/nothing/reports"])
def test_preflights_are_answered(open_service: Service, path: str) -> None:
    for headers in (PREFLIGHT, {}):
        answer = open_service.call("OPTIONS", path, headers=headers)
        assert (answer.status_code, answer.content) == (204, b"")
        assert answer.headers["access-control-allow-methods"] == "GET, POST"
        assert answer.headers["access-control-allow-headers"] == "Content-Type"
        check_headers(answer)


def test_answers_may_be_read_by_pages_of_any_origin(
    open_service: Service, campaign: Campaign
) -> None:
    tag = f'"{campaign.fingerprint}"'
    for headers in ({}, FROM_ELSEWHERE, {**FROM_ELSEWHERE, "If-None-Match": tag}):
        answer = open_service.call("GET", PAGE, headers=headers)
        assert answer.status_code == (304 if "If-None-Match" in headers else 200)
        check_headers(answer)
    check_headers(open_service.report(draw_report(campaign, VALUES)))
    missing = open_service.call("GET", "/campaigns/nothing", headers=FROM_ELSEWHERE)
    assert problem(missing) == (404, "unknown-campaign")
    check_headers(missing)
    wrong = open_service.call("GET", REPORTS, headers=FROM_ELSEWHERE)
    assert problem(wrong) == (405, "method-not-allowed")
    assert wrong.headers["allow"] == "OPTIONS, POST"
    check_headers(wrong)


def test_a_page_that_asks_too_often_may_read_that(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "rate.db"))
    with start_service(store, Limits(requests_per_second=0.001, burst=1)) as service:
        service.call("GET", "/health")
        for method in ("OPTIONS", "GET"):
            answer = service.call(method, PAGE, headers=PREFLIGHT)
            assert problem(answer) == (429, "too-many-requests")
            check_headers(answer)
    store.close()


def test_nothing_else_is_shared_with_other_origins(service: Service) -> None:
    service.create(make_campaign(public=True))
    browser = {**FROM_ELSEWHERE, "Accept": "text/html"}
    for path in ("/", PAGE, "/campaigns/nothing"):
        answer = service.call("GET", path, headers=browser)
        assert "access-control-allow-origin" not in answer.headers
    for method, path in (
        ("GET", "/campaigns"), ("GET", f"{PAGE}/estimates"), ("GET", f"{PAGE}/estimates.csv"),
        ("GET", "/tokens"), ("POST", "/tokens"), ("GET", "/health"), ("GET", "/metrics"),
        ("OPTIONS", "/tokens"), ("OPTIONS", "/campaigns"), ("OPTIONS", f"{PAGE}/close"),
        ("OPTIONS", f"{PAGE}/estimates"), ("POST", f"{PAGE}/close"), ("DELETE", PAGE),
    ):  # fmt: skip
        answer = service.call(method, path, headers={**service.admin, **PREFLIGHT})
        assert "access-control-allow-origin" not in answer.headers, (method, path)

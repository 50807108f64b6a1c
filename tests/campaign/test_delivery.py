from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from noutput.campaign import Receipt, Report, Route, fetch_campaign, send_batch, send_report
from noutput.campaign.packed import decode_packed
from noutput.campaign.wire import PACKED_TYPE, REPORT_TYPE, encode_report
from noutput.errors import DeliveryError, DocumentError, InvalidArgumentError, PrivacyError
from tests.campaign.examples import commute_campaign
from tests.campaign.server import COUNTED, Answer, problem, serving
from tests.campaign.vectors import vectors

CAMPAIGN = commute_campaign()
REPORT = Report(CAMPAIGN.fingerprint, "commute", 1)


@pytest.fixture
def naps() -> list[float]:
    return []


@pytest.fixture
def route(naps: list[float]) -> Route:
    return Route(timeout=60.0, attempts=6, sleep=naps.append)  # a busy machine is no failure


def test_a_campaign_is_fetched_and_certified(route: Route) -> None:
    with serving(Answer(body=CAMPAIGN.to_json().encode())) as (url, seen):
        assert fetch_campaign(url + "/", route) == CAMPAIGN
    assert (seen[0].method, seen[0].path) == ("GET", "/campaigns/commute")
    assert seen[0].headers["User-Agent"] == "noutput"


def test_a_lying_server_is_refused(route: Route) -> None:
    document = json.loads(CAMPAIGN.to_json())
    document["tables"] = [vectors("tables")["lying"][0]["bad"]]
    lie = json.dumps(document).encode()
    with serving(Answer(body=lie)) as (url, _), pytest.raises(PrivacyError):
        fetch_campaign(url, route)
    with serving(Answer(body=b"<html>")) as (url, _), pytest.raises(DocumentError):
        fetch_campaign(url, route)


def test_every_attempt_sends_the_same_bytes(route: Route, naps: list[float]) -> None:
    answers = (
        Answer(None),
        problem(503, "unavailable"),
        problem(429, "too-many-requests"),
        COUNTED,
    )
    with serving(*answers) as (url, seen):
        assert send_report(url, REPORT, route) == Receipt(1, 0)
    assert [request.body for request in seen] == [encode_report(REPORT)] * 4
    assert seen[0].path == "/campaigns/commute/reports"
    assert seen[0].headers["Content-Type"] == REPORT_TYPE
    assert len(naps) == 3
    assert all(0.0 <= nap <= 0.5 * 2**k for k, nap in enumerate(naps))


def test_a_report_counted_before_is_a_success(route: Route) -> None:
    with serving(Answer(body=b'{"accepted":0,"repeated":1}')) as (url, _):
        assert send_report(url, REPORT, route) == Receipt(0, 1)


def test_a_batch_is_packed(route: Route) -> None:
    reports = [Report(CAMPAIGN.fingerprint, "commute", i % 3) for i in range(10)]
    with serving(Answer(body=b'{"accepted":7,"repeated":3}')) as (url, seen):
        assert send_batch(url, CAMPAIGN, iter(reports), route) == Receipt(7, 3)
    assert seen[0].headers["Content-Type"] == PACKED_TYPE
    assert set(decode_packed(seen[0].body, CAMPAIGN)) == set(reports)


def test_retry_after_is_honored_up_to_a_minute(route: Route, naps: list[float]) -> None:
    texts = ("7", "100000", "Fri, 31 Dec 1999 23:59:59 GMT", "-1")
    answers = [problem(429, "too-many-requests", Retry_After=text) for text in texts]
    with serving(*answers, COUNTED) as (url, _):
        send_report(url, REPORT, route)
    assert naps[:2] == [7.0, 60.0]
    assert all(nap <= 4.0 for nap in naps[2:])


def test_it_gives_up_and_says_why(route: Route) -> None:
    refused = pytest.raises(DeliveryError, match="status 503: because")
    with serving(problem(503, "unavailable")) as (url, seen), refused as caught:
        send_report(url, REPORT, route)
    assert len(seen) == 6
    assert caught.value.problem == "urn:noutput:problem:unavailable"
    with pytest.raises(DeliveryError, match="no answer from"):
        send_report(url, REPORT, route)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_may_pass_is_sent_again(route: Route, status: int) -> None:
    with serving(problem(status, "later"), COUNTED) as (url, seen):
        assert send_report(url, REPORT, route) == Receipt(1, 0)
    assert [request.body for request in seen] == [encode_report(REPORT)] * 2


def test_waits_grow_up_to_half_a_minute(naps: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random.SystemRandom, "uniform", lambda _self, _low, high: high)
    with serving(problem(503, "unavailable")) as (url, _), pytest.raises(DeliveryError):
        send_report(url, REPORT, Route(attempts=9, sleep=naps.append))
    assert naps == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_nothing_that_is_sent_identifies_the_person(route: Route) -> None:
    cookie = {"Set-Cookie": "who=4242"}
    document = Answer(body=CAMPAIGN.to_json().encode(), headers=cookie)
    with serving(document, Answer(body=COUNTED.body, headers=cookie), COUNTED) as (url, seen):
        fetch_campaign(url, route)
        for _ in range(2):
            send_report(url, REPORT, route)
    known = {"Host", "User-Agent", "Accept", "Accept-Encoding", "Connection"}
    body = {"Content-Type", "Content-Length"}
    assert [set(request.headers) for request in seen] == [known, known | body, known | body]
    assert {request.headers["User-Agent"] for request in seen} == {"noutput"}


@pytest.mark.parametrize("status", [400, 403, 404, 409, 413, 415, 422])
def test_a_refusal_is_final(route: Route, status: int) -> None:
    refused = pytest.raises(DeliveryError, match="because")
    with serving(problem(status, "wrong")) as (url, seen), refused as caught:
        send_report(url, REPORT, route)
    assert (caught.value.status, caught.value.problem) == (status, "urn:noutput:problem:wrong")
    assert len(seen) == 1
    twin = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (str(twin), twin.status) == (str(caught.value), status)


def test_a_refusal_cannot_write_to_the_terminal(route: Route) -> None:
    body = json.dumps({"detail": "\x1b[2Jgone\r\n"}).encode()
    refused = pytest.raises(DeliveryError, match=r"status 400: \[2Jgone$")
    with serving(Answer(400, body)) as (url, _), refused:
        send_report(url, REPORT, route)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(route: Route, status: int) -> None:
    moved = Answer(status, headers={"Location": "http://127.0.0.1:9/elsewhere"})
    with serving(moved) as (url, seen):
        with pytest.raises(DeliveryError, match=r"redirects to 'http://127.*/elsewhere'"):
            send_report(url, REPORT, route)
        with pytest.raises(DeliveryError, match="redirects to"):
            fetch_campaign(url, route)
    assert len(seen) == 2


@pytest.mark.parametrize("place", ["http://[", "http://\x1b[2J", ""])
def test_redirects_to_nowhere_are_not_followed(route: Route, place: str) -> None:
    with serving(Answer(302, headers={"Location": place})) as (url, _):
        with pytest.raises(DeliveryError, match="redirects to '") as caught:
            fetch_campaign(url, route)
        assert str(caught.value).isprintable()


def test_an_answer_that_breaks_off_is_asked_for_again(route: Route, naps: list[float]) -> None:
    text = CAMPAIGN.to_json().encode()
    broken = Answer(body=text[:-2], headers={"Content-Length": str(len(text))})
    with serving(broken, Answer(body=text)) as (url, seen):
        assert fetch_campaign(url, route) == CAMPAIGN
    half = Answer(body=COUNTED.body[:9], headers={"Content-Length": str(len(COUNTED.body))})
    with serving(half, COUNTED) as (url, seen):
        assert send_report(url, REPORT, route) == Receipt(1, 0)
    assert [request.body for request in seen] == [encode_report(REPORT)] * 2
    assert len(naps) == 2


def test_a_status_line_cannot_write_to_the_terminal(route: Route) -> None:
    refused = pytest.raises(DeliveryError, match=r"no answer from .*\[2Jgone")
    with serving(Answer(200, line=b"\x1b[2Jgone " + b"a" * 1000)) as (url, _), refused as caught:
        fetch_campaign(url, route)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


BODIES = [COUNTED.body.decode().encode("utf-16"), b"\xef\xbb\xbf" + COUNTED.body, b"", b"[]",
          b"null", b"nonsense", b"{}", b'{"accepted":0,"repeated":0}',
          b'{"accepted":true,"repeated":0}', b"[" * 50_000]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_foolish_answers_are_no_acknowledgement(route: Route, body: bytes) -> None:
    with serving(Answer(body=body)) as (url, _), pytest.raises(DeliveryError, match="the server"):
        send_report(url, REPORT, route)


def test_endless_answers_are_cut(route: Route) -> None:
    cut = pytest.raises(DeliveryError, match="more than 65536")
    with serving(Answer(body=b" " * 70_000)) as (url, seen), cut:
        send_report(url, REPORT, route)
    assert len(seen) == 1


def test_a_campaign_has_at_most_16_mebibytes(route: Route) -> None:
    text = CAMPAIGN.to_json().encode()
    most = Answer(body=text.ljust(1 << 24))
    more = Answer(body=text.ljust((1 << 24) + 1))
    with serving(most, more) as (url, _):
        assert fetch_campaign(url, route) == CAMPAIGN
        with pytest.raises(DeliveryError, match="more than 16777216"):
            fetch_campaign(url, route)


@pytest.mark.parametrize("body", [b"<!doctype html><title>Campaigns</title>", b'{"status":"ok"}'])
def test_an_address_that_is_no_campaigns_is_named(route: Route, body: bytes) -> None:
    with serving(Answer(body=body)) as (url, _):
        base = url.removesuffix("/campaigns/commute")
        for address in (base, f"{base}/", f"{base}/campaigns"):
            with pytest.raises(DocumentError) as caught:
                fetch_campaign(address, route)
            rule = f"url must be the address of a campaign, such as {base}/campaigns/commute"
            assert str(caught.value) == f"{rule}; found {body[:12].decode()!r}"


def test_silent_servers_are_given_up(naps: list[float]) -> None:
    silence = Event()
    with serving(Answer(until=silence)) as (url, _):
        with pytest.raises(DeliveryError, match="no answer"):
            send_report(url, REPORT, Route(timeout=0.1, attempts=2, sleep=naps.append))
        silence.set()
    assert len(naps) == 1  # between two attempts; the server may not have noticed the second


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "ftp://host/campaigns/x", "https://", "http://user:word@host/x",
        "https://host/x?token=1", "https://host/x#y", "https://ho st/x",
        "https://host/x\n", "", None, "http://[::1", "http://host:abc/x",
        "http://host:99999/x", "http://:80/x", "http://a..b/x", f"http://{'a' * 64}/x",
    ],
    ids=range(16),
)  # fmt: skip
def test_strange_addresses_are_refused(url: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: fetch_campaign(url),
        lambda: send_report(url, REPORT),
    ]
    for call in calls:
        with pytest.raises(InvalidArgumentError, match="url must be the http or https address"):
            call()


@pytest.mark.parametrize("url", ["http://münchen.example/x", "http://host/campaigns/für"])
def test_addresses_have_ascii_letters(url: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"url must have ASCII letters only: xn--\.\.\."):
        fetch_campaign(url)

"""A real server on loopback: slow, large and broken requests, and nothing in the log."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import uvicorn

from noutput.campaign import Campaign, draw_report, send_report
from noutput.campaign.wire import REPORT_TYPE, encode_report
from noutput.collector.app import create_app
from noutput.collector.http.limits import Limits
from noutput.collector.http.protocol import limited_protocol
from noutput.collector.store import open_store
from noutput.collector.store.interface import Store
from tests.collector.process import running

VALUES = {"minutes": 40.0, "rides": 2.0, "cost": 12.5}
PATIENT = Limits(requests_per_second=0, header_seconds=60, body_seconds=60, header_bytes=4096)
IMPATIENT = replace(PATIENT, header_seconds=0.1, body_seconds=0.1)


GOOD: list[bytes] = []  # the bodies that were sent to be counted


@contextmanager
def serving(store: Store, limits: Limits) -> Iterator[int]:
    """Serve in a thread; return the port."""
    app = create_app(store, limits=limits)
    protocol = limited_protocol(limits, app.services.limiter, app.services.metrics)
    config = uvicorn.Config(
        app, http=protocol, ws="none", log_config=None, log_level="warning", access_log=False,
        lifespan="on",
    )  # fmt: skip
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(30)


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory, campaign: Campaign) -> Iterator[int]:
    """The port of a collector to which every request is too slow that does not come to its end."""
    store = open_store(str(tmp_path_factory.mktemp("impatient") / "reports.db"))
    store.create(campaign.id, campaign.fingerprint, campaign.to_json(), "2026-05-01T00:00:00Z")
    with serving(store, IMPATIENT) as number:
        yield number
    store.close()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory, campaign: Campaign) -> Iterator[int]:
    store = open_store(str(tmp_path_factory.mktemp("sockets") / "reports.db"))
    store.create(campaign.id, campaign.fingerprint, campaign.to_json(), "2026-05-01T00:00:00Z")
    with serving(store, PATIENT) as number:
        yield number
    row = store.campaign(campaign.id)
    assert row is not None
    assert sum(store.counts(row.key).values()) == len(GOOD)
    store.close()


def exchange(port: int, *pieces: bytes) -> tuple[int, dict[str, object]]:
    """Send pieces; return the first answer, which must be a refusal that no page is made of."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        answer = b""
        try:
            for piece in pieces:
                connection.sendall(piece)
        except OSError:
            pass  # the server closed before it read everything
        try:
            while data := connection.recv(65_536):
                answer += data
                head, found, body = answer.partition(b"\r\n\r\n")
                if found and b"content-length: %d" % len(body) in head.lower():
                    break
        except ConnectionResetError:
            pass
    head, _, body = answer.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().lower().splitlines()[1:])
    assert headers["content-type"] == "application/problem+json", answer
    policy = "default-src 'none'; frame-ancestors 'none'"
    assert headers["content-security-policy"] == policy
    assert headers["x-content-type-options"] == "nosniff"
    return int(head.split()[1]), json.loads(body)


def head(length: int, path: str = "/campaigns/commute/reports") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {REPORT_TYPE}\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


@pytest.mark.parametrize("pieces", [(), (b"POST /camp",), (b"GET / HTTP/1.1\r\n", b"A: b\r\n")])
def test_slow_heads_end(impatient: int, pieces: tuple[bytes, ...]) -> None:
    status, content = exchange(impatient, *pieces)
    assert (status, content["type"]) == (408, "urn:noutput:problem:request-timeout")


@pytest.mark.parametrize("pieces", [(), (b"{",), (b"{",) * 10])
def test_slow_bodies_end(impatient: int, pieces: tuple[bytes, ...]) -> None:
    status, content = exchange(impatient, head(200), *pieces)
    assert (status, content["type"]) == (408, "urn:noutput:problem:request-timeout")


def test_pages_of_other_origins_may_read_that_they_were_slow(impatient: int) -> None:
    with socket.create_connection(("127.0.0.1", impatient), timeout=60) as connection:
        connection.sendall(head(200))
        assert b"access-control-allow-origin: *\r\n" in connection.recv(65_536)


def test_administration_is_refused_before_its_body_is_read(port: int) -> None:
    assert exchange(port, head(200, "/tokens"), b"{")[0] == 401


def test_large_heads_are_refused(port: int) -> None:
    large = b"GET /health HTTP/1.1\r\nHost: x\r\nA: " + b"b" * 5000
    assert exchange(port, large + b"\r\n\r\n")[0] == 431
    assert exchange(port, large)[0] == 431
    assert exchange(port, b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")[0] == 431


def test_large_bodies_are_refused_before_they_are_read(port: int) -> None:
    status, content = exchange(port, head(10**12), b"x")
    assert (status, content["type"]) == (413, "urn:noutput:problem:body-too-large")
    chunked = head(0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    assert exchange(port, chunked, *[b"400\r\n" + b"x" * 1024 + b"\r\n"] * 8)[0] == 413


@pytest.mark.parametrize(
    "data",
    [b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
     b"POST /campaigns/x/reports HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
     b"POST /x HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx"],
)  # fmt: skip
def test_what_is_not_http_gets_a_problem_document(impatient: int, data: bytes) -> None:
    assert exchange(impatient, data)[0] in (400, 408)


def test_pipelined_and_kept_connections_work(port: int, campaign: Campaign) -> None:
    bodies = [encode_report(draw_report(campaign, VALUES)) for _ in range(2)]
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        GOOD.extend(bodies)
        connection.sendall(b"".join(head(len(body)) + body for body in bodies))
        answer = b""
        while answer.count(b'{"accepted":1,"repeated":0}') < 2:
            data = connection.recv(65_536)
            assert data, answer
            answer += data
    assert answer.count(b"HTTP/1.1 200") == 2


@pytest.mark.slow
def test_noutput_serve_logs_nobody(tmp_path: Path, campaign: Campaign,
                                   capfd: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    document = tmp_path / "commute.json"
    document.write_text(campaign.to_json())
    with running(str(tmp_path / "reports.db"), document) as server:
        assert server.token is not None
        receipt = send_report(f"{server.url}/campaigns/commute", draw_report(campaign, VALUES))
        assert receipt.accepted == 1
    with running(str(tmp_path / "reports.db"), document) as server:
        assert server.token is None
    with running(str(tmp_path / "reports.db"), document, "--new-admin-token") as server:
        assert server.token is not None
    output = capfd.readouterr()
    assert output.out + output.err == ""

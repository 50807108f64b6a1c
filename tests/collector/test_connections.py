"""Connections that only wait, and requests that are not HTTP: neither shuts anybody out."""

from __future__ import annotations

import contextlib
import logging
import resource
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from noutput.campaign import Campaign
from noutput.collector.clock import system_clock
from noutput.collector.http import protocol
from noutput.collector.http.auth import first_admin_token
from noutput.collector.http.connections import Connections, affordable
from noutput.collector.repeats import Repeats
from noutput.collector.store import open_store
from tests.collector.test_sockets import PATIENT, head, serving

HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"


@dataclass(eq=False)
class Fake:
    connections: Connections
    closed: list[int] = field(default_factory=list)
    number: int = 0

    def give_way(self) -> None:
        self.closed.append(self.number)
        self.connections.closed(self)


def test_the_connection_that_waited_longest_makes_room() -> None:
    connections, closed = Connections(most=3), list[int]()
    first, second, third, fourth, fifth = (Fake(connections, closed, n) for n in range(5))
    for each in (first, second, third):
        assert connections.opened(each)
    connections.works(first)  # its request has arrived
    assert connections.opened(fourth)
    assert closed == [1]
    connections.waits(third)  # has sent a head meanwhile
    connections.waits(first)  # has been answered
    assert connections.opened(fifth)
    assert closed == [1, 3]
    assert connections.open == 3


def test_where_all_work_a_newcomer_is_told_so() -> None:
    connections, closed = Connections(most=2), list[int]()
    busy = [Fake(connections, closed, n) for n in range(2)]
    for each in busy:
        assert connections.opened(each)
        connections.works(each)
    newcomer = Fake(connections, closed, 9)
    assert not connections.opened(newcomer)
    connections.closed(newcomer)
    assert (connections.open, closed) == (2, [])


@pytest.fixture
def port(tmp_path: Path, campaign: Campaign) -> Iterator[int]:
    store = open_store(str(tmp_path / "reports.db"))
    store.create(campaign.id, campaign.fingerprint, campaign.to_json(), "2026-05-01T00:00:00Z")
    with serving(store, replace(PATIENT, connections=4)) as number:
        yield number
    store.close()


def ask(port: int, request: bytes) -> bytes:
    """Return the first piece of an answer, nothing where the connection was closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request)
        with contextlib.suppress(ConnectionResetError):
            return connection.recv(65_536)
        return b""


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET /hea", head(200), head(200) + b"{"])
def test_idle_and_slow_sockets_shut_nobody_out(port: int, sent: bytes) -> None:
    with contextlib.ExitStack() as stack:
        idle = []
        for _ in range(12):
            connection = socket.create_connection(("127.0.0.1", port), timeout=30)
            idle.append(stack.enter_context(connection))
            connection.sendall(sent)
            assert b" 200 " in ask(port, HEALTH)
        assert all(is_closed(connection) for connection in idle[:6])


def test_requests_that_are_not_http_count_as_requests(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    limits = replace(PATIENT, requests_per_second=0.001, burst=3)
    with serving(store, limits) as port:
        answers = [ask(port, b"nonsense\r\n\r\n") for _ in range(4)]
        assert [b" 400 " in answer for answer in answers] == [True, True, True, False]
        assert b" 429 " in answers[3]
        assert b" 429 " in ask(port, HEALTH)
    store.close()


def test_requests_of_a_client_that_sends_too_much_are_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "_HOLD_SECONDS", 0.001)
    store = open_store(str(tmp_path / "reports.db"))
    with (
        serving(store, replace(PATIENT, requests_per_second=0.001, burst=2)) as port,
        socket.create_connection(("127.0.0.1", port), timeout=30) as connection,
    ):
        for _ in range(2):
            connection.sendall(HEALTH)
            assert b" 200 " in connection.recv(65_536)
        with monkeypatch.context() as patch:
            patch.setattr(HttpToolsProtocol, "data_received", fail)
            connection.sendall(HEALTH)
            kept = connection.recv(65_536)
            others = [ask(port, HEALTH) for _ in range(3)]
        for answer in (kept, *others):
            assert answer.startswith(b"HTTP/1.1 429 ")
            assert b"retry-after: 1000" in answer
        assert is_closed(connection)
    store.close()


def fail(*_: object) -> None:
    raise AssertionError("a request was read")


def test_requests_without_waiting_for_answers_end_with_the_rate(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    with serving(store, replace(PATIENT, requests_per_second=0.001, burst=5)) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(HEALTH * 100)
            answers = b""
            while piece := connection.recv(65_536):
                answers += piece
        assert answers.count(b"HTTP/1.1 200 ") == 5
        assert answers.count(b"HTTP/1.1 429 ") <= 1
    store.close()


def test_refusals_outside_of_the_application_are_counted(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    token = first_admin_token(store, system_clock())
    scrape = f"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    with serving(store, PATIENT) as port:
        for _ in range(3):
            ask(port, b"nonsense\r\n\r\n")
        metrics = ask(port, scrape.encode())
    store.close()
    assert b'noutput_requests_refused_total{problem="bad-request"} 3' in metrics


def test_answers_that_nobody_reads_end(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    request = b"GET /static/uplot/uPlot.iife.min.js HTTP/1.1\r\nHost: x\r\n\r\n"
    with serving(store, replace(PATIENT, body_seconds=0.05)) as port, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", port))
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while True:  # until the server closes
                connection.sendall(request)
    store.close()


def test_lines_of_the_log_that_repeat_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    log = logging.getLogger("noutput.tests.repeats")
    log.addFilter(Repeats(lambda: now[0]))
    for _ in range(1000):
        log.warning("Invalid HTTP request received.")
        log.warning("the database is unavailable: %s", "gone")
    assert len(caplog.messages) == 2
    now[0] = 75.0
    log.warning("Invalid HTTP request received.")
    expected = "Invalid HTTP request received. (999 more like this in the last 75 s)"
    assert caplog.messages[2:] == [expected]


def test_the_lines_that_are_remembered_are_bounded() -> None:
    repeats = Repeats(lambda: 0.0)
    for number in range(1000):
        record = logging.LogRecord("x", logging.WARNING, "", 0, "line %d", (number,), None)
        assert repeats.filter(record)
    assert len(repeats._seen) == 256


@pytest.mark.parametrize(
    ("soft", "hard", "allowed", "raised"),
    [(1024, 4096, 2000, 2128), (1024, 1024, 896, None), (65_536, 65_536, 2000, None),
     (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 2000, None), (100, 100, 1, None)],
)  # fmt: skip
def test_connections_leave_room_for_other_files(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, allowed: int, raised: int | None
) -> None:
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: calls.append(pair))
    assert affordable(2000) == allowed
    assert [pair[0] for pair in calls if pair[0] != soft] == ([] if raised is None else [raised])

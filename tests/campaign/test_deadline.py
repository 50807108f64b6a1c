"""One attempt has one deadline. The clock is simulated: it ticks whenever the client looks."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from threading import Event, Semaphore, Thread

import pytest

from noutput.campaign import Report, Route, fetch_campaign, send_report
from noutput.campaign import connection as connections
from noutput.errors import DeliveryError
from tests.campaign.examples import commute_campaign

CAMPAIGN = commute_campaign()
SECONDS = 25


class Ticking:
    """A clock that moves by a second, and lets the server send a byte, at every look."""

    def __init__(self) -> None:
        self.now = 0.0
        self.looked = Semaphore(0)

    def __call__(self) -> float:
        self.now += 1.0
        self.looked.release()
        return self.now


@contextmanager
def dripping(first: bytes, drip: bytes, clock: Ticking) -> Iterator[tuple[str, list[bytes]]]:
    """Say the first part at once, and then a byte of the second at every look at the clock."""
    listener = socket.create_server(("127.0.0.1", 0))
    sent: list[bytes] = []
    over = Event()

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client, suppress(OSError):
                client.recv(65536)
                client.sendall(first)
                for byte in cycle(drip):
                    clock.looked.acquire()
                    if over.is_set() or len(sent) > 20 * SECONDS:
                        return
                    sent.append(bytes([byte]))
                    client.sendall(sent[-1])

    thread = Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/campaigns/commute", sent
    finally:
        over.set()
        clock.looked.release()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(20)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LONG = b"Content-Length: 60000\r\n\r\n"
DRIPS = {
    "first line": (b"", b"HTTP/1.1 200 OK" + b" " * 5000, "no answer"),
    "headers": (HEAD, b"A: b\r\n", "no answer"),
    "one header": (HEAD + b"X-Long: ", b"x", "no answer"),
    "body": (HEAD + LONG, b" ", "no answer"),
    "chunks": (CHUNKED, b"1\r\n \r\n", "no answer"),
    "refusal": (b"HTTP/1.1 404 Not Found\r\n" + LONG, b" ", "status 404: Not Found"),
    "unavailable": (b"HTTP/1.1 503 Not Now\r\n" + LONG, b" ", "status 503: Not Now"),
    "head of a refusal": (b"HTTP/1.1 404 Not Found\r\n", b"A: b\r\n", "no answer"),
    "redirect": (b"HTTP/1.1 307 Moved\r\nLocation: http://x/\r\n" + LONG, b" ", "redirects"),
}


@pytest.mark.parametrize(("first", "drip", "message"), DRIPS.values(), ids=DRIPS.keys())
def test_a_dripping_server_is_given_up(first: bytes, drip: bytes, message: str) -> None:
    clock = Ticking()
    route = Route(timeout=SECONDS, attempts=1, clock=clock)
    given_up = pytest.raises(DeliveryError, match=message)
    with dripping(first, drip, clock) as (url, sent), given_up:
        fetch_campaign(url, route)
    assert clock.now <= SECONDS + 3
    assert len(sent) <= SECONDS + 3


def test_every_attempt_has_the_whole_time() -> None:
    clock = Ticking()
    route = Route(timeout=SECONDS, attempts=3, clock=clock, sleep=lambda _: None)
    report = Report(CAMPAIGN.fingerprint, "commute", 1)
    given_up = pytest.raises(DeliveryError, match="no answer")
    with dripping(HEAD, b"A: b\r\n", clock) as (url, _), given_up:
        send_report(url, report, route)
    assert 3 * SECONDS <= clock.now <= 3 * (SECONDS + 3)


def test_all_addresses_of_a_name_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []

    class Silent(socket.socket):
        def connect(self, _address: object) -> None:
            waits.append(self.gettimeout())
            clock.now += SECONDS / 2
            raise TimeoutError("timed out")

    def four_addresses(host: str, port: int, *_: object) -> list[tuple[object, ...]]:
        entry = (socket.AF_INET, socket.SOCK_STREAM, 0, "", (host, port))
        return [entry] * 4

    clock = Ticking()
    monkeypatch.setattr(socket, "socket", Silent)
    monkeypatch.setattr(socket, "getaddrinfo", four_addresses)
    with pytest.raises(DeliveryError, match="no answer"):
        fetch_campaign("http://127.0.0.1:9/x", Route(timeout=SECONDS, attempts=1, clock=clock))
    assert [wait is not None and wait <= SECONDS for wait in waits] == [True, True]
    assert sum(wait or 0.0 for wait in waits) < 2 * SECONDS


def test_a_large_body_is_sent_within_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes a large batch in small bites: each piece waits for what is left."""
    clock = Ticking()
    sizes: list[int] = []

    class Slow:
        def settimeout(self, seconds: float) -> None:
            assert seconds <= SECONDS

        def sendall(self, data: bytes) -> None:
            sizes.append(len(data))
            clock.now += 1.0

    connection = connections._Connection("127.0.0.1", 9)
    connection.begin(connections.Deadline(SECONDS, clock))
    monkeypatch.setattr(connection, "sock", Slow())
    with pytest.raises(TimeoutError, match="over"):
        connection.send(b" " * (1 << 24))
    assert len(sizes) <= SECONDS
    assert max(sizes) <= 1 << 14

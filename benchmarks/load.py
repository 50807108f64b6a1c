"""A load generator for one address: many connections, each one request at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import cast

__all__ = ["Load", "post", "run_load"]


@dataclass(slots=True)
class Load:
    """What a run of requests found."""

    seconds: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Requests answered with 200 a second."""
        return self.statuses.get(200, 0) / self.seconds

    def quantile(self, q: float) -> float:
        """Return a quantile of the latencies in seconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def post(path: str, media: str, body: bytes) -> bytes:
    """Return a request as it travels."""
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media}\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Connection(asyncio.Protocol):
    def __init__(
        self, requests: Iterator[bytes], load: Load, done: asyncio.Future[None],
        interval: float, start: float,
    ) -> None:  # fmt: skip
        self._requests = requests
        self._load = load
        self._done = done
        self._interval = interval
        self._due = start
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class
        self._schedule()

    def _schedule(self) -> None:
        """Send at once or, at a fixed rate, when the next request is due."""
        now = time.perf_counter()
        if self._interval and now < self._due:
            asyncio.get_running_loop().call_later(self._due - now, self._send)
        else:
            self._send()

    def _send(self) -> None:
        request = next(self._requests, None)
        assert self._transport is not None
        if request is None:
            self._transport.close()
            if not self._done.done():
                self._done.set_result(None)
            return
        # At a fixed rate latency counts from when the request was due, not when it got its turn.
        self._start = self._due if self._interval else time.perf_counter()
        self._due += self._interval
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        place = head.lower().find(b"content-length:")
        length = int(head[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0
        if len(rest) < length:
            return
        status = int(head[9:12])
        self._load.latencies.append(time.perf_counter() - self._start)
        self._load.statuses[status] = self._load.statuses.get(status, 0) + 1
        self._buffer = b""
        self._schedule()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(exc or ConnectionError("closed by the server"))


async def _run(
    port: int, requests: Iterator[bytes], connections: int, rate: float, load: Load
) -> None:
    loop = asyncio.get_running_loop()
    interval = connections / rate if rate else 0.0
    waiting: list[asyncio.Future[None]] = []
    start = time.perf_counter()
    for place in range(connections):
        done: asyncio.Future[None] = loop.create_future()
        waiting.append(done)
        due = start + interval * place / connections
        make = partial(_Connection, requests, load, done, interval, due)
        await loop.create_connection(make, "127.0.0.1", port)
    await asyncio.gather(*waiting)
    load.seconds = time.perf_counter() - start


def run_load(
    port: int,
    make_requests: Callable[[], Iterator[bytes]],
    connections: int,
    rate: float = 0.0,
) -> Load:
    """Send all requests over some connections, as fast as they are answered or at a rate."""
    import uvloop

    load = Load()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(port, make_requests(), connections, rate, load))
    return load

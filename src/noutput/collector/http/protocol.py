"""HTTP on a connection, with limits on the head of a request that uvicorn does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from noutput.collector.http.connections import Connections
from noutput.collector.http.headers import SHARED
from noutput.collector.http.limits import Limits, RateLimiter
from noutput.collector.http.problems import ProblemError, refusal
from noutput.collector.metrics import Metrics

if TYPE_CHECKING:
    import asyncio
    from collections import Counter
    from collections.abc import Mapping

__all__ = ["limited_protocol"]


# What a client is at fault for, and pays for with its rate.
_FAULTS = frozenset({"bad-request", "head-too-large"})
_HOLD_SECONDS = 0.25


def limited_protocol(
    limits: Limits,
    limiter: RateLimiter | None = None,
    metrics: Metrics | None = None,
    *,
    hold: bool = True,
) -> type[asyncio.Protocol]:
    """Return a protocol for uvicorn that keeps to the limits.

    Parameters
    ----------
    limits : Limits
    limiter : RateLimiter, optional
        Gets a request for every one that is refused here, outside of the application.
    metrics : Metrics, optional
        Counts them.
    hold : bool
        Whether connections of a client that sends too much are held. Not behind a proxy, whose
        connections are those of all clients.
    """

    class LimitedProtocol(_LimitedProtocol):
        header_bytes = limits.header_bytes
        header_seconds = limits.header_seconds
        body_seconds = limits.body_seconds
        registry = Connections(limits.connections)
        rate_limiter = limiter or RateLimiter(0.0, 1)
        holds = hold
        refused = (metrics or Metrics()).refused

    return LimitedProtocol


class _JoinedWrites:
    """A transport that sends the head and the body of an answer in one piece.

    uvicorn writes them one after the other, and each would be a call of the system of its own.
    """

    __slots__ = ("_loop", "_pieces", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._pieces:
            self._loop.call_soon(self.flush)
        self._pieces.append(data)

    def flush(self) -> None:
        if self._pieces:
            if not self._transport.is_closing():
                self._transport.write(b"".join(self._pieces))
            self._pieces.clear()

    def close(self) -> None:
        self.flush()
        self._transport.close()


class _LimitedProtocol(HttpToolsProtocol):
    """Closes connections on which a request is too slow to arrive, or its head too large.

    The time begins with the connection, and with the first byte of every further request. A
    request that comes in one piece, as nearly all do, needs no timer. An answer that nobody
    reads has as much time as a body.

    Where a client has used up its rate, its next request is not looked at, and refused after a
    quarter of a second: so many refusals per second and connection, however fast a client sends.
    Connections that are held make room for others, as those that wait do.
    """

    header_bytes: int
    header_seconds: float
    body_seconds: float
    registry: Connections
    rate_limiter: RateLimiter
    holds: bool
    refused: Counter[str]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = True
        self._in_body = False
        self._head_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._held: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast("asyncio.Transport", _JoinedWrites(transport, self.loop)))
        if self.registry.opened(self):
            self._timer = self.loop.call_later(self.header_seconds, self._too_slow, "head")
        else:
            detail = f"{self.registry.most} connections are open; try again"
            self._refuse("unavailable", detail, {"Retry-After": "5"})

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_unread()
        if self._held is not None:
            self._held.cancel()
        self.registry.closed(self)
        super().connection_lost(exc)

    def give_way(self) -> None:
        """Close at once, so that somebody else can connect."""
        self.transport.abort()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self.body_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_unread()

    def data_received(self, data: bytes) -> None:
        if self._held is not None:
            return
        if self._is_idle() and self._sends_too_much():
            self.flow.pause_reading()
            self._stop_timer()
            self._held = self.loop.call_later(_HOLD_SECONDS, self._refuse_rate)
            return
        super().data_received(data)
        self._head_bytes = self._head_bytes + len(data) if self._in_head else 0
        if self._head_bytes > self.header_bytes:
            self._refuse("head-too-large", f"send at most {self.header_bytes} bytes")
        elif self._timer is None and (self._in_head or self._in_body):
            part = "head" if self._in_head else "body"
            seconds = self.header_seconds if self._in_head else self.body_seconds
            self._timer = self.loop.call_later(seconds, self._too_slow, part)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._in_body = True
        self._stop_timer()
        self.registry.waits(self)  # for the body, and not as long as others
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.header_bytes:
            self._refuse("head-too-large", f"send at most {self.header_bytes} bytes")
            raise ValueError("the head is too large")  # ends the parser
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        self._stop_timer()
        answered = self.cycle.response_complete  # it was refused before it had arrived
        (self.registry.waits if answered else self.registry.works)(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self.pipeline and self._sends_too_much():
            self.transport.close()  # it has sent further requests before it was answered
        super().on_response_complete()
        if not self.pipeline and not self.transport.is_closing():
            self.registry.waits(self)

    def _is_idle(self) -> bool:
        """Say whether the next byte begins a request, and none before waits for its answer."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        between = not self._in_body and not (self._in_head and self._head_bytes)
        return between and (cycle is None or cycle.response_complete)

    def _refuse_rate(self) -> None:
        seconds = max(1, self.rate_limiter.wait(self._client_address()))
        self._refuse("too-many-requests", f"wait {seconds} s", {"Retry-After": str(seconds)})

    def _sends_too_much(self) -> bool:
        return self.holds and self.rate_limiter.is_used_up(self._client_address())

    def _client_address(self) -> str:
        return self.client[0] if self.client else ""

    def send_400_response(self, msg: str) -> None:
        self._refuse("bad-request", msg)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _too_slow(self, part: str) -> None:
        self._timer = None
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None before the first request
        if cycle is not None and cycle.response_started and not cycle.response_complete:
            self.transport.close()
        else:
            self._refuse("request-timeout", f"the {part} of the request took too long to arrive")

    def _refuse(self, name: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        """Answer outside of the application, and close."""
        if self.transport.is_closing():
            return
        self._stop_timer()
        self.refused[name] += 1
        if name in _FAULTS and self.rate_limiter.wait(self._client_address()):
            self.transport.close()  # it knows by now
            return
        # Shared, whatever was asked for: a page of another origin may read all of this answer.
        every = {**SHARED, **(headers or {}), "Connection": "close"}
        answer = refusal(ProblemError(name, detail), every)
        lines = [f"HTTP/1.1 {answer.status_code} {name}".encode()]
        lines += [b"%s: %s" % header for header in answer.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", answer.body]))
        self.transport.close()

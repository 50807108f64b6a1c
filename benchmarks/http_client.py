"""A small HTTP client: one request from any address of loopback, its time and its status."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from benchmarks.load import post

__all__ = ["Answers", "ask", "exchange", "get", "post"]


def get(path: str, *headers: str) -> bytes:
    """Return a GET request as it travels."""
    lines = [f"GET {path} HTTP/1.1", "host: localhost", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


@dataclass(slots=True)
class Answers:
    """Times of requests in seconds, and how often each status came; 0 stands for no answer."""

    seconds: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)

    def note(self, seconds: float, status: int, *, failed: bool = False) -> None:
        """Keep one request; a failed one counts as endless."""
        self.seconds.append(float("inf") if failed else seconds)
        self.statuses[status] = self.statuses.get(status, 0) + 1

    def quantile(self, q: float) -> float:
        """Return a quantile of the times; NaN without a request."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else float("nan")


async def ask(
    port: int, request: bytes, source: str, patience: float, since: float | None = None
) -> tuple[float, int]:
    """Send a request over a connection of its own; return the seconds it took, and the status.

    The time counts from `since`, when the request was due, and not from when it got its turn.
    """
    start = time.perf_counter() if since is None else since
    try:
        async with asyncio.timeout(patience):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, local_addr=(source, 0)
            )
            try:
                status, _ = await exchange(reader, writer, request)
            finally:
                writer.close()
    except (TimeoutError, OSError, asyncio.IncompleteReadError, ValueError):
        status = 0
    return time.perf_counter() - start, status


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> tuple[int, bytes]:
    """Send a request over an open connection; return the status and the headers of the answer."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            await reader.readexactly(int(line.partition(b":")[2]))
    return int(head[9:12]), head

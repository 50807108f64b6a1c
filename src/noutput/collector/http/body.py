"""Reading the body of a request within limits of size and time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from noutput.collector.http.problems import ProblemError

if TYPE_CHECKING:
    from starlette.types import Message, Receive

__all__ = ["LARGE_BODY", "ClientGoneError", "declared_size", "has_large_body", "read_body"]

LARGE_BODY = 1 << 16  # bytes


class ClientGoneError(Exception):
    """The client went away before its request was complete."""


async def read_body(
    receive: Receive, headers: list[tuple[bytes, bytes]], limit: int, seconds: float
) -> bytes:
    """Return a body of at most `limit` bytes that arrives within `seconds`.

    Raises
    ------
    ProblemError
        "body-too-large", as soon as that is known, or "request-timeout". The connection is
        closed after both, so that the rest need not be read.
    """
    if (declared_size(headers, limit) or 0) > limit:
        raise _too_large(limit)
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        piece: bytes = message.get("body", b"")
        if len(piece) > limit:
            raise _too_large(limit)
        return piece
    try:
        async with asyncio.timeout(seconds):
            return await _read(message, receive, limit)
    except TimeoutError:
        detail = f"the body did not arrive within {seconds:g} seconds"
        raise ProblemError("request-timeout", detail, {"Connection": "close"}) from None


def declared_size(headers: list[tuple[bytes, bytes]], limit: int) -> int | None:
    """Return the size that the headers of a request declare, None where they do not.

    Numbers beyond the limit may have more digits than `int` reads; they become one that is too
    large as well.

    Examples
    --------
    >>> declared_size([(b"content-length", b"9" * 5000)], 1024), declared_size([], 1024)
    (1025, None)
    """
    for name, value in headers:
        if name == b"content-length" and value.isdigit():
            digits = value.lstrip(b"0") or b"0"
            return limit + 1 if len(digits) > len(str(limit)) else int(digits)
    return None


def has_large_body(headers: list[tuple[bytes, bytes]]) -> bool:
    """Say whether a request declares a body of more than 64 KiB, or one of unknown size.

    Examples
    --------
    >>> has_large_body([(b"content-length", b"65537")]), has_large_body([])
    (True, False)
    """
    if any(name == b"transfer-encoding" for name, _ in headers):
        return True
    return (declared_size(headers, LARGE_BODY) or 0) > LARGE_BODY


async def _read(message: Message, receive: Receive, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while message["type"] == "http.request":
        piece: bytes = message.get("body", b"")
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        if not message.get("more_body", False):
            return b"".join(pieces)
        message = await receive()
    raise ClientGoneError


def _too_large(limit: int) -> ProblemError:
    detail = f"the body must have at most {limit} bytes"
    return ProblemError("body-too-large", detail, {"Connection": "close"})

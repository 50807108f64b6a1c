"""The issuer's two addresses, as RFC 9578 describes them."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from noutput.campaign.enrollment import DIRECTORY_PATH, REQUEST_TYPE, RESPONSE_TYPE

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from noutput.issuer.keys import IssuerKey

__all__ = ["Admit", "Issuer"]

Admit: TypeAlias = Callable[[str, bytes], bool]

_REQUEST_PATH = "/token-request"
_DIRECTORY_TYPE = "application/private-token-issuer-directory"
_TYPE = 2
_SIZE = 2 + 1 + 256  # bytes of a request: the type, the end of the key's id, what is signed
_WAITING = 64  # requests; more are told to come back
_log = logging.getLogger("noutput.issuer")
_SHARED = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-headers", b"authorization, content-type"),
    (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]


class _RefusalError(Exception):
    """A request that is not signed."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Issuer:
    """An ASGI application that signs tokens for whoever a hook admits.

    Parameters
    ----------
    key : IssuerKey
    admit : callable
        Gets the credential of the ``Authorization`` header (what follows ``Bearer``, or an empty
        text) and 32 bytes that are the same for the same request; returns True for one to sign,
        and anything else for others. Where a credential admits one person once, it must admit the
        same request again: a person whose connection broke repeats it.

    Guarantees
    ----------
    A request is signed after `admit` returned True for it. Nothing about requests is logged or
    kept, apart from what `admit` keeps: where it fails, the log has the kind of error and its line.
    """

    def __init__(self, key: IssuerKey, admit: Admit) -> None:
        self._key = key
        self._admit = admit
        self._threads = ThreadPoolExecutor(1, "noutput-issuer")
        self._waiting = 0
        entry = {"token-type": _TYPE, "token-key": key.public}
        content = {"issuer-request-uri": _REQUEST_PATH, "token-keys": [entry]}
        self._directory = json.dumps(content).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            status, kind, body = await self._answer(scope, receive)
        except _RefusalError as error:
            status, kind = error.status, "application/problem+json"
            body = json.dumps({"status": status, "title": str(error)}).encode()
        headers = [*_SHARED, (b"content-length", b"%d" % len(body))]
        if kind:
            headers.append((b"content-type", kind.encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[int, str, bytes]:
        method, path = scope["method"], scope["path"]
        if path not in (DIRECTORY_PATH, _REQUEST_PATH):
            raise _RefusalError(404, "there is nothing at this address")
        if method == "OPTIONS":
            return 204, "", b""
        if path == DIRECTORY_PATH and method in ("GET", "HEAD"):
            return 200, _DIRECTORY_TYPE, self._directory if method == "GET" else b""
        if path == DIRECTORY_PATH or method != "POST":
            raise _RefusalError(405, "the address does not know this method")
        headers = dict(scope["headers"])
        if headers.get(b"content-type", b"").decode("latin-1").strip().lower() != REQUEST_TYPE:
            raise _RefusalError(415, f"the content type must be {REQUEST_TYPE}")
        blinded, body = self._read(await _body(receive))
        credential = headers.get(b"authorization", b"").decode("latin-1")
        scheme, _, rest = credential.partition(" ")
        text = rest.strip() if scheme.lower() == "bearer" else ""
        if self._waiting >= _WAITING:
            raise _RefusalError(503, "too many requests wait; try again")
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            signed = await loop.run_in_executor(self._threads, self._sign, text, body, blinded)
        finally:
            self._waiting -= 1
        return 200, RESPONSE_TYPE, signed

    def _read(self, body: bytes) -> tuple[int, bytes]:
        """Return what is to be signed; RFC 9578, 6.2."""
        if len(body) != _SIZE or int.from_bytes(body[:2]) != _TYPE or body[2] != self._key.id[-1]:
            raise _RefusalError(422, "the body must be a token request of type 2 for this key")
        blinded = int.from_bytes(body[3:])
        if not 0 < blinded < self._key.modulus:
            raise _RefusalError(422, "the blinded message must be below the modulus")
        return blinded, body

    def _sign(self, credential: str, body: bytes, blinded: int) -> bytes:
        if not self._admits(credential, sha256(body).digest()):
            raise _RefusalError(401, "the issuer does not admit this request")
        return self._key.sign(blinded).to_bytes(256)

    def _admits(self, credential: str, request: bytes) -> bool:
        """Ask the hook; what it says where it fails may name the person, and goes nowhere."""
        try:
            return self._admit(credential, request) is True  # a text or a coroutine is true, too
        except Exception as error:  # noqa: BLE001 (whatever it is, nobody is admitted)
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}, line {place.lineno}"
            _log.error("the hook failed with %s (%s)", type(error).__name__, where)
        raise _RefusalError(503, "the issuer cannot tell whom it admits; try again")


async def _body(receive: Receive) -> bytes:
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _RefusalError(400, "the request ended early")
        data += message.get("body", b"")
        if len(data) > _SIZE:
            raise _RefusalError(413, f"the body must have {_SIZE} bytes")
        if not message.get("more_body"):
            return bytes(data)

"""Rate limits, preflights and security headers: what every request passes first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from starlette.requests import Request

from noutput.collector.http.access import wants_page
from noutput.collector.http.body import has_large_body
from noutput.collector.http.headers import PLAIN, PREFLIGHT, SHARED, RawHeaders, add, raw
from noutput.collector.http.problems import ProblemError
from noutput.collector.lanes import CLIENT

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from noutput.collector.services import Services

__all__ = ["Guard"]

_WIRE = re.compile("/campaigns/([^/]+)(/reports)?")
_PLAIN, _SHARED = raw(PLAIN), raw(SHARED)


class Guard:
    """The application as a server calls it: rate limits, preflights and security headers.

    Requests with reports go straight to their route, which a router would delay by a tenth of
    all that a report costs; all others go to the framework.

    Attributes
    ----------
    services : Services
    """

    def __init__(self, app: ASGIApp, reports: ASGIApp, services: Services) -> None:
        self.services = services
        self._app = app
        self._reports = reports
        self._limiter = services.limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 429."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        # Hashed once: the limit of reports and the queues of lanes take the same name.
        name = self._limiter.name(client[0] if client else "")
        CLIENT.set(name)
        seconds = self._limiter.wait(name)
        found = _WIRE.fullmatch(scope["path"])
        reports = found is not None and found[2] is not None
        shared = reports or (found is not None and _is_document(scope))
        if seconds:
            headers = {"Retry-After": str(seconds)}
            if has_large_body(scope["headers"]):  # which is not read then
                headers["Connection"] = "close"
            error = ProblemError("too-many-requests", f"wait {seconds} s", headers)
            answer = self.services.refuse(error, SHARED if shared else PLAIN)
            await answer(scope, receive, send)
        elif shared and scope["method"] == "OPTIONS":
            await _allow(send, "OPTIONS, POST" if reports else "GET, OPTIONS")
        elif found is not None and reports:
            scope["path_params"] = {"id": found[1]}
            await self._reports(scope, receive, send)
        else:
            await self._app(scope, receive, _guarded(send, _SHARED if shared else _PLAIN))


def _is_document(scope: Scope) -> bool:
    """Say whether the campaign document is asked for, by a device or by a page of any origin."""
    method = scope["method"]
    return method == "OPTIONS" or (method in ("GET", "HEAD") and not wants_page(Request(scope)))


async def _allow(send: Send, methods: str) -> None:
    """Answer a preflight: whether there is such a campaign, the request itself will say."""
    headers = raw({"Allow": methods, **PREFLIGHT})
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _guarded(send: Send, more: RawHeaders) -> Send:
    """Put headers on every answer that has none of its own."""

    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            message = {**message, "headers": add(headers, more)}
        await send(message)

    return wrapped

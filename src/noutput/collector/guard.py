"""What every request passes first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from noutput.collector.limits import RateLimiter
from noutput.collector.problems import PROBLEM_TYPE, PROBLEMS, render

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from noutput.collector.services import Services

__all__ = ["Guard"]

# What an answer that is no page is sent with: it must not be run, drawn or framed as one.
_PLAIN = [
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
]
_REPORTS = re.compile("/campaigns/([^/]+)/reports")


class Guard:
    """The application as a server calls it: refuses clients that send too many requests.

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
        self._metrics = services.metrics
        limits = services.limits
        self._limiter = RateLimiter(limits.requests_per_second, limits.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 429."""
        if scope["type"] == "http":
            client = scope.get("client")
            seconds = self._limiter.wait(client[0] if client else "")
            if seconds:
                await self._refuse(seconds, send)
                return
            found = _REPORTS.fullmatch(scope["path"])
            if found is not None:
                scope["path_params"] = {"id": found[1]}
                await self._reports(scope, receive, send)
                return
            send = _guarded(send)
        await self._app(scope, receive, send)

    async def _refuse(self, seconds: int, send: Send) -> None:
        problem = PROBLEMS["too-many-requests"]
        self._metrics.refused[problem.name] += 1
        content = render(problem, f"wait {seconds} s")
        headers = [
            (b"content-type", PROBLEM_TYPE.encode()),
            (b"content-length", b"%d" % len(content)),
            (b"retry-after", b"%d" % seconds),
            *_PLAIN,
        ]
        start = {"type": "http.response.start", "status": problem.status, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": content})


def _guarded(send: Send) -> Send:
    """Put the policy on every answer that has none of its own."""

    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            if all(name != _PLAIN[0][0] for name, _ in headers):
                message = {**message, "headers": [*headers, *_PLAIN]}
        await send(message)

    return wrapped

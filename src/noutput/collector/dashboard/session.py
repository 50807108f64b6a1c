"""Signing in: a token, given once, that the browser keeps where no script can read it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from noutput.collector.http.access import COOKIE
from noutput.collector.http.auth import SIGNED_IN, browser_token, recognize
from noutput.collector.http.body import read_body
from noutput.collector.http.problems import ProblemError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from noutput.collector.services import Services
    from noutput.collector.store.interface import TokenRow

__all__ = ["end", "forget", "keep", "read_form", "safe_path", "token_to_keep"]

_FORM_BYTES = 4096
_SECONDS = int(SIGNED_IN.total_seconds())
_OWN = ("same-origin", "none")


async def read_form(request: Request, services: Services) -> dict[str, str]:
    """Return the fields of a form of this site.

    Raises
    ------
    ProblemError
        If another site sent the form, or it is none.
    """
    _check_origin(request)
    headers = request.scope["headers"]
    limit = services.limits.body_seconds
    body = await read_body(request.receive, headers, _FORM_BYTES, limit)
    try:
        fields = parse_qs(body.decode(), max_num_fields=8, strict_parsing=False)
    except (UnicodeDecodeError, ValueError):
        raise ProblemError("bad-request", "the form cannot be read") from None
    return {name: values[-1] for name, values in fields.items()}


def _check_origin(request: Request) -> None:
    """Refuse a form that another site sent: it could sign its visitors in as somebody else."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:
        own = site in _OWN
    else:  # an old browser, or a page without https
        own = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    if not own:
        raise ProblemError("bad-request", "the form came from another site")


async def token_to_keep(services: Services, text: str) -> str | None:
    """Return what a browser may keep for a token that somebody gave, or None for a wrong one.

    Notes
    -----
    An admin token is not kept in a browser: a new read token takes its place.
    """
    given = text.strip()
    store, now = services.store, services.clock()
    row = await services.lanes.store.run(recognize, store, f"Bearer {given}", now)
    if row is None or row.kind == "metrics":
        return None
    if row.kind == "read":
        return given
    return await services.lanes.store.run(browser_token, store, row, now)


async def end(services: Services, token: TokenRow | None) -> None:
    """Delete the token of a browser, unless it is one that somebody was given."""
    if token is not None and token.parent is not None:
        await services.lanes.store.run(services.store.delete_token, token.id)


def keep(request: Request, response: Response, token: str) -> None:
    """Let the browser keep a token for 30 days, for this site only and out of scripts' reach."""
    secure = request.url.scheme == "https"
    response.set_cookie(
        COOKIE, token, max_age=_SECONDS, httponly=True, secure=secure, samesite="strict"
    )


def forget(request: Request, response: Response) -> None:
    """Let the browser forget its token."""
    secure = request.url.scheme == "https"
    response.delete_cookie(COOKIE, httponly=True, secure=secure, samesite="strict")


def safe_path(path: str | None) -> str:
    """Return where to go after signing in: a path of this site, else the front page.

    Examples
    --------
    >>> safe_path("/campaigns/commute?question=minutes")
    '/campaigns/commute?question=minutes'
    >>> safe_path("//evil.example"), safe_path("https://evil.example"), safe_path(None)
    ('/', '/', '/')
    """
    text = path or ""
    plain = text.isascii() and text.isprintable() and "\\" not in text
    return text if plain and text.startswith("/") and not text.startswith("//") else "/"

"""Response headers: security policies, and which answers pages of other origins may read (CORS)."""

from __future__ import annotations

from typing import Final, TypeAlias

__all__ = ["OWN", "PAGE", "PLAIN", "PREFLIGHT", "SHARED", "RawHeaders", "add", "raw"]

RawHeaders: TypeAlias = list[tuple[bytes, bytes]]

_NOTHING = "default-src 'none'; frame-ancestors 'none'"
_SAME_ORIGIN = {
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

# Pages for people: files of this site only, no script or style inside a page, no frame around it.
PAGE: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    **_SAME_ORIGIN,
}

# Answers that are no pages, refusals among them: not to be run, drawn or framed as one.
PLAIN: Final = {"Content-Security-Policy": _NOTHING, "X-Content-Type-Options": "nosniff"}

# Tables, pictures, style sheets, scripts, redirects: no pages either, and for this site's own only.
OWN: Final = {**PLAIN, **_SAME_ORIGIN}

# The two routes of the wire format: pages of any origin may read the answer, without credentials.
SHARED: Final = {
    **PLAIN,
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Retry-After",
}
PREFLIGHT: Final = {
    **SHARED,
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "7200",
}


def raw(headers: dict[str, str]) -> RawHeaders:
    """Return headers as ASGI wants them.

    Examples
    --------
    >>> raw({"Retry-After": "1"})
    [(b'retry-after', b'1')]
    """
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


def add(headers: RawHeaders, more: RawHeaders) -> RawHeaders:
    """Return headers and those of `more` that they do not have.

    Examples
    --------
    >>> add([(b"etag", b"1")], [(b"etag", b"2"), (b"vary", b"Accept")])
    [(b'etag', b'1'), (b'vary', b'Accept')]
    """
    known = {name for name, _ in headers}
    return [*headers, *(each for each in more if each[0] not in known)]

"""Answers that people read: a template, and headers that forbid everything else."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from noutput import __version__
from noutput.collector.dashboard import words
from noutput.collector.dashboard.assets import templates
from noutput.collector.http.headers import PAGE

if TYPE_CHECKING:
    from starlette.requests import Request

    from noutput.collector.http.problems import ProblemError

__all__ = ["error_page", "page", "tag_of", "unchanged"]

_PRIVATE = {"Cache-Control": "private, no-cache", "Vary": "Accept, Cookie"}


def page(
    name: str,
    values: dict[str, Any],
    status: int = 200,
    *,
    tag: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """Fill in a template.

    Parameters
    ----------
    name : str
        The template's file name.
    values : dict
        What it needs, with `path` (of the page) and `signed_in` for the frame of all pages.
    status : int
    tag : str, optional
        Changes whenever the page does.
    headers : dict, optional
        More of them.
    """
    text = templates().get_template(name).render(words=words, **values)
    more = {"ETag": tag} if tag else {}
    return Response(text, status, {**PAGE, **_PRIVATE, **more, **(headers or {})}, "text/html")


def tag_of(*parts: object) -> str:
    """Return a short text that is another one where any part is, or the version of the pages."""
    return f'"{hashlib.sha256(repr((__version__, parts)).encode()).hexdigest()[:24]}"'


def unchanged(request: Request, tag: str) -> Response | None:
    """Return the answer for a browser that has this very page, else None."""
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={**PAGE, **_PRIVATE, "ETag": tag})
    return None


def error_page(error: ProblemError) -> Response:
    """Return a refusal as a page."""
    values = {"problem": error.problem, "detail": error.detail, "path": "/", "signed_in": False}
    return page("error.html", values, error.problem.status, headers=error.headers)

"""Answers that people read: a template, and headers that forbid everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from noutput.collector.dashboard import words
from noutput.collector.dashboard.assets import templates
from noutput.collector.http.headers import PAGE

if TYPE_CHECKING:
    from starlette.requests import Request

    from noutput.collector.cache import Answer
    from noutput.collector.http.problems import ProblemError

__all__ = ["answer", "error_page", "page", "render"]

_PRIVATE = {"Cache-Control": "private, no-cache", "Vary": "Accept, Cookie"}


def render(name: str, values: dict[str, Any]) -> str:
    """Fill in a template.

    Parameters
    ----------
    name : str
        The template's file name.
    values : dict
        What it needs, with `path` (of the page) and `signed_in` for the frame of all pages.
    """
    return templates().get_template(name).render(words=words, **values)


def page(
    name: str,
    values: dict[str, Any],
    status: int = 200,
    *,
    headers: dict[str, str] | None = None,
) -> Response:
    """Answer with a template that is filled in for this one request."""
    more = {**PAGE, **_PRIVATE, **(headers or {})}
    return Response(render(name, values), status, more, "text/html")


def answer(request: Request, found: Answer) -> Response:
    """Answer with a page, or with 304 a browser that has this very page."""
    headers = {**PAGE, **_PRIVATE, "ETag": found.tag}
    if found.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(found.content, 200, headers, "text/html")


def error_page(error: ProblemError) -> Response:
    """Return a refusal as a page."""
    values = {"problem": error.problem, "detail": error.detail, "path": "/", "signed_in": False}
    return page("error.html", values, error.problem.status, headers=error.headers)

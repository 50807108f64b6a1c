"""Refusals as problem documents (RFC 9457): those of the wire format, and those added here."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from starlette.responses import Response

from noutput.campaign.problems import PROBLEMS as WIRE_PROBLEMS
from noutput.campaign.problems import ProblemKind, WireError
from noutput.campaign.wire import PROBLEM_TYPE
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["PROBLEMS", "PROBLEM_TYPE", "ProblemError", "checked_parameters", "refusal"]

PROBLEMS: dict[str, ProblemKind] = {
    **WIRE_PROBLEMS,
    **{
        problem.name: problem
        for problem in (
            ProblemKind("bad-request", 400, "The request is not valid HTTP."),
            ProblemKind("token-required", 401, "A token is needed, and a valid one."),
            ProblemKind("token-not-sufficient", 403, "The token does not allow this."),
            ProblemKind("not-found", 404, "There is nothing at this address."),
            ProblemKind("unknown-token", 404, "There is no token of this id."),
            ProblemKind("method-not-allowed", 405, "The address does not know this method."),
            ProblemKind("campaign-exists", 409, "Another campaign has this id."),
            ProblemKind("invalid-campaign", 422, "The document is not a campaign that is private."),
            ProblemKind("invalid-parameter", 422, "A parameter breaks its rule."),
            ProblemKind("head-too-large", 431, "The head of the request is too large."),
            ProblemKind("internal-error", 500, "The collector made a mistake."),
        )
    },
}


class ProblemError(Exception):
    """What a route raises to refuse a request.

    Parameters
    ----------
    name : str
        The last part of the problem's type.
    detail : str
        What is wrong with this request.
    headers : mapping, optional
        Such as ``Retry-After``.

    Examples
    --------
    >>> ProblemError("unknown-campaign", "there is no campaign 'x'").problem.status
    404
    """

    def __init__(self, name: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.problem = PROBLEMS[name]
        self.detail = detail
        self.headers = dict(headers or {})

    @classmethod
    def of(cls, error: WireError) -> ProblemError:
        """Turn what a body broke into what the client is told."""
        headers = {"Connection": "close"} if error.problem.name == "body-too-large" else None
        return cls(error.problem.name, str(error), headers)


@contextmanager
def checked_parameters() -> Iterator[None]:
    """Refuse a request whose parameters break their rules."""
    try:
        yield
    except InvalidArgumentError as error:
        raise ProblemError("invalid-parameter", str(error)) from None


def refusal(error: ProblemError, more: Mapping[str, str] | None = None) -> Response:
    """Return a refusal as a problem document, with the error's headers and more of them.

    Examples
    --------
    >>> refusal(ProblemError("unknown-token", "there is no token 'x'")).body
    b'{"type": "urn:noutput:problem:unknown-token", "title": "There is no token of this id.", ...
    """
    problem = error.problem
    content = {
        "type": problem.type,
        "title": problem.title,
        "status": problem.status,
        "detail": error.detail,
    }
    headers = {**error.headers, **(more or {})}
    return Response(json.dumps(content).encode(), problem.status, headers, PROBLEM_TYPE)

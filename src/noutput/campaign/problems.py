"""What a collector may answer instead of counting: the problem documents of the wire format."""

from __future__ import annotations

from dataclasses import dataclass

from noutput.errors import DocumentError

__all__ = ["PROBLEMS", "URN", "Problem", "WireError"]

URN = "urn:noutput:problem:"


@dataclass(frozen=True, slots=True)
class Problem:
    """One kind of problem document (RFC 9457).

    Parameters
    ----------
    name : str
        The last part of its type.
    status : int
        The HTTP status that goes with it.
    title : str
        What it means.
    """

    name: str
    status: int
    title: str

    @property
    def type(self) -> str:
        """The type that identifies the problem."""
        return URN + self.name


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("malformed-body", 400, "The body is not what its content type promises."),
        Problem("unknown-campaign", 404, "There is no campaign of this id."),
        Problem("request-timeout", 408, "The request took too long to arrive."),
        Problem("wrong-fingerprint", 409, "The report answers another version of the campaign."),
        Problem("campaign-not-open", 403, "The campaign is not open now."),
        Problem("body-too-large", 413, "The body is larger than its content type allows."),
        Problem("unsupported-media-type", 415, "The content type is none of the wire format."),
        Problem("unknown-attribute", 422, "The campaign has no such attribute."),
        Problem("unknown-output", 422, "The campaign's table has no such output."),
        Problem("repeated-id", 422, "Two reports of the batch have the same id."),
        Problem("too-many-requests", 429, "Too many requests; see Retry-After."),
        Problem("unavailable", 503, "The collector cannot count now; see Retry-After."),
    )
}


class WireError(DocumentError):
    """A body breaks the wire format.

    Parameters
    ----------
    problem : str
        The name of the `Problem` that the collector answers with.
    name, rule, found
        As in `InvalidArgumentError`.
    """

    def __init__(self, problem: str, name: str, rule: str, found: object) -> None:
        super().__init__(name, rule, found)
        self.problem = PROBLEMS[problem]

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problem.name, self.name, self.rule, self.found)

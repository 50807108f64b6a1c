"""Problem documents (RFC 9457) of the wire format: what a collector answers instead of counting."""

from __future__ import annotations

from dataclasses import dataclass

from noutput.errors import DocumentError

__all__ = ["PROBLEMS", "URN", "ProblemKind", "WireError"]

URN = "urn:noutput:problem:"


@dataclass(frozen=True, slots=True)
class ProblemKind:
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
        ProblemKind("malformed-body", 400, "The body is not what its content type promises."),
        ProblemKind("unknown-campaign", 404, "There is no campaign of this id."),
        ProblemKind("request-timeout", 408, "The request took too long to arrive."),
        ProblemKind(
            "wrong-fingerprint", 409, "The report answers another version of the campaign."
        ),
        ProblemKind("invalid-token", 403, "A token does not admit its report to this campaign."),
        ProblemKind("campaign-not-open", 403, "The campaign is not open now."),
        ProblemKind("body-too-large", 413, "The body is larger than its content type allows."),
        ProblemKind("unsupported-media-type", 415, "The content type is none of the wire format."),
        ProblemKind("unknown-question", 422, "The campaign has no such question."),
        ProblemKind("unknown-output", 422, "The question's table has no such output."),
        ProblemKind("unknown-label", 422, "The campaign's segments have no such label."),
        ProblemKind("unknown-round", 422, "The campaign's schedule has no such round."),
        ProblemKind("round-not-begun", 403, "The round of the report has not begun."),
        ProblemKind("round-over", 403, "The round of the report and its grace time are over."),
        ProblemKind("repeated-id", 422, "Two reports of the batch have the same id."),
        ProblemKind("too-many-requests", 429, "Too many requests; see Retry-After."),
        ProblemKind("too-many-reports", 429, "Too many reports of one client; see Retry-After."),
        ProblemKind(
            "campaign-limit", 429, "More reports than the campaign expects; see Retry-After."
        ),
        ProblemKind("unavailable", 503, "The collector cannot count now; see Retry-After."),
    )
}


class WireError(DocumentError):
    """A body breaks the wire format.

    Parameters
    ----------
    problem : str
        The name of the `ProblemKind` that the collector answers with.
    name, rule, found
        As in `InvalidArgumentError`.
    """

    def __init__(self, problem: str, name: str, rule: str, found: object) -> None:
        super().__init__(name, rule, found)
        self.problem = PROBLEMS[problem]

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problem.name, self.name, self.rule, self.found)

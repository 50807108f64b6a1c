"""What the visitor of a page asks for: a question, labels, rounds, and how they are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from noutput.collector.comparing import BETWEEN, has_pairs, read_names
from noutput.collector.http.problems import ProblemError, checked_parameters
from noutput.collector.measured import bracketed, check_statistic, statistics
from noutput.collector.strata import Selection
from noutput.errors import InvalidArgumentError
from noutput.questions import Number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.datastructures import QueryParams

    from noutput.campaign.campaign import Campaign
    from noutput.questions import Question

__all__ = ["Asked"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a page is about.

    Parameters
    ----------
    place : int
        The question's place in the campaign.
    name : str, optional
        The question, where the address names it.
    target : float, optional
        The wanted half width of what is followed.
    selection : Selection
        Of labels and rounds.
    by : tuple of str
        The segments whose labels are compared; none without segments.
    statistic : str
        What is compared and followed over rounds: "mean", the label of an answer, or of numbers
        such as "below 45".
    """

    place: int
    name: str | None
    target: float | None
    selection: Selection
    by: tuple[str, ...]
    statistic: str

    @classmethod
    def read(cls, campaign: Campaign, query: QueryParams) -> Asked:
        """Read the parameters of an address.

        Raises
        ------
        ProblemError
            If the campaign has no such question, label, round or statistic.
        """
        name = query.get("question")
        place = 0 if name is None else campaign.question_indexes.get(name)
        if place is None:
            raise ProblemError("not-found", f"the campaign has no question {str(name)[:100]!r}")
        segments = campaign.segments
        with checked_parameters():
            selection = Selection.read(
                segments, filter(None, query.getlist("segment")), _rounds(campaign, query),
                campaign.n_rounds,
            )  # fmt: skip
            by = () if segments is None else read_names(segments, query.getlist("by"))
            statistic = _statistic(campaign.questions[place], query)
        return cls(
            place=place,
            name=name,
            target=_positive(query.get("target")),
            selection=selection,
            by=by,
            statistic=statistic,
        )

    def query(self, campaign: Campaign, **changes: Any) -> str:
        """Return the part of an address that asks for this, with some changes."""
        asked = replace(self, **changes)
        known = statistics(campaign.questions[asked.place])
        first = () if campaign.segments is None else (campaign.segments.names[0][0],)
        pairs: list[tuple[str, str | None]] = [
            ("question", asked.name),
            ("target", None if asked.target is None else f"{asked.target:g}"),
            *asked.strata,
            *(("by", name) for name in asked.by if asked.by != first),
            ("statistic", None if asked.statistic == known[0] else asked.statistic),
        ]
        return asked_for([(name, value) for name, value in pairs if value is not None])

    @property
    def strata(self) -> list[tuple[str, str | None]]:
        """The selected labels and rounds, as addresses name them."""
        labels = [("segment", f"{name}:{label}") for name, label in self.selection.labels]
        rounds = self.selection.rounds
        return [*labels, ("rounds", None if rounds is None else f"{rounds[0]}-{rounds[1]}")]

    def threshold(self, campaign: Campaign) -> str:
        """Return the number below which a share is asked for, as text; nothing where it is none.

        That is for numbers without edges: edges are in a list.
        """
        found = bracketed(campaign.questions[self.place], self.statistic)
        return self.statistic.partition(" ")[2] if found and found.kind == "below" else ""

    @property
    def by_text(self) -> str:
        """The segments whose labels are compared, in words."""
        return BETWEEN.join(self.by)

    def compared_query(self, campaign: Campaign) -> str:
        """Return the parameters of an export of the comparison."""
        labels = tuple(each for each in self.selection.labels if each[0] not in self.by)
        selection = replace(self.selection, labels=labels)
        names = ["question", "by", "segment", "rounds"]
        if self.statistic not in statistics(campaign.questions[self.place]):
            names.append("statistic")  # without it, all others are exported
        query = replace(self, selection=selection).exported(campaign, *names)
        return f"{query}&differences=true" if has_pairs(campaign.segments, self.by) else query

    def exported(self, campaign: Campaign, *names: str) -> str:
        """Return the parameters of an export: the named ones, of those that say something."""
        values: Sequence[tuple[str, str | None]] = [
            ("question", campaign.questions[self.place].name),
            ("statistic", self.statistic),
            *(("by", name) for name in self.by), *self.strata,
        ]  # fmt: skip
        return asked_for([(name, value) for name, value in values if value and name in names])


def asked_for(pairs: Sequence[tuple[str, str]]) -> str:
    """Return parameters as the end of an address; nothing without any."""
    return f"?{urlencode(pairs)}" if pairs else ""


def _rounds(campaign: Campaign, query: QueryParams) -> str | None:
    """Return the rounds that are asked for: as `rounds`, or as a form's first and last."""
    if campaign.schedule is None:
        return None
    first, last = query.get("first", ""), query.get("last", "")
    if query.get("rounds") or not (first or last):
        return query.get("rounds") or None
    return f"{first or 0}-{last or campaign.n_rounds - 1}"


def _statistic(question: Question, query: QueryParams) -> str:
    """Return the statistic that is asked for: by its name, or by the number of a form."""
    below = query.get("below", "").strip()
    if not below:
        return check_statistic(question, query.get("statistic", ""))
    if not isinstance(question, Number):
        raise InvalidArgumentError("below", "be absent: the question has answers", below[:100])
    try:
        return check_statistic(question, f"below {below}")
    except InvalidArgumentError as error:
        rule = error.rule
        if not question.edges:
            rule = f"be a number between {question.lower:g} and {question.upper:g}"
        raise InvalidArgumentError("below", rule, below[:100]) from None


def _positive(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0.0 < number < math.inf else None

"""Routes of campaigns with segments or rounds: comparisons and trends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from noutput.collector.comparing import Compared, comparison, read_names, read_weights
from noutput.collector.estimates import LEVELS, PAGE_LEVEL
from noutput.collector.exports import comparison_csv, trend_csv
from noutput.collector.http.access import Id, MaybeReader, Shared, check_reader
from noutput.collector.http.openapi import refusals
from noutput.collector.http.problems import ProblemError
from noutput.collector.http.strata_models import ComparisonModel, TrendModel
from noutput.collector.measured import check_statistic, of_numbers
from noutput.collector.strata import Selection
from noutput.collector.trending import Followed, Moment, course
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Published
    from noutput.questions import Question

__all__ = ["MOST_LABELS", "ROUNDS", "SEGMENT", "check_level", "read_selection", "router"]

router = APIRouter()
MOST_LABELS = 8
SEGMENT = "A segment's name, a colon and a label, such as platform:ios; no label: who did not tell."
ROUNDS = "The number of a round, or of the first and the last, such as 3-7; all if not given."
_BY = "The segments whose labels make the groups; the first if not given."
_QUESTION = "The name of the question; the first if not given."
_WEIGHT = "The share of a group in a known population, such as ios:0.3."
_CYCLE = "The length of a cycle, in rounds: 7 for days with weekends."
_STATISTIC = (
    '"mean", the label of an answer whose share is wanted, or of numbers "below X" (a share) or '
    '"quantile P"; the first that there is.'
)
_COMPARED = (
    'One statistic alone: "mean", the label of an answer, or of numbers "below X" (a share) or '
    '"quantile P"; all means and shares of answers if not given.'
)
_LEVELS: dict[str, Any] = {"enum": list(LEVELS)}
_REFUSALS = refusals(
    "unknown-campaign", "token-required", "token-not-sufficient", "invalid-parameter"
)
_CSV = {"content": {"text/csv": {"schema": {"type": "string"}}}}

Rounds = Annotated[str | None, Query(max_length=9, description=ROUNDS)]
Level = Annotated[float, Query(description="Of the intervals.", json_schema_extra=_LEVELS)]
Asked = Annotated[str | None, Query(max_length=64, description=_QUESTION)]
Format = Annotated[Literal["json", "csv"], Query()]


@router.get(
    "/campaigns/{id}/segments",
    responses={
        200: {"model": ComparisonModel, "description": "Groups and their differences.", **_CSV},
        **_REFUSALS,
    },
    response_class=Response,
    tags=["campaigns"],
)  # fmt: skip
async def get_segments(
    campaign_id: Id,
    services: Shared,
    token: MaybeReader,
    by: Annotated[list[str], Query(max_length=MOST_LABELS, description=_BY)] = [],  # noqa: B006
    question: Asked = None,
    statistic: Annotated[str, Query(max_length=200, description=_COMPARED)] = "",
    segment: Annotated[list[str], Query(max_length=MOST_LABELS, description=SEGMENT)] = [],  # noqa: B006
    rounds: Rounds = None,
    weight: Annotated[list[str], Query(max_length=64, description=_WEIGHT)] = [],  # noqa: B006
    level: Level = PAGE_LEVEL,
    format: Format = "json",  # noqa: A002 (the parameter's name)
) -> Response:
    """Compare groups of people by their labels, from the reports published so far.

    Every group's mean, or shares of answers, or what is asked for of numbers, with its interval;
    differences of all pairs, with intervals that hold together; and, where weights are given, the
    mean of a population that has these shares of the groups. Combinations of labels with too few
    reports are in no group. With labels of other segments, people with these labels are compared.
    """
    entry = await services.entry(campaign_id)
    check_reader(token, entry)
    check_level(level)
    campaign = entry.campaign
    try:
        names = read_names(campaign.segments, by)
        weights = read_weights(campaign.segments, names, weight) if campaign.segments else ()
    except InvalidArgumentError as error:
        raise _refused(error) from None
    chosen = read_selection(entry, segment, rounds)
    twice = [name for name, _ in chosen.labels if name in names]
    if twice:
        raise ProblemError("invalid-parameter", f"segment must not name {twice[0]}: it is in by")
    place = _place(entry, question)
    wanted = _compared(campaign.questions[place], statistic, weights)
    asked = Compared(names, place, chosen.rounds, level, weights, chosen.labels, wanted)

    def make(shown: Published) -> bytes:
        return _content(
            comparison(entry, shown.counts, asked, services.steps), format, comparison_csv
        )

    content = await services.computed.get(entry, (asked, format), None, make)
    return _answer(content, format)


@router.get(
    "/campaigns/{id}/trend",
    responses={
        200: {"model": TrendModel, "description": "The rounds, their trend and alarms.", **_CSV},
        **_REFUSALS,
    },
    response_class=Response,
    tags=["campaigns"],
)
async def get_trend(
    campaign_id: Id,
    services: Shared,
    token: MaybeReader,
    question: Asked = None,
    statistic: Annotated[str, Query(max_length=200, description=_STATISTIC)] = "",
    segment: Annotated[list[str], Query(max_length=MOST_LABELS, description=SEGMENT)] = [],  # noqa: B006
    rounds: Rounds = None,
    cycle: Annotated[int | None, Query(ge=2, le=200, description=_CYCLE)] = None,
    level: Level = PAGE_LEVEL,
    format: Format = "json",  # noqa: A002 (the parameter's name)
) -> Response:
    """Return a statistic of every round with its interval, smoothed, and alarms of its changes.

    Rounds without enough published reports have no estimate, and the trend goes on over them. Of
    everybody, rounds have none either where more than a tenth of their reports are published
    without their round.
    """
    entry = await services.entry(campaign_id)
    check_reader(token, entry)
    check_level(level)
    if entry.campaign.schedule is None:
        raise ProblemError("invalid-parameter", "the campaign has no rounds")
    selection, place = read_selection(entry, segment, rounds), _place(entry, question)
    try:
        statistic = check_statistic(entry.campaign.questions[place], statistic)
    except InvalidArgumentError as error:
        raise _refused(error) from None
    asked = Followed(place, statistic, selection, cycle, level)
    now = services.clock()

    def make(shown: Published) -> bytes:
        return _content(course(entry, shown, asked, now), format, trend_csv)

    state = Moment.of(entry, now)
    content = await services.courses.get(entry, (asked, format), state, make)
    return _answer(content, format)


def _compared(question: Question, statistic: str, weights: tuple[tuple[str, float], ...]) -> str:
    """Return the name of the statistic that is compared; nothing for all that there are."""
    if not statistic:
        return ""
    try:
        found = check_statistic(question, statistic)
    except InvalidArgumentError as error:
        raise _refused(error) from None
    asked = of_numbers(question, found)
    if weights and asked is not None and asked[0] == "quantile":
        detail = "weight must be absent: no mean of the groups' quantiles is that of a population"
        raise ProblemError("invalid-parameter", detail)
    return found


def read_selection(entry: KnownCampaign, segment: list[str], rounds: str | None) -> Selection:
    """Read the labels and rounds of a request; refuse those that the campaign does not have."""
    campaign = entry.campaign
    if rounds is not None and campaign.schedule is None:
        raise ProblemError("invalid-parameter", "rounds must be absent: the campaign has none")
    try:
        return Selection.read(campaign.segments, segment, rounds, campaign.n_rounds)
    except InvalidArgumentError as error:
        raise _refused(error) from None


def check_level(level: float) -> None:
    """Refuse levels that are not offered."""
    if level not in LEVELS:
        listed = ", ".join(f"{each:g}" for each in LEVELS)
        raise ProblemError("invalid-parameter", f"level must be one of {listed}; found {level:g}")


def _place(entry: KnownCampaign, question: str | None) -> int:
    known = entry.campaign.question_indexes
    if question is not None and question not in known:
        detail = f"question must be one of {', '.join(known)}; found {question!r}"
        raise ProblemError("invalid-parameter", detail)
    return 0 if question is None else known[question]


def _refused(error: InvalidArgumentError) -> ProblemError:
    return ProblemError("invalid-parameter", str(error))


def _content(
    found: Mapping[str, Any], form: str, table: Callable[[Mapping[str, Any]], str]
) -> bytes:
    if form == "csv":
        return table(found).encode()
    return json.dumps(found, allow_nan=False).encode()


def _answer(content: bytes, form: str) -> Response:
    media = "text/csv; charset=utf-8" if form == "csv" else "application/json"
    return Response(content, media_type=media, headers={"Cache-Control": "no-store"})

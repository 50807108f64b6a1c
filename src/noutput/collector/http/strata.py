"""Routes of campaigns with segments or rounds: comparisons and trends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from noutput.collector.comparing import (
    MAX_PAIRED_GROUPS,
    Compared,
    compare,
    has_pairs,
    read_names,
    read_weights,
)
from noutput.collector.estimates import LEVELS, PAGE_LEVEL
from noutput.collector.exports import as_json, comparison_csv, trend_csv
from noutput.collector.http.access import Id, MaybeReader, Shared, check_reader
from noutput.collector.http.openapi import refusals
from noutput.collector.http.problems import ProblemError, checked_parameters
from noutput.collector.http.strata_models import ComparisonModel, TrendModel
from noutput.collector.measured import bracketed, check_statistic
from noutput.collector.strata import Selection
from noutput.collector.trending import Followed, trend_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from noutput.collector.cache import Answer
    from noutput.collector.store.directory import KnownCampaign
    from noutput.questions import Question

__all__ = ["Labels", "Level", "Rounds", "check_level", "read_selection", "router"]

router = APIRouter()
_MAX_LABELS = 8
_SEGMENT = (
    "A segment's name, a colon and a label, such as platform:ios; no label: who did not tell."
)
_ROUNDS = "The number of a round, or of the first and the last, such as 3-7; all if not given."
_BY = "The segments whose labels make the groups; the first if not given."
_QUESTION = "The name of the question; the first if not given."
_DIFFERENCES = f"Whether all pairs are compared: of {MAX_PAIRED_GROUPS} groups at most."
_WEIGHT = "The share of a group in a known population, such as ios:0.3."
_CYCLE = "The length of a cycle, in rounds: 7 for days with weekends."
_NUMBERS = (
    '"mean", the label of an answer whose share is wanted, or of numbers "below X" (a share). Of '
    'numbers with edges, X is an edge, and "share X to Y" is of those between two. Of others, X is '
    "rounded to the largest power of ten of which the bounds hold 1,000 or more; there is "
    '"quantile P", too, P rounded to 0.001'
)
_STATISTIC = f"{_NUMBERS}; the first that there is if not given."
_COMPARED = (
    f"One statistic alone: {_NUMBERS}; all means, and shares of answers or below edges, if not "
    "given."
)
_LEVELS: dict[str, Any] = {"enum": list(LEVELS)}
_REFUSALS = refusals(
    "unknown-campaign", "token-required", "token-not-sufficient", "invalid-parameter"
)
_CSV = {"content": {"text/csv": {"schema": {"type": "string"}}}}

Labels = Annotated[list[str], Query(max_length=_MAX_LABELS, description=_SEGMENT)]
Rounds = Annotated[str | None, Query(max_length=9, description=_ROUNDS)]
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
    by: Annotated[list[str], Query(max_length=_MAX_LABELS, description=_BY)] = [],  # noqa: B006
    question: Asked = None,
    statistic: Annotated[str, Query(max_length=200, description=_COMPARED)] = "",
    segment: Labels = [],  # noqa: B006
    rounds: Rounds = None,
    weight: Annotated[list[str], Query(max_length=64, description=_WEIGHT)] = [],  # noqa: B006
    differences: Annotated[bool, Query(description=_DIFFERENCES)] = False,
    level: Level = PAGE_LEVEL,
    format: Format = "json",  # noqa: A002 (the parameter's name)
) -> Response:
    """Compare groups of people by their labels, from the reports published so far.

    Every group's mean, or shares of answers, or what is asked for of numbers, with its interval;
    on request the differences of all pairs, with intervals that hold together; and, where weights
    are given, the mean of a population that has these shares of the groups. Combinations of labels
    with too few reports are in no group. With labels of other segments, people with these labels
    are compared.
    """
    entry = await services.entry(campaign_id)
    check_reader(token, entry)
    check_level(level)
    campaign = entry.campaign
    with checked_parameters():
        names = read_names(campaign.segments, by)
        weights = read_weights(campaign.segments, names, weight) if campaign.segments else {}
    chosen = read_selection(entry, segment, rounds)
    twice = [name for name, _ in chosen.labels if name in names]
    if differences and not has_pairs(campaign.segments, names):
        detail = f"differences must be false for more than {MAX_PAIRED_GROUPS} groups"
        raise ProblemError("invalid-parameter", detail)
    if twice:
        raise ProblemError("invalid-parameter", f"segment must not name {twice[0]}: it is in by")
    place = _place(entry, question)
    wanted = _compared(campaign.questions[place], statistic, weights)
    asked = Compared(names, place, chosen.rounds, level, chosen.labels, wanted)
    write = comparison_csv if format == "csv" else as_json
    found = await compare(
        services, entry, asked, write, weights=weights, differences=differences
    )  # fmt: skip
    return _answer(found, format)


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
    segment: Labels = [],  # noqa: B006
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
    with checked_parameters():
        statistic = check_statistic(entry.campaign.questions[place], statistic)
    asked = Followed(place, statistic, selection, cycle, level)
    now = services.clock()

    write = trend_csv if format == "csv" else as_json
    return _answer(await trend_answer(services, entry, asked, now, write), format)


def _compared(question: Question, statistic: str, weights: Mapping[str, float]) -> str:
    """Return the name of the statistic that is compared; nothing for all that there are."""
    if not statistic:
        return ""
    with checked_parameters():
        found = check_statistic(question, statistic)
    slack = bracketed(question, found)
    if weights and slack is not None and slack.kind == "quantile":
        detail = "weight must be absent: no mean of the groups' quantiles is that of a population"
        raise ProblemError("invalid-parameter", detail)
    return found


def read_selection(entry: KnownCampaign, segment: list[str], rounds: str | None) -> Selection:
    """Read the labels and rounds of a request; refuse those that the campaign does not have."""
    campaign = entry.campaign
    if rounds is not None and campaign.schedule is None:
        raise ProblemError("invalid-parameter", "rounds must be absent: the campaign has none")
    with checked_parameters():
        return Selection.read(campaign.segments, segment, rounds, campaign.n_rounds)


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


def _answer(found: Answer, form: str) -> Response:
    media = "text/csv; charset=utf-8" if form == "csv" else "application/json"
    return Response(found.content, media_type=media, headers={"Cache-Control": "no-store"})

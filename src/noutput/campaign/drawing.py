"""Reports drawn from values: what every client and every simulation does, and nothing is kept."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeAlias, TypeVar

from noutput.campaign.report import Report, new_id
from noutput.campaign.segments import read_labels
from noutput.campaign.tokens import read_token, report_id, write_token
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign
    from noutput.campaign.policy import Policy
    from noutput.campaign.segments import Labels, Told

__all__ = ["Drawn", "Values", "admitted_token", "draw", "draw_report", "draw_reports", "inputs_of",
           "keeping_no_value", "told_labels"]  # fmt: skip


Values: TypeAlias = float | str | Mapping[str, float | str]
P = ParamSpec("P")
R = TypeVar("R")


def keeping_no_value(function: Callable[P, R]) -> Callable[P, R]:
    """Cut the tracebacks off all errors of a function: their frames hold its arguments."""

    @wraps(function)
    def cut(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 (whatever it is)
            failure = _without_frames(error)
        del args, kwargs
        raise failure

    return cut


class Drawn(NamedTuple):
    """What a report has besides its answer: token (in its packed form), labels and round."""

    token: bytes
    labels: Told
    round: int | None


@keeping_no_value
def draw_report(
    campaign: Campaign,
    values: Values,
    token: str = "",
    labels: Labels = (),
    round: int | None = None,  # noqa: A002 (as reports have it)
) -> Report:
    """Draw the report of a simulated person, where the campaign asks one question.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from noutput.campaign import Campaign, Table, YesNo
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="How was your way to work?",
    ...     questions=(YesNo(name="late"),), tables=(Table(1.1, (2,), rows),),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
    ... )
    >>> draw_report(campaign, "yes").output in (0, 1)
    True
    """
    if campaign.ask != "one":
        rule = "ask one question: draw_reports() returns what it asks for"
        raise InvalidArgumentError("campaign", rule, campaign.ask)
    (report,) = draw_reports(campaign, values, token, labels, round)
    return report


@keeping_no_value
def draw_reports(
    campaign: Campaign,
    values: Values,
    token: str = "",
    labels: Labels = (),
    round: int | None = None,  # noqa: A002 (as reports have it)
) -> list[Report]:
    r"""Draw reports that nothing remembers: for simulated people.

    All labels are told, and the round is the caller's choice.

    Guarantees
    ----------
    The reports satisfy :math:`\epsilon`-local differential privacy with the campaign's
    `epsilon`. Another call gives other reports, and the losses add up.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from noutput.campaign import Campaign, Table, YesNo
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="How was your way to work?", ask="all",
    ...     questions=(YesNo(name="late"), YesNo(name="by_train")),
    ...     tables=(Table(1.1, (2,), rows), Table(1.1, (2,), rows)),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
    ... )
    >>> [report.question for report in draw_reports(campaign, {"late": "no", "by_train": True})]
    ['late', 'by_train']
    """
    inputs = inputs_of(campaign, values)
    told = told_labels(campaign, labels)
    campaign.stratum(told, round)  # refuses a round that there is not
    return draw(campaign, inputs, Drawn(admitted_token(campaign, token), told, round))


def told_labels(campaign: Campaign, labels: Labels, policy: Policy | None = None) -> Told:
    """Return the labels that leave the device, after all are checked; all without a policy."""
    if campaign.segments is None:
        found = read_labels(labels)
        if found:
            rule = "be absent: the campaign has no segments"
            raise InvalidArgumentError("labels", rule, found)
        return ()
    told = campaign.segments.told(labels)
    return tuple(pair for pair in told if policy is None or pair[0] in policy.segments)


def admitted_token(campaign: Campaign, token: str) -> bytes:
    """Return the token of a person, in its form for packed batches; empty where none is needed."""
    if not campaign.admission.needs_token:
        if token:
            rule = "be absent: the campaign is open to everybody"
            raise InvalidArgumentError("token", rule, "a token")
        return b""
    if not token:
        raise InvalidArgumentError("token", "be given: the campaign asks for one", "no token")
    return read_token(campaign, token)


def draw(campaign: Campaign, inputs: list[float], drawn: Drawn) -> list[Report]:
    """Draw a report on one question, itself drawn at random, or on all, as the campaign asks."""
    places = [secrets.randbelow(len(inputs))] if campaign.ask == "one" else range(len(inputs))
    return [_draw_one(campaign, place, inputs[place], drawn) for place in places]


def inputs_of(campaign: Campaign, values: Values) -> list[float]:
    """Return what the tables take, for every question; messages name questions, never values."""
    names = [question.name for question in campaign.questions]
    if not isinstance(values, Mapping):
        if len(names) > 1:
            rule = f"be a mapping with the names {names}"
            raise InvalidArgumentError("values", rule, type(values).__name__)
        values = {names[0]: values}
    missing = [name for name in names if name not in values]
    surplus = len(values) - (len(names) - len(missing))
    if missing or surplus:  # keys may be answers, where both were swapped
        others = f"{surplus} other{'s' if surplus > 1 else ''}" if surplus else ""
        lacks = f"{len(missing)} missing ({', '.join(missing)})" if missing else ""
        found = ", ".join(filter(None, (lacks, others)))
        raise InvalidArgumentError("values", f"have the names {names}", found)
    return [question.encode(values[question.name]) for question in campaign.asked]


def _draw_one(campaign: Campaign, place: int, x: float, drawn: Drawn) -> Report:
    token = drawn.token
    output = campaign.tables[place].privatize(x)
    name = campaign.questions[place].name
    identity = report_id(campaign, token, place) if token else new_id()
    text = write_token(campaign, token) if token else ""
    return Report(campaign.fingerprint, name, output, identity, text, drawn.labels, drawn.round)


def _without_frames(error: Exception) -> Exception:
    """Cut the tracebacks off an error and its causes: their frames hold the value.

    Contexts that are no causes are left alone: they belong to whoever called.
    """
    each: BaseException | None = error
    while each is not None:
        each.__traceback__ = None
        each = each.__cause__
    return error

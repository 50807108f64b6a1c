"""Client of a campaign: verify, draw, remember."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeVar

from noutput.campaign.policy import Policy
from noutput.campaign.report import Report, new_id
from noutput.campaign.text import format_instant
from noutput.campaign.tokens import read_token, report_id, write_token
from noutput.errors import InvalidArgumentError, PolicyError, PrivacyError
from noutput.mechanisms.answer_table import AnswerTable

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign, Table
    from noutput.campaign.ledger import Ledger

__all__ = ["Client", "draw_report", "draw_reports"]


Values: TypeAlias = float | str | Mapping[str, float | str]
P = ParamSpec("P")
R = TypeVar("R")


def _keeping_no_value(function: Callable[P, R]) -> Callable[P, R]:
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


class Client:
    r"""A person's side of a campaign.

    Parameters
    ----------
    campaign : Campaign
        From anywhere, a hostile server included.
    ledger : Ledger
        The person's memory, one for all campaigns.
    policy : Policy
        What the person allows.
    clock : callable
        Returns the time in seconds since 1970.

    Raises
    ------
    PrivacyError
        If a table may lose more privacy than the policy allows for one campaign, as decided in
        whole numbers; what the campaign claims does not matter.
    PolicyError
        If the campaign asks all of its questions, and their tables together may lose more.

    Guarantees
    ----------
    Whoever wrote the campaign, and however often it is asked, everything that this object
    returns for it satisfies :math:`\epsilon`-local differential privacy with the policy's
    `epsilon`; and all new reports that are drawn in any period, over all campaigns of one
    ledger, satisfy it with the policy's `total`. A report that was drawn before is returned
    again at any time, and reveals nothing new. Periods are those of `clock`: one that is set
    forward ends a period early. Values are used for the draw and kept nowhere, errors and
    their tracebacks included.

    Examples
    --------
    >>> from noutput.campaign import AnswerTable, Campaign, Ledger, YesNo
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="How was your way to work?",
    ...     questions=(YesNo(name="late"),), tables=(AnswerTable(1.1, rows),),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
    ... )
    >>> client = Client(campaign, Ledger(None), Policy(epsilon=1.5))
    >>> report = client.report("yes")
    >>> client.report("no") == report, client.reports("yes") == [report]
    (True, True)
    """

    def __init__(
        self,
        campaign: Campaign,
        ledger: Ledger,
        policy: Policy | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._campaign = campaign
        self._ledger = ledger
        self._policy = Policy() if policy is None else policy
        self._clock = clock
        _check_policy(campaign, self._policy)

    @_keeping_no_value
    def report(self, values: Values, token: str = "") -> Report:
        """Return the person's report on a campaign that asks one question; see `reports`."""
        if self._campaign.ask != "one":
            rule = "ask one question: reports() returns what it asks for"
            raise InvalidArgumentError("campaign", rule, self._campaign.ask)
        (report,) = self.reports(values, token)
        return report

    @_keeping_no_value
    def reports(self, values: Values, token: str = "") -> list[Report]:
        """Return the person's reports: new ones, or those that were made before.

        Parameters
        ----------
        values : answer, or mapping of names to answers
            The answer to every question; without its name where the campaign has one question.
            Numbers are in their own unit, and outside of the bounds they are moved to the
            nearer bound; other answers are given by themselves or by their labels.
        token : str
            The person's token, where the campaign is not open to everybody: from the operator, or
            what `enroll` returns. Reports that were made before have theirs.

        Returns
        -------
        list of Report
            One report, on a question drawn at random; or one per question, in their order, where
            the campaign asks all of them.

        Raises
        ------
        PolicyError
            If new reports would exceed the policy's total.
        InvalidArgumentError
            If a value is missing or no answer, the campaign is not open, or its reports need a
            token and this is none.
        """
        campaign = self._campaign
        inputs = _inputs(campaign, values)
        stored = self._ledger.find(campaign.fingerprint)
        if stored:
            return stored
        now = self._clock()
        moment = datetime.fromtimestamp(now, UTC)
        if not campaign.is_open(moment):
            opens, closes = format_instant(campaign.opens), format_instant(campaign.closes)
            rule = f"lie in the campaign's time, from {opens} until before {closes}"
            raise InvalidArgumentError("now", rule, format_instant(moment))
        cost = self._policy.cost(campaign.epsilon)
        admitted = _admitted(campaign, token)
        return self._ledger.remember(
            campaign.fingerprint, cost, self._policy, now, lambda: _draw(campaign, inputs, admitted)
        )


@_keeping_no_value
def draw_report(campaign: Campaign, values: Values, token: str = "") -> Report:
    """Draw the report of a simulated person, where the campaign asks one question.

    Examples
    --------
    >>> from noutput.campaign import AnswerTable, Campaign, YesNo
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="How was your way to work?",
    ...     questions=(YesNo(name="late"),), tables=(AnswerTable(1.1, rows),),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
    ... )
    >>> draw_report(campaign, "yes").output in (0, 1)
    True
    """
    if campaign.ask != "one":
        rule = "ask one question: draw_reports() returns what it asks for"
        raise InvalidArgumentError("campaign", rule, campaign.ask)
    (report,) = draw_reports(campaign, values, token)
    return report


@_keeping_no_value
def draw_reports(campaign: Campaign, values: Values, token: str = "") -> list[Report]:
    r"""Draw reports that nothing remembers: for simulated people.

    Guarantees
    ----------
    The reports satisfy :math:`\epsilon`-local differential privacy with the campaign's
    `epsilon`. Another call gives other reports, and the losses add up.

    Examples
    --------
    >>> from noutput.campaign import AnswerTable, Campaign, YesNo
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="How was your way to work?", ask="all",
    ...     questions=(YesNo(name="late"), YesNo(name="by_train")),
    ...     tables=(AnswerTable(1.1, rows), AnswerTable(1.1, rows)),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
    ... )
    >>> [report.question for report in draw_reports(campaign, {"late": "no", "by_train": True})]
    ['late', 'by_train']
    """
    return _draw(campaign, _inputs(campaign, values), _admitted(campaign, token))


def _check_policy(campaign: Campaign, policy: Policy) -> None:
    asked, allowed = (repr(x).removesuffix(".0") for x in (campaign.epsilon, policy.epsilon))
    if campaign.ask == "all" and len(campaign.tables) > 1:
        if not policy.allows([table.privacy_loss() for table in campaign.tables]):
            raise PolicyError(
                f"the campaign asks all questions, for epsilon {asked} together, and the policy "
                f"allows {allowed} per campaign"
            )
        return
    for table in dict.fromkeys(campaign.tables):
        try:
            table.certify(policy.epsilon)
        except PrivacyError as error:
            message = (
                f"the campaign asks for epsilon {asked}, and the policy allows {allowed} per report"
            )
            parts = (error.output, error.likely, error.unlikely, error.weights)
            raise PrivacyError(*parts, policy.epsilon, message) from None


def _without_frames(error: Exception) -> Exception:
    """Cut the tracebacks off an error and its causes: their frames hold the value.

    Contexts that are no causes are left alone: they belong to whoever called.
    """
    each: BaseException | None = error
    while each is not None:
        each.__traceback__ = None
        each = each.__cause__
    return error


def _admitted(campaign: Campaign, token: str) -> bytes:
    """Return the token of a person, in its form for packed batches; empty where none is needed."""
    if not campaign.admission.needs_token:
        if token:
            rule = "be absent: the campaign is open to everybody"
            raise InvalidArgumentError("token", rule, "a token")
        return b""
    if not token:
        raise InvalidArgumentError("token", "be given: the campaign asks for one", "no token")
    return read_token(campaign, token)


def _draw(campaign: Campaign, inputs: list[float], token: bytes) -> list[Report]:
    places = [secrets.randbelow(len(inputs))] if campaign.ask == "one" else range(len(inputs))
    return [_draw_one(campaign, place, inputs[place], token) for place in places]


def _draw_one(campaign: Campaign, place: int, x: float, token: bytes) -> Report:
    output = _output(campaign.tables[place], x)
    name = campaign.questions[place].name
    identity = report_id(campaign, token, place) if token else new_id()
    text = write_token(campaign, token) if token else ""
    return Report(campaign.fingerprint, name, output, identity, campaign.version, text)


def _output(table: Table, x: float) -> int:
    return table.privatize(int(x)) if isinstance(table, AnswerTable) else table.privatize(x)


def _inputs(campaign: Campaign, values: Values) -> list[float]:
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
    return [question.encode(values[question.name]) for question in campaign.questions]

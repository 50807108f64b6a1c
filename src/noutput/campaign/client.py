"""Client of a campaign: verify, draw, remember."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from noutput.campaign.policy import Policy
from noutput.campaign.report import Report
from noutput.campaign.text import format_instant
from noutput.errors import InvalidArgumentError, PrivacyError

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign
    from noutput.campaign.ledger import Ledger

__all__ = ["Client", "draw_report"]


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
        If the table may lose more privacy than the policy allows for one report, as decided in
        whole numbers; what the campaign claims does not matter.

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
    >>> from noutput.campaign import Attribute, Campaign, CertifiedTable, Ledger
    >>> quarter = 1 << 30
    >>> rows = ((3 * quarter, quarter), (quarter, 3 * quarter))
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", question="How long was your way to work?",
    ...     attributes=(Attribute("commute", "minutes", 0, 180),),
    ...     table=CertifiedTable(1.1, (-2.0, 2.0), (-1.0, 1.0), rows),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
    ... )
    >>> client = Client(campaign, Ledger(None), Policy(epsilon=1.5))
    >>> report = client.report(42)
    >>> client.report(97) == report
    True
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
        try:
            campaign.table.certify(self._policy.epsilon)
        except PrivacyError as error:
            raise _above_policy(campaign, self._policy, error) from None

    def report(self, values: float | Mapping[str, float]) -> Report:
        """Return the person's report: a new one, or the one that was made before.

        Parameters
        ----------
        values : number, or mapping of names to numbers
            The value of every attribute in its own unit; a number where the campaign has one
            attribute. Values outside the bounds are moved to the nearer bound.

        Raises
        ------
        PolicyError
            If a new report would exceed the policy's total.
        InvalidArgumentError
            If a value is missing or not a finite number, or the campaign is not open.
        """
        try:
            return self._answer(values)
        except Exception as error:  # noqa: BLE001 (frames of any error hold the value)
            failure = _without_frames(error)
        del values
        raise failure

    def _answer(self, values: float | Mapping[str, float]) -> Report:
        campaign = self._campaign
        units = _units(campaign, values)
        stored = self._ledger.find(campaign.fingerprint)
        if stored is not None:
            return stored
        now = self._clock()
        moment = datetime.fromtimestamp(now, UTC)
        if not campaign.is_open(moment):
            opens, closes = format_instant(campaign.opens), format_instant(campaign.closes)
            rule = f"lie in the campaign's time, from {opens} until before {closes}"
            raise InvalidArgumentError("now", rule, format_instant(moment))
        cost = self._policy.cost(campaign.epsilon)
        return self._ledger.remember(
            campaign.fingerprint, cost, self._policy, now, lambda: _draw(campaign, units)
        )


def draw_report(campaign: Campaign, values: float | Mapping[str, float]) -> Report:
    r"""Draw one report that nothing remembers: for simulated people.

    Guarantees
    ----------
    The report satisfies :math:`\epsilon`-local differential privacy with the campaign's
    `epsilon`. Another call gives another report, and the losses add up.

    Examples
    --------
    >>> from noutput.campaign import Attribute, Campaign, CertifiedTable
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", question="How long was your way to work?",
    ...     attributes=(Attribute("commute", "minutes", 0, 180),),
    ...     table=CertifiedTable(1.1, (-2.0, 2.0), (-1.0, 1.0), rows),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
    ... )
    >>> draw_report(campaign, 42).output in (0, 1)
    True
    """
    try:
        return _draw(campaign, _units(campaign, values))
    except Exception as error:  # noqa: BLE001 (frames of any error hold the value)
        failure = _without_frames(error)
    del values
    raise failure


def _above_policy(campaign: Campaign, policy: Policy, error: PrivacyError) -> PrivacyError:
    asked, allowed = (repr(x).removesuffix(".0") for x in (campaign.epsilon, policy.epsilon))
    message = f"the campaign asks for epsilon {asked}, and the policy allows {allowed} per report"
    return PrivacyError(
        error.output, error.likely, error.unlikely, error.weights, policy.epsilon, message
    )


def _without_frames(error: Exception) -> Exception:
    """Cut the tracebacks off an error and its causes: their frames hold the value.

    Contexts that are no causes are left alone: they belong to whoever called.
    """
    each: BaseException | None = error
    while each is not None:
        each.__traceback__ = None
        each = each.__cause__
    return error


def _draw(campaign: Campaign, units: list[float]) -> Report:
    place = secrets.randbelow(len(units))
    output = campaign.table.privatize(units[place])
    return Report(campaign.fingerprint, campaign.attributes[place].name, output)


def _units(campaign: Campaign, values: float | Mapping[str, float]) -> list[float]:
    """Return every value in [-1, 1]; messages name attributes, never values."""
    names = [attribute.name for attribute in campaign.attributes]
    if not isinstance(values, Mapping):
        if len(names) > 1:
            rule = f"be a mapping with the names {names}"
            raise InvalidArgumentError("values", rule, type(values).__name__)
        values = {names[0]: values}
    if set(values) != set(names):
        raise InvalidArgumentError("values", f"have the names {names}", list(values))
    return [attribute.to_unit(values[attribute.name]) for attribute in campaign.attributes]

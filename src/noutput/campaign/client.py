"""Client of a campaign: verify, draw, remember."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from noutput.campaign.drawing import (
    Drawn,
    Values,
    admitted_token,
    draw,
    inputs_of,
    keeping_no_value,
    told_labels,
)
from noutput.campaign.policy import Policy
from noutput.campaign.schedule import rounds_of
from noutput.campaign.segments import read_labels
from noutput.campaign.text import format_instant
from noutput.errors import (
    DeliveryError,
    InvalidArgumentError,
    NotDueError,
    PolicyError,
    PrivacyError,
)

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign
    from noutput.campaign.delivery import Receipt, Route
    from noutput.campaign.ledger import Ledger
    from noutput.campaign.report import Report
    from noutput.campaign.schedule import Round
    from noutput.campaign.segments import Labels, Told

__all__ = ["Client"]

_ROUND_OVER = "urn:noutput:problem:round-over"


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
    DocumentError
        If the ledger knows the campaign's id by another root, and the policy does not allow that.
    PolicyError
        If the campaign asks all of its questions, or asks several times per period, and all of it
        together may lose more.

    Guarantees
    ----------
    Whoever wrote the campaign, however often it is asked, and whichever of its waves this object
    follows, everything that it returns satisfies :math:`\epsilon`-local differential privacy with
    the policy's `epsilon`; with a schedule, everything of one of its periods does, whatever the
    clock says. All new reports that are drawn in any period of the policy, over all campaigns of
    one ledger, satisfy it with the policy's `total`. A report that was drawn before is returned
    again at any time, and reveals nothing new. The policy's periods are those of `clock`: one that
    is set forward ends a period early. Values are used for the draw and kept nowhere, errors and
    their tracebacks included. Labels are not protected; those leave that the policy names.

    Examples
    --------
    >>> from noutput.campaign import Campaign, Ledger, Table, YesNo
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="How was your way to work?",
    ...     questions=(YesNo(name="late"),), tables=(Table(1.1, (2,), rows),),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
    ... )
    >>> client = Client(campaign, Ledger(None), Policy(epsilon=1.5))
    >>> client.check_total()  # nothing is spent yet
    >>> report = client.report("yes")
    >>> client.report("no") == report, client.reports("yes") == [report]
    (True, True)

    With segments and a schedule, labels leave where the policy allows it, and reports are made in
    the rounds that the device has drawn:

    >>> from dataclasses import replace
    >>> from noutput.campaign import Schedule, Segments
    >>> daily = replace(campaign, closes=datetime(2026, 3, 29, tzinfo=UTC),
    ...     segments=Segments({"platform": ("ios", "web"), "country": ("de", "fr")}),
    ...     schedule=Schedule("day", rounds_per_period=1))
    >>> noon = datetime(2026, 3, 3, 12, tzinfo=UTC).timestamp()
    >>> policy = Policy(epsilon=1.5, segments={"platform"})
    >>> client = Client(daily, Ledger(None), policy, clock=lambda: noon)
    >>> shown = client.shown_labels({"platform": "web", "country": "fr"})
    >>> shown, client.due()
    ({'platform': 'web'}, True)
    >>> report = client.report("yes", labels=shown)
    >>> report.labels, report.round, client.made() == [report], client.next_round().number
    ((('platform', 'web'),), 2, True, 3)
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
        ledger.check_root(campaign.id, campaign.root, self._policy)

    @property
    def campaign(self) -> Campaign:
        """The campaign as it is answered: its newest wave that this client could verify."""
        return self._campaign

    def follow(self, found: Campaign) -> bool:
        """Take the newest wave of the campaign, where it can be verified; say whether it was.

        Parameters
        ----------
        found : Campaign
            From anywhere, such as `fetch_campaign`. It is taken where it continues the chain of
            waves that the client has, and its tables are within the policy; otherwise the client
            keeps what it has. Reports that were made before stay as they are.

        Examples
        --------
        >>> from noutput.campaign import Campaign, Ledger, Table, YesNo
        >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
        >>> campaign = Campaign(
        ...     id="commute", title="Commute", text="How was your way to work?",
        ...     questions=(YesNo(name="late"),), tables=(Table(1.1, (2,), rows),),
        ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
        ... )
        >>> Client(campaign, Ledger(None), Policy(epsilon=1.5)).follow(campaign)  # nothing newer
        False
        """
        known = self._campaign
        if len(found.waves) <= len(known.waves) or found.wave(known.fingerprint) is None:
            return False
        try:
            _check_policy(found, self._policy)
        except (PolicyError, PrivacyError):
            return False
        self._campaign = found
        return True

    def shown_labels(self, labels: Labels = ()) -> dict[str, str]:
        """Return the labels that would leave the device: those that the policy allows.

        Parameters
        ----------
        labels : mapping of names to labels
            What the application knows; each must be in the campaign's closed list.
        """
        return dict(told_labels(self._campaign, labels, self._policy))

    def due(self) -> bool:
        """Say whether an answer is wanted now, none was given, and the policy allows one.

        It is where the campaign is open, its cost is within what is left of the policy's total
        and, if it has a schedule, the present round is one of the device's own.
        """
        campaign = self._campaign
        moment = self._moment()
        if not campaign.is_open(moment):
            return False
        if campaign.schedule is None:
            is_wanted = not self.made()
        else:
            coming = self.next_round()
            is_wanted = coming is not None and coming.start <= moment
        try:
            self.check_total()
        except PolicyError:
            return False
        return is_wanted

    def check_total(self) -> None:
        """Raise `PolicyError` where a new answer would now exceed the policy's total."""
        since = self._clock() - self._policy.seconds
        self._policy.check([self._ledger.spent(since)], self._cost())

    def _cost(self) -> float:
        campaign = self._campaign
        answers = 1 if campaign.schedule is None else campaign.schedule.answers
        return self._policy.cost(campaign.epsilon, answers)

    def next_round(self) -> Round | None:
        """Return the next round in which the device answers and has not answered yet.

        The first call, or the first report, joins the campaign: the device draws its secret, and
        keeps it in the ledger. The present round is among those that it may draw.

        Returns
        -------
        Round or None
            None where no round is left.
        """
        campaign, moment = self._campaign, self._moment()
        if moment >= campaign.closes:
            return None
        first = campaign.round_at(max(moment, campaign.opens))
        assert first is not None  # noqa: S101 (the campaign is open then)
        for number in self._own_rounds(first.number):
            if not self._ledger.find(_key(campaign, number)):
                return campaign.round(number)
        return None

    def made(self) -> list[Report]:
        """Return the reports that were made before: of the present round, with a schedule."""
        campaign = self._campaign
        if campaign.schedule is None:
            return self._ledger.find(campaign.root)
        present = campaign.round_at(self._moment())
        return [] if present is None else self._ledger.find(_key(campaign, present.number))

    def _own_rounds(self, present: int) -> Iterator[int]:
        """Return the rounds in which the device answers, from the present one on."""
        campaign = self._campaign
        schedule = campaign.schedule
        if schedule is None:
            raise InvalidArgumentError("campaign", "have a schedule", campaign.id)
        secret, joined = self._ledger.join(campaign.root, present)
        last = schedule.period(campaign.n_rounds - 1)
        for period in range(schedule.period(present), last + 1):
            rounds = rounds_of(schedule, campaign.root, secret, period, joined)
            yield from (number for number in rounds if number >= present)

    def _moment(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    @keeping_no_value
    def report(self, values: Values, token: str = "", labels: Labels = ()) -> Report:
        """Return the person's report on a campaign that asks one question; see `reports`."""
        if self._campaign.ask != "one":
            rule = "ask one question: reports() returns what it asks for"
            raise InvalidArgumentError("campaign", rule, self._campaign.ask)
        (report,) = self.reports(values, token, labels)
        return report

    @keeping_no_value
    def reports(self, values: Values, token: str = "", labels: Labels = ()) -> list[Report]:
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
        labels : mapping of names to labels
            Public labels that the application knows, where the campaign has segments. Those that
            the policy does not allow are left out, with a warning; `shown_labels` says which leave
            the device.

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
            If a value is missing or no answer, a label is none of the campaign's, the campaign is
            not open, or its reports need a token and this is none.
        NotDueError
            If the campaign has a schedule, and the device answers in other rounds than this.
        """
        campaign = self._campaign
        inputs = inputs_of(campaign, values)
        labels = read_labels(labels)
        told = told_labels(campaign, labels, self._policy)
        if missing := _left_out(labels, told):
            names = ", ".join(missing)
            message = f"labels are left out, because the policy does not name them: {names}"
            warnings.warn(message, stacklevel=1)  # from one line, so that it is shown once
        if campaign.schedule is None:
            stored = self._ledger.find(campaign.root)
            if stored:
                return stored
        now = self._clock()
        moment = datetime.fromtimestamp(now, UTC)
        if not campaign.is_open(moment):
            opens, closes = format_instant(campaign.opens), format_instant(campaign.closes)
            rule = f"lie in the campaign's time, from {opens} until before {closes}"
            raise InvalidArgumentError("now", rule, format_instant(moment))
        number = self._own_round(moment)
        drawn = Drawn(admitted_token(campaign, token), told, number)
        key = _key(campaign, number)
        make = partial(draw, campaign, inputs, drawn)
        return self._ledger.remember(key, self._cost(), self._policy, now, make, campaign.id)

    @keeping_no_value
    def submit(
        self,
        url: str,
        values: Values,
        token: str = "",
        labels: Labels = (),
        route: Route | None = None,
    ) -> Receipt:
        """Report, send one by one, and note what was acknowledged; safe to repeat.

        Parameters
        ----------
        url : str
            The address of the campaign.
        values, token, labels
            As those of `reports`.
        route : Route, optional
            How patiently the collector is spoken to.

        Returns
        -------
        Receipt
            How many reports were counted, and the names of the labels that did not leave.

        Raises
        ------
        DeliveryError
            If a report was not acknowledged. It stays in the ledger: `submit` sends the same again
            while the round lasts, and `resend` while it is counted.

        Examples
        --------
        >>> from noutput.campaign import Campaign, Ledger, Route, Table, YesNo
        >>> from noutput.errors import DeliveryError
        >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
        >>> campaign = Campaign(
        ...     id="commute", title="Commute", text="How was your way to work?",
        ...     questions=(YesNo(name="late"),), tables=(Table(1.1, (2,), rows),),
        ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
        ... )
        >>> client = Client(campaign, Ledger(None), Policy(epsilon=1.5))
        >>> url = "http://127.0.0.1:1/campaigns/commute"
        >>> try:
        ...     client.submit(url, "yes", route=Route(attempts=1))
        ... except DeliveryError as error:
        ...     print(error)  # nobody listens there
        no answer from http://127.0.0.1:1/campaigns/commute/reports: ...
        """
        labels = read_labels(labels)
        reports = self.reports(values, token, labels)
        sent = [self._send(url, report, route) for report in reports]
        accepted = sum(receipt.accepted for receipt in sent)
        left_out = _left_out(labels, reports[0].labels)
        repeated = len(sent) - accepted
        return replace(sent[0], accepted=accepted, repeated=repeated, left_out=left_out)

    def resend(self, url: str, route: Route | None = None) -> int:
        """Send the reports on the campaign that were drawn and never acknowledged.

        They are those of every round whose grace time is not over or, without a schedule, those of
        a campaign that has not closed. Each is the report that is in the ledger, in a request of
        its own, the oldest first. Nothing is drawn, and others stay where they are.

        Parameters
        ----------
        url : str
            The address of the campaign.
        route : Route, optional
            How patiently the collector is spoken to.

        Returns
        -------
        int
            How many reports were acknowledged. Those that the collector refused because their
            round is over by its own clock are not among them.

        Raises
        ------
        DeliveryError
            If a report was not acknowledged for another reason. What was acknowledged before it is
            noted; call again later for the rest.

        Examples
        --------
        >>> from noutput.campaign import Campaign, Ledger, Table, YesNo
        >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
        >>> campaign = Campaign(
        ...     id="commute", title="Commute", text="How was your way to work?",
        ...     questions=(YesNo(name="late"),), tables=(Table(1.1, (2,), rows),),
        ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
        ... )
        >>> client = Client(campaign, Ledger(None), Policy(epsilon=1.5))
        >>> client.resend("https://collect.example/campaigns/commute")  # nothing is left to send
        0
        """
        sent = 0
        for report in self._ledger.pending(self._campaign.root):
            if not self._is_counted(report):
                continue
            try:
                self._send(url, report, route)
            except DeliveryError as error:
                if error.problem != _ROUND_OVER:
                    raise
            else:
                sent += 1
        return sent

    def _is_counted(self, report: Report) -> bool:
        """Say whether a collector whose clock is that of the device would still count a report."""
        campaign, schedule = self._campaign, self._campaign.schedule
        if schedule is None or report.round is None:
            return self._moment() < campaign.closes
        end = campaign.round(report.round).end
        return self._moment() < end + timedelta(seconds=schedule.grace)

    def _send(self, url: str, report: Report, route: Route | None) -> Receipt:
        from noutput.campaign.delivery import DEFAULT_ROUTE, send_report  # loads what speaks HTTP

        receipt = send_report(url, report, DEFAULT_ROUTE if route is None else route)
        self._ledger.mark_sent(report, self._clock())
        return receipt

    def _own_round(self, moment: datetime) -> int | None:
        """Return the present round, where the device answers in it; None without a schedule."""
        campaign = self._campaign
        if campaign.schedule is None:
            return None
        present = campaign.round_at(moment)
        assert present is not None  # noqa: S101 (the campaign is open)
        number = next(self._own_rounds(present.number), None)
        if number == present.number:
            return number
        if number is None:
            raise NotDueError(f"this device has no further round of the campaign {campaign.id}")
        start = format_instant(campaign.round(number).start)
        message = (
            f"this device answers the campaign {campaign.id} in round {number}, which begins at "
            f"{start}; the present one is {present.number}"
        )
        raise NotDueError(message, number)


def _key(campaign: Campaign, number: int | None) -> str:
    """Return by what a ledger knows an answer: the campaign, and the round where it has some."""
    return campaign.root if number is None else f"{campaign.root}:{number}"


def _left_out(labels: Mapping[str, str], told: Told) -> tuple[str, ...]:
    """Return the names of the labels that are not told."""
    return tuple(name for name in labels if name not in dict(told))


def _check_policy(campaign: Campaign, policy: Policy) -> None:
    both = (campaign.epsilon_per_period, policy.epsilon)
    asked, allowed = (repr(x).removesuffix(".0") for x in both)
    answers = 1 if campaign.schedule is None else campaign.schedule.answers
    if answers > 1 or (campaign.ask == "all" and len(campaign.tables) > 1):
        losses = [table.privacy_loss() for table in campaign.tables]
        each = losses if campaign.ask == "all" else [max(losses)]
        if not policy.allows(each * answers):
            what = "all questions" if len(each) > 1 else "a question"
            often = f" {answers} times per period" if answers > 1 else ""
            unit = "campaign" if campaign.schedule is None else "period"
            raise PolicyError(
                f"the campaign asks {what}{often}, for epsilon {asked} together, and the policy "
                f"allows {allowed} per {unit}"
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

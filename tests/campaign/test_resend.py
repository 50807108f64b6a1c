"""Reports that no collector acknowledged are sent later: the same ones, while they are counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from noutput.campaign import Client, Ledger, Policy, Receipt, Route, Schedule
from noutput.campaign.wire import encode_report
from noutput.errors import DeliveryError, NotDueError
from tests.campaign.examples import (
    OPENS,
    answers_to,
    late_campaign,
    panel_campaign,
    survey_campaign,
)
from tests.campaign.server import COUNTED, Answer, problem, serving

DAY = 86_400
START = OPENS.timestamp()
ONCE = Route(attempts=1)
LATE: dict[str, Any] = {"questions": late_campaign().questions, "tables": late_campaign().tables}
REPEATED = Answer(body=b'{"accepted":0,"repeated":1}')
OFFLINE = Answer(status=None)


class Device:
    """A client with a clock that can be set."""

    def __init__(self, campaign: Any, policy: Policy | None = None) -> None:
        self.now = START
        self.ledger = Ledger(None)
        self.client = Client(
            campaign, self.ledger, policy or Policy(9.0, 1e6), clock=lambda: self.now
        )

    def fail(self, url: str, values: Any = "yes") -> None:
        """Answer in the device's next round, where no report arrives."""
        coming = self.client.next_round()
        assert coming is not None
        self.now = coming.start.timestamp() + 60.0
        with pytest.raises(DeliveryError):
            self.client.submit(url, values, route=ONCE)


def panel(schedule: Schedule) -> Any:
    return panel_campaign(**LATE, schedule=schedule)


def test_a_report_that_was_not_acknowledged_is_sent_in_the_grace_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("noutput.campaign.ledger.secrets.token_bytes", lambda n: b"a" * n)
    device = Device(panel(Schedule("day", 7)))
    with serving(OFFLINE, COUNTED) as (url, seen):
        device.fail(url)
        (drawn,) = device.ledger.pending()
        assert drawn.round in range(6)  # so the next day is not its own
        device.now += DAY
        with pytest.raises(NotDueError):
            device.client.submit(url, "no", route=ONCE)
        assert device.client.resend(url, ONCE) == 1
        assert seen[1].body == seen[0].body == encode_report(drawn)
        assert device.client.resend(url, ONCE) == 0
    assert len(seen) == 2
    assert device.ledger.pending() == []
    assert device.ledger.spent(0.0) == 1.0


@pytest.mark.parametrize(("late", "sent"), [(-1.0, 1), (0.0, 0)])
def test_a_report_beyond_its_grace_time_is_left(late: float, sent: int) -> None:
    device = Device(panel(Schedule("day", 7, grace=3600)))
    with serving(OFFLINE, COUNTED) as (url, seen):
        device.fail(url)
        (drawn,) = device.ledger.pending()
        assert drawn.round is not None
        end = device.client.campaign.round(drawn.round).end.timestamp()
        device.now = end + 3600 + late
        assert device.client.resend(url, ONCE) == sent
    assert len(seen) == 1 + sent
    assert (device.ledger.pending() == []) is bool(sent)


def test_every_round_is_sent_by_itself_the_oldest_first() -> None:
    device = Device(panel(Schedule("day", 7, grace=30 * DAY)))
    with serving(OFFLINE, OFFLINE, OFFLINE, COUNTED) as (url, seen):
        for _ in range(3):
            device.fail(url)
        assert device.client.resend(url, ONCE) == 3
    failed, sent = seen[:3], seen[3:]
    assert [each.body for each in sent] == [each.body for each in failed]
    rounds = [json.loads(each.body)["round"] for each in sent]
    assert rounds == sorted(set(rounds))
    assert len({json.loads(each.body)["id"] for each in sent}) == 3
    for each in sent:
        assert "reports" not in json.loads(each.body)  # no batch


def test_what_is_not_sent_blocks_no_round_that_is_due() -> None:
    device = Device(panel(Schedule("day", 1)))
    with serving(OFFLINE, COUNTED, COUNTED) as (url, seen):
        device.fail(url)
        device.now += DAY
        assert device.client.submit(url, "yes", route=ONCE) == Receipt(1, 0)
        assert [report.round for report in device.ledger.pending()] == [0]
        assert device.client.resend(url, ONCE) == 1
    assert [json.loads(each.body)["round"] for each in seen] == [0, 1, 0]
    assert device.ledger.pending() == []


def test_a_failure_keeps_what_was_acknowledged() -> None:
    device = Device(panel(Schedule("day", 7, grace=30 * DAY)))
    answers = (OFFLINE, OFFLINE, REPEATED, OFFLINE, COUNTED)
    with serving(*answers) as (url, seen):
        for _ in range(2):
            device.fail(url)
        with pytest.raises(DeliveryError, match="no answer"):
            device.client.resend(url, ONCE)
        assert len(device.ledger.pending()) == 1
        assert device.client.resend(url, ONCE) == 1
    assert [each.body for each in seen[2:]] == [seen[0].body, seen[1].body, seen[1].body]


def test_the_clock_of_the_collector_decides_which_round_is_over() -> None:
    device = Device(panel(Schedule("day", 7, grace=30 * DAY)))
    answers = (OFFLINE, OFFLINE, problem(403, "round-over"), COUNTED, problem(403, "closed"))
    with serving(*answers) as (url, _):
        for _ in range(2):
            device.fail(url)
        first, _ = device.ledger.pending()
        assert device.client.resend(url, ONCE) == 1
        assert device.ledger.pending() == [first]
        with pytest.raises(DeliveryError, match="status 403"):
            device.client.resend(url, ONCE)


def test_reports_of_other_campaigns_stay() -> None:
    ledger = Ledger(None)
    first, second = (
        Client(late_campaign(name), ledger, Policy(), clock=lambda: START)
        for name in ("late", "later")
    )
    with serving(OFFLINE, OFFLINE, COUNTED) as (url, seen):
        for client in (first, second):
            with pytest.raises(DeliveryError):
                client.submit(url, "yes", route=ONCE)
        assert second.resend(url, ONCE) == 1
    assert seen[2].body == seen[1].body
    assert [report.campaign for report in ledger.pending()] == [first.campaign.fingerprint]


def test_without_a_schedule_reports_are_sent_until_the_campaign_closes() -> None:
    device = Device(survey_campaign(ask="all"))
    values = answers_to(device.client.campaign)
    with serving(COUNTED, OFFLINE, COUNTED) as (url, seen):
        with pytest.raises(DeliveryError):
            device.client.submit(url, values, route=ONCE)
        assert device.client.resend(url, ONCE) == 5  # the first was acknowledged
        assert seen[2].body == seen[1].body
        other = Device(late_campaign())
        other.client.report("yes")
        other.now = other.client.campaign.closes.timestamp()
        assert other.client.resend(url, ONCE) == 0
    assert len(other.ledger.pending()) == 1


def test_nothing_is_drawn_and_nobody_joins() -> None:
    device = Device(panel(Schedule("day", 7)))
    with serving(COUNTED) as (url, seen):
        assert device.client.resend(url, ONCE) == 0
    assert seen == []
    assert device.ledger.join(device.client.campaign.root, 5)[1] == 5


def test_submit_sends_and_notes_what_was_acknowledged() -> None:
    device = Device(late_campaign())
    with serving(COUNTED, REPEATED) as (url, seen):
        assert device.client.submit(url, "yes") == Receipt(1, 0)
        assert device.ledger.pending() == []
        assert device.client.submit(url, "no") == Receipt(0, 1)
    assert seen[0].body == seen[1].body

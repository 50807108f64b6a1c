from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from noutput.campaign import Client, Ledger, Policy, draw_report
from noutput.errors import InvalidArgumentError, PolicyError, PrivacyError
from tests.campaign.examples import CLOSES, NOW, OPENS, commute_campaign, salary_campaign

WIDE = Policy(epsilon=8.0, total=8.5)
SALARY = {"salary": 2000.0, "age": 30.0, "change_2": 0.0}


def test_the_same_campaign_gets_the_same_report() -> None:
    with Ledger(None) as ledger:
        client = Client(commute_campaign(), ledger, clock=lambda: NOW)
        first = client.report(42)
        assert first.campaign == commute_campaign().fingerprint
        assert first.attribute == "commute"
        assert 0 <= first.output < 3
        for values in (42, 0.0, 1000, {"commute": 180}):
            assert client.report(values) == first
        late = Client(commute_campaign(), ledger, clock=lambda: CLOSES.timestamp())
        assert late.report(42) == first
        assert ledger.spent(0.0) == 1.0


def test_the_policy_decides_and_not_the_claim() -> None:
    campaign = commute_campaign()
    loss = campaign.table.privacy_loss()
    with Ledger(None) as ledger:
        Client(campaign, ledger, Policy(epsilon=loss))
        with pytest.raises(PrivacyError):
            Client(campaign, ledger, Policy(epsilon=math.nextafter(loss, 0.0)))


def test_a_campaign_that_claims_more_than_it_loses_costs_what_the_policy_proves() -> None:
    honest = commute_campaign()
    table = replace(honest.table, epsilon=5.0)
    with Ledger(None) as ledger:
        Client(replace(honest, table=table), ledger, clock=lambda: NOW).report(42)
        assert ledger.spent(0.0) == 1.0


def test_several_campaigns_share_the_total() -> None:
    policy = Policy(epsilon=1.0, total=3.0)
    with Ledger(None) as ledger:
        for number in range(3):
            Client(commute_campaign(f"c-{number}"), ledger, policy, clock=lambda: NOW).report(1)
        last = Client(commute_campaign("c-3"), ledger, policy, clock=lambda: NOW)
        with pytest.raises(PolicyError, match="total epsilon of 3 in 30 days"):
            last.report(1)


@pytest.mark.parametrize("moment", [OPENS - timedelta(seconds=1), CLOSES])
def test_nothing_is_answered_outside_the_campaigns_time(moment: Any) -> None:
    with Ledger(None) as ledger:
        client = Client(commute_campaign(), ledger, clock=moment.timestamp)
        with pytest.raises(InvalidArgumentError, match="now must lie in the campaign's time"):
            client.report(42)
        assert ledger.pending() == []


@pytest.mark.parametrize(
    "values",
    [
        4242,
        {},
        {"salary": 4242.0, "age": 30.0},
        {**SALARY, "height": 4242.0},
        {**SALARY, "age": math.nan},
        {**SALARY, "age": "4242"},
        {**SALARY, "age": None},
    ],
    ids=range(7),
)
def test_values_are_checked_by_name_and_never_repeated(values: Any) -> None:
    with Ledger(None) as ledger:
        client = Client(salary_campaign(), ledger, WIDE, clock=lambda: NOW)
        with pytest.raises(InvalidArgumentError, match="values") as caught:
            client.report(values)
        assert "4242" not in str(caught.value)
        assert ledger.pending() == []


def test_values_beyond_the_bounds_are_clipped_on_the_device() -> None:
    campaign = commute_campaign()
    top = [draw_report(campaign, 1e9).output for _ in range(3000)]
    share = campaign.table.weights[-1][2] / (1 << 32)
    assert abs(top.count(2) / 3000 - share) < 6 * math.sqrt(share * (1 - share) / 3000)


def test_every_attribute_is_drawn_alike() -> None:
    campaign = salary_campaign()
    drawn = [draw_report(campaign, SALARY).attribute for _ in range(3000)]
    for name in SALARY:
        assert abs(drawn.count(name) - 1000) < 6 * math.sqrt(3000 * 2 / 9)


@pytest.mark.parametrize("change", [{"epsilon": 0}, {"total": math.inf}, {"days": "30"}])
def test_a_policy_is_valid_from_birth(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="must be a positive finite number"):
        Policy(**change)

from __future__ import annotations

import math
import pickle
import re
import traceback
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import noutput
from noutput.campaign import Campaign, Client, Ledger, Policy, draw_report
from noutput.errors import DocumentError, InvalidArgumentError, PolicyError, PrivacyError
from tests.campaign.examples import (
    CLOSES,
    NOW,
    OPENS,
    commute_campaign,
    late_campaign,
    salary_campaign,
)
from tests.campaign.vectors import vectors

WIDE = Policy(epsilon=8.0, total=8.5)
SALARY = {"salary": 2000.0, "age": 30.0, "change_2": 0.0}


def test_the_same_campaign_gets_the_same_report() -> None:
    with Ledger(None) as ledger:
        client = Client(commute_campaign(), ledger, clock=lambda: NOW)
        first = client.report(42)
        assert first.campaign == commute_campaign().fingerprint
        assert first.question == "commute"
        assert 0 <= first.output < 3
        for values in (42, 0.0, 1000, {"commute": 180}):
            assert client.report(values) == first
        late = Client(commute_campaign(), ledger, clock=lambda: CLOSES.timestamp())
        assert late.report(42) == first
        assert ledger.spent(0.0) == 1.0


def test_the_policy_decides_and_not_the_claim() -> None:
    campaign = commute_campaign()
    loss = campaign.tables[0].privacy_loss()
    with Ledger(None) as ledger:
        Client(campaign, ledger, Policy(epsilon=loss))
        with pytest.raises(PrivacyError):
            Client(campaign, ledger, Policy(epsilon=math.nextafter(loss, 0.0)))


def test_a_policy_below_the_campaigns_epsilon_says_both() -> None:
    message = "the campaign asks for epsilon 1, and the policy allows 0.5 per report"
    with Ledger(None) as ledger, pytest.raises(PrivacyError) as caught:
        Client(commute_campaign(), ledger, Policy(epsilon=0.5))
    assert str(caught.value) == message
    twin = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (str(twin), twin.epsilon) == (message, 0.5)


def test_a_campaign_that_claims_more_than_it_loses_costs_what_the_policy_proves() -> None:
    honest = commute_campaign()
    table = replace(honest.tables[0], epsilon=5.0)
    with Ledger(None) as ledger:
        Client(replace(honest, tables=(table,)), ledger, clock=lambda: NOW).report(42)
        assert ledger.spent(0.0) == 1.0


def test_several_campaigns_share_the_total() -> None:
    policy = Policy(epsilon=1.0, total=3.0)
    with Ledger(None) as ledger:
        for number in range(3):
            Client(commute_campaign(f"c-{number}"), ledger, policy, clock=lambda: NOW).report(1)
        last = Client(commute_campaign("c-3"), ledger, policy, clock=lambda: NOW)
        with pytest.raises(PolicyError, match="total epsilon of 3 in 30 days"):
            last.report(1)


def test_a_clock_set_forward_ends_the_period_and_one_set_back_does_not() -> None:
    policy = Policy(epsilon=1.0, total=1.0, days=30)
    with Ledger(None) as ledger:
        Client(commute_campaign("c-0"), ledger, policy, clock=lambda: NOW).report(1)
        for days in (-60, 0, 29):
            later = NOW + days * 86_400
            client = Client(commute_campaign("c-1"), ledger, policy, clock=lambda t=later: t)  # type: ignore[misc]
            with pytest.raises(PolicyError, match="1 of it is spent"):
                client.report(1)
        forward = NOW + 31 * 86_400
        Client(commute_campaign("c-1"), ledger, policy, clock=lambda: forward).report(1)
        assert ledger.spent(0.0) == 2.0


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


def kept(error: BaseException) -> str:
    """Return all that an error keeps: messages, and local variables of noutput's functions.

    Addresses in memory are left out: their digits are anybody's.
    """
    ours = str(Path(noutput.__file__).parent)
    lines = []
    chain: list[BaseException | None] = [error]
    while chain:
        each = chain.pop()
        if each is None:
            continue
        chain += [each.__context__, each.__cause__]
        lines.append(f"{each!r} {vars(each)}")
        found = traceback.StackSummary.extract(
            traceback.walk_tb(each.__traceback__), capture_locals=True
        )
        lines += [f"{f.name} {f.locals}" for f in found if f.filename.startswith(ours)]
    return re.sub(r" at 0x[0-9a-fA-F]+", "", "\n".join(lines))


def client_of_closed_ledger() -> Client:
    with Ledger(None) as ledger:
        return Client(commute_campaign(), ledger, clock=lambda: NOW)


LATE = CLOSES.timestamp()
FAILURES: dict[str, Callable[[], Any]] = {
    "text": lambda: Client(commute_campaign(), Ledger(None), clock=lambda: NOW).report("4242"),
    "too large": lambda: Client(commute_campaign(), Ledger(None), clock=lambda: NOW).report(
        int("4242" * 99)
    ),
    "another name": lambda: Client(commute_campaign(), Ledger(None)).report({"way": 42.42}),
    "one number of three": lambda: Client(salary_campaign(), Ledger(None), WIDE).report(42.42),
    "closed campaign": lambda: Client(commute_campaign(), Ledger(None), clock=lambda: LATE).report(
        42.42
    ),
    "no budget": lambda: Client(
        commute_campaign(), Ledger(None), Policy(total=0.5), clock=lambda: NOW
    ).report(42.42),
    "closed ledger": lambda: client_of_closed_ledger().report(42.42),
    "a broken clock": lambda: Client(commute_campaign(), Ledger(None), clock=lambda: 1e30).report(
        42.42
    ),
    "a simulated person": lambda: draw_report(commute_campaign(), "4242"),
}


@pytest.mark.parametrize("call", FAILURES.values(), ids=FAILURES.keys())
def test_errors_keep_no_value(call: Callable[[], Any]) -> None:
    with pytest.raises((InvalidArgumentError, PolicyError, OverflowError)) as caught:
        call()
    unit = commute_campaign().questions[0].encode(42.42)
    found = kept(caught.value)
    for trace in ("42.42", "4242", str(unit), "lambda", "cell"):
        assert trace not in found, found


def test_an_error_that_the_caller_handles_keeps_its_traceback() -> None:
    client = Client(commute_campaign(), Ledger(None), clock=lambda: LATE)
    try:
        raise KeyError("the caller's own")
    except KeyError:
        with pytest.raises(InvalidArgumentError) as caught:
            client.report(42)
    context = caught.value.__context__
    assert isinstance(context, KeyError)
    assert context.__traceback__ is not None


def test_values_beyond_the_bounds_are_clipped_on_the_device() -> None:
    campaign = commute_campaign()
    top = [draw_report(campaign, 1e9).output for _ in range(3000)]
    share = campaign.tables[0].weights[-1][2] / (1 << 32)
    assert abs(top.count(2) / 3000 - share) < 6 * math.sqrt(share * (1 - share) / 3000)


def test_every_question_is_drawn_alike() -> None:
    campaign = salary_campaign()
    drawn = [draw_report(campaign, SALARY).question for _ in range(3000)]
    for name in SALARY:
        assert abs(drawn.count(name) - 1000) < 6 * math.sqrt(3000 * 2 / 9)


@pytest.mark.parametrize("change", [{"epsilon": 0}, {"total": math.inf}, {"days": "30"}])
def test_a_policy_is_valid_from_birth(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="must be a positive finite number"):
        Policy(**change)


# One id, several documents

ROOTS = vectors("roots")


@pytest.mark.parametrize("story", ROOTS["stories"], ids=range(len(ROOTS["stories"])))
def test_a_ledger_answers_one_root_per_id_unless_another_is_allowed(
    story: list[dict[str, Any]], tmp_path: Path
) -> None:
    for step in story:
        document = ROOTS["campaigns"][step["campaign"]]
        campaign = Campaign.from_json(document["text"])
        policy = Policy(8.0, 99.0, new_roots=step["new_roots"])
        with Ledger(tmp_path / "ledger") as ledger:
            if step["answered"]:
                client = Client(campaign, ledger, policy, clock=lambda: NOW)
                assert len(client.reports(document["values"])) == 1
                continue
            spent = ledger.spent(0.0)
            message = "root of the campaign 'adaptive' must be [0-9a-f]{64}, by which the ledger"
            with pytest.raises(DocumentError, match=message):
                Client(campaign, ledger, policy)
            with pytest.raises(DocumentError, match=message):  # also where two begin at once
                ledger.remember(campaign.root, 1.0, policy, NOW, list, campaign.id)
            assert ledger.spent(0.0) == spent


def test_several_documents_with_one_id_get_one_answer_of_a_device() -> None:
    """As a collector would try that wants to recognize the device."""
    answered = []
    with Ledger(None) as ledger:
        for title in ("Late", "Late.", "late", "Late\u00a0", "Late "):
            campaign = replace(late_campaign(), title=title)
            try:
                client = Client(campaign, ledger, clock=lambda: NOW)
                answered.append(client.report("yes").campaign)
            except DocumentError:
                continue
    assert answered == [late_campaign().fingerprint]

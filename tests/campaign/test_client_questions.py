"""Clients of campaigns with questions of all kinds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from scipy.stats import chisquare

from noutput.campaign import (
    Client,
    Ledger,
    Policy,
    Scale,
    Table,
    YesNo,
    draw_report,
    draw_reports,
)
from noutput.errors import InvalidArgumentError, PolicyError, PrivacyError
from tests.campaign.examples import NOW, answer_table, late_campaign, survey_campaign
from tests.campaign.test_client import kept

VALUES: dict[str, Any] = {
    "commute": 42.0, "stars": 4, "age": "60+", "means": "train", "late": True, "kilometers": "0.5",
}  # fmt: skip
WIDE = Policy(epsilon=8.0, total=8.5)
EVERY = survey_campaign(ask="all")


def client(ledger: Ledger, policy: Policy = WIDE, **changes: Any) -> Client:
    return Client(survey_campaign(**changes), ledger, policy, clock=lambda: NOW)


def test_one_question_of_many_is_reported() -> None:
    with Ledger(None) as ledger:
        mine = client(ledger)
        report = mine.report(VALUES)
        assert report.question in VALUES
        assert mine.reports({**VALUES, "late": "no"}) == [report]
        assert ledger.spent(0.0) == 2.0  # the largest epsilon of all tables
        assert ledger.find(survey_campaign().fingerprint) == [report]


def test_all_questions_are_reported_together() -> None:
    with Ledger(None) as ledger:
        mine = client(ledger, ask="all")
        reports = mine.reports(VALUES)
        assert [report.question for report in reports] == list(VALUES)
        assert len({report.id for report in reports}) == len(reports)
        assert mine.reports({**VALUES, "late": "no"}) == reports
        assert ledger.spent(0.0) == 6.5  # the sum
        assert ledger.pending() == reports
        ledger.mark_sent(reports[2], NOW)
        assert ledger.pending() == [*reports[:2], *reports[3:]]
        assert mine.reports(VALUES) == reports


def test_report_is_for_campaigns_that_ask_one_question() -> None:
    with Ledger(None) as ledger:
        with pytest.raises(InvalidArgumentError, match=r"reports\(\) returns what it asks for"):
            client(ledger, ask="all").report(VALUES)
        assert ledger.pending() == []
    with pytest.raises(InvalidArgumentError, match=r"draw_reports\(\) returns"):
        draw_report(EVERY, VALUES)


def test_the_policy_caps_the_sum() -> None:
    loss = [table.privacy_loss() for table in EVERY.tables]
    with Ledger(None) as ledger:
        Client(EVERY, ledger, Policy(epsilon=6.5))
        enough = math.nextafter(math.fsum(loss), 9.0)
        Client(EVERY, ledger, Policy(epsilon=enough))
        message = "asks all questions, for epsilon 6.5 together, and the policy allows 6.4 per"
        with pytest.raises(PolicyError, match=message):
            Client(EVERY, ledger, Policy(epsilon=6.4))
        below = math.nextafter(math.fsum(loss), 0.0)
        with pytest.raises(PolicyError):
            Client(EVERY, ledger, Policy(epsilon=math.nextafter(below, 0.0)))
        with pytest.raises(PrivacyError, match="asks for epsilon 2, and the policy allows 1"):
            Client(survey_campaign(), ledger, Policy(epsilon=1.0))


def test_decimal_fractions_add_up_to_the_policy() -> None:
    questions = (YesNo(name="a"), YesNo(name="b"))
    tables = (answer_table(0.1, 2), answer_table(0.2, 2))
    with Ledger(None) as ledger:
        found = client(ledger, Policy(epsilon=0.3), questions=questions, tables=tables, ask="all")
        assert len(found.reports({"a": "no", "b": "yes"})) == 2
        assert ledger.spent(0.0) == 0.3


def test_the_period_counts_the_sum() -> None:
    policy = Policy(epsilon=7.0, total=7.0)
    with Ledger(None) as ledger:
        client(ledger, policy, ask="all").reports(VALUES)
        other = Client(late_campaign(), ledger, policy, clock=lambda: NOW)
        with pytest.raises(PolicyError, match=r"6\.5 of it is spent, and this campaign costs 1"):
            other.report("no")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stars", 4242), ("stars", "4242"), ("stars", 3.5), ("stars", True), ("stars", math.nan),
        ("stars", None), ("stars", [4242]), ("stars", 10**400), ("age", 22), ("means", "4242"),
        ("late", "4242"), ("late", 4242), ("late", 0.5), ("commute", "4242"), ("commute", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ask", ["one", "all"])
def test_what_is_no_answer_is_refused_by_name_and_kept_nowhere(
    name: str, value: Any, ask: str
) -> None:
    with Ledger(None) as ledger:
        calls: list[Callable[[Any], Any]] = [
            client(ledger, ask=ask).reports,
            lambda values: draw_reports(survey_campaign(ask=ask), values),
        ]
        for call in calls:
            with pytest.raises(InvalidArgumentError, match=rf"values\['{name}'\] must") as caught:
                call({**VALUES, name: value})
            assert "4242" not in kept(caught.value)
        assert ledger.pending() == []


def test_the_message_names_the_possible_answers() -> None:
    with Ledger(None) as ledger, pytest.raises(InvalidArgumentError) as caught:
        client(ledger).report({**VALUES, "means": "boat"})
    rule = "values['means'] must be one of ['train', 'car', 'v\u00e9lo', 'other']"
    assert str(caught.value) == f"{rule}; found 'another str'"


@pytest.mark.parametrize("ask", ["one", "all"])
def test_errors_of_the_ledger_keep_no_answer(ask: str) -> None:
    ledger = Ledger(None)
    mine = client(ledger, ask=ask)
    ledger.close()
    for call in (mine.reports, mine.report):
        with pytest.raises(InvalidArgumentError) as caught:
            call(VALUES)
        found = kept(caught.value)
        for trace in ("60+", "train", "0.5", "lambda", "cell"):
            assert trace not in found, found


def test_answers_are_drawn_as_the_table_says() -> None:
    scale = Scale(1, 2, 3, name="stars")
    rows = ((3 << 29, 1 << 31, 1 << 29), (1 << 29, 1 << 31, 3 << 29), (1 << 30, 1 << 31, 1 << 30))
    campaign = survey_campaign(questions=(scale,), tables=(Table(1.2, (3,), rows),))
    answers: tuple[float | str, ...] = (1, 2, "3")
    for place, answer in enumerate(answers):
        drawn = Counter(draw_report(campaign, answer).output for _ in range(1500))
        expected = [weight / (1 << 32) * 1500 for weight in rows[place]]
        assert chisquare([drawn[i] for i in range(3)], expected).pvalue > 1e-9


def test_every_question_is_drawn_alike_whatever_its_epsilon() -> None:
    campaign = survey_campaign()
    drawn = Counter(draw_report(campaign, VALUES).question for _ in range(1500))
    assert chisquare([drawn[name] for name in VALUES]).pvalue > 1e-9


def test_names_that_are_no_questions_are_not_repeated() -> None:
    """Somebody who swaps names and answers would leave the answers in the error."""
    swapped = {"train": "means", "secret": "late", **{k: VALUES[k] for k in ("commute", "stars")}}
    for values, found in (
        (swapped, "4 missing (age, means, late, kilometers), 2 others"),
        (VALUES | {"secret": 1}, "1 other"),
        ({k: v for k, v in VALUES.items() if k != "late"}, "1 missing (late)"),
    ):
        with pytest.raises(InvalidArgumentError) as caught:
            draw_report(survey_campaign(), values)
        assert caught.value.found == found
        assert "secret" not in str(caught.value)
        assert "train" not in str(caught.value)

"""Adaptive campaigns: the chain of waves in the document, and on the device."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noutput.campaign import (
    Campaign,
    Client,
    Ledger,
    NextWave,
    Policy,
    Table,
    YesNo,
)
from noutput.campaign.admission import Admission
from noutput.campaign.draft import CampaignDraft
from noutput.campaign.tokens import issued_digest, new_token, token_challenge
from noutput.errors import DocumentError, InvalidArgumentError
from tests.campaign.examples import (
    NOW,
    SHAPES,
    adaptive_campaign,
    anonymous_admission,
    answer_table,
    chained_campaigns,
    example_table,
    late_campaign,
    next_wave,
    survey_campaign,
)
from tests.campaign.signing import signed
from tests.campaign.vectors import vectors
from tests.tables import window_table

FIRST = adaptive_campaign()
SECOND = next_wave(FIRST)
THIRD = next_wave(SECOND, 90.5)
VALUES: dict[str, float | str] = {"commute": 45, "late": "no"}


@pytest.mark.parametrize("campaign", chained_campaigns(), ids=lambda each: each.fingerprint[:8])
def test_chains_are_read_and_written(campaign: Campaign) -> None:
    again = Campaign.from_json(campaign.to_json())
    assert again == campaign
    assert again.to_json() == campaign.to_json()
    assert again.root == campaign.waves[0].fingerprint
    assert [each.fingerprint for each in again.waves] == [
        each.fingerprint for each in campaign.waves
    ]
    assert signed(json.loads(campaign.to_json())) == json.loads(campaign.to_json())


def test_the_document_without_its_last_wave_is_the_predecessor_to_the_byte() -> None:
    for campaign in chained_campaigns():
        before = campaign.predecessor
        if before is None:
            continue
        found = json.loads(campaign.to_json())
        used = 1 + max(place for wave in found["waves"][:-1] for place in wave["tables"])
        cut = {**found, "waves": found["waves"][:-1], "tables": found["tables"][:used]}
        assert Campaign.from_json(json.dumps(signed(cut))).to_json() == before.to_json()


def test_a_campaign_that_is_not_adaptive_says_nothing_about_waves() -> None:
    for campaign in (survey_campaign(), late_campaign()):
        (wave,) = json.loads(campaign.to_json())["waves"]
        assert set(wave) == {"tables", "objectives"}
        assert campaign.root == campaign.fingerprint
        assert campaign.asked == campaign.questions
    for case in vectors("campaigns")["good"]:
        assert Campaign.from_json(case["text"]).fingerprint == case["fingerprint"]


CHAIN: dict[str, tuple[dict[str, Any], str]] = {
    "another text": ({"text": "Other"}, r"^text must be that of the predecessor"),
    "another id": ({"id": "other"}, r"^id must be that of the predecessor"),
    "not adaptive": ({"next_wave": None}, r"^predecessor must be that of an adaptive"),
    "another rule": ({"next_wave": NextWave(1, 2)}, r"^next_wave must be that of the predecessor"),
    "another epsilon": (
        {"tables": (window_table(0.5, 3, 3, 0.4).plain, FIRST.tables[1])},
        r"^tables\[0\] must have the epsilon of the first wave, 1\.0; found 0\.5",
    ),
    "bounds beyond": ({"bounds": ((0, 601), None)}, r"^bounds\[0\] must increase, and lie between"),
    "bounds below": ({"bounds": ((-1, 60), None)}, r"^bounds\[0\] must increase, and lie"),
    "bounds that do not increase": ({"bounds": ((60, 60), None)}, r"^bounds\[0\] must increase"),
    "bounds of an answer": ({"bounds": ((0, 60), (0, 1))}, r"^bounds\[1\] must be absent"),
    "no bounds": ({"bounds": (None, None)}, r"^bounds\[0\] must be two numbers"),
    "bounds too few": ({"bounds": ((0, 60),)}, r"^bounds must have 2 entries"),
    "one bound": ({"bounds": ((0,), None)}, r"^bounds\[0\] must be two numbers"),
    "bounds not finite": ({"bounds": ((0, float("inf")), None)}, r"^bounds\[0\] must be a finite"),
    "bounds too close": (
        {"bounds": ((0, 5e-324), None)},
        r"^bounds\[0\] must be a finite distance apart",
    ),
    "no inputs": ({"inputs": ()}, r"^inputs must have 2 entries"),
    "inputs of two waves": (
        {"inputs": (((1, 2, 3),) * 2, ((1, 2),))},
        r"^inputs\[0\] must have 1 entries, one per earlier wave",
    ),
    "too few counts": (
        {"inputs": (((1, 2),), ((1, 2),))},
        r"^inputs\[0\]\[0\] must have 3 counts",
    ),
    "negative counts": (
        {"inputs": (((1, 2, -3),), ((1, 2),))},
        r"^inputs\[0\]\[0\] must be a whole number from 0",
    ),
    "no reasons": ({"reasons": ("a",)}, r"^reasons must have 2 entries"),
    "a long reason": ({"reasons": ("a" * 1001, "")}, r"^reasons\[0\] must have from 0 to 1000"),
}


@pytest.mark.parametrize(("change", "message"), CHAIN.values(), ids=CHAIN)
def test_malformed_chains_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        replace(SECOND, **change)


ALONE: dict[str, tuple[dict[str, Any], str]] = {
    "bounds": ({"bounds": ((0, 60), None)}, r"^bounds must be absent in the first wave"),
    "inputs": ({"inputs": (((1,),),)}, r"^inputs must be absent in the first wave"),
    "reasons": ({"reasons": ("a", "b")}, r"^reasons must be absent in the first wave"),
    "no number": (
        {"questions": (YesNo(name="late"),), "tables": (answer_table(1.0, 2),), "objectives": ()},
        r"^next_wave must be absent: no question is a number",
    ),
    "too early": (
        {"next_wave": NextWave(1, 1, FIRST.opens)},
        r"^next\.until must be later than opens",
    ),
    "no next wave": ({"next_wave": "soon"}, r"^next_wave must be a NextWave"),
}


@pytest.mark.parametrize(("change", "message"), ALONE.values(), ids=ALONE)
def test_a_first_wave_has_no_past(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        replace(FIRST, **change)


@pytest.mark.parametrize("change", [{"reports": 0}, {"expected": 1.5}, {"rule": "range 2"},
                                    {"until": datetime(2026, 1, 1)}])  # fmt: skip
def test_what_is_no_next_wave_is_refused(change: dict[str, Any]) -> None:
    good: dict[str, Any] = {"reports": 1, "expected": 1}
    with pytest.raises(InvalidArgumentError, match=r"^next\.\w+ must be"):
        NextWave(**(good | change))


def test_there_are_at_most_eight_waves() -> None:
    campaign = FIRST
    for _ in range(7):
        campaign = next_wave(campaign)
    assert len(Campaign.from_json(campaign.to_json()).waves) == 8
    with pytest.raises(InvalidArgumentError, match=r"^waves must be at most 8; found 9"):
        next_wave(campaign)


DOCUMENTS: dict[str, tuple[Any, str]] = {
    "another predecessor": (
        lambda d: d["waves"][1].update(predecessor="0" * 64),
        r"^waves\[1\]\.predecessor must be [0-9a-f]{64}; found '0000",
    ),
    "no predecessor": (
        lambda d: d["waves"][1].pop("predecessor"),
        r"^waves\[1\]\.predecessor must be given",
    ),
    "a next wave of the second": (
        lambda d: d["waves"][1].update(next=d["waves"][0]["next"]),
        r"key 'waves\[1\]\.next' must be absent: .* newer",
    ),
    "not adaptive": (lambda d: d["waves"][0].pop("next"), r"^waves must be a list of one entry"),
    "an unknown rule": (
        lambda d: d["waves"][0]["next"].update(rule="range 2"),
        r"^waves\[0\]\.next\.rule must be one of .* newer",
    ),
    "reports as a fraction": (
        lambda d: d["waves"][0]["next"].update(reports=1.0),
        r"^waves\[0\]\.next\.reports must be a whole number",
    ),
    "an unknown key": (
        lambda d: d["waves"][0]["next"].update(more=1),
        r"^waves\[0\]\.next must have the keys .* newer",
    ),
    "tables in another order": (
        lambda d: d["waves"][1].update(tables=[2, 0]) or d["waves"][0].update(tables=[2, 1]),
        r"^waves\[0\]\.tables\[0\] must be at most 0",
    ),
    "counts as fractions": (
        lambda d: d["waves"][1]["inputs"][0][0].__setitem__(0, 0.5),
        r"^inputs\[0\]\[0\] must be a whole number",
    ),
    "no wave": (lambda d: d.update(waves=[]), r"^waves must be a list of 1 to 8 entries"),
}


@pytest.mark.parametrize(("change", "message"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_malformed_documents_of_chains_are_refused(change: Any, message: str) -> None:
    found = json.loads(SECOND.to_json())
    change(found)
    with pytest.raises(InvalidArgumentError, match=message):
        Campaign.from_json(json.dumps(found))


CHAINS = vectors("chains")


@pytest.mark.parametrize("case", CHAINS["good"], ids=lambda case: case["fingerprint"][:8])
def test_chains_agree_with_the_vectors(case: dict[str, Any]) -> None:
    campaign = Campaign.from_json(case["text"])
    assert campaign.to_json() == case["text"]
    assert (campaign.fingerprint, campaign.root) == (case["fingerprint"], case["root"])
    assert [each.fingerprint for each in campaign.waves] == case["chain"]
    assert campaign.epsilon == case["epsilon"]
    for each in case["encoded"]:
        assert campaign.asked[each["question"]].encode(each["value"]) == each["x"]


@pytest.mark.parametrize("case", CHAINS["bad"], ids=lambda case: case["why"])
def test_chains_of_the_vectors_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="must") as caught:
        Campaign.from_json(json.dumps(case["campaign"]))
    assert caught.value.name != "fingerprint"


def test_a_successor_of_another_chain_is_no_successor() -> None:
    """Every wave is bound to all that was before it: none can be moved to another chain."""
    other = json.loads(next_wave(adaptive_campaign(title="Other")).to_json())
    mixed = {**json.loads(SECOND.to_json()), "waves": other["waves"]}
    with pytest.raises(DocumentError, match=r"^waves\[1\]\.predecessor"):
        Campaign.from_json(json.dumps(mixed))


@given(value=st.floats(-1e6, 1e6), upper=st.floats(1.0, 600.0))
@settings(max_examples=60)
def test_numbers_are_clipped_to_the_wave(value: float, upper: float) -> None:
    (asked, _) = next_wave(FIRST, upper).asked
    clipped = min(max(value, 0.0), upper)
    assert asked.encode(value) == asked.encode(clipped) == clipped


def test_devices_draw_with_the_clipped_number(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[float] = []

    def privatize(_: object, x: float) -> int:
        drawn.append(x)
        return 0

    monkeypatch.setattr(Table, "privatize", privatize)
    survey = replace(SECOND.waves[0], ask="all")
    second = next_wave(survey)
    client = Client(second, Ledger(None), Policy(4.0), clock=lambda: NOW)
    client.reports({"commute": 300, "late": "no"})
    assert drawn == [110.0, 0]  # 300 minutes are 110 in the second wave


def client_of(campaign: Campaign, ledger: Ledger, epsilon: float = 1.0) -> Client:
    return Client(campaign, ledger, Policy(epsilon, 100.0), clock=lambda: NOW)


def test_a_person_answers_one_wave() -> None:
    with Ledger(None) as ledger:
        report = client_of(FIRST, ledger).report(VALUES)
        for campaign in (SECOND, THIRD, FIRST):
            assert client_of(campaign, ledger).report({"commute": 600, "late": "yes"}) == report
        assert report.campaign == FIRST.fingerprint
        assert ledger.spent(0.0) == 1.0
        assert ledger.pending() == [report]
        ledger.mark_sent(report, NOW)
        assert ledger.pending() == []


def test_a_late_report_names_the_wave_that_it_was_drawn_with(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        report = client_of(SECOND, ledger).report(VALUES)
    with Ledger(tmp_path / "ledger") as ledger:
        assert client_of(THIRD, ledger).report(VALUES) == report
        assert ledger.pending() == [report]
        assert report.campaign == SECOND.fingerprint
        assert ledger.find(FIRST.fingerprint) == [report]


def test_a_client_follows_the_chain_that_it_knows() -> None:
    client = client_of(FIRST, Ledger(None))
    assert client.follow(SECOND)
    assert client.campaign is SECOND
    assert not client.follow(FIRST)
    assert not client.follow(SECOND)
    assert client.follow(THIRD)
    assert client.report(VALUES).campaign == THIRD.fingerprint


def test_a_client_keeps_what_it_has_where_it_cannot_verify_the_successor() -> None:
    second = client_of(SECOND, Ledger(None))
    fork = next_wave(next_wave(FIRST, 80.0))  # another second wave of the same root
    assert not second.follow(fork)
    assert not second.follow(next_wave(adaptive_campaign("other")))
    assert second.campaign is SECOND
    # the second wave's table is within its own claim, and not within the policy of this person
    weak = window_table(0.9, 3, 3, 0.4).plain.rescaled(0, 600)
    claimed = Table(1.0, weak.axes, weak.weights)
    first = adaptive_campaign(tables=(claimed, answer_table(0.9, 2)))
    client = client_of(first, Ledger(None), epsilon=0.95)
    strong = window_table(1.0, 3, 3, 0.4).plain
    assert not client.follow(next_wave(first, table=strong))
    assert client.follow(next_wave(first, table=claimed))


def test_a_token_is_one_report_over_all_waves() -> None:
    first = replace(FIRST, admission=Admission("token"))
    second = next_wave(first)
    token = new_token()
    ids = {client_of(each, Ledger(None)).report(VALUES, token).id for each in (first, second)}
    assert len(ids) == 1
    data = bytes(18)
    assert issued_digest(first, data) == issued_digest(second, data)
    anonymous = replace(FIRST, admission=anonymous_admission())
    assert token_challenge(anonymous) == token_challenge(next_wave(anonymous))
    assert bytes.fromhex(anonymous.fingerprint) in token_challenge(next_wave(anonymous))


def test_the_loss_is_that_of_one_report_in_every_wave() -> None:
    for campaign in chained_campaigns():
        assert {each.epsilon for each in campaign.waves} == {campaign.epsilon}
    assert re.fullmatch("[0-9a-f]{64}", SECOND.root)
    assert example_table(SHAPES[1]).epsilon == FIRST.epsilon
    assert SECOND.wave(FIRST.fingerprint) == FIRST
    assert SECOND.wave("0" * 64) is None
    assert FIRST.next_wave
    assert FIRST.next_wave.until == datetime(2026, 12, 1, tzinfo=UTC)


DRAFT = """
id = "commute"
title = "Commute"
text = "How was your way to work?"
epsilon = 1.0
opens = 2026-03-01T00:00:00Z
closes = 2026-04-01T00:00:00Z
ADAPTIVE

[[questions]]
name = "minutes"
lower = 0
upper = 600

[[questions]]
name = "late"
kind = "yes/no"
"""


def draft(adaptive: str) -> NextWave | None:
    found = CampaignDraft.from_toml(DRAFT.replace("ADAPTIVE", adaptive))
    return found.campaign(FIRST.tables).next_wave


def test_a_draft_says_who_comes_first() -> None:
    until = datetime(2026, 3, 8, tzinfo=UTC)
    assert draft("") is draft("adaptive = false") is None
    assert draft("adaptive = true") == NextWave(2_000, 10_000)
    people = "adaptive = { expected = 8_000, share = 0.15 }"
    assert draft(people) == NextWave(1_200, 8_000)
    assert draft(f'ask = "all"\n{people}') == NextWave(2_400, 8_000)
    assert draft("adaptive = { until = 2026-03-08T00:00:00Z }") == NextWave(2_000, 10_000, until)


@pytest.mark.parametrize(
    ("adaptive", "message"),
    [
        ('"yes"', r"^adaptive must be true, false, or a table"),
        ("{ people = 3 }", r"^key adaptive\.people must be one of"),
        ("{ share = 0.5 }", r"^adaptive\.share must lie between 0\.1 and 0\.2; found 0\.5"),
        ("{ expected = 4_999 }", r"^adaptive\.expected must be at least 5,000: .* found 4999"),
        ("{ expected = 9_999, share = 0.1 }", r"^adaptive\.expected must be at least 10,000: "),
        ("{ expected = 0 }", r"^adaptive\.expected must be a whole number"),
        ('{ until = "soon" }', r"^adaptive\.until must be an instant with a time zone"),
        ("{ until = 2026-03-08T00:00:00.5Z }", r"^adaptive\.until must be a whole second"),
        ("{ until = 2027-03-08T00:00:00Z }", r"^next\.until must be later than opens"),
    ],
)
def test_drafts_that_are_not_adaptive_are_refused(adaptive: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        draft(f"adaptive = {adaptive}")


def test_everybody_who_answers_all_questions_counts_for_each() -> None:
    everything = 'ask = "all"\nadaptive = '
    assert draft(everything + "{ expected = 2_500 }") == NextWave(1_000, 2_500)
    with pytest.raises(InvalidArgumentError, match=r"at least 2,500: .* Leave adaptive out"):
        draft(everything + "{ expected = 2_499 }")


def test_a_draft_that_does_not_say_how_many_are_expected_is_noted() -> None:
    def notes(adaptive: str) -> tuple[str, ...]:
        return CampaignDraft.from_toml(DRAFT.replace("ADAPTIVE", adaptive)).notes

    assert notes("") == notes("adaptive = false") == notes("adaptive = { expected = 9_000 }") == ()
    (note,) = notes("adaptive = true")
    assert note.startswith("10,000 people are expected, because the draft does not say how many")
    assert notes("adaptive = { share = 0.2 }") == (note,)

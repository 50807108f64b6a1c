"""Who may report: what a campaign says about it."""

from __future__ import annotations

import re

import pytest

from noutput.campaign import Admission, Campaign
from noutput.campaign.draft import CampaignDraft
from noutput.errors import DocumentError, InvalidArgumentError
from tests.campaign.examples import (
    ISSUER_KEY,
    admitting_campaigns,
    anonymous_admission,
    late_campaign,
)

DRAFT = """
id = "late"
title = "Late"
text = "Were you late?"
epsilon = 1.0
opens = 2026-03-01T00:00:00Z
closes = 2036-03-01T00:00:00Z

[[questions]]
name = "late"
kind = "yes/no"
"""


def test_an_open_campaign_says_so_in_one_word() -> None:
    campaign = late_campaign()
    assert campaign.admission == Admission()
    assert '"admission": "open"' in campaign.to_json()


@pytest.mark.parametrize("campaign", admitting_campaigns(), ids=lambda each: each.admission.kind)
def test_admission_is_read_as_it_is_written(campaign: Campaign) -> None:
    again = Campaign.from_json(campaign.to_json())
    assert again == campaign
    assert again.admission == campaign.admission
    assert campaign.fingerprint != late_campaign().fingerprint
    assert campaign.admission.needs_token == (campaign.admission.kind != "open")


def test_a_key_has_its_modulus() -> None:
    assert anonymous_admission().modulus.bit_length() == 2048


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "invited"}, "admission.kind must be one of"),
        ({"reports_per_hour": 0}, "admission.reports_per_hour must be a whole number from 1"),
        ({"issuer": None}, "admission.issuer must be an address"),
        ({"issuer": "https://Issuer.example"}, "admission.issuer must be an address"),
        ({"issuer": "https://issuer.example/"}, "admission.issuer must be an address"),
        ({"key": None}, "admission.key must be an RSASSA-PSS key"),
        ({"key": ISSUER_KEY[:-4]}, "admission.key must be an RSASSA-PSS key"),
        ({"key": "A" + ISSUER_KEY[1:]}, "admission.key must be an RSASSA-PSS key"),
        ({"key": ISSUER_KEY[:-4] + "AAAA"}, "admission.key must be an RSASSA-PSS key"),
        ({"key": "+" + ISSUER_KEY[1:]}, "admission.key must be an RSASSA-PSS key"),
        ({"kind": "token"}, "admission.issuer must be absent where kind is 'token'"),
    ],
)
def test_what_makes_no_admission_is_refused(change: dict[str, object], message: str) -> None:
    parts = {"kind": "anonymous", "issuer": "https://issuer.example", "key": ISSUER_KEY}
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        Admission(**{**parts, **change})  # type: ignore[arg-type] # that is what is tested


def test_a_campaign_takes_an_admission_only() -> None:
    with pytest.raises(InvalidArgumentError, match="admission must be an Admission; found 'str'"):
        late_campaign(admission="token")  # type: ignore[arg-type] # that is what is tested


@pytest.mark.parametrize(
    ("text", "admission"),
    [
        ("", Admission()),
        ('admission = "open"\n', Admission()),
        ('admission = "token"\n', Admission("token")),
        ("admission = { reports_per_hour = 500 }\n", Admission(reports_per_hour=500)),
    ],
)
def test_a_draft_says_who_may_report(text: str, admission: Admission) -> None:
    assert CampaignDraft.from_toml(text + DRAFT).parts["admission"] == admission


def test_a_draft_names_an_issuer() -> None:
    text = (
        f'[admission]\nkind = "anonymous"\nissuer = "https://issuer.example"\nkey = "{ISSUER_KEY}"'
    )
    assert CampaignDraft.from_toml(DRAFT + text).parts["admission"] == anonymous_admission()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("admission = 3\n", "admission must be 'open', 'token', or a table headed [admission]"),
        ('admission = "closed"\n', "admission.kind must be one of"),
        ("admission = { per_hour = 500 }\n", "key admission.per_hour must be"),
        ('admission = "anonymous"\n', "admission.issuer must be an address"),
    ],
)
def test_drafts_with_another_admission_are_refused(text: str, message: str) -> None:
    with pytest.raises((DocumentError, InvalidArgumentError), match=re.escape(message)):
        CampaignDraft.from_toml(text + DRAFT)

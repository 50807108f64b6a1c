"""Tokens of reports: their forms, and the ids that spend them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noutput.campaign import Campaign, Client, Ledger, Report, draw_report, enroll
from noutput.campaign.packed import decode_packed, encode_packed, open_packed
from noutput.campaign.problems import WireError
from noutput.campaign.tokens import new_token, read_token, report_id, token_challenge, write_token
from noutput.campaign.wire import decode_batch, decode_report, encode_batch, encode_report
from noutput.errors import InvalidArgumentError
from tests.campaign.examples import NOW, answers_to, late_campaign
from tests.campaign.tokens import anonymous_campaign, signed_token, token_campaign

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "tokens.json").read_text()
)["cases"]
KINDS = {"token": token_campaign(), "anonymous": anonymous_campaign()}


def token_for(campaign: Campaign) -> str:
    return new_token() if campaign.admission.kind == "token" else signed_token(campaign)


def test_ids_agree_with_the_vectors() -> None:
    for case in VECTORS:
        campaign = Campaign.from_json(case["campaign"])
        data = read_token(campaign, case["token"])
        places = range(len(campaign.questions))
        assert [report_id(campaign, data, place) for place in places] == case["ids"]
        assert answers_to(campaign) == case["values"]
    assert len(set(VECTORS[2]["ids"])) == 6  # all are asked


@pytest.mark.parametrize("kind", KINDS)
def test_reports_with_tokens_are_read_as_they_are_written(kind: str) -> None:
    campaign = KINDS[kind]
    reports = [draw_report(campaign, "yes", token_for(campaign)) for _ in range(3)]
    assert decode_report(encode_report(reports[0]), campaign) == reports[0]
    assert decode_batch(encode_batch(reports), campaign) == reports
    packed = encode_packed(campaign, reports)
    assert decode_packed(packed, campaign) == sorted(reports, key=lambda each: each.id)
    size = int.from_bytes(packed[5:8], "little")
    assert size == {"token": 18, "anonymous": 288}[kind]
    assert len(packed) == 44 + 3 * 16 + 1 + 3 * size
    assert len(encode_report(reports[0])) < 1024
    assert reports[0].token not in repr(reports[0])


@pytest.mark.parametrize("kind", KINDS)
def test_every_byte_of_a_packed_batch_counts(kind: str) -> None:
    campaign = KINDS[kind]
    packed = encode_packed(campaign, [draw_report(campaign, "yes", token_for(campaign))])
    for body in (packed[:-1], packed + b"x", packed[:5] + b"\0\0\0" + packed[8:]):
        with pytest.raises(WireError) as caught:
            open_packed(body, campaign)
        assert caught.value.problem.name == "malformed-body"
    spent = bytearray(packed)
    spent[44 + 16 + 1] ^= 1  # of the secret
    with pytest.raises(WireError) as caught:
        decode_packed(bytes(spent), campaign)
    assert caught.value.problem.name == "invalid-token"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_token_is_refused_and_not_repeated(kind: str) -> None:
    campaign = KINDS[kind]
    good = token_for(campaign)
    other = token_for(KINDS["token" if kind == "anonymous" else "anonymous"])
    for bad in (None, 7, "", good[:-4], good + "AAAA", good[:-1] + "+", other, "A" * len(other)):
        with pytest.raises(WireError) as caught:
            read_token(campaign, bad)
        assert caught.value.problem.name == "invalid-token"
        assert not (isinstance(bad, str) and bad and bad in str(caught.value))


def test_an_anonymous_token_is_that_of_the_rfc() -> None:
    campaign = KINDS["anonymous"]
    challenge = token_challenge(campaign)
    name = b"issuer.example"
    assert challenge[:4] == b"\0\2\0" + bytes([len(name)])
    assert challenge[4:].startswith(name + b"\x20" + bytes.fromhex(campaign.fingerprint))
    assert challenge.endswith(b"\0\0")
    token = signed_token(campaign)
    assert write_token(campaign, read_token(campaign, token)) == token
    with pytest.raises(InvalidArgumentError, match="campaign must be anonymous"):
        token_challenge(KINDS["token"])


def test_a_client_asks_for_the_token_before_it_draws() -> None:
    campaign = KINDS["token"]
    with Ledger(None) as ledger:
        client = Client(campaign, ledger, clock=lambda: NOW)
        with pytest.raises(InvalidArgumentError, match="token must be given"):
            client.report("yes")
        with pytest.raises(InvalidArgumentError, match="token must be a token of this campaign"):
            client.report("yes", "A" * 472)
        assert ledger.spent(0.0) == 0.0
        report = client.report("yes", new_token())
        assert client.report("no", new_token()) == report
        assert ledger.pending() == [report]
        open_client = Client(late_campaign("open"), ledger, clock=lambda: NOW)
        with pytest.raises(InvalidArgumentError, match="token must be absent"):
            open_client.report("yes", new_token())


def test_reports_have_tokens_of_the_right_form() -> None:
    with pytest.raises(InvalidArgumentError, match="token must be 24 or 472 characters") as caught:
        Report("0" * 64, "late", 1, "0" * 32, "secret words")
    assert "secret" not in str(caught.value)
    report = draw_report(KINDS["token"], "yes", new_token())
    with pytest.raises(WireError, match="hash of the token"):
        decode_report(encode_report(replace(report, id="0" * 32)), KINDS["token"])


def test_a_credential_fits_into_a_header() -> None:
    with Ledger(None) as ledger, pytest.raises(InvalidArgumentError, match="campaign must be anon"):
        enroll(KINDS["token"], ledger)

"""Enrollment with issuers and campaigns that do not play by the rules."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pytest

from noutput.campaign import Admission, Ledger, Route, enroll
from noutput.campaign.admission import public_key
from noutput.campaign.blind_rsa import blind
from noutput.errors import DeliveryError, InvalidArgumentError
from tests.campaign.server import Answer, serving
from tests.campaign.tokens import anonymous_campaign, issuer_key

ONCE = Route(attempts=1)
KEYS = [{"token-key": issuer_key().public}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"token-keys": 5}, "does not offer"),
        ({"token-keys": {"token-key": issuer_key().public}}, "does not offer"),
        ({"token-keys": None}, "does not offer"),
        ({"issuer-request-uri": "http://["}, "signs at another host"),
        ({"issuer-request-uri": "//elsewhere.example/"}, "signs at another host"),
        ({"issuer-request-uri": 7}, "status 404"),
        ({"issuer-request-uri": "/t\u00f6ken"}, "signs at another host"),
        ({"issuer-request-uri": "/a token"}, "signs at another host"),
    ],
)
def test_a_hostile_directory_is_an_error_of_delivery(change: dict[str, Any], message: str) -> None:
    content = {"issuer-request-uri": "/sign", "token-keys": KEYS, **change}
    directory = Answer(body=json.dumps(content).encode())
    with serving(directory, Answer(404)) as (url, _), Ledger(None) as ledger:
        campaign = anonymous_campaign(issuer=url.removesuffix("/campaigns/commute"))
        with pytest.raises(DeliveryError, match=message):
            enroll(campaign, ledger, route=ONCE)


def test_an_answer_that_is_too_long_is_not_read() -> None:
    content = {"issuer-request-uri": "/sign", "token-keys": KEYS}
    directory = Answer(body=json.dumps(content).encode())
    with serving(directory, Answer(body=bytes(1 << 20))) as (url, _), Ledger(None) as ledger:
        campaign = anonymous_campaign(issuer=url.removesuffix("/campaigns/commute"))
        with pytest.raises(DeliveryError, match="more than 256 bytes"):
            enroll(campaign, ledger, route=ONCE)


def test_a_key_with_small_factors_learns_nothing() -> None:
    # a factor that message and modulus share is one of what the issuer sees, whatever hides it
    small = math.prod(
        prime for prime in range(3, 500, 2) if all(prime % i for i in range(3, prime))
    )
    modulus = small * ((1 << 2047) // small + 2 - (1 << 2047) // small % 2 - 1)
    assert modulus.bit_length() == 2048
    assert modulus % 2 == 1
    salts = [bytes([byte]) * 48 for byte in range(100)]
    with pytest.raises(InvalidArgumentError, match="modulus must have no factor of the message"):
        _ = [blind(b"token", modulus, salt, 1) for salt in salts]
    assert len(public_key(modulus)) == 342  # a campaign may name it


@pytest.mark.parametrize(
    "issuer",
    ["https://a..b", "https://a.example:65536", "https://a-.example", f"https://{'a' * 64}"],
)
def test_issuers_that_no_device_could_ask_are_refused(issuer: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"admission\.issuer must be an address"):
        Admission("anonymous", issuer=issuer, key=issuer_key().public)
    Admission("anonymous", issuer="https://a-b.example:65535", key=issuer_key().public)


def test_a_key_has_one_spelling() -> None:
    key = public_key((1 << 2048) - 1)
    usual, other = (base64.b64encode(key, altchars).decode() for altchars in (b"-_", b"+/"))
    assert usual != other
    Admission("anonymous", issuer="https://issuer.example", key=usual)
    with pytest.raises(InvalidArgumentError, match=r"admission\.key must be an RSASSA-PSS key"):
        Admission("anonymous", issuer="https://issuer.example", key=other)

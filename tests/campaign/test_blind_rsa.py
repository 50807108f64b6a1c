"""Blind signatures and tokens as the RFCs have them."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from noutput.campaign.admission import EXPONENT, public_key
from noutput.campaign.blind_rsa import blind, encode, finalize
from noutput.issuer.keys import IssuerKey
from tests.campaign.tokens import issuer_key

VECTORS = Path(__file__).parents[1] / "vectors"
SIGNED: dict[str, str] = json.loads((VECTORS / "blind_rsa.json").read_text())
PASSES: dict[str, Any] = json.loads((VECTORS / "privacy_pass.json").read_text())


def test_the_vectors_of_rfc_9474() -> None:
    number = {name: int(text, 16) for name, text in SIGNED.items() if name != "source"}
    modulus = number["p"] * number["q"]
    message, salt = bytes.fromhex(SIGNED["msg"]), bytes.fromhex(SIGNED["salt"])
    factor = pow(number["inv"], -1, modulus)
    assert blind(message, modulus, salt, factor) == number["blinded_msg"]
    exponent = pow(EXPONENT, -1, (number["p"] - 1) * (number["q"] - 1))
    assert pow(number["blinded_msg"], exponent, modulus) == number["blind_sig"]
    signature = finalize(message, number["blind_sig"], modulus, salt, factor)
    assert signature == bytes.fromhex(SIGNED["sig"])
    assert finalize(message, number["blind_sig"] + 1, modulus, salt, factor) is None
    assert finalize(message + b"!", number["blind_sig"], modulus, salt, factor) is None


def test_the_vectors_of_rfc_9578() -> None:
    key = load_pem_private_key(bytes.fromhex(PASSES["private_key"]), None)
    signer = IssuerKey(key)  # type: ignore[arg-type] # it is one of RSA
    data = public_key(signer.modulus)
    assert data.hex() == PASSES["public_key"]
    assert len(PASSES["cases"]) == 2
    for case in PASSES["cases"]:
        found = {name: bytes.fromhex(text) for name, text in case.items()}
        challenge = sha256(found["token_challenge"]).digest()
        message = b"\x00\x02" + found["nonce"] + challenge + signer.id
        factor = int.from_bytes(found["blind"])
        blinded = blind(message, signer.modulus, found["salt"], factor)
        assert b"\x00\x02" + signer.id[-1:] + blinded.to_bytes(256) == found["token_request"]
        assert signer.sign(blinded).to_bytes(256) == found["token_response"]
        response = int.from_bytes(found["token_response"])
        signature = finalize(message, response, signer.modulus, found["salt"], factor)
        assert message + (signature or b"") == found["token"]


def test_a_signature_that_went_wrong_leaves_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    key = issuer_key()
    monkeypatch.setattr(key, "_inverse", key._inverse + 1)
    with pytest.raises(ArithmeticError, match="not given to anybody"):
        key.sign(4711)


def test_what_is_signed_has_one_bit_less_than_the_modulus() -> None:
    for bits in (2047, 2046, 1025, 1024):
        encoded = encode(b"message", bits, bytes(48))
        assert len(encoded) == -(-bits // 8)
        assert int.from_bytes(encoded).bit_length() <= bits

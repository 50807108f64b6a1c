"""Tokens that reports carry: one per person and campaign, each counted once.

A token is spent by the id of its report, which is a hash of it. So whoever sends a token twice
sends the same report twice, and it is counted once, by the means that count every report once.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
import struct
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from noutput.campaign.problems import WireError
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign

__all__ = [
    "MAX_SIGNED", "TOKEN", "challenge_digest", "check_token", "issued_digest", "key_id",
    "new_token", "packed_bytes", "read_token", "report_id", "signed_part", "token_challenge",
    "write_token",
]  # fmt: skip

MAX_SIGNED = 1000  # reports of a batch whose tokens have signatures to verify
TOKEN = re.compile(r"[A-Za-z0-9_-]{24}|[A-Za-z0-9_-]{472}", re.ASCII)
_TYPE = 0x0002  # RFC 9578: blind RSA, 2,048 bits
_SECRET_BYTES = 18
_NONCE_BYTES = 32
_SIGNATURE_BYTES = 256
_PARTS = struct.Struct(">H32s32s32s256s")  # type, nonce, challenge digest, key id, authenticator
_SIZES = {"open": 0, "token": _SECRET_BYTES, "anonymous": _NONCE_BYTES + _SIGNATURE_BYTES}


def new_token() -> str:
    """Return a one-time token for a campaign of the kind "token": 144 random bits.

    Examples
    --------
    >>> len(new_token())
    24
    """
    return secrets.token_urlsafe(_SECRET_BYTES)


def packed_bytes(campaign: Campaign) -> int:
    """Return how many bytes a token takes in a packed batch.

    Those of an anonymous token are its nonce and its signature; all else follows from the campaign.
    """
    return _SIZES[campaign.admission.kind]


def token_challenge(campaign: Campaign) -> bytes:
    """Return the challenge (RFC 9577, 2.1.1) that tokens of a campaign answer.

    It names the issuer, and as its redemption context the root of the campaign: a token of one
    campaign is none of another, and the same in all waves of its own. It names no origin, because
    a campaign may move.
    """
    if campaign.admission.issuer is None:
        raise InvalidArgumentError("campaign", "be anonymous", campaign.admission.kind)
    name = campaign.admission.issuer.partition("://")[2].encode()
    context = bytes.fromhex(campaign.root)
    return struct.pack(f">HH{len(name)}sB32sH", _TYPE, len(name), name, 32, context, 0)


def challenge_digest(campaign: Campaign) -> bytes:
    """Return the SHA-256 of a campaign's challenge."""
    return sha256(token_challenge(campaign)).digest()


def key_id(campaign: Campaign) -> bytes:
    """Return the SHA-256 of the issuer's public key, by which tokens name it."""
    return sha256(base64.urlsafe_b64decode(campaign.admission.key or "")).digest()


def signed_part(campaign: Campaign, nonce: bytes) -> bytes:
    """Return what the issuer's signature is of: all of a token but the signature."""
    whole = _PARTS.pack(_TYPE, nonce, challenge_digest(campaign), key_id(campaign), b"")
    return whole[:-_SIGNATURE_BYTES]


def write_token(campaign: Campaign, data: bytes) -> str:
    """Return a token as reports carry it in JSON, from its form in a packed batch."""
    if campaign.admission.kind == "anonymous":
        data = signed_part(campaign, data[:_NONCE_BYTES]) + data[_NONCE_BYTES:]
    return base64.urlsafe_b64encode(data).decode()


def read_token(campaign: Campaign, text: object, name: str = "token") -> bytes:
    """Return a token in its form for packed batches; a signature is not verified.

    Raises
    ------
    WireError
        If it is no token, or one of another campaign or issuer.
    """
    size = packed_bytes(campaign)
    data = b""
    if isinstance(text, str) and TOKEN.fullmatch(text):
        with suppress(binascii.Error):
            data = base64.urlsafe_b64decode(text)
    if campaign.admission.kind == "anonymous" and len(data) == _PARTS.size:
        _, nonce, _, _, signature = _PARTS.unpack(data)
        if data.startswith(signed_part(campaign, nonce)):
            data = nonce + signature
    if len(data) != size:
        raise WireError("invalid-token", name, "be a token of this campaign", _shown(text))
    return data


def check_token(name: str, value: object) -> str:
    """Return the text of a token, or an empty one; errors do not repeat it."""
    if isinstance(value, str) and (not value or TOKEN.fullmatch(value)):
        return value
    rule = "be 24 or 472 characters of base64url"
    raise InvalidArgumentError(name, rule, _shown(value))


def report_id(campaign: Campaign, token: bytes, place: int) -> str:
    """Return the id of the report that spends a token, from the token's form for packed batches.

    Where a campaign asks all questions, the token is spent once per question, by its place. The
    wave has no part in it: a token that was spent in one wave is spent in all.
    """
    secret = token[:_NONCE_BYTES]
    spent = struct.pack("B", place if campaign.ask == "all" else 0)
    parts = (b"noutput-token\n", bytes.fromhex(campaign.root), spent, secret)
    return sha256(b"".join(parts)).hexdigest()[:32]


def issued_digest(campaign: Campaign, token: bytes) -> bytes:
    """Return what a collector keeps of a token that it issued: 16 bytes of a hash."""
    parts = (b"noutput-issued\n", bytes.fromhex(campaign.root), token)
    return sha256(b"".join(parts)).digest()[:16]


def _shown(text: object) -> str:
    """Describe a token that is none: it may be a good one of another campaign."""
    kind = type(text).__name__
    return f"{kind} of {len(text)} characters" if isinstance(text, str) else kind

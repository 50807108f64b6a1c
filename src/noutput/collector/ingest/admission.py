"""Admission of reports: whose tokens are good."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA384

from noutput.campaign.admission import EXPONENT
from noutput.campaign.problems import WireError
from noutput.campaign.tokens import signed_part

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    from noutput.campaign.campaign import Campaign

__all__ = ["Gate", "gate", "refused_token"]

Gate: TypeAlias = Callable[[Iterable[bytes], bool], None]

_TYPE, _NONCE = 2, 32  # bytes
_AT_ONCE = 16  # signatures, half a millisecond
_PAUSE_SECONDS = 1e-4
_SHA384 = SHA384()
_PSS = padding.PSS(padding.MGF1(_SHA384), 48)


def gate(campaign: Campaign) -> Gate:
    """Return what verifies the tokens of a campaign before its reports are counted.

    It takes tokens in their form for packed batches, and whether to pause now and then, for a
    thread beside more urgent ones. It raises a `WireError` at the first token that is not good, so
    that many bad ones cost no more than one. Of tokens that are not signed, the database knows
    which were issued: all pass here.
    """
    if campaign.admission.kind != "anonymous":
        return _pass_all
    key = _public_key(campaign.admission.modulus)
    whole = signed_part(campaign, bytes(_NONCE))
    before, after = whole[:_TYPE], whole[_TYPE + _NONCE :]

    def verify(tokens: Iterable[bytes], aside: bool = False) -> None:
        for place, token in enumerate(_paused(tokens) if aside else tokens):
            try:
                key.verify(token[_NONCE:], before + token[:_NONCE] + after, _PSS, _SHA384)
            except InvalidSignature:
                raise refused_token(place, "be signed by the campaign's issuer") from None

    return verify


def refused_token(place: int, rule: str) -> WireError:
    """Return the error about a token that is not good; it does not say which token it was."""
    return WireError("invalid-token", f"reports[{place}].token", rule, "another one")


def _pass_all(tokens: Iterable[bytes], aside: bool = False) -> None:
    """Leave it to the database."""


def _paused(tokens: Iterable[bytes]) -> Iterator[bytes]:
    for place, token in enumerate(tokens, 1):
        if not place % _AT_ONCE:
            time.sleep(_PAUSE_SECONDS)
        yield token


@lru_cache(maxsize=64)
def _public_key(modulus: int) -> RSAPublicKey:
    return RSAPublicNumbers(EXPONENT, modulus).public_key()

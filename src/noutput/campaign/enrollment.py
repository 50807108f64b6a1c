"""Enrollment: a token that an issuer signs without seeing it (Privacy Pass, RFC 9578)."""

from __future__ import annotations

import re
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from noutput.campaign.blind_rsa import SALT_BYTES, blind, draw_factor, finalize
from noutput.campaign.delivery import DEFAULT_ROUTE, Route, exchange, read_object
from noutput.campaign.tokens import key_id, signed_part, write_token
from noutput.errors import DeliveryError, InvalidArgumentError

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign
    from noutput.campaign.ledger import Ledger

__all__ = ["enroll", "make_secret", "token_from", "token_request"]

REQUEST_TYPE = "application/private-token-request"
RESPONSE_TYPE = "application/private-token-response"
DIRECTORY_PATH = "/.well-known/private-token-issuer-directory"
_TYPE = 2
_NONCE_BYTES = 32
_KEY_BYTES = 256
_MAX_DIRECTORY = 1 << 20
_URL = re.compile("[!-~]+")


def enroll(
    campaign: Campaign, ledger: Ledger, credential: str = "", route: Route = DEFAULT_ROUTE
) -> str:
    """Return the person's token for an anonymous campaign; ask its issuer where there is none yet.

    Parameters
    ----------
    campaign : Campaign
        One whose admission is "anonymous".
    ledger : Ledger
        The person's. It keeps what was drawn before the issuer is asked: whoever was interrupted
        asks for the same again, and an enrollment code is not lost.
    credential : str
        What the issuer admits the person by, such as an enrollment code.
    route : Route

    Raises
    ------
    DeliveryError
        If the issuer cannot be reached, admits nobody with this credential, or signs anything else.
    InvalidArgumentError
        If the campaign's key is found to be no key of RSA: it would show the issuer something.

    Guarantees
    ----------
    The issuer learns that this person takes part in the campaign of its key, and nothing about the
    token: what it sees is uniformly distributed, whatever the token is. It cannot tell people apart
    by their keys, because the campaign's root covers the only one that is accepted.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from noutput.campaign import Campaign, Ledger, Table, YesNo
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="How was your way to work?",
    ...     questions=(YesNo(name="late"),), tables=(Table(1.1, (2,), rows),),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
    ... )
    >>> enroll(campaign, Ledger(None))
    Traceback (most recent call last):
        ...
    noutput.errors.InvalidArgumentError: campaign must be anonymous; found 'open'
    """
    if campaign.admission.kind != "anonymous":
        raise InvalidArgumentError("campaign", "be anonymous", campaign.admission.kind)
    root = campaign.root
    reports = ledger.find(root)
    if reports:
        return reports[0].token
    secret, token = ledger.enroll(root, lambda: make_secret(campaign))
    if token:
        return token
    address = _request_address(campaign, route)
    headers = {"Accept": RESPONSE_TYPE}
    if credential:
        headers["Authorization"] = f"Bearer {_checked(credential)}"
    body = token_request(campaign, secret)
    answer = exchange(address, REQUEST_TYPE, body, _KEY_BYTES, route, headers)
    token = token_from(campaign, secret, answer)
    ledger.keep_token(root, token)
    return token


def make_secret(campaign: Campaign) -> bytes:
    """Draw what a token is made of: its nonce, the salt of its signature, the blinding factor."""
    factor = draw_factor(campaign.admission.modulus)
    return secrets.token_bytes(_NONCE_BYTES + SALT_BYTES) + factor.to_bytes(_KEY_BYTES)


def token_request(campaign: Campaign, secret: bytes) -> bytes:
    """Return what the issuer is sent: the type, the last byte of the key's id, what it signs."""
    nonce, salt, factor = _parts(secret)
    message = signed_part(campaign, nonce)
    blinded = blind(message, campaign.admission.modulus, salt, factor)
    return _TYPE.to_bytes(2) + key_id(campaign)[-1:] + blinded.to_bytes(_KEY_BYTES)


def token_from(campaign: Campaign, secret: bytes, answer: bytes) -> str:
    """Return the token that the issuer's answer makes; `DeliveryError` where it is not signed."""
    nonce, salt, factor = _parts(secret)
    found = int.from_bytes(answer)
    modulus = campaign.admission.modulus
    signature = finalize(signed_part(campaign, nonce), found, modulus, salt, factor)
    if signature is None or len(answer) != _KEY_BYTES:
        raise DeliveryError("the issuer's answer is not signed with the campaign's key")
    return write_token(campaign, nonce + signature)


def _parts(secret: bytes) -> tuple[bytes, bytes, int]:
    end = _NONCE_BYTES + SALT_BYTES
    return secret[:_NONCE_BYTES], secret[_NONCE_BYTES:end], int.from_bytes(secret[end:])


def _request_address(campaign: Campaign, route: Route) -> str:
    """Ask the issuer's directory where tokens are signed."""
    base = f"{campaign.admission.issuer}{DIRECTORY_PATH}"
    found = read_object(exchange(base, None, None, _MAX_DIRECTORY, route))
    keys = found.get("token-keys")
    offered = keys if isinstance(keys, list) else []
    known = [each.get("token-key") for each in offered if isinstance(each, dict)]
    if campaign.admission.key not in known:
        raise DeliveryError("the issuer does not offer the campaign's key")
    address = ""
    with suppress(ValueError):  # of brackets that enclose no address
        address = urljoin(base, str(found.get("issuer-request-uri", "")))
    if not (address.startswith(f"{campaign.admission.issuer}/") and _URL.fullmatch(address)):
        raise DeliveryError("the issuer signs at another host")
    return address


def _checked(credential: str) -> str:
    """Return a credential that fits into a header; errors do not repeat it."""
    if not credential.isascii() or not credential.isprintable() or credential != credential.strip():
        rule = "be printable ASCII, without spaces at its ends"
        raise InvalidArgumentError("credential", rule, f"{len(credential)} characters")
    return credential

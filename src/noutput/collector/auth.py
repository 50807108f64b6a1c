"""Bearer tokens: 256 random bits, of which only a salted hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import TYPE_CHECKING, Final

from noutput import _checks
from noutput.campaign.text import format_instant
from noutput.collector.store.interface import Store, TokenRow

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["KINDS", "first_admin_token", "new_token", "recognize"]

KINDS: Final = ("admin", "read")
_SHAPE = re.compile(r"Bearer +noutput_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII | re.IGNORECASE)
_NOBODY = TokenRow("", "", None, secrets.token_bytes(16), secrets.token_bytes(32), "")


def new_token(kind: str, campaign: str | None, now: datetime) -> tuple[str, TokenRow]:
    """Draw a token; return what its holder gets, once, and what the database keeps.

    Guarantees
    ----------
    The secret has 256 random bits and is not in the row: only SHA-256 of a salt of 128 random
    bits and the secret is, from which it cannot be found.

    Examples
    --------
    >>> from noutput.collector.clock import system_clock
    >>> token, row = new_token("read", "commute", system_clock())
    >>> token.startswith(f"noutput_{row.id}_"), row.kind
    (True, 'read')
    """
    _checks.choice("kind", kind, KINDS)
    name, secret, salt = secrets.token_hex(6), secrets.token_urlsafe(32), secrets.token_bytes(16)
    row = TokenRow(name, kind, campaign, salt, _digest(salt, secret), format_instant(now))
    return f"noutput_{name}_{secret}", row


def first_admin_token(store: Store, now: datetime) -> str | None:
    """Return an admin token where the database has none, and None ever after."""
    token, row = new_token("admin", None, now)
    return token if store.add_token(row, first=True) else None


def recognize(store: Store, header: str | None) -> TokenRow | None:
    """Return the token of an ``Authorization`` header where it is valid.

    Notes
    -----
    Hashes are compared in constant time, and one comparison is made where no token has the id.
    """
    found = _SHAPE.fullmatch(header.strip()) if header else None
    if found is None:
        return None
    row = store.token(found[1]) or _NOBODY
    return row if hmac.compare_digest(_digest(row.salt, found[2]), row.digest) else None


def _digest(salt: bytes, secret: str) -> bytes:
    return hashlib.sha256(salt + secret.encode()).digest()

"""Bearer tokens: 256 random bits, of which only a salted hash is kept."""

from __future__ import annotations

import base64
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

__all__ = ["KINDS", "first_admin_token", "new_token", "reading_id", "reading_token", "recognize"]

KINDS: Final = ("admin", "read")
_SHAPE = re.compile(r"Bearer +noutput_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII | re.IGNORECASE)
_READING = b"noutput read token of "
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


def reading_id(admin_id: str) -> str:
    """Return the id of the read token that belongs to an admin token."""
    return hashlib.sha256(_READING + admin_id.encode()).hexdigest()[:12]


def reading_token(store: Store, admin: str, now: datetime) -> str:
    """Return a token that may read what an admin token may, and nothing else.

    Parameters
    ----------
    store : Store
    admin : str
        A valid admin token.
    now : datetime

    Guarantees
    ----------
    An admin token has one such token, however often it is asked for: its secret is a keyed hash
    of the admin token's, from which that cannot be found. It ends with the admin token.
    """
    _, admin_id, secret = admin.split("_", 2)
    digest = hmac.digest(secret.encode(), _READING, "sha256")
    derived = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    name, salt = reading_id(admin_id), secrets.token_bytes(16)
    if store.token(name) is None:
        row = TokenRow(name, "read", None, salt, _digest(salt, derived), format_instant(now))
        store.add_token(row)
    return f"noutput_{name}_{derived}"


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

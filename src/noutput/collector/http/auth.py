"""Bearer tokens: 256 random bits, of which only a salted hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from noutput import _checks
from noutput._text import check_text
from noutput.campaign.text import format_instant, parse_instant
from noutput.collector.store.interface import (
    COMMAND_LINE,
    Action,
    Store,
    TokenRow,
    UnavailableError,
)
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "KINDS", "SIGNED_IN", "RecentTokens", "browser_token", "check_scope", "creation",
    "first_admin_token", "new_token", "recognize",
]  # fmt: skip

KINDS: Final = ("admin", "read", "metrics")
SIGNED_IN: Final = timedelta(days=30)
_SHAPE = re.compile(r"Bearer +noutput_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII | re.IGNORECASE)
_LABEL_BYTES = 100
_RECENT = 16  # tokens
_RECENT_SECONDS = 3600.0
_NOBODY = TokenRow("", "", None, "", secrets.token_bytes(16), secrets.token_bytes(32), "")


def new_token(
    kind: str,
    campaign: int | None,
    now: datetime,
    *,
    label: str = "",
    expires: datetime | None = None,
    parent: str | None = None,
) -> tuple[str, TokenRow]:
    """Draw a token; return what its holder gets, once, and what the database keeps.

    Parameters
    ----------
    kind : "admin", "read" or "metrics"
    campaign : int, optional
        The number of the only campaign that it is for.
    now : datetime
    label : str
        Up to 100 bytes of UTF-8.
    expires : datetime, optional
        The instant from which it is not valid, later than now.
    parent : str, optional
        The id of the token with which it ends.

    Guarantees
    ----------
    The secret has 256 random bits and is not in the row: only SHA-256 of a salt of 128 random
    bits and the secret is, from which it cannot be found.

    Examples
    --------
    >>> from noutput.collector.clock import system_clock
    >>> token, row = new_token("read", None, system_clock(), label="Wall display")
    >>> token.startswith(f"noutput_{row.id}_"), row.kind
    (True, 'read')
    """
    _checks.choice("kind", kind, KINDS)
    check_text("label", label, 0, _LABEL_BYTES)
    check_scope(kind, None if campaign is None else "one campaign")
    if expires is not None and expires <= now:
        rule = f"be later than now ({format_instant(now)})"
        raise InvalidArgumentError("expires", rule, format_instant(expires))
    name, secret, salt = secrets.token_hex(6), secrets.token_urlsafe(32), secrets.token_bytes(16)
    end = None if expires is None else format_instant(expires)
    created, digest = format_instant(now), _digest(salt, secret)
    row = TokenRow(name, kind, campaign, label, salt, digest, created, end, None, parent)
    return f"noutput_{name}_{secret}", row


def check_scope(kind: str, campaign: str | None) -> None:
    """Raise where a token of a kind cannot be for one campaign, whose name the error shows."""
    if kind == "metrics" and campaign is not None:
        raise InvalidArgumentError("campaign", "be null for a metrics token", campaign)


def first_admin_token(store: Store, now: datetime) -> str | None:
    """Return an admin token for all campaigns where the database has none, else None."""
    store.drop_expired_tokens(format_instant(now))
    token, row = new_token("admin", None, now, label="noutput serve")
    return token if store.add_token(row, first=True, action=creation(row)) else None


def creation(row: TokenRow, by: str = COMMAND_LINE, campaign: str | None = None) -> Action:
    """Return what the log says about a new token, for all campaigns if none is named."""
    return Action(row.created, by, "token.create", campaign, row.id, row.kind)


def browser_token(store: Store, admin: TokenRow, now: datetime) -> str | None:
    """Return a new token that may read what an admin token may, and nothing else.

    It is valid for 30 days, and ends before that with the admin token or when it is deleted. None
    where the admin token is gone meanwhile.
    """
    end = now + SIGNED_IN
    if admin.expires is not None:
        end = min(end, parse_instant("expires", admin.expires))
    token, row = new_token(
        "read", admin.campaign, now, label="sign-in", expires=end, parent=admin.id
    )
    store.drop_expired_tokens(format_instant(now))
    return token if store.add_token(row) else None


def recognize(store: Store, header: str | None, now: datetime) -> TokenRow | None:
    """Return the token of an ``Authorization`` header where it is valid.

    Notes
    -----
    Hashes are compared in constant time, and one comparison is made where no token has the id. A
    token that has expired is deleted, so that it stays invalid where the clock is set back. Of
    its use, the day is kept.
    """
    found = _SHAPE.fullmatch(header.strip()) if header else None
    if found is None:
        return None
    row = store.token(found[1]) or _NOBODY
    if not hmac.compare_digest(_digest(row.salt, found[2]), row.digest):
        return None
    instant = format_instant(now)
    expired = row.expires is not None and row.expires <= instant
    day = instant[: len("2026-05-01")]
    with suppress(UnavailableError):  # a database that cannot be written to can still be read
        if expired:
            store.drop_expired_tokens(instant)
        elif row.last_used is None or row.last_used < day:
            store.use_token(row.id, day)
    return None if expired else row


class RecentTokens:
    """Tokens that were recognized within the last hour, for when the database does not answer.

    Parameters
    ----------
    clock : callable

    Notes
    -----
    A header is kept as its hash, and the newest 16 are kept.

    Examples
    --------
    >>> from noutput.collector.clock import system_clock
    >>> recent, now = RecentTokens(), system_clock()
    >>> token, row = new_token("metrics", None, now)
    >>> recent.get(f"Bearer {token}", now)
    >>> recent.note(f"Bearer {token}", row)
    >>> recent.get(f"Bearer {token}", now) is row
    True
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._rows: OrderedDict[bytes, tuple[float, TokenRow]] = OrderedDict()

    def note(self, header: str, row: TokenRow | None) -> None:
        """Keep what the database said about a header: its token, or that it has none."""
        name = _digest(b"", header)
        self._rows.pop(name, None)
        if row is not None:
            self._rows[name] = self._clock(), row
            if len(self._rows) > _RECENT:
                self._rows.popitem(last=False)

    def get(self, header: str, now: datetime) -> TokenRow | None:
        """Return the token of a header that was valid within the last hour, and has not ended."""
        at, row = self._rows.get(_digest(b"", header), (float("-inf"), None))
        if row is None or self._clock() - at > _RECENT_SECONDS:
            return None
        return None if row.expires is not None and row.expires <= format_instant(now) else row


def _digest(salt: bytes, secret: str) -> bytes:
    return hashlib.sha256(salt + secret.encode()).digest()

"""Texts of campaign documents: instants as they write them, and a sentence about them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from noutput.errors import InvalidArgumentError

__all__ = ["FINGERPRINT", "NEWER", "check_instant", "format_instant", "parse_instant"]

FINGERPRINT = re.compile(r"[0-9a-f]{64}", re.ASCII)
NEWER = "the document needs a newer version of noutput"
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", re.ASCII)
_PATTERN = "%Y-%m-%dT%H:%M:%SZ"


def check_instant(name: str, value: object) -> datetime:
    """Return an instant in UTC that has a time zone and falls on a whole second."""
    if isinstance(value, datetime) and value.tzinfo and not value.microsecond:
        return value.astimezone(UTC)
    raise InvalidArgumentError(name, "be a whole second with a time zone", value)


def format_instant(instant: datetime) -> str:
    """Write an instant in UTC, to the second.

    Examples
    --------
    >>> format_instant(datetime(2026, 3, 1, tzinfo=UTC))
    '2026-03-01T00:00:00Z'
    """
    moment = instant.astimezone(UTC)
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%SZ}"


def parse_instant(name: str, value: object) -> datetime:
    """Read what `format_instant` writes, and nothing else."""
    if isinstance(value, str) and _INSTANT.fullmatch(value):
        try:
            return datetime.strptime(value, _PATTERN).replace(tzinfo=UTC)
        except ValueError:
            pass
    raise InvalidArgumentError(name, "be an instant such as '2026-03-01T00:00:00Z'", value)

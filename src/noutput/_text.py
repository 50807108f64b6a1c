"""Checks of texts that people read, and of names."""

from __future__ import annotations

import re

from noutput.errors import InvalidArgumentError

__all__ = ["check_name", "check_pattern", "check_text"]

# Control characters, and halves of surrogate pairs, which UTF-8 cannot carry.
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)


def check_pattern(name: str, value: object, pattern: re.Pattern[str], rule: str) -> str:
    """Return a text that matches a pattern as a whole."""
    if isinstance(value, str) and pattern.fullmatch(value):
        return value
    raise InvalidArgumentError(name, rule, value)


def check_name(name: str, value: object) -> str:
    """Return a name as questions have it: a-z, 0-9 and _, from 1 to 64 of them."""
    rule = "be a letter a-z and at most 63 more of a-z, 0-9 and _"
    return check_pattern(name, value, _NAME, rule)


def check_text(name: str, value: object, low: int, high: int) -> str:
    """Return a text of `low` to `high` bytes of UTF-8 without control characters."""
    if not isinstance(value, str) or _FORBIDDEN.search(value):
        raise InvalidArgumentError(name, "be text without control characters", value)
    if not low <= len(value.encode()) <= high:
        raise InvalidArgumentError(name, f"have from {low} to {high} bytes of UTF-8", value)
    return value

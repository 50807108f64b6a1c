"""Checks of texts that people read, and of names."""

from __future__ import annotations

import re

from noutput.errors import InvalidArgumentError

__all__ = ["check_name", "check_pattern", "check_text"]

# What a reader does not see, or sees at another place: documents that differ in it look the same,
# and a device that answers both is recognized. These are control characters, line and paragraph
# separators, halves of surrogate pairs, all code points that Unicode 17 calls ignorable by default
# (soft hyphen, zero width, variation selectors, tags), and all that change the direction of text.
# Joiners are refused but for scripts that spell with them, from Arabic to Sinhala. Ranges, so that
# the rule is that of all clients, whatever their version of Unicode; docs/wire.md has them, too.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?:^|[^\u0600-\u0dff])[\u200c\u200d]"
)
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
    """Return a text of `low` to `high` bytes of UTF-8, every character of which can be seen."""
    if not isinstance(value, str) or _HIDDEN.search(value):
        rule = "be text without control characters, invisible ones, and those that change direction"
        raise InvalidArgumentError(name, rule, value)
    if not low <= len(value.encode()) <= high:
        raise InvalidArgumentError(name, f"have from {low} to {high} bytes of UTF-8", value)
    return value

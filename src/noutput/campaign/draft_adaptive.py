"""Adaptive part of a campaign draft: how many people are expected, and who comes first."""

from __future__ import annotations

import math
from datetime import datetime

from noutput import _checks
from noutput.campaign.keys import check_keys
from noutput.campaign.waves import FEWEST_REPORTS, NextWave
from noutput.errors import DocumentError, InvalidArgumentError

__all__ = ["EXPECTED", "SHARE", "adaptive_notes", "read_adaptive"]

EXPECTED = 10_000
"""People, where a draft says no more than that it is adaptive."""
SHARE = 0.2
"""Of the people are the first wave, if nothing else is wanted."""
_SHARES = (0.1, 0.2)
_KEYS = ("expected", "share", "until")
_LARGEST = 10**9


def read_adaptive(value: object, per_person: int = 1, one_of: int = 1) -> NextWave | None:
    """Return when the second wave begins: of true, false, or a table headed [adaptive].

    Parameters
    ----------
    value : bool or dict
    per_person : int
        How many reports a person sends.
    one_of : int
        Of how many questions a person is asked one.

    Examples
    --------
    >>> read_adaptive(True)
    NextWave(reports=2000, expected=10000, until=None, rule='range 1')
    >>> read_adaptive({"expected": 50_000, "share": 0.1}).reports
    5000
    >>> read_adaptive(False) is None
    True
    """
    if value is False:
        return None
    found = {} if value is True else value
    if not isinstance(found, dict):
        raise DocumentError("adaptive", "be true, false, or a table headed [adaptive]", value)
    check_keys("adaptive.", found, (), _KEYS)
    expected = _checks.whole("adaptive.expected", found.get("expected", EXPECTED), 1, _LARGEST)
    share = _checks.positive("adaptive.share", found.get("share", SHARE))
    if not _SHARES[0] <= share <= _SHARES[1]:
        rule = f"lie between {_SHARES[0]} and {_SHARES[1]}"
        raise DocumentError("adaptive.share", rule, share)
    fewest = math.ceil(round(FEWEST_REPORTS * one_of / share, 6))
    if expected < fewest:
        rule = (
            f"be at least {fewest:,}: with fewer people, the first {share:.0%} have too few "
            f"reports per question to find a range ({FEWEST_REPORTS} are needed). Leave adaptive "
            "out, or expect more people"
        )
        raise DocumentError("adaptive.expected", rule, expected)
    until = found.get("until")
    if until is not None and (not isinstance(until, datetime) or until.tzinfo is None):
        rule = "be an instant with a time zone, such as 2026-03-08T00:00:00Z, not in quotes"
        raise DocumentError("adaptive.until", rule, str(until))
    reports = math.ceil(round(share * expected * per_person, 6))
    try:
        return NextWave(reports, expected, until)
    except InvalidArgumentError as error:
        name = error.name.replace("next.", "adaptive.")
        raise DocumentError(name, error.rule, error.found) from None


def adaptive_notes(value: object) -> tuple[str, ...]:
    """Say how many people are expected, where a draft does not.

    Examples
    --------
    >>> adaptive_notes({"expected": 50_000}), adaptive_notes(False)
    ((), ())
    >>> adaptive_notes(True)[0].partition(":")[0]
    '10,000 people are expected, because the draft does not say how many'
    """
    if value is False or (isinstance(value, dict) and "expected" in value):
        return ()
    note = f"{EXPECTED:,} people are expected, because the draft does not say how many"
    return (f"{note}: write expected = ... below [adaptive].",)

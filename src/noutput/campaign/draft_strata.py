"""Segments and schedule of a campaign draft, as people write them in TOML."""

from __future__ import annotations

from typing import Any

from noutput import _checks
from noutput.campaign.keys import check_keys
from noutput.campaign.schedule import Schedule, next_closing
from noutput.campaign.segments import MINIMUM, Segments
from noutput.campaign.text import check_instant, format_instant
from noutput.errors import DocumentError

__all__ = ["divided", "fit_closing", "per_answer", "read_schedule", "read_segments"]


def read_segments(value: object) -> Segments | None:
    """Read a table headed [segments]: a list of labels per name, and perhaps `minimum`.

    Examples
    --------
    >>> read_segments({"platform": ["ios", "android"], "minimum": 1000})
    Segments(names=(('platform', ('ios', 'android')),), minimum=1000)
    """
    if value is None:
        return None
    if not isinstance(value, dict):
        raise DocumentError("segments", "be a table, headed [segments]", value)
    names = {name: labels for name, labels in value.items() if name != "minimum"}
    return Segments(tuple(names.items()), value.get("minimum", MINIMUM))


def read_schedule(value: object) -> Schedule | None:
    """Read a table headed [schedule].

    Examples
    --------
    >>> read_schedule({"every": "day", "rounds_per_period": 7})
    Schedule(every='day', rounds_per_period=7, answers=1, grace=86400)
    """
    if value is None:
        return None
    if not isinstance(value, dict):
        raise DocumentError("schedule", "be a table, headed [schedule]", value)
    check_keys("schedule.", value, ("every", "rounds_per_period"), ("answers", "grace"))
    return Schedule(**value)


def per_answer(epsilon: float, schedule: Schedule | None) -> float:
    """Return the loss of one answer, of what a draft allows per period."""
    return epsilon if schedule is None else epsilon / schedule.answers


def fit_closing(parts: dict[str, Any], schedule: Schedule | None) -> tuple[str, ...]:
    """Move the closing to the end of its period, and say so where that is later."""
    if schedule is None:
        return ()
    opens, closes = (check_instant(name, parts[name]) for name in ("opens", "closes"))
    if not opens < closes:
        return ()
    try:
        parts["closes"] = next_closing(schedule, opens, closes)
    except OverflowError:  # the campaign refuses it
        return ()
    if parts["closes"] == closes:
        return ()
    moved, given = format_instant(parts["closes"]), format_instant(closes)
    return (f"The campaign closes at {moved}, the end of a period: not at {given}.",)


def divided(entry: dict[str, Any], path: str, schedule: Schedule | None) -> dict[str, Any]:
    """Return a question of a draft whose own epsilon is that of one answer."""
    if schedule is None or "epsilon" not in entry:
        return entry
    own = _checks.positive(f"{path}.epsilon", entry["epsilon"])
    return {**entry, "epsilon": per_answer(own, schedule)}

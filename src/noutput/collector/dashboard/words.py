"""Numbers, times and findings in words that anybody reads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from noutput._numbers import show, tick_labels
from noutput.amplification.result import round_up
from noutput.estimate.summary import CERTAIN, SUSPICIOUS
from noutput.questions import Number

if TYPE_CHECKING:
    from datetime import datetime

    from noutput.questions import Question

__all__ = [
    "FORGED", "between", "called", "capital", "count", "day", "duration", "factor", "fit", "label",
    "moment", "percent", "rate", "round_up", "times", "unit_beside", "with_unit",
]  # fmt: skip

FORGED = "Some reports are probably forged"
_UNITS = (("second", 1.0), ("minute", 60.0), ("hour", 3600.0), ("day", 86_400.0))
_LONG = (("year", 31_557_600.0), ("month", 2_629_800.0), *reversed(_UNITS))
_CENTURY = 100.0 * 31_557_600.0
_BLIND = (
    "But with as many kinds of reports as answers, nearly all counts are what some honest people "
    "would send: this test sees little here."
)


def count(number: float) -> str:
    """Write a number of things, to three digits where it is an estimate.

    Examples
    --------
    >>> count(12_345), count(12_345.6), count(0.0)
    ('12,345', '12,300', '0')
    """
    if isinstance(number, int) or number == 0.0:
        return f"{int(number):,}"
    digits = 2 - math.floor(math.log10(abs(number)))
    return f"{round(number, digits):,.{max(0, min(digits, 6))}f}"


def with_unit(number: str, unit: str) -> str:
    """Write a number and its unit, where it has one."""
    return f"{number} {unit}" if unit else number


def called(question: Question) -> str:
    """Write what a question is called: its label, or its name in words.

    Examples
    --------
    >>> from noutput.questions import Number, YesNo
    >>> called(YesNo(name="late", label="Late today")), called(Number(0, 9, "MB", name="used_mb"))
    ('Late today', 'used MB')
    """
    unit = question.unit if isinstance(question, Number) else ""
    return question.label or label(question.name, unit)


def label(name: str, unit: str) -> str:
    """Write what a number is called; a unit in its name is written as the unit is.

    Examples
    --------
    >>> label("commute_time", "min"), label("mb", "MB"), label("used_kwh", "kWh")
    ('commute time', 'MB', 'used kWh')
    """
    words = name.split("_")
    if unit and not unit_beside(name, unit):
        words[-len(unit.split()) :] = [unit]
    return " ".join(words)


def unit_beside(name: str, unit: str) -> str:
    """Return the unit of a number where its name does not say it, else nothing.

    Examples
    --------
    >>> unit_beside("commute_time", "min"), unit_beside("mb", "MB"), unit_beside("used_kwh", "kWh")
    ('min', '', '')
    """
    said = unit.casefold().split()
    return "" if said and name.split("_")[-len(said) :] == said else unit


def capital(text: str) -> str:
    """Write a text with a capital at its start, and the rest as it is.

    Examples
    --------
    >>> capital("used kWh")
    'Used kWh'
    """
    return text[:1].upper() + text[1:]


def between(lower: float, upper: float) -> str:
    """Write a range.

    Examples
    --------
    >>> between(0, 1_500_000)
    '0 to 1,500,000'
    """
    return " to ".join(tick_labels([lower, upper]))


def factor(epsilon: float) -> float:
    """Return how many times as likely an answer can make a report as another."""
    return math.exp(epsilon)


def times(ratio: float) -> str:
    """Write how many times as much something is.

    Examples
    --------
    >>> times(1.104), times(2.8), times(123.4)
    ('1.1 times', '2.8 times', '123 times')
    """
    return f"{show(ratio)} times"


def percent(share: float) -> str:
    """Write a share with two digits.

    Examples
    --------
    >>> percent(0.12345), percent(0.00061), percent(0.0), percent(12.3)
    ('12%', '0.061%', '0%', '1,230%')
    """
    return f"{show(100.0 * share)}%" if share < 1.0 else f"{100.0 * share:,.0f}%"


def rate(per_second: float) -> str:
    """Write how many come in, for the shortest time in which at least two do.

    Examples
    --------
    >>> rate(53.0), rate(0.5), rate(0.001), rate(0.0)
    ('53 per second', '30 per minute', '3.6 per hour', 'none at present')
    """
    if per_second <= 0.0:
        return "none at present"
    numbers = {name: per_second * seconds for name, seconds in _UNITS}
    name = next((name for name, number in numbers.items() if number >= 2.0), "day")
    number = numbers[name]
    return f"{number:.2g} per {name}" if number < 99.5 else f"{count(number)} per {name}"


def duration(seconds: float) -> str:
    """Write how long something takes.

    Examples
    --------
    >>> duration(42), duration(5400), duration(86_400 * 3), duration(1e12)
    ('42 seconds', '90 minutes', '3 days', 'more than a century')
    """
    if seconds > _CENTURY:
        return "more than a century"
    for name, size in _LONG:
        if seconds >= 2.0 * size:
            return f"{round(seconds / size):,} {name}s"
    return "a moment"


def day(moment: datetime) -> str:
    """Write a date.

    Examples
    --------
    >>> from datetime import datetime
    >>> day(datetime(2026, 3, 1))
    '1 March 2026'
    """
    return f"{moment.day} {moment:%B} {moment.year}"


def moment(at: datetime) -> str:
    """Write a date and the time of day, in UTC as the collector's clock.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> moment(datetime(2026, 3, 1, 9, 5, tzinfo=UTC))
    '1 March 2026, 09:05 UTC'
    """
    return f"{day(at)}, {at:%H:%M} UTC"


def fit(p_value: float | None, *, spare: bool = True) -> tuple[str, str, str]:
    """Say in words whether the reports look like those of honest people.

    Parameters
    ----------
    p_value : float, optional
        How plausible the counts are under any distribution of honest people.
    spare : bool
        Whether there are more kinds of reports than answers: else most forgeries look honest.

    Returns
    -------
    tuple of str
        "good", "doubtful", "bad" or "unknown"; a heading; an explanation.

    Examples
    --------
    >>> fit(0.4)[:2]
    ('good', 'No sign of forged reports')
    >>> fit(0.02)[:2]
    ('doubtful', 'The reports look a little unusual')
    >>> fit(0.0008)[:2]
    ('bad', 'Some reports are probably forged')
    """
    if p_value is None:
        text = "Honest people leave a pattern in the reports; there are too few to look for it."
        return "unknown", "Too early to say", text
    chance = f"p = {p_value:.2g}"
    if p_value < CERTAIN:
        text = (
            "People who follow the campaign would practically never send these reports, whatever "
            f"their answers are ({chance}). Do not trust the figures before you know why."
        )
        return "bad", FORGED, text
    if p_value < SUSPICIOUS:
        text = (
            "People who follow the campaign would rarely send these reports "
            f"({chance}). It may be chance: one honest question in 20 looks like this."
        )
        return "doubtful", "The reports look a little unusual", text
    text = f"The reports are what honest people would send, whatever their answers are ({chance}). "
    text += "A few forged ones could still hide among them." if spare else _BLIND
    return "good", "No sign of forged reports", text

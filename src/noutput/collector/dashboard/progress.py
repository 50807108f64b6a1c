"""How fast reports come in, and when an interval will be as narrow as wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from noutput.campaign.text import parse_instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.collector.store.interface import Milestone

__all__ = ["Outlook", "current_rate", "next_target", "outlook"]

_SHORTEST = 10.0  # seconds over which a rate is worth anything
_SHARE = 0.1  # of the time since the first milestone


def current_rate(milestones: Sequence[Milestone], step: int, now: datetime) -> float | None:
    """Return the reports per second of late, or None where it is too early to say.

    Parameters
    ----------
    milestones : sequence of Milestone
        Of one question, in their order.
    step : int
        How many new reports the next one has at least.
    now : datetime

    Notes
    -----
    It is known from what is published alone. Late is the last tenth of the time from the first
    milestone to the last, and back to the milestone before. Since the last one, fewer reports
    than a step have come: the longer ago that is, the smaller is the rate.
    """
    if not milestones:
        return None
    instants = [parse_instant("at", each.at) for each in milestones]
    ages = [(instants[-1] - each).total_seconds() for each in instants]
    if ages[0] < _SHORTEST:
        return None
    window = max(_SHORTEST, _SHARE * ages[0])
    age, base = min(
        (age, each.reports) for age, each in zip(ages, milestones, strict=True) if age >= window
    )
    rate = (milestones[-1].reports - base) / age
    silent = (now - instants[-1]).total_seconds()
    return min(rate, step / silent) if silent > 0.0 else rate


def next_target(half_width: float) -> float:
    """Return a round number clearly below the present half width of an interval.

    Examples
    --------
    >>> next_target(1.6), next_target(0.013), next_target(900.0)
    (1.0, 0.01, 500.0)
    """
    if half_width == 0.0:  # bounds so close that their numbers cannot tell an interval's ends apart
        return 0.0
    power: float = 10.0 ** math.floor(math.log10(half_width))
    for step in (5.0, 2.0, 1.0, 0.5):
        if step * power <= 0.8 * half_width:
            return float(f"{step * power:.1g}")
    return 0.5 * power


@dataclass(frozen=True, slots=True)
class Outlook:
    """When an interval will be as narrow as wanted.

    Parameters
    ----------
    target : float
        The wanted half width.
    more : float
        How many more reports on the same question it takes; 0 where it is reached.
    seconds : float or None
        How long that takes at the present rate; None where no reports come in.
    """

    target: float
    more: float
    seconds: float | None


def outlook(needed: float, reports: int, target: float, rate: float | None) -> Outlook:
    """Say when a target will be reached that takes so many reports in all.

    Examples
    --------
    >>> outlook(4000.0, 1000, 1.0, 10.0)
    Outlook(target=1.0, more=3000.0, seconds=300.0)
    """
    more = max(0.0, needed - reports)
    seconds = 0.0 if more == 0.0 else more / rate if rate else None
    return Outlook(target, more, seconds)

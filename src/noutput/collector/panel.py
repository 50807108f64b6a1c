"""The demonstration's second campaign: people with two platforms, asked in rounds over time."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

import numpy as np

from noutput.campaign import Campaign, Number
from noutput.campaign.campaign import fit_table
from noutput.campaign.schedule import Schedule
from noutput.campaign.segments import Segments
from noutput.collector.simulation import Population

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from noutput.mechanisms.certified import Table

__all__ = ["PLAYED", "QUESTION", "app_users", "panel_campaign"]

PLAYED: Final = 16  # rounds that are over when the demonstration begins
QUESTION: Final = Number(
    0, 10, "s", name="seconds", label="Start of the app", text="How long did the app take to start?"
)
_SCHEDULE = Schedule("hour", rounds_per_period=8)
_PERIODS = 6
_LABELS = ("ios", "android")
_SHARES = (0.6, 0.4)
_MINIMUM = 100
_START = {"ios": 2.4, "android": 3.4}  # seconds, at first
_SLOWER = 0.04  # per round
_RELEASE, _JUMP = 10, 3.0  # a new version is slower from this round on, on Android


def panel_campaign(table: Table, now: datetime) -> Campaign:
    """Return a campaign that opened so long ago that its round number `PLAYED` is half over."""
    opens = now.replace(microsecond=0) - timedelta(hours=PLAYED, minutes=30)
    return Campaign(
        id="app-start",
        title="App start",
        text="How long did the app take to start?",
        questions=(QUESTION,),
        tables=(fit_table(table, QUESTION),),
        opens=opens,
        closes=opens + timedelta(seconds=_PERIODS * _SCHEDULE.period_seconds),
        segments=Segments((("platform", _LABELS),), _MINIMUM),
        schedule=_SCHEDULE,
        public=True,
    )


def app_users(rounds: Sequence[int], rng: np.random.Generator) -> Population:
    """Make up people who started an app, each in a round; a release makes it slower.

    Examples
    --------
    >>> users = app_users([0] * 500 + [15] * 500, np.random.default_rng(1))
    >>> seconds = users.values["seconds"]
    >>> float(np.mean(seconds[500:])) - float(np.mean(seconds[:500])) > 0.8
    True
    """
    platforms = rng.choice(_LABELS, len(rounds), p=_SHARES).tolist()
    numbers = np.asarray(rounds)
    start = np.asarray([_START[each] for each in platforms])
    jump = np.where((numbers >= _RELEASE) & (start == _START["android"]), _JUMP, 0.0)
    middle = start + _SLOWER * numbers + jump
    seconds = np.clip(middle * rng.lognormal(-0.02, 0.2, len(rounds)), 0.0, QUESTION.upper)
    labels = tuple({"platform": each} for each in platforms)
    return Population({QUESTION.name: seconds}, labels, tuple(numbers.tolist()))

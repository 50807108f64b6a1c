"""Campaigns with labels and rounds, and their reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from noutput.campaign import Campaign, Number, Report
from noutput.campaign.schedule import Schedule
from noutput.campaign.segments import Segments
from noutput.mechanisms.table import unit_mechanism
from noutput.questions import Question
from tests.collector.conftest import make_campaign

MINUTES = (Number(0, 180, "min", name="minutes"),)
PLATFORMS = {"platform": ("ios", "android", "web"), "plan": ("free", "paid")}
DAILY = Schedule("day", rounds_per_period=7)
OPENS = datetime(2026, 5, 1, tzinfo=UTC)


def labeled_campaign(
    names: Mapping[str, tuple[str, ...]] = PLATFORMS,
    minimum: int = 100,
    questions: Iterable[Question] = MINUTES,
    **parts: Any,
) -> Campaign:
    """Return a campaign whose reports may tell labels."""
    segments = Segments(dict(names), minimum)  # type: ignore[arg-type]  # a mapping is taken
    return make_campaign(questions=tuple(questions), segments=segments, **parts)


def scheduled_campaign(periods: int = 2, **parts: Any) -> Campaign:
    """Return a campaign with rounds, that opens at the clock of the tests."""
    schedule: Schedule = parts.pop("schedule", DAILY)
    seconds = schedule.period_seconds * periods
    closes = datetime.fromtimestamp(OPENS.timestamp() + seconds, UTC)
    parts = {"questions": MINUTES, "opens": OPENS, "closes": closes, "schedule": schedule, **parts}
    return make_campaign(**parts)


def reports(
    campaign: Campaign,
    count: int,
    rng: np.random.Generator,
    labels: Mapping[str, str] | None = None,
    number: int | None = None,
    center: float = 60.0,
) -> list[Report]:
    """Draw reports of people with some labels, on the first question, in a round."""
    segments = campaign.segments
    told = () if segments is None else segments.told(labels or {})
    mechanism = unit_mechanism(campaign.tables[0])
    asked = campaign.asked[0]
    assert isinstance(asked, Number)
    middle, half = (asked.upper + asked.lower) / 2.0, (asked.upper - asked.lower) / 2.0
    values = np.clip((rng.normal(center, 18.0, count) - middle) / half, -1.0, 1.0)
    return [
        Report(
            campaign.fingerprint, campaign.questions[0].name, output, rng.bytes(16).hex(),
            labels=told, round=number,
        )
        for output in np.asarray(mechanism.privatize(values, rng=rng)).tolist()
    ]  # fmt: skip

"""A campaign about a number with edges, and its people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from noutput.campaign import Campaign, Number, Report
from noutput.mechanisms.table import TableMechanism
from tests.collector.conftest import make_campaign
from tests.tables import jump_table

EDGES = (15.0, 30.0, 45.0, 60.0, 90.0)
COMMUTE = Number(0, 180, "min", edges=EDGES, name="minutes")
KNOTS = (0, 15, 15, 30, 30, 45, 45, 60, 60, 90, 90, 120, 150, 180)
TABLE = jump_table(2.0, KNOTS, n_outputs=28)


def cells_campaign(**parts: Any) -> Campaign:
    """Return a campaign that asks for a number with edges."""
    return make_campaign(**{"questions": (COMMUTE,), "tables": (TABLE,), "public": True, **parts})


def people(count: int, rng: np.random.Generator, center: float = 35.0) -> np.ndarray[Any, Any]:
    """Return minutes of people: skewed, a few at the upper bound."""
    return np.clip(rng.lognormal(np.log(center), 0.5, count), 0.0, 180.0)


def cell_reports(
    campaign: Campaign,
    minutes: np.ndarray[Any, Any],
    rng: np.random.Generator,
    labels: Mapping[str, str] | None = None,
    number: int | None = None,
) -> list[Report]:
    """Draw the reports of people with some labels, in a round."""
    told = () if campaign.segments is None else campaign.segments.told(labels or {})
    outputs = TableMechanism.of(campaign.tables[0]).privatize(minutes, rng=rng)
    return [
        Report(
            campaign.fingerprint, "minutes", output, rng.bytes(16).hex(), labels=told, round=number
        )
        for output in outputs.tolist()
    ]

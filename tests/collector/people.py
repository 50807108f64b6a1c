"""Simulated people whose reports are the same in every run, unlike those of devices."""

from __future__ import annotations

import numpy as np

from noutput.campaign import Campaign, CertifiedTable, Number, Report
from noutput.collector.simulation import Population, simulate_people
from noutput.mechanisms.table import TableMechanism


def seeded_reports(
    campaign: Campaign, people: Population, rng: np.random.Generator
) -> list[Report]:
    """Draw a report of everybody from a seed."""
    (table,) = set(campaign.tables)
    assert isinstance(table, CertifiedTable)
    mechanism = TableMechanism.of(table)
    places = rng.integers(0, len(campaign.questions), len(people))
    units = np.empty(len(people))
    for place, each in enumerate(campaign.questions):
        assert isinstance(each, Number)
        shares = (np.asarray(people.values[each.name], float) - each.lower) / (
            each.upper - each.lower
        )
        units = np.where(places == place, np.clip(2.0 * shares - 1.0, -1.0, 1.0), units)
    outputs = mechanism.privatize(units, rng=rng)
    names = [each.name for each in campaign.questions]
    return [
        Report(campaign.fingerprint, names[place], output, rng.bytes(16).hex(), campaign.version)
        for place, output in zip(places.tolist(), outputs.tolist(), strict=True)
    ]


def lognormal_reports(campaign: Campaign, count: int, seed: int = 1) -> list[Report]:
    """Make up people and draw their reports."""
    rng = np.random.default_rng(seed)
    return seeded_reports(campaign, simulate_people(campaign, count, "lognormal", rng), rng)

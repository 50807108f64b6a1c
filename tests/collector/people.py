"""Simulated people whose reports are the same in every run, unlike those of devices."""

from __future__ import annotations

import numpy as np

from noutput.campaign import Campaign, Report
from noutput.collector.simulation import Population, simulate_people
from noutput.mechanisms.table import TableMechanism


def seeded_reports(
    campaign: Campaign, people: Population, rng: np.random.Generator
) -> list[Report]:
    """Draw a report of everybody from a seed."""
    mechanism = TableMechanism.of(campaign.table)
    places = rng.integers(0, len(campaign.attributes), len(people))
    units = np.empty(len(people))
    for place, each in enumerate(campaign.attributes):
        shares = (people.values[each.name] - each.lower) / (each.upper - each.lower)
        units = np.where(places == place, np.clip(2.0 * shares - 1.0, -1.0, 1.0), units)
    outputs = mechanism.privatize(units, rng=rng)
    names = [each.name for each in campaign.attributes]
    return [
        Report(campaign.fingerprint, names[place], output, rng.bytes(16).hex())
        for place, output in zip(places.tolist(), outputs.tolist(), strict=True)
    ]


def lognormal_reports(campaign: Campaign, count: int, seed: int = 1) -> list[Report]:
    """Make up people and draw their reports."""
    rng = np.random.default_rng(seed)
    return seeded_reports(campaign, simulate_people(campaign, count, "lognormal", rng), rng)

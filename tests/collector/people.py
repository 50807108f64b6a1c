"""Simulated people whose reports are the same in every run, unlike those of devices."""

from __future__ import annotations

import numpy as np

from noutput.campaign import Campaign, Report
from noutput.collector.simulation import Population, simulate_people
from noutput.encoding import encode
from noutput.mechanisms.table import unit_mechanism


def seeded_reports(
    campaign: Campaign, people: Population, rng: np.random.Generator
) -> list[Report]:
    """Draw a report of everybody from a seed: on one question, drawn at random."""
    places = rng.integers(0, len(campaign.questions), len(people))
    outputs = np.zeros(len(people), int)
    for place, (each, table) in enumerate(zip(campaign.questions, campaign.tables, strict=True)):
        inputs = encode(each, people.values[each.name])
        drawn = unit_mechanism(table).privatize(inputs, rng=rng)
        outputs = np.where(places == place, drawn, outputs)
    names = [each.name for each in campaign.questions]
    return [
        Report(campaign.fingerprint, names[place], output, rng.bytes(16).hex())
        for place, output in zip(places.tolist(), outputs.tolist(), strict=True)
    ]


def lognormal_reports(campaign: Campaign, count: int, seed: int = 1) -> list[Report]:
    """Make up people and draw their reports."""
    rng = np.random.default_rng(seed)
    return seeded_reports(campaign, simulate_people(campaign, count, "lognormal", rng), rng)

"""Waves of an adaptive campaign on the command line: what each asked, and whether by the rule."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from noutput.cli.strata import strata_lines

if TYPE_CHECKING:
    from pathlib import Path

    from noutput.campaign.campaign import Campaign
    from noutput.questions import Number

__all__ = ["differences", "verify_campaign", "wave_lines"]


def verify_campaign(file: Path, text: bytes, collector: str | None = None) -> None:
    """Certify all tables of a campaign, and recompute its second wave from what it was made of.

    With the address of a collector, the document is compared with what is published there.
    """
    from noutput.campaign import Campaign
    from noutput.cli.collected import compare_with_collector

    campaign = Campaign.from_json(text)
    tables = len({table for wave in campaign.waves for table in wave.tables})
    per = "" if campaign.schedule is None else " per period"
    click.echo(
        f"Private: {file}\n"
        f"All {tables} tables of campaign {campaign.id!r} are certified; what one person "
        f"sends{per} loses at most epsilon {campaign.epsilon_per_period!r}.\n"
        f"Fingerprint {campaign.fingerprint}"
    )
    for heading, line in strata_lines(campaign):
        click.echo(f"{heading.capitalize():<12}{line}")
    if campaign.next_wave is not None:
        _verify_waves(campaign)
    if collector is not None:
        compare_with_collector(campaign, collector)


def _verify_waves(campaign: Campaign) -> None:
    """Show the waves of an adaptive campaign, and end with status 1 where the rule gives others."""
    click.echo(f"Root        {campaign.root}")
    for line in wave_lines(campaign):
        click.echo(line)
    if len(campaign.waves) == 1 or campaign.next_wave is None:
        return
    found = differences(campaign)
    if found:
        wrong = "; ".join(found)
        click.echo(f"NOT BY THE RULE {campaign.next_wave.rule!r}: {wrong}", err=True)
        sys.exit(1)
    reports = sum(sum(parts[0]) for parts in campaign.waves[1].inputs)
    click.echo(
        f"The second wave is what the rule {campaign.next_wave.rule!r} gives for the "
        f"{reports:,} reports of which the document has the counts."
    )


def wave_lines(campaign: Campaign) -> Iterator[str]:
    """Return a line per wave and number: its bounds, and why they are so."""
    from noutput.questions import Number

    for place, wave in enumerate(campaign.waves):
        for index, asked in enumerate(wave.asked):
            if not isinstance(asked, Number):
                continue
            reason = wave.reasons[index] if wave.reasons else "As declared."
            yield f"Wave {place + 1}, {asked.name}: {_range(asked)}. {reason}"
    following = campaign.next_wave
    if following is not None and len(campaign.waves) == 1:
        yield f"The second wave begins {following.beginning}."


def differences(campaign: Campaign) -> list[str]:
    """Return how the waves of a campaign differ from what its rule says; none is right."""
    from noutput.planner.successors import RULE_WAVES, check_successor
    from noutput.questions import Number

    following, waves = campaign.next_wave, len(campaign.waves)
    if following is not None and waves > RULE_WAVES[following.rule]:
        return [f"it gives {RULE_WAVES[following.rule]} waves, and the document has {waves}"]
    wanted, found = check_successor(campaign), campaign.waves[1]
    result = []
    for place, question in enumerate(campaign.questions):
        right, asked = wanted.asked[place], found.asked[place]
        if isinstance(right, Number) and isinstance(asked, Number) and right != asked:
            text = f"the rule gives {_range(right)}, and the document has {_range(asked)}"
            result.append(f"{question.name}: {text}")
        if wanted.tables[place] != found.tables[place]:
            result.append(f"{question.name}: the rule gives another table")
        why, told = wanted.reasons[place], found.reasons[place]
        if why != told:
            given = f"the reason {why!r}" if why else "no reason"
            text = f"the rule gives {given}, and the document has {told!r}"
            result.append(f"{question.name}: {text}")
    return result


def _range(question: Number) -> str:
    return f"{question.lower:,.6g} to {question.upper:,.6g} {question.unit}".rstrip()

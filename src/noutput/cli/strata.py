"""Segments and schedule of a campaign on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign
    from noutput.campaign.report import Report
    from noutput.campaign.schedule import Round

__all__ = ["late_reports", "read_labels", "strata_lines", "when"]


def strata_lines(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """Return a heading and a text per line: labels and rounds; none where there are none."""
    segments, schedule = campaign.segments, campaign.schedule
    if segments is not None:
        for name, labels in segments.names:
            yield "label", f"{name}: {', '.join(labels)}"
        yield "", f"not protected; combinations are shown from {segments.minimum:,} reports on"
    if schedule is not None:
        size, answers = schedule.rounds_per_period, schedule.answers
        yield "rounds", f"{campaign.n_rounds:,}, one per {schedule.every}, {size:,} per period"
        per = f"epsilon {campaign.epsilon_per_period!r} per period"
        drawn = f"{answers:,} of {size:,} rounds, drawn in advance"
        yield "a device", f"answers in {'every round' if answers == size else drawn}: {per}"


def read_labels(labels: tuple[str, ...]) -> dict[str, str]:
    """Read NAME=LABEL, each name once."""
    result: dict[str, str] = {}
    for text in labels:
        name, equals, label = (part.strip() for part in text.partition("="))
        if not equals:
            raise click.UsageError(f"A label must be NAME=LABEL; found {text!r}.")
        if name in result:
            raise click.UsageError(f"A label must be given once for {name!r}.")
        result[name] = label
    return result


def when(found: Round | None) -> str:
    """Say when a device answers next."""
    from noutput.campaign.text import format_instant

    if found is None:
        return "no round is left in which this device answers"
    start, end = format_instant(found.start), format_instant(found.end)
    return f"this device answers next in round {found.number}, from {start} until before {end}"


def late_reports(campaign: Campaign, pending: Iterable[Report], now: float) -> list[Report]:
    """Return the reports of the oldest round that were not sent and that are still counted."""
    schedule = campaign.schedule
    if schedule is None:
        return []
    mine = [each for each in pending if each.campaign == campaign.fingerprint]
    rounds = {each.round for each in mine if each.round is not None}
    left = [n for n in rounds if campaign.round(n).end.timestamp() + schedule.grace > now]
    return [each for each in mine if left and each.round == min(left)]

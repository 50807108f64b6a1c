"""Segments and schedule of a campaign on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign
    from noutput.campaign.schedule import Round
    from noutput.campaign.segments import Segments

__all__ = ["read_labels", "strata_lines", "when"]


def strata_lines(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """Return a heading and a text per line: labels and rounds; none where there are none."""
    segments, schedule = campaign.segments, campaign.schedule
    if segments is not None:
        for name, labels in segments.names:
            yield "label", f"{name}: {', '.join(labels)}"
        yield "", f"not protected; combinations are shown from {_least(segments)} reports on"
    if schedule is not None:
        size, answers = schedule.rounds_per_period, schedule.answers
        yield "rounds", f"{campaign.n_rounds:,}, one per {schedule.every}, {size:,} per period"
        per = f"epsilon {campaign.epsilon_per_period!r} per period"
        drawn = f"{answers:,} of {size:,} rounds, drawn in advance"
        yield "a device", f"answers in {'every round' if answers == size else drawn}: {per}"
        yield "", _needed(campaign)
    if segments is not None and schedule is not None:
        people = format(_people(campaign), ",")
        yield "needs", f"{people} people, if all combinations are to be shown in every round;"
        yield "", "with fewer, reports of small ones are published without their labels"


def _needed(campaign: Campaign) -> str:
    """Say which total the policy of a device needs, so that no answer is refused."""
    from noutput.campaign.policy import Policy

    usual = Policy()
    total = campaign.total_within(usual.days)
    beyond = f" (default: {usual.total:g})" if total > usual.total else ""
    return f"its policy needs a total of at least {total:.13g} in {usual.days:g} days{beyond}"


def _least(segments: Segments) -> str:
    """Return how many reports a combination has that a collector shows, by its own minimum too."""
    from noutput.collector.publishing import ReleasePolicy

    least = ReleasePolicy().minimum_of(segments)
    if least == segments.minimum:
        return f"{least:,}"
    return f"{least:,} (with noutput serve --minimum {segments.minimum}: {segments.minimum:,})"


def _people(campaign: Campaign) -> int:
    """Return how many people it takes, in a period, if as many have each combination of labels."""
    from noutput.collector.publishing import ReleasePolicy

    schedule = campaign.schedule
    share = 1 if schedule is None else -(-schedule.rounds_per_period // schedule.answers)
    questions = len(campaign.questions) if campaign.ask == "one" else 1
    return (
        ReleasePolicy().minimum_of(campaign.segments) * campaign.n_combinations * questions * share
    )


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

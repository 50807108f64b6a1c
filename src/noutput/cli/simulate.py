"""`noutput simulate`: many simulated people who answer a campaign."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noutput.campaign import Campaign
    from noutput.collector.simulation import Population
    from noutput.questions import Question

__all__ = ["command"]

_DISTRIBUTIONS = ("uniform", "normal", "lognormal", "exponential", "bimodal")
_MOST_ROUNDS = 40  # whose truth is printed


@click.command(name="simulate")
@click.argument("url")
@click.option("--people", type=click.IntRange(1, 10_000_000), default=10_000, show_default=True)
@click.option(
    "--distribution", type=click.Choice(_DISTRIBUTIONS), default="lognormal", show_default=True,
    help="Distribution of the people's answers, between the bounds of every number, and over the "
    "answers of every other question.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True,
    help="Seed of the people's answers.",
)  # fmt: skip
@click.option(
    "--batch", type=click.IntRange(1, 10_000), default=1000, show_default=True,
    help="Reports per request.",
)  # fmt: skip
@click.option(
    "--change", type=click.FloatRange(-1.0, 1.0), default=0.2, show_default=True,
    help="With rounds: how far answers move from the first to the last round of the campaign, as a "
    "part of their range.",
)  # fmt: skip
@click.option(
    "--spread", type=click.FloatRange(-1.0, 1.0), default=0.2, show_default=True,
    help="With segments: how far answers of people with the first and the last label of the first "
    "segment are apart.",
)  # fmt: skip
@click.option(
    "--wait", type=click.FloatRange(0.0), default=120.0, show_default=True,
    help="With waves: how many seconds to wait for the second one at most.",
)  # fmt: skip
def command(
    url: str,
    people: int,
    distribution: str,
    seed: int,
    batch: int,
    change: float,
    spread: float,
    wait: float,
) -> None:
    """Let simulated people answer the campaign at URL, to try a collector.

    Their answers come from a seed, their reports from secure randomness. All come from this
    machine: name it with `noutput serve --aggregator` for more than 1,000 reports per hour. Where
    the campaign is adaptive, only as many people answer its first wave as the second one needs; the
    others wait until it is there, and answer it. Where it has rounds, as many people answer in each
    that is counted now: the present one, and those before it within their grace time. Where it has
    segments, nine of ten people tell a label of each.
    """
    import numpy as np

    from noutput.campaign import fetch_campaign
    from noutput.collector.clock import system_clock
    from noutput.collector.simulation import first_people, open_rounds, simulate_people

    campaign = fetch_campaign(url)
    if campaign.admission.needs_token:
        raise click.UsageError("simulated people have no tokens: the campaign must be open")
    rounds = open_rounds(campaign, system_clock())
    if campaign.schedule is not None and not rounds:
        raise click.UsageError("no round of the campaign is open now")
    everybody = simulate_people(
        campaign, people, distribution, np.random.default_rng(seed), rounds,
        change=change, spread=spread,
    )  # fmt: skip
    start = time.perf_counter()
    first = first_people(campaign)
    if 0 < first < people:
        accepted = _send_in_waves(url, campaign, everybody, first, batch, wait)
    else:
        accepted = _send(url, campaign, everybody, batch)
    seconds = time.perf_counter() - start
    click.echo(f"{accepted:,} reports were counted in {seconds:.1f} s.")
    if campaign.next_wave is not None:
        from noutput.cli.waves import wave_lines

        for line in wave_lines(fetch_campaign(url, root=campaign.root)):
            click.echo(line)
    for line in _truth(campaign, everybody):
        click.echo(line)


def _send(url: str, campaign: Campaign, everybody: Population, batch: int) -> int:
    """Send the reports of people, and return how many were counted."""
    from noutput._progress import shown_progress
    from noutput.collector.simulation import send_reports

    expected = len(everybody) * (len(campaign.questions) if campaign.ask == "all" else 1)
    accepted = sent = 0
    with shown_progress("Sending") as progress:
        for receipt in send_reports(url, campaign, everybody, batch):
            accepted += receipt.accepted
            sent += receipt.accepted + receipt.repeated
            progress(sent / expected)
    return accepted


def _send_in_waves(
    url: str, campaign: Campaign, everybody: Population, first: int, batch: int, seconds: float
) -> int:
    """Let as many people answer the first wave as the second needs, and the others wait for it."""
    from noutput._progress import shown_progress
    from noutput.cli.waves import wave_lines
    from noutput.collector.simulation import await_wave

    accepted = _send(url, campaign, everybody.part(0, first), batch)
    *_, due = wave_lines(campaign)
    click.echo(f"{first:,} people have answered the first wave. {due}")
    start = time.perf_counter()
    with shown_progress("Waiting for the second wave") as progress:
        found = await_wave(url, campaign, everybody, first, seconds, progress)
    waited = f"{time.perf_counter() - start:.1f} s"
    if len(found.newest.waves) == 1:
        click.echo(f"It has not begun after {waited}: all others answer the first wave.")
    else:
        click.echo(f"It began after {waited}, with {found.people:,} people in the first wave.")
    rest = everybody.part(found.people, len(everybody))
    return accepted + found.accepted + (_send(url, found.newest, rest, batch) if len(rest) else 0)


def _truth(campaign: Campaign, everybody: Population) -> Iterator[str]:
    """Return the true figures: of all people, of those with a label, and of every round."""
    groups: dict[str, list[int]] = {"": list(range(len(everybody)))}
    for name, labels in campaign.segments.names if campaign.segments else ():
        for label in labels:
            told = (place for place, each in enumerate(everybody.labels) if each.get(name) == label)
            groups[f", {name} {label}"] = list(told)
    for number in sorted(set(everybody.rounds))[-_MOST_ROUNDS:]:
        mine = (place for place, each in enumerate(everybody.rounds) if each == number)
        groups[f", round {number}"] = list(mine)
    for question in campaign.questions:
        values = everybody.values[question.name]
        for name, places in groups.items():
            if places:
                yield _figure(question, name, [values[place] for place in places])


def _figure(question: Question, group: str, values: list[float] | list[str]) -> str:
    from noutput.questions import Answers, Number

    if isinstance(question, Answers):
        known = list(map(str, values))
        shares = (f"{label} {known.count(label) / len(known):.4f}" for label in question.labels)
        return f"True shares of {question.name}{group}: {', '.join(shares)}"
    unit = question.unit if isinstance(question, Number) else ""
    mean = sum(map(float, values)) / len(values)
    return f"True mean of {question.name}{group}: {mean:.4f} {unit}".rstrip()

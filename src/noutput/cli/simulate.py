"""`noutput simulate`: many simulated people who answer a campaign."""

from __future__ import annotations

import time

import click

__all__ = ["command"]

_DISTRIBUTIONS = ("uniform", "normal", "lognormal", "exponential", "bimodal")


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
def command(url: str, people: int, distribution: str, seed: int, batch: int) -> None:
    """Let simulated people answer the campaign at URL, to try a collector.

    Their answers come from a seed, their reports from secure randomness. All come from this
    machine: name it with `noutput serve --aggregator` for more than 1,000 reports per hour.
    """
    import numpy as np

    from noutput.campaign import fetch_campaign
    from noutput.cli.progress import delayed_progress
    from noutput.collector.simulation import send_reports, simulate_people
    from noutput.questions import Answers, Number

    campaign = fetch_campaign(url)
    if campaign.admission.needs_token:
        raise click.UsageError("simulated people have no tokens: the campaign must be open")
    everybody = simulate_people(campaign, people, distribution, np.random.default_rng(seed))
    expected = people * (len(campaign.questions) if campaign.ask == "all" else 1)
    start = time.perf_counter()
    accepted = sent = 0
    with delayed_progress("sending") as progress:
        for receipt in send_reports(url, campaign, everybody, batch):
            accepted += receipt.accepted
            sent += receipt.accepted + receipt.repeated
            progress(sent / expected)
    seconds = time.perf_counter() - start
    click.echo(f"{accepted:,} reports were counted in {seconds:.1f} s.")
    for each in campaign.questions:
        values = everybody.values[each.name]
        if isinstance(each, Number):
            mean = np.mean(np.asarray(values, float))
            click.echo(f"True mean of {each.name}: {mean:.4f} {each.unit}".rstrip())
        elif isinstance(each, Answers):
            shares = (f"{label} {list(values).count(label) / people:.4f}" for label in each.labels)
            click.echo(f"True shares of {each.name}: {', '.join(shares)}")

"""`noutput demo`: a small campaign on this machine, start to end."""

from __future__ import annotations

import click

__all__ = ["command"]

_PEOPLE = 20_000


@click.command(name="demo")
@click.option("--people", type=click.IntRange(2, 10_000_000), default=_PEOPLE, show_default=True)
@click.option("--epsilon", type=float, default=1.0, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the simulated people.")
def command(people: int, epsilon: float, seed: int) -> None:
    """Ask simulated people for their commute, without seeing an answer.

    The people are simulated from a seed, their reports are drawn with secure randomness.
    """
    import numpy as np

    import noutput as no

    rng = np.random.default_rng(seed)
    minutes = no.Interval(0, 180)
    truth = np.clip(rng.lognormal(3.3, 0.65, people), minutes.lower, minutes.upper)

    found = no.design(epsilon, method="analytical")
    mechanism = found.mechanism
    reports = mechanism.privatize(minutes.to_unit(truth))
    estimate = no.estimate_mean(mechanism, no.Tally.of(mechanism, reports), minutes)
    low, high = estimate.interval(0.95)

    one = int(np.ravel(reports)[0])
    stands_for = minutes.from_unit(float(mechanism.outputs[one]))
    chances = mechanism.probabilities([-1.0, 0.0, 1.0])[:, one]
    click.echo(
        f"{people:,} simulated people were asked how many minutes they commute (0 to 180).\n"
        f"Each report satisfies {epsilon:g}-local differential privacy: "
        f"{mechanism.n_outputs} possible reports, {mechanism.bits} bits each.\n"
        "\n"
        f"One report       {one} of 0..{mechanism.n_outputs - 1}, standing for "
        f"{stands_for:.1f} minutes\n"
        f"                 its sender commutes {truth[0]:.1f} minutes; with 0, 90 or 180 minutes\n"
        f"                 the chances of the same report are "
        f"{chances[0]:.0%}, {chances[1]:.0%} and {chances[2]:.0%}\n"
        "\n"
        f"True mean        {truth.mean():.2f} minutes\n"
        f"Estimated mean   {estimate.value:.2f} minutes, "
        f"95% interval {low:.2f} to {high:.2f}"
    )

"""`noutput audit`: draw reports, and bound the privacy loss of what drew them."""

from __future__ import annotations

import sys

import click

__all__ = ["command"]


@click.command(name="audit")
@click.argument("name")
@click.option("--epsilon", type=float, required=True, help="Privacy loss of the mechanism.")
@click.option("--claim", type=float, help="Privacy loss to test for [default: that of --epsilon].")
@click.option(
    "--samples", type=click.IntRange(1000), default=200_000, show_default=True,
    help="Number of reports per input.",
)  # fmt: skip
@click.option(
    "--confidence", type=float, default=0.999, show_default=True,
    help="Confidence level of the bound.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0), help="Seed of the reports [default: secure randomness]."
)
def command(
    name: str,
    epsilon: float,
    claim: float | None,
    samples: int,
    confidence: float,
    seed: int | None,
) -> None:
    """Test the sampler of the mechanism NAME against its privacy claim.

    NAME is that of a mechanism of noutput, or MODULE:OBJECT for one of your own.

    Searches for two inputs and a set of reports that distinguish them best, and prints a lower
    bound of the privacy loss. Exits with status 1 if the bound exceeds the claim.
    """
    import numpy as np

    import noutput as no
    from noutput.cli.own import is_own, make

    mechanism = (make if is_own(name) else no.mechanism)(name, epsilon)
    rng = None if seed is None else np.random.default_rng(seed)
    found = no.audit(mechanism, claim, samples=samples, confidence=confidence, rng=rng)
    likely, unlikely = found.inputs
    click.echo(
        f"{'Passed' if found.passed else 'NOT PRIVATE'}: {name}, claim {found.claim:g}\n"
        f"Loss at least    {found.epsilon_lower_bound:.4f} "
        f"(with confidence {found.confidence:g})\n"
        f"Seen in          {found.event}\n"
        f"  at x = {likely:<8g}  {found.counts[0]:,} of {found.samples:,} reports\n"
        f"  at x = {unlikely:<8g}  {found.counts[1]:,} of {found.samples:,} reports"
    )
    if not found.passed:
        sys.exit(1)

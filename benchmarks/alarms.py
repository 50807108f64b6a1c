"""Alarms in simulations: how often honest people raise one, and how soon forged reports do.

``python -m benchmarks.alarms`` prints the figures of the documentation, in some minutes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import click
import numpy as np

import noutput as no
from noutput.collector.alarms import INTERVAL_SECONDS, RateWatch, ShapeWatch

__all__ = ["commuters", "detections", "false_rates", "false_shapes"]

_PER_DAY = int(86_400 / INTERVAL_SECONDS)
_START = datetime(2026, 1, 1, tzinfo=UTC)
_GROWN = 4  # times the reports before a change, within which an alarm is looked for

Array = np.ndarray[Any, np.dtype[np.float64]]


def false_rates(mean: float, swing: float, days: int, rng: np.random.Generator) -> int:
    """Return the alarms of an honest stream with a daily cycle.

    Parameters
    ----------
    mean : float
        Reports per interval; their variance is four times their mean.
    swing : float
        By which share the mean is higher by day and lower by night.
    days : int
    rng : numpy Generator
    """
    places = np.arange(days * _PER_DAY)
    means = mean * (1.0 + swing * np.sin(2.0 * np.pi * places / _PER_DAY))
    totals = np.cumsum(rng.poisson(rng.gamma(means / 3.0, 3.0))).tolist()
    watch, step = RateWatch(), timedelta(seconds=INTERVAL_SECONDS)
    return sum(len(watch.note(_START + place * step, total)) for place, total in enumerate(totals))


def commuters() -> tuple[Array, Array, tuple[float, ...]]:
    """Return the shares of the outputs of honest people, of those who claim 180, and the scores."""
    table = no.design(1.0).mechanism
    people = np.clip(np.random.default_rng(0).lognormal(3.3, 0.65, 20_000), 0.0, 180.0)
    honest = table.probabilities(people / 90.0 - 1.0).mean(axis=0)
    return honest, table.probabilities(np.ones(1))[0], tuple(table.outputs)


def false_shapes(campaigns: int, upto: int, rng: np.random.Generator) -> int:
    """Return how many campaigns of honest people raise an alarm of their shape."""
    honest, _, scores = commuters()
    none = np.zeros(len(honest), int)
    return sum(_first(none, honest, scores, upto, rng) is not None for _ in range(campaigns))


def detections(
    before: int, forged: float, liar: Array, campaigns: int, rng: np.random.Generator
) -> list[int | None]:
    """Return, for each campaign, in which block a sudden share of forged reports is noticed."""
    honest, _, scores = commuters()
    mixed = (1.0 - forged) * honest + forged * liar
    return [
        _first(rng.multinomial(before, honest), mixed, scores, _GROWN * before, rng)
        for _ in range(campaigns)
    ]


def _first(
    counts: np.ndarray[Any, Any], shares: Array, scores: tuple[float, ...], upto: int,
    rng: np.random.Generator,
) -> int | None:  # fmt: skip
    """Return the first block of alarm as reports with these shares follow the counts."""
    watch, total, place = ShapeWatch(counts.tolist(), scores), int(counts.sum()), 0
    while total < upto:
        size = watch.missing(total)
        counts = counts + rng.multinomial(size, shares)
        total, place = total + size, place + 1
        if watch.note(counts.tolist(), 1) is not None:
            return place
    return None


@click.command()
@click.option("--campaigns", default=50, show_default=True, help="Per figure of detection.")
def main(campaigns: int) -> None:
    """Print false alarms and detections."""
    rng = np.random.default_rng(5)
    for mean in (0.3, 3.0, 30.0, 300.0, 30_000.0):
        for swing in (0.0, 0.9):
            found = false_rates(mean, swing, 20 * 365, rng)
            click.echo(f"rate: {found} alarms in 20 years, {mean:g} per interval, swing {swing:g}")
    click.echo(f"shape: {false_shapes(2_000, 30_000, rng)} of 2,000 campaigns of 30,000 reports")
    _, claim, _ = commuters()
    one = np.eye(len(claim))[-1]
    for before in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        for name, liar in (("claim 180", claim), ("one output", one)):
            for forged in (0.5, 0.05, 0.01):
                blocks = detections(before, forged, liar, campaigns, rng)
                noticed = [each for each in blocks if each is not None]
                first = sum(each == 1 for each in noticed)
                share = f"{len(noticed) / campaigns:.0%} noticed, {first} in the first block"
                click.echo(f"shape: {before:,} reports, then {forged:.0%} {name}: {share}")


if __name__ == "__main__":
    main()

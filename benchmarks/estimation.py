"""Estimates from counts: one at a time and a thousand at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

from benchmarks.measure import Case, best_seconds, in_turns
from noutput.designs.design import design
from noutput.estimate.distribution import estimate_distribution
from noutput.estimate.goodness import goodness_of_fit
from noutput.estimate.mean import estimate_mean
from noutput.estimate.slack.intervals import Slack, Statistics
from noutput.mechanisms.table import TableMechanism
from noutput.tally import Tally
from tests.estimate.samples import campaigns, sixteen

__all__ = ["cases"]

_PEOPLE = 50_000


def _estimate_next(table: TableMechanism, tallies: Iterator[Tally], method: str) -> object:
    return estimate_distribution(table, next(tallies), method=method)


def cases() -> Iterator[Case]:
    """Measure everything the estimators promise; 50,000 people, epsilon = 1, 64 bins."""
    table = sixteen(1.0)
    rng = np.random.default_rng(3)
    counts = campaigns(table, "two-humped", _PEOPLE, 1_000, rng)
    tallies = [Tally(table.fingerprint, tuple(row)) for row in counts.tolist()]
    one = tallies[0]
    for method, goal in (("em", 2.0), ("mle", 10.0), ("gp", 10.0)):
        # What gp has found for the last 16 tallies is kept, so it gets others.
        fresh = cycle(tallies[:17] if method == "gp" else [one])
        run = partial(_estimate_next, table, fresh, method)
        found = best_seconds(run, 50)
        yield Case(f"one distribution, N = 16, {method}", found * 1e3, goal, "ms")
    batch = best_seconds(lambda: estimate_distribution(table, tallies), 3)
    yield Case("1,000 distributions at once, em", batch, 0.25, "s")
    batch = best_seconds(lambda: estimate_distribution(table, tallies, method="gp"), 2)
    yield Case("a distribution of 1,000 at once, gp", batch, 10.0, "ms")
    yield Case("one mean", best_seconds(lambda: estimate_mean(table, one), 200) * 1e3, 1.0, "ms")
    test = best_seconds(lambda: goodness_of_fit(table, one, rng=rng), 5)
    yield Case("one test for forged reports", test, 0.5, "s")
    yield from _intervals(rng)


def _intervals(rng: np.random.Generator) -> Iterator[Case]:
    """Measure slack intervals: processor time, of fresh fits."""
    x = np.linspace(-1.0, 1.0, 1001)
    edges = np.linspace(-1.0, 1.0, 17)
    for objective, epsilon, people in (
        ("balanced", 1.0, _PEOPLE),
        ("distribution", 1.0, _PEOPLE),
        ("distribution", 4.0, 4 * _PEOPLE),
    ):
        table = design(epsilon, None if objective == "balanced" else 64, objective).mechanism
        chances = table.probabilities(x).mean(axis=0)
        shares = rng.multinomial(people, chances / chances.sum()) / people

        def fitted(
            table: TableMechanism = table, shares: Any = shares, people: int = people
        ) -> Statistics:
            return Statistics(Slack(table, shares, float(people), 0.95, edges.tolist()))

        def summary(fitted: Callable[[], Statistics] = fitted) -> None:
            statistics = fitted()
            statistics.mean()
            statistics.variance()
            statistics.quantiles(np.array([0.05, 0.25, 0.5, 0.75, 0.95]))
            statistics.shares(edges[:-1], edges[1:])

        known = fitted()
        actions = {"one": lambda known=known: known.cdf(np.zeros(1)), "all": summary}
        found = in_turns(actions, 3, clock=time.process_time)
        name = f"{objective}, epsilon = {epsilon:g}, {people:,} people"
        yield Case(f"one slack interval, {name}", found["one"] * 1e3, 5.0, "ms")
        yield Case(f"slack intervals of a summary, {name}", found["all"] * 1e3, 60.0, "ms")

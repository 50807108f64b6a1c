"""Coverage of intervals: guaranteed ones by enumeration, normal ones in simulated campaigns."""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import numpy as np
import pytest

import noutput as no
from tests.estimate.cell_tables import acting, drawn, summary

KNOTS = (0.0, 1.0, 1.0, 2.0)
LEVEL = 0.8


def all_counts(outputs: int, total: int) -> list[tuple[int, ...]]:
    return [c for c in product(range(total + 1), repeat=outputs) if sum(c) == total]


@pytest.mark.parametrize("numbers", [[0.0], [0.5], [0.999], [1.0], [2.0], [0.3, 1.5], [0.0, 2.0]])
def test_guaranteed_intervals_cover_all_statistics_of_all_people(numbers: list[float]) -> None:
    """The probability to cover, over all counts of 7 reports, is computed without chance."""
    table = drawn(KNOTS, 4, seed=2, epsilon=1.5)
    shares = np.full(len(numbers), 1.0 / len(numbers))
    chances = acting(KNOTS, numbers, shares) @ table.table()
    covered = dict.fromkeys(("mean", "below", "spread", "median"), 0.0)
    below, median = (
        float(shares @ (np.array(numbers) < 1.0)),
        sorted(numbers)[(len(numbers) - 1) // 2],
    )
    for counts in all_counts(4, 7):
        ways = factorial(7) // prod(map(factorial, counts))
        chance = float(ways * np.prod(chances ** np.array(counts)))
        found = summary(table, no.Tally(table.fingerprint, counts), LEVEL, "guaranteed")
        spread = found.spread
        assert spread is not None
        figures = {
            "mean": (found.mean, float(np.mean(numbers))),
            "below": (found.below(1.0), below),
            "spread": (spread, float(np.std(numbers))),
            "median": (found.quantile(0.5), median),
        }
        for name, (figure, truth) in figures.items():
            covered[name] += chance * (figure.low - 1e-9 <= truth <= figure.high + 1e-9)
    assert min(covered.values()) >= LEVEL, covered


@pytest.mark.parametrize("reports", [200, 20_000])
def test_normal_intervals_cover(reports: int) -> None:
    """In 600 campaigns, at least 92.5%: 2.8 standard errors below 95%."""
    table = drawn((0.0, 1.0, 1.0, 2.0, 2.0, 4.0), 20, seed=5, epsilon=1.5)
    numbers, shares = np.array([0.0, 0.7, 1.0, 3.0]), np.array([0.2, 0.3, 0.3, 0.2])
    chances = acting(table.knots, numbers, shares) @ table.table()
    truth = [float(shares @ numbers), 0.5, 0.8, 0.5, 0.3, 0.2]
    hits = np.zeros(len(truth))
    for counts in np.random.default_rng(reports).multinomial(reports, chances, 600):
        found = summary(table, no.Tally(table.fingerprint, tuple(counts.tolist())))
        figures = (found.mean, *found.cdf, *found.shares)
        hits += [each.low <= true <= each.high for each, true in zip(figures, truth, strict=True)]
    assert hits.min() / 600 >= 0.925

"""Populations and tables that the tests of the estimators share."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from noutput.mechanisms.table import TableMechanism
from tests.tables import window_table

Array: TypeAlias = NDArray[np.float64]

EPSILONS = (0.5, 1.0, 3.0)
SHAPES = ("skewed", "two-humped", "one-sided")


@lru_cache(maxsize=16)
def sixteen(epsilon: float) -> TableMechanism:
    """Return a table of 16 outputs whose window has the width of the piecewise mechanism."""
    return window_table(epsilon, 16, 65, 0.4)


@lru_cache(maxsize=16)
def population(shape: str) -> Array:
    """Return 20,000 numbers that stand for everybody."""
    rng = np.random.default_rng(SHAPES.index(shape))
    size = 20_000
    if shape == "skewed":
        return np.clip(0.2 * rng.exponential(size=size) - 1.0, -1.0, 1.0)
    if shape == "two-humped":
        centers = rng.choice([-0.5, 0.5], size)
        return np.clip(centers + 0.15 * rng.standard_normal(size), -1.0, 1.0)
    return 2.0 * rng.beta(5.0, 2.0, size) - 1.0


def campaigns(
    mechanism: TableMechanism, shape: str, people: int, size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the counts of campaigns whose people are drawn from a population."""
    chances = mechanism.probabilities(population(shape)).mean(axis=0)
    return rng.multinomial(people, chances / chances.sum(), size=size)


def reference_em(shares: Array, theta: Array, iterations: int) -> Array:
    """Run plain EM, one bin at a time."""
    bins = len(theta)
    pi = [1.0 / bins] * bins
    for _ in range(iterations):
        q = [sum(pi[i] * theta[i, j] for i in range(bins)) for j in range(theta.shape[1])]
        g = [
            pi[i] * sum(shares[j] * theta[i, j] / q[j] for j in range(theta.shape[1]))
            for i in range(bins)
        ]
        pi = [value / sum(g) for value in g]
    return np.array(pi)

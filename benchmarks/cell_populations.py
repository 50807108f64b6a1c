"""People, tables and seeds by which estimates of numbers with cells are judged.

Nothing was chosen on these populations: choices are made on `benchmarks.populations.CALIBRATION`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import stats

from benchmarks.populations import Population

__all__ = ["EPSILONS", "LAYOUTS", "PEOPLE", "REPORTS", "Case", "cases"]

EPSILONS = (0.5, 1.0, 2.0, 4.0)
REPORTS = (500, 1_000, 5_000, 20_000, 200_000)
LAYOUTS = {
    "8 cells": tuple(np.linspace(-1.0, 1.0, 9).tolist()),
    "uneven": tuple((np.array([0.0, 15, 30, 45, 60, 90, 120, 180]) / 90.0 - 1.0).tolist()),
}
"""Both bounds and the edges between them, for numbers of [-1, 1]."""

_SEED = 20_350
_GRID = (np.arange(4_000) + 0.5) / 2_000 - 1.0
_UNIT = (_GRID + 1.0) / 2.0


def _density(values: np.ndarray) -> Population:
    return Population(_GRID, values / values.sum())


def _mixed(main: Population, x: list[float], shares: list[float]) -> Population:
    numbers = np.append(main.x, x)
    weights = np.append((1.0 - sum(shares)) * main.shares, shares)
    order = np.argsort(numbers, kind="stable")
    return Population(numbers[order], weights[order])


def _on_edges(edges: tuple[float, ...]) -> Population:
    shares = np.arange(1.0, len(edges) - 1.0)
    return Population(np.array(edges[1:-1]), shares / shares.sum())


PEOPLE: dict[str, Callable[[tuple[float, ...]], Population]] = {
    "spikes": lambda _: Population(
        np.array([-0.83, -0.31, 0.07, 0.61]), np.array([0.35, 0.3, 0.2, 0.15])
    ),
    "zeros": lambda _: _mixed(_density(stats.gamma(2.0, scale=0.16).pdf(_UNIT)), [-1.0], [0.4]),
    "on the edges": _on_edges,
    "all at one value": lambda _: Population(np.array([0.11]), np.ones(1)),
    "heavy tails": lambda _: _density(stats.lomax(1.5, scale=0.06).pdf(_UNIT)),
    "uniform": lambda _: _density(np.ones_like(_GRID)),
    "two humps": lambda _: _density(
        0.6 * stats.norm(-0.45, 0.12).pdf(_GRID) + 0.4 * stats.norm(0.5, 0.1).pdf(_GRID)
    ),
    "ratings typed as numbers": lambda _: Population(
        np.linspace(-1.0, 1.0, 5), np.array([0.12, 0.06, 0.12, 0.28, 0.42])
    ),
    "everything at a bound": lambda _: Population(np.array([1.0]), np.ones(1)),
}
"""By kind: the people, given both bounds and the edges."""


@dataclass(frozen=True)
class Case:
    """Campaigns of one kind: who is asked, with which cells, by which epsilon, how many."""

    people: str
    layout: str
    epsilon: float
    reports: int

    @property
    def key(self) -> str:
        """The name of the case in files."""
        return f"{self.people}/{self.layout}/{self.epsilon:g}/{self.reports}"

    @property
    def population(self) -> Population:
        """The people."""
        return PEOPLE[self.people](LAYOUTS[self.layout])

    def generator(self, block: int) -> np.random.Generator:
        """The random numbers of one block of campaigns."""
        return np.random.default_rng([_SEED, zlib.crc32(self.key.encode()), block])


def cases() -> list[Case]:
    """Everything that is judged."""
    return [Case(*parts) for parts in product(PEOPLE, LAYOUTS, EPSILONS, REPORTS)]

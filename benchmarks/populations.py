"""Populations for intervals: a family that thresholds were chosen on, and one held back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from noutput.designs.distribution.training_shapes import BINS, draw_histograms

__all__ = ["CALIBRATION", "HELD_BACK", "Population"]

Array: TypeAlias = NDArray[np.float64]

_GRID = (np.arange(4096) + 0.5) / 4096 * 2.0 - 1.0
_UNIT = (_GRID + 1.0) / 2.0
ZERO = -0.6
"""Where those sit who have exactly zero: no edge of any table's cells."""


@dataclass(frozen=True, eq=False)
class Population:
    """Numbers of [-1, 1], increasing, and the share of the people at each."""

    x: Array
    shares: Array

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.shares @ self.x)

    @property
    def variance(self) -> float:
        """The variance."""
        return float(self.shares @ (self.x - self.mean) ** 2)

    def below(self, end: float) -> float:
        """Return the share of the numbers below an end."""
        return float(self.shares[self.x < end].sum())

    def up_to(self, end: float) -> float:
        """Return the share of the numbers up to an end."""
        return float(self.shares[self.x <= end].sum())

    def quantile(self, share: float) -> float:
        """Return the smallest number with a share at or below it."""
        sums = np.cumsum(self.shares)
        return float(self.x[min(int(np.searchsorted(sums, share - 1e-12)), len(self.x) - 1)])


def _at(x: Array, weights: Array) -> Population:
    order = np.argsort(x)
    return Population(np.asarray(x, float)[order], weights[order] / weights.sum())


def _density(values: ArrayLike) -> Population:
    return _at(_GRID, np.maximum(np.asarray(values, np.float64), 0.0))


def _and_atoms(main: Population, places: list[float], shares: list[float]) -> Population:
    kept = 1.0 - sum(shares)
    return _at(np.append(main.x, places), np.append(kept * main.shares, shares))


def _levels(count: int) -> Callable[[np.random.Generator], Population]:
    return lambda rng: _at(np.linspace(-1.0, 1.0, count), rng.dirichlet(np.ones(count)))


def _edges(rng: np.random.Generator, count: int) -> Array:
    """Return numbers at which cells of tables start, as whole hours and ratings often are."""
    return -1.0 + rng.choice(33, count, replace=False) / 16.0


def _training_shape(rng: np.random.Generator) -> Population:
    histogram = draw_histograms(rng, 1)[0]
    return _at(_GRID, np.repeat(histogram, len(_GRID) // BINS))


Factory: TypeAlias = Callable[[np.random.Generator], Population]

CALIBRATION: dict[str, Factory] = {
    "one number": lambda rng: _at(rng.uniform(-1.0, 1.0, 1), np.ones(1)),
    "lower end": lambda _: _at(np.array([-1.0]), np.ones(1)),
    "both ends": lambda rng: _at(np.array([-1.0, 1.0]), np.array([p := rng.uniform(), 1.0 - p])),
    "eleven levels": _levels(11),
    "seven levels": _levels(7),
    "nine levels": _levels(9),
    "seventeen levels": _levels(17),
    "three edges": lambda rng: _at(_edges(rng, 3), rng.dirichlet(np.ones(3))),
    "six edges": lambda rng: _at(_edges(rng, 6), rng.dirichlet(np.ones(6))),
    "hump and an edge": lambda rng: _and_atoms(
        _density(stats.beta(3, 6).pdf(_UNIT)), _edges(rng, 1).tolist(), [rng.uniform(0.1, 0.5)]
    ),
    "most at the lower end": lambda _: _and_atoms(
        _density(stats.gamma(3.0, scale=0.1).pdf(_UNIT)), [-1.0], [0.7]
    ),
    "three atoms": lambda rng: _at(rng.uniform(-1.0, 1.0, 3), rng.dirichlet(np.ones(3))),
    "eight atoms": lambda rng: _at(rng.uniform(-1.0, 1.0, 8), rng.dirichlet(np.ones(8))),
    "beta and the top": lambda _: _and_atoms(_density(stats.beta(1, 12).pdf(_UNIT)), [1.0], [0.3]),
    "box": lambda rng: _density(abs(_GRID - rng.uniform(-0.9, 0.9)) < 0.02),
    "narrow": lambda rng: _density(stats.norm(rng.uniform(-0.8, 0.8), 0.04).pdf(_GRID)),
    "beta": lambda _: _density(stats.beta(2, 5).pdf(_UNIT)),
    "waves": lambda _: _density(1.0 + 0.9 * np.sin(40.0 * _UNIT)),
}

HELD_BACK: dict[str, Factory] = {
    "uniform": lambda _: _density(np.ones_like(_GRID)),
    "commute": lambda _: _density(stats.lognorm(0.6, scale=0.18).pdf(_UNIT)),
    "bimodal": lambda _: _density(
        0.6 * stats.norm(-0.45, 0.12).pdf(_GRID) + 0.4 * stats.norm(0.5, 0.1).pdf(_GRID)
    ),
    "low end": lambda _: _density(np.exp(-_UNIT / 0.05)),
    "30% at zero": lambda _: _and_atoms(
        _density(stats.gamma(2.0, scale=0.15).pdf(np.maximum(_GRID - ZERO, 0.0))), [ZERO], [0.3]
    ),
    "three spikes": lambda _: _at(np.array([-0.7, 0.05, 0.62]), np.array([0.5, 0.3, 0.2])),
    "five stars": lambda _: _at(
        np.linspace(-1.0, 1.0, 5), np.array([0.12, 0.06, 0.12, 0.28, 0.42])
    ),
    "heavy tail": lambda _: _density((1.0 + ((_GRID + 0.8) / 0.04) ** 2) ** -1.0 * (_GRID > -0.8)),
    "training shapes": _training_shape,
}

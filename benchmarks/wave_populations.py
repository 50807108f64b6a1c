"""Populations that use a part of their range: a family for constants, and one held back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = ["GRID", "HELD_BACK", "OCCUPANCIES", "TRAINING", "TRAINING_OCCUPANCIES"]

Array: TypeAlias = NDArray[np.float64]
Shape: TypeAlias = Callable[[float], Array]

_PLACES = 4096
GRID = (np.arange(_PLACES) + 0.5) / _PLACES
"""Numbers of the declared range, from 0 to 1; a population is the share of the people at each."""
OCCUPANCIES = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
TRAINING_OCCUPANCIES = (0.07, 0.15, 0.4, 0.8)


def _shares(density: ArrayLike) -> Array:
    values = np.maximum(np.asarray(density, np.float64), 0.0)
    result: Array = values / values.sum()
    return result


def _within(start: float, width: float, density: Callable[[Array], ArrayLike]) -> Array:
    """Return the shares of a density of [0, 1] that is moved to a part of the range."""
    part = (GRID - start) / width
    inside = (part >= 0.0) & (part <= 1.0)
    return _shares(np.where(inside, density(np.clip(part, 0.0, 1.0)), 0.0))


def _with_atoms(main: Array, *atoms: tuple[float, float]) -> Array:
    """Put shares of the people at places of the range."""
    result = main * (1.0 - sum(share for _, share in atoms))
    for place, share in atoms:
        result[min(int(place * _PLACES), _PLACES - 1)] += share
    return result


def _two_humps(x: Array) -> Array:
    result: Array = stats.norm(0.25, 0.08).pdf(x) + 0.6 * stats.norm(0.75, 0.1).pdf(x)
    return result


HELD_BACK: dict[str, Shape] = {
    "even": lambda width: _within(0.0, width, np.ones_like),
    "one hump": lambda width: _within(0.5 * (1.0 - width), width, stats.beta(4, 4).pdf),
    "two humps": lambda width: _within(0.3 * (1.0 - width), width, _two_humps),
    "skewed": lambda width: _shares(stats.lognorm(0.6, scale=width / 4.04).pdf(GRID)),
    "30% zeros": lambda width: _with_atoms(_within(0.0, width, stats.beta(3, 4).pdf), (0.0, 0.3)),
}
"""Five shapes by the share of the range that they use; of the skewed one 1% lies beyond."""

TRAINING: dict[str, Shape] = {
    "dome": lambda width: _within(0.35 * (1.0 - width), width, stats.beta(2, 2).pdf),
    "falling": lambda width: _within(0.0, width, lambda x: 1.0 - x),
    "rising": lambda width: _within(0.0, width, lambda x: 0.2 + x),
    "three values": lambda width: _with_atoms(
        np.zeros(_PLACES), (0.1 * width, 0.2), (0.5 * width, 0.5), (0.95 * width, 0.3)
    ),
    "gamma": lambda width: _shares(stats.gamma(2.0, scale=width / 6.64).pdf(GRID)),
    "5% anywhere": lambda width: 0.95 * _within(0.0, width, np.ones_like) + 0.05 / _PLACES,
    "2% at the top": lambda width: _with_atoms(
        _within(0.0, width, stats.beta(2, 3).pdf), (1.0, 0.02)
    ),
}
"""What constants of `noutput.planner.adaptive` were chosen on; the last two hide a few people."""

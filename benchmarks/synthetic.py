"""Histograms that no table was trained on: the held-back family."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["FAMILIES", "held_back"]

Array: TypeAlias = NDArray[np.float64]
BINS = 64
_PEOPLE = 20_000
_EDGES = np.linspace(-1.0, 1.0, BINS + 1)


def _unit(values: Array, low: float, high: float) -> Array:
    result: Array = 2.0 * (values - low) / max(high - low, 1e-12) - 1.0
    return result


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _lognormal(rng: np.random.Generator) -> Array:
    values = rng.lognormal(0.0, _log_uniform(rng, 0.3, 2.0), _PEOPLE)
    return _unit(values, values.min(), float(np.quantile(values, 1.0 - 0.01 * rng.random())))


def _pieces(rng: np.random.Generator) -> Array:
    count = int(rng.integers(2, 10))
    ends = np.sort(np.concatenate([[-1.0, 1.0], rng.uniform(-1.0, 1.0, count - 1)]))
    place = rng.choice(count, _PEOPLE, p=rng.dirichlet(np.full(count, 0.7)))
    return rng.uniform(ends[place], ends[place + 1])


def _sticks(rng: np.random.Generator) -> Array:
    parts = rng.beta(1.0, _log_uniform(rng, 0.6, 7.4), 50)
    weights = parts * np.cumprod(np.concatenate([[1.0], 1.0 - parts[:-1]]))
    return rng.choice(rng.uniform(-1.0, 1.0, 50), _PEOPLE, p=weights / weights.sum())


def _laplace(rng: np.random.Generator) -> Array:
    return rng.laplace(rng.uniform(-1.0, 1.0), _log_uniform(rng, 0.018, 0.5), _PEOPLE)


def _zipf(rng: np.random.Generator) -> Array:
    most = int(rng.integers(5, 200))
    values = np.minimum(rng.zipf(rng.uniform(1.3, 3.0), _PEOPLE), most).astype(np.float64)
    return _unit(values, values.min(), values.max())


def _poisson(rng: np.random.Generator) -> Array:
    values = rng.poisson(_log_uniform(rng, 0.37, 20.0), _PEOPLE).astype(np.float64)
    return _unit(values, values.min(), values.max())


def _triangular(rng: np.random.Generator) -> Array:
    return rng.triangular(-1.0, rng.uniform(-1.0, 1.0), 1.0, _PEOPLE)


def _bimodal(rng: np.random.Generator) -> Array:
    centers = np.array([rng.uniform(-0.7, -0.2), rng.uniform(0.2, 0.7)])
    width = rng.uniform(0.08, 0.25)
    side = (rng.random(_PEOPLE) < rng.uniform(0.2, 0.8)).astype(np.intp)
    return rng.normal(centers[side], width)


def _beta(rng: np.random.Generator) -> Array:
    return 2.0 * rng.beta(rng.uniform(1.5, 6.0), rng.uniform(1.5, 6.0), _PEOPLE) - 1.0


FAMILIES: dict[str, Callable[[np.random.Generator], Array]] = {
    "lognormal": _lognormal,
    "pieces": _pieces,
    "atoms": _sticks,
    "laplace": _laplace,
    "zipf": _zipf,
    "poisson": _poisson,
    "triangular": _triangular,
    "bimodal": _bimodal,
    "beta": _beta,
}


def held_back(rng: np.random.Generator, each: int) -> dict[str, Array]:
    """Draw histograms of every family, half of them mirrored, of shape (each, 64)."""
    result = {}
    for name, family in FAMILIES.items():
        rows = []
        for index in range(each):
            values = np.clip(family(rng), -1.0, 1.0) * (-1.0 if index % 2 else 1.0)
            rows.append(np.histogram(values, _EDGES)[0] / _PEOPLE)
        result[name] = np.array(rows)
    return result

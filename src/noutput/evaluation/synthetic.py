"""Synthetic datasets: shapes that real columns have, without a file."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = ["LABELS", "SHAPES", "draw"]

_SEED = 20_250_601
_PEOPLE = 20_000
_ATTRIBUTES = 4


def _uniform(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
    return rng.uniform(-1.0, 1.0, size)


def _beta(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
    """Most people are low, few are high."""
    return 2.0 * rng.beta(2.0, 5.0, size) - 1.0


def _bimodal(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
    """Two humps of different height."""
    high = rng.random(size) < 0.3
    middle = np.where(high, 0.5, -0.4)
    return np.clip(rng.normal(middle, np.where(high, 0.1, 0.15)), -1.0, 1.0)


def _spike(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
    """Nine of ten people sit at the lower edge, as with capital gains; the others are anywhere."""
    return np.where(rng.random(size) < 0.9, -1.0, rng.uniform(-1.0, 1.0, size))


SHAPES: Mapping[str, Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]] = (
    MappingProxyType({"uniform": _uniform, "beta": _beta, "bimodal": _bimodal, "spike": _spike})
)
"""How the numbers of a synthetic dataset are drawn."""

LABELS: Mapping[str, str] = MappingProxyType(
    {
        "uniform": "Uniform",
        "beta": "Beta(2, 5)",
        "bimodal": "Bimodal",
        "spike": "Spike at the edge",
    }
)
"""What figures and tables call them."""


def draw(
    name: str, people: int = _PEOPLE, n_attributes: int = _ATTRIBUTES, seed: int = _SEED
) -> NDArray[np.float64]:
    """Draw numbers of [-1, 1], of shape (people, n_attributes); the same for the same seed.

    Examples
    --------
    >>> draw("spike", people=1000).shape
    (1000, 4)
    """
    shape = SHAPES[_checks.choice("name", name, SHAPES)]
    size = (
        _checks.whole("people", people, 2, 1 << 32),
        _checks.whole("n_attributes", n_attributes, 1, 1 << 16),
    )
    return shape(np.random.default_rng([seed, *name.encode()]), size)

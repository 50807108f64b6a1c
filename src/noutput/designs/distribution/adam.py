"""Adam (10.48550/arXiv.1412.6980): steps from running means of the gradient and of its square."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.designs.solution import Array

__all__ = ["Adam"]

_MEMORY, _SQUARE_MEMORY = 0.9, 0.99


class Adam:
    """The running means of every part of the parameters, and the changes they suggest.

    Parameters
    ----------
    parts : sequence of arrays
        What they are the gradients of.
    rates : sequence of floats
        By what the step size is multiplied for each part.
    """

    def __init__(self, parts: Sequence[Array], rates: Sequence[float]) -> None:
        self._means = [np.zeros_like(part) for part in parts]
        self._squares = [np.zeros_like(part) for part in parts]
        self._rates = tuple(rates)
        self._count = 0

    def step(self, gradient: Sequence[Array], size: float) -> tuple[Array, ...]:
        """Return the change of every part after one more gradient."""
        self._count += 1
        for mean, square, slope in zip(self._means, self._squares, gradient, strict=True):
            mean += (1.0 - _MEMORY) * (slope - mean)
            square += (1.0 - _SQUARE_MEMORY) * (slope**2 - square)
        directions = map(self._direction, self._means, self._squares)
        return tuple(
            -(rate * size) * part for rate, part in zip(self._rates, directions, strict=True)
        )

    def _direction(self, mean: Array, square: Array) -> Array:
        spread = np.sqrt(square / (1.0 - _SQUARE_MEMORY**self._count))
        result: Array = mean / (1.0 - _MEMORY**self._count) / (spread + 1e-8)
        return result

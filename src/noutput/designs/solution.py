"""The solution that every solver returns: a table in real numbers, before it is quantized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from noutput._progress import Progress
from noutput.mechanisms.moments import average_variance, largest_variance

__all__ = ["Array", "Progress", "Solution"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Solution:
    """A table in real numbers.

    Parameters
    ----------
    outputs : array of shape (N,)
        Ascending.
    probabilities : array of shape (K, N)
        One row per knot, private up to the rounding of floats; linear between knots.
    iterations : int
        Steps of the solver, of its own kind; 0 for a closed form.
    converged : bool
        Whether the solver met its own stopping rule; the table is feasible anyway.
    """

    outputs: Array
    probabilities: Array
    iterations: int = 0
    converged: bool = True

    @property
    def knots(self) -> Array:
        """The inputs that the rows belong to, which are their means: from -1 to 1."""
        result: Array = self.probabilities @ self.outputs
        return result

    @property
    def second_moments(self) -> Array:
        """The means of the squared outputs, one per row."""
        result: Array = self.probabilities @ self.outputs**2
        return result

    @property
    def worst_variance(self) -> float:
        """The largest variance over all inputs."""
        return largest_variance(self.knots, self.second_moments)

    def average_variance(self, prior: Array | None = None) -> float:
        """Return the average variance over a histogram of [-1, 1] that adds up to 1."""
        weights = np.ones(1) if prior is None else prior
        return average_variance(self.knots, self.second_moments, weights)

"""A prior for inputs in [-1, 1], given as a histogram on equal bins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noutput.errors import InvalidArgumentError

__all__ = ["Prior"]

Array = NDArray[np.float64]

_SYMMETRY_TOLERANCE = 1e-12
_LEAST_CELL = 1e-7


@dataclass(frozen=True)
class Prior:
    r"""A piecewise-constant density on [-1, 1].

    Parameters
    ----------
    masses : ndarray
        Probability of each of the equal bins; adds up to one.

    Examples
    --------
    >>> Prior.of(None).second_moment
    0.3333333333333333
    >>> bool(Prior.of([1.0, 3.0]).symmetric)
    False
    """

    masses: Array

    @classmethod
    def of(cls, weights: object) -> Prior:
        """Build a prior from nonnegative weights; ``None`` is the uniform prior."""
        if weights is None:
            return cls(np.ones(1))
        array = np.asarray(weights, dtype=np.float64)
        if array.ndim != 1 or array.size == 0:
            raise InvalidArgumentError("prior", "be a vector of bin weights", array.shape)
        if not np.all(np.isfinite(array)) or np.any(array < 0) or array.sum() <= 0:
            rule = "have finite weights >= 0 with a positive sum"
            raise InvalidArgumentError("prior", rule, weights)
        return cls(array / array.sum())

    @cached_property
    def edges(self) -> Array:
        """Bin edges, from -1 to 1."""
        return np.linspace(-1.0, 1.0, self.masses.size + 1)

    @property
    def symmetric(self) -> bool:
        """Whether the density is even."""
        return bool(np.allclose(self.masses, self.masses[::-1], rtol=0, atol=_SYMMETRY_TOLERANCE))

    @cached_property
    def second_moment(self) -> float:
        r""":math:`\int x^2 w(x)\,dx`."""
        left, right = self.edges[:-1], self.edges[1:]
        return float(self.masses @ (left * left + left * right + right * right)) / 3.0

    @cached_property
    def _below(self) -> tuple[Array, Array]:
        centers = (self.edges[:-1] + self.edges[1:]) / 2
        masses = np.concatenate([[0.0], np.cumsum(self.masses)])
        moments = np.concatenate([[0.0], np.cumsum(self.masses * centers)])
        return masses, moments

    def integrals(self, points: Array) -> tuple[Array, Array]:
        r"""Return the mass and the first moment of the prior below each point of [-1, 1]."""
        mass_below, moment_below = self._below
        count = self.masses.size
        position = (points + 1.0) * (count / 2.0)
        bins = np.minimum(position.astype(np.int64), count - 1)
        inside = self.masses[bins] * (position - bins)
        middle = (self.edges[bins] + points) / 2
        return mass_below[bins] + inside, moment_below[bins] + inside * middle

    def cells(self, count: int) -> tuple[Array, Array]:
        """Return means and masses of cells of equal width 1 / count.

        Those of a symmetric prior are on [0, 1] and have the mass of both signs.
        """
        first = 0.0 if self.symmetric else -1.0
        edges = np.linspace(first, 1.0, count * (1 if self.symmetric else 2) + 1)
        below, moment = self.integrals(edges)
        masses, moments = np.diff(below), np.diff(moment)
        keep = masses > _LEAST_CELL
        # The mass of nearly empty cells goes to the next one, so that no prior mass is lost.
        groups = np.minimum(np.cumsum(keep) - keep, int(keep.sum()) - 1)
        masses = np.bincount(groups, weights=masses).astype(np.float64)
        moments = np.bincount(groups, weights=moments).astype(np.float64)
        return moments / masses, masses * (2.0 if self.symmetric else 1.0)

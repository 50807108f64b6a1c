"""The density of inputs in [-1, 1]: a histogram on equal bins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.designs.certificate import EPSILON_RANGE
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noutput.designs.solution import Array

__all__ = ["Density", "check_request"]

_SYMMETRY_TOLERANCE = 1e-12
_LEAST_CELL = 1e-7


def check_request(epsilon: float, objective: str, prior: object) -> None:
    """Refuse an epsilon, an objective or a prior that optimal tables and bounds do not know."""
    lowest, highest = EPSILON_RANGE
    if not lowest <= epsilon <= highest:
        raise InvalidArgumentError("epsilon", f"be in [{lowest}, {highest}]", epsilon)
    if objective not in ("worst", "average"):
        raise InvalidArgumentError("objective", "be 'worst' or 'average'", objective)
    if objective == "worst" and prior is not None:
        raise InvalidArgumentError("prior", "be None for the worst case", prior)


@dataclass(frozen=True)
class Density:
    """A piecewise-constant density on [-1, 1].

    Parameters
    ----------
    masses : ndarray
        Probability of each of the equal bins; adds up to one.

    Examples
    --------
    >>> Density.of(None).second_moment
    0.3333333333333333
    >>> bool(Density.of([1.0, 3.0]).symmetric)
    False
    """

    masses: Array

    @classmethod
    def of(cls, weights: ArrayLike | None) -> Density:
        """Build a density from a prior's nonnegative weights; ``None`` is uniform."""
        return cls(np.ones(1) if weights is None else _checks.histogram("prior", weights))

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
        r"""Return the mass and the first moment of the density below each point of [-1, 1]."""
        mass_below, moment_below = self._below
        count = self.masses.size
        position = (points + 1.0) * (count / 2.0)
        bins = np.minimum(position.astype(np.int64), count - 1)
        inside = self.masses[bins] * (position - bins)
        middle = (self.edges[bins] + points) / 2
        return mass_below[bins] + inside, moment_below[bins] + inside * middle

    def cells(self, count: int) -> tuple[Array, Array]:
        """Return means and masses of cells of equal width 1 / count.

        Those of a symmetric density are on [0, 1] and have the mass of both signs.
        """
        first = 0.0 if self.symmetric else -1.0
        edges = np.linspace(first, 1.0, count * (1 if self.symmetric else 2) + 1)
        below, moment = self.integrals(edges)
        masses, moments = np.diff(below), np.diff(moment)
        keep = masses > _LEAST_CELL
        # The mass of nearly empty cells goes to the next one, so that no mass is lost.
        groups = np.minimum(np.cumsum(keep) - keep, int(keep.sum()) - 1)
        masses = np.bincount(groups, weights=masses).astype(np.float64)
        moments = np.bincount(groups, weights=moments).astype(np.float64)
        return moments / masses, masses * (2.0 if self.symmetric else 1.0)

r"""The error of an efficient estimate of a histogram: a convex function of the table.

Notes
-----
People's answers fall into B cells with shares :math:`\pi`. Fisher's information of one report
about them is :math:`I(\pi) = \sum_j P_j P_j' / (\pi' P_j)` for a table with columns :math:`P_j`,
linear in the weights of extreme columns. Shares add up to 1, so only contrasts :math:`Q\pi`
are estimated (the rows of Q are orthonormal, and orthogonal to the vector of ones). With n reports
and a prior precision :math:`\Lambda`, the expected squared error measured by a matrix C is

.. math::

   \Phi = \sum_r \omega_r\,\mathrm{tr}\bigl(QCQ' (\Lambda + n_r\,Q I(\pi_r) Q')^{-1}\bigr) ,

a mean over several populations :math:`\pi_r` with weights :math:`\omega_r`. The trace of an
inverse is convex, so :math:`\Phi` is. With :math:`K_r = \Lambda_r^{-1} QCQ' \Lambda_r^{-1}`, where
:math:`\Lambda_r` is the matrix that is inverted above, and
:math:`u_j = \sqrt{n_r / \pi_r'v_j}\;Q v_j`, its derivatives are

.. math::

   \frac{\partial\Phi}{\partial\theta_j} = -\sum_r \omega_r\,u_j' K_r u_j , \qquad
   \frac{\partial^2\Phi}{\partial\theta_i\,\partial\theta_j}
      = 2\sum_r \omega_r\,(u_i'\Lambda_r^{-1} u_j)(u_i' K_r u_j) .
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.linalg import helmert

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.designs.solution import Array

__all__ = ["Criterion", "Expansion", "HistogramError", "cumulative_error"]


@dataclass(frozen=True)
class Expansion:
    """Value, gradient and Hessian at given weights."""

    value: float
    gradient: Array
    hessian: Array


class Criterion(Protocol):
    """A convex function of the weights of columns, which looks at the first rows only."""

    @property
    def n_cells(self) -> int:
        """How many rows matter: the first ones."""

    def value(self, table: Array) -> float:
        """Return the value of a table, of shape (rows, outputs)."""

    def expand(self, entries: Array, weights: Array) -> Expansion:
        """Return value and derivatives at weights of columns, of shape (columns, rows)."""

    def slopes(self, table: Array, entries: Array) -> Array:
        """Return the derivatives at a table by the weights of any further columns."""


@dataclass(frozen=True)
class HistogramError:
    r"""Expected squared error of an efficient estimate, averaged over populations.

    Parameters
    ----------
    populations : array of shape (R, B)
        Shares :math:`\pi_r` of the cells, which are the first B rows of the table. Tables may
        have further rows that no population uses.
    people : array of shape (R,)
        Numbers of reports :math:`n_r`.
    weights : array of shape (R,)
        The weights :math:`\omega_r`.
    error : array of shape (B, B)
        The matrix C: an estimate that is wrong by d costs :math:`d'Cd`.
    precision : array of shape (B - 1, B - 1), optional
        The prior precision of the contrasts; none by default.
    """

    populations: Array
    people: Array
    weights: Array
    error: Array
    precision: Array | None = None

    def __post_init__(self) -> None:
        count, cells = self.populations.shape
        shapes = {"people": (count,), "weights": (count,), "error": (cells, cells)}
        if self.precision is not None:
            shapes["precision"] = (cells - 1, cells - 1)
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise InvalidArgumentError(name, f"have shape {shape}", getattr(self, name).shape)
        if not np.allclose(self.populations.sum(axis=1), 1.0) or self.populations.min() < 0.0:
            raise InvalidArgumentError("populations", "be rows of shares", self.populations)

    @property
    def n_cells(self) -> int:
        """How many rows matter: the first ones."""
        return int(self.populations.shape[1])

    @cached_property
    def contrasts(self) -> Array:
        """The matrix Q, of shape (B - 1, B)."""
        return np.asarray(helmert(self.n_cells))

    @cached_property
    def _cost(self) -> Array:
        return self.contrasts @ self.error @ self.contrasts.T

    def value(self, table: Array) -> float:
        """Return the value of a table, of shape (rows, outputs)."""
        return float(self.weights @ self.values(table))

    def values(self, table: Array) -> Array:
        """Return the expected squared errors of a table, one per population."""
        return np.array([np.sum(self._cost * each) for each in self.covariances(table)])

    def covariances(self, table: Array) -> list[Array]:
        r"""Return the matrices :math:`\Lambda_r^{-1}` of a table, one per population."""
        cells = table[: self.n_cells]
        return self._inverses(cells.T, np.ones(cells.shape[1]))

    def expand(self, entries: Array, weights: Array) -> Expansion:
        """Return value and derivatives at weights of columns, of shape (columns, rows)."""
        cells = entries[:, : self.n_cells]
        value, gradient = 0.0, np.zeros(len(cells))
        hessian = np.zeros((len(cells), len(cells)))
        inverses = self._inverses(cells, weights)
        for place, (share, inverse) in enumerate(zip(self.weights, inverses, strict=True)):
            atoms = self._atoms(place, cells)
            halves = atoms @ inverse
            curvature = halves @ self._cost @ halves.T
            value += share * float(np.sum(self._cost * inverse))
            gradient -= share * np.diag(curvature)
            hessian += 2.0 * share * (halves @ atoms.T) * curvature
        return Expansion(value, gradient, hessian)

    def slopes(self, table: Array, entries: Array) -> Array:
        """Return the derivatives at a table by the weights of any further columns."""
        cells = entries[:, : self.n_cells]
        result = np.zeros(len(cells))
        shares = cells @ self.populations.T
        for place, inverse in enumerate(self.covariances(table)):
            kernel = self.contrasts.T @ inverse @ self._cost @ inverse @ self.contrasts
            squares = np.einsum("ij,ij->i", cells @ kernel, cells)
            result -= self.weights[place] * self.people[place] * squares / shares[:, place]
        return result

    def _atoms(self, place: int, cells: Array) -> Array:
        """Return the vectors u of columns, of shape (columns, B - 1)."""
        shares = cells @ self.populations[place]
        scale: Array = np.sqrt(self.people[place] / shares)
        return (cells @ self.contrasts.T) * scale[:, None]

    def _inverses(self, cells: Array, weights: Array) -> list[Array]:
        prior = 0.0 if self.precision is None else self.precision
        found = []
        for place in range(len(self.populations)):
            atoms = self._atoms(place, cells)
            information = prior + (atoms * weights[:, None]).T @ atoms
            found.append(np.linalg.inv(information).astype(np.float64))
        return found


def cumulative_error(cells: int) -> Array:
    """Return the matrix C of the squared error of the CDF, added up over the inner edges."""
    steps = np.tril(np.ones((cells, cells)))[:-1]
    return steps.T @ steps

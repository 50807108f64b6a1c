r"""The paper's nonlinear program in scaled variables, with exact derivatives.

Notes
-----
For N outputs the table has K rows: N for odd N, N + 1 for even N, where x = 0 has a row of its
own. The variables are the outputs :math:`a_i = A b_i` with :math:`A = (e^\epsilon + 1) /
(e^\epsilon - 1)`, the largest probability :math:`q_i` of each column, and
:math:`s_{k,i} \in [0, 1]` with

.. math:: P_{k,i} = q_i \, (e^{-\epsilon} + (1 - e^{-\epsilon}) \, s_{k,i}),

so that every point within the bounds is :math:`\epsilon`-private, whichever row has a column's
minimum (the paper's Proposition 3 presumes it). What remains are the equations
:math:`\sum_i P_{k,i} = 1`, :math:`x_1 = -1`, :math:`x_K = 1` with :math:`x_k = \sum_i a_i
P_{k,i}`, and the order of the outputs and of the knots.

With the second moments :math:`S_k = \sum_i a_i^2 P_{k,i}`, the variance on a cell is
:math:`(1 - \alpha) S_{k-1} + \alpha S_k - x^2` at :math:`x = (1 - \alpha) x_{k-1} + \alpha x_k`.
Its maximum over :math:`\alpha \in [0, 1]` is differentiable in the variables: at the maximizer
the derivative through :math:`\alpha` vanishes or :math:`\alpha` stays at an end. The integral of
:math:`\mathrm{Var}^r f` is differentiable too: moving a knot moves the pieces of the integral,
but the integrand is continuous there.

A program that is symmetric in x is solved in the variables that symmetry leaves, from which a
linear map gives all.

References
----------
Baek and Chung, "N-output Mechanism: Estimating Statistical Information from Numerical Data under
Local Differential Privacy", sections 4.2 and 4.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds

from noutput.designs.solution import Array, Solution

__all__ = ["NonlinearProgram", "norm", "row_count"]

_OUTPUT_GAP = 1e-5  # in units of A
_KNOT_GAP = 1e-5
_LARGEST_OUTPUT = 6.0  # in units of A; the piecewise mechanisms stay below 2
_PIECES = 64
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)


def row_count(n_outputs: int) -> int:
    """Return how many rows the paper's tables with this many outputs have."""
    return n_outputs + 1 - n_outputs % 2


def norm(knots: Array, second_moments: Array, r: float, prior: Array) -> tuple[float, Array, Array]:
    r"""Return the r-norm of the variance and its gradients in knots and second moments.

    Notes
    -----
    Between two neighbors among the knots and the edges of the bins, the variance is a parabola
    and the density constant: Gauss's rule with six nodes integrates up to r = 5 exactly, and the
    pieces are short enough for every other r.
    """
    # a solver may try knots that are out of order: keep the formulas defined there
    knots = np.maximum.accumulate(knots)
    x, mass = _nodes(knots, prior)
    cell = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    gap = np.maximum(knots[cell + 1] - knots[cell], 1e-9)
    share = (x - knots[cell]) / gap
    rise = second_moments[cell + 1] - second_moments[cell]
    variance = np.maximum(second_moments[cell] + share * rise - x**2, 1e-300)

    largest = float(variance.max())
    powers = mass * (variance / largest) ** (r - 1.0)
    total = float(powers @ variance) / largest
    value = largest * total ** (1.0 / r)
    weight = powers * total ** (1.0 / r - 1.0)
    in_moments = np.zeros(len(knots))
    np.add.at(in_moments, cell, weight * (1.0 - share))
    np.add.at(in_moments, cell + 1, weight * share)
    in_knots = np.zeros(len(knots))
    np.add.at(in_knots, cell, -weight * (1.0 - share) * rise / gap)
    np.add.at(in_knots, cell + 1, -weight * share * rise / gap)
    return value, in_knots, in_moments


def _nodes(knots: Array, prior: Array) -> tuple[Array, Array]:
    """Return the points at which a smooth function is summed, and their probabilities."""
    size = len(prior)
    edges = np.linspace(-1.0, 1.0, size * math.ceil(_PIECES / size) + 1)
    grid = np.sort(np.clip(np.concatenate([knots, edges]), -1.0, 1.0))
    width = np.diff(grid)[:, None]
    x = (grid[:-1, None] + width * (1.0 + _NODES) / 2.0).ravel()
    owner = np.minimum(((x + 1.0) * size / 2.0).astype(np.intp), size - 1)
    mass = (width * _WEIGHTS / 2.0).ravel() * prior[owner] * size / 2.0
    possible = mass > 0.0
    return x[possible], mass[possible]


@dataclass(frozen=True)
class _Point:
    """Everything that is known at one value of the variables."""

    outputs: Array
    shares: Array
    rows: Array
    knots: Array
    second_moments: Array


class NonlinearProgram:
    r"""Objective and constraints as functions of the reduced variables.

    In the worst case, one more variable bounds the variance on every cell.

    Parameters
    ----------
    epsilon : float
    n_outputs : int
    r : float
        From 1 to infinity, which is the worst case.
    prior : array
        Probabilities of equal bins of [-1, 1].
    typical : float
        A typical value of the objective, which scales the program.

    Notes
    -----
    Second moments are computed as :math:`h + \sum_i (a_i^2 - h) P_{k,i}` with a constant h near
    the typical variance. That is the same where the row adds up to 1, but takes the large
    multipliers out of the equations for row sums, which decides whether SLSQP converges for
    small epsilon. Values are measured from h in units of `scale`.
    """

    def __init__(
        self, epsilon: float, n_outputs: int, r: float, prior: Array, typical: float
    ) -> None:
        self.n_outputs = n_outputs
        self.n_rows = row_count(n_outputs)
        self.r = r
        self.prior = prior
        self.unit = 1.0 / math.tanh(epsilon / 2.0)
        # for small epsilon all variances are close to unit^2, and designs differ by parts of 1
        self.shift = min(typical, self.unit**2)
        self.scale = min(typical, 0.1 if math.isinf(r) else 1.0)
        self.floor = math.exp(-epsilon)
        self.worst = math.isinf(r)
        self.symmetric = self.worst or bool(np.allclose(prior, prior[::-1], rtol=0, atol=1e-12))
        self._map = self._reduction()
        self._first = self.n_rows // 2 if self.symmetric else 0
        self._latest: tuple[bytes, _Point] | None = None

    @property
    def bounds(self) -> Bounds:
        """Bounds of the reduced variables."""
        n, shares = self.n_outputs, self.n_outputs * self.n_rows
        low = np.repeat([-_LARGEST_OUTPUT, 0.0], [n, n + shares])
        high = np.repeat([_LARGEST_OUTPUT, 1.0], [n, n + shares])
        owner = np.argmax(self._map != 0.0, axis=0)
        if not self.worst:
            return Bounds(low[owner], high[owner])
        return Bounds(np.append(low[owner], -np.inf), np.append(high[owner], np.inf))

    def encode(self, table: Solution) -> Array:
        """Return the variables of a table (K x N, private)."""
        high = np.maximum(table.probabilities.max(axis=0), 1e-12)
        shares = (table.probabilities / high - self.floor) / (1.0 - self.floor)
        full = np.r_[table.outputs / self.unit, high, np.clip(shares, 0.0, 1.0).ravel()]
        reduced: Array = self._map.T @ full / np.sum(self._map**2, axis=0)
        if not self.worst:
            return reduced
        point = self._decode(reduced)
        largest = float(self._cells(point)[0].max())
        return np.append(reduced, (largest - self.shift) / self.scale)

    def table(self, variables: Array) -> Solution:
        """Return the outputs and probabilities that the variables stand for."""
        point = self._point(variables)
        return Solution(point.outputs, point.rows)

    def objective(self, variables: Array) -> tuple[float, Array]:
        """Return the scaled objective and its gradient."""
        if self.worst:
            gradient = np.zeros_like(variables)
            gradient[-1] = 1.0
            return float(variables[-1]), gradient
        point = self._point(variables)
        value, in_knots, in_moments = norm(point.knots, point.second_moments, self.r, self.prior)
        gradient = self._pull(point, in_knots[None], in_moments[None])[0]
        return (value - self.shift) / self.scale, gradient / self.scale

    def equations(self, variables: Array) -> Array:
        """Return what must be zero: row sums minus 1, then the outer means minus their values."""
        point = self._point(variables)
        sums = (point.rows[self._first :].sum(axis=1) - 1.0) * self.unit
        ends = point.knots[-1:] - 1.0 if self.symmetric else point.knots[[0, -1]] - [-1.0, 1.0]
        return np.concatenate([sums, ends])

    def equations_jacobian(self, variables: Array) -> Array:
        """Return the derivatives of `equations`."""
        point = self._point(variables)
        unit = np.eye(self.n_rows)
        sums = unit[self._first :] * self.unit
        in_rows = np.broadcast_to(sums[:, :, None], (*sums.shape, self.n_outputs))
        ends = unit[-1:] if self.symmetric else unit[[0, -1]]
        return np.vstack(
            [
                self._reduce(point, np.zeros((len(sums), self.n_outputs)), in_rows),
                self._pull(point, ends, np.zeros_like(ends)),
            ]
        )

    def inequalities(self, variables: Array) -> Array:
        """Return what must not be negative: gaps of outputs and knots, slacks of the cells."""
        point = self._point(variables)
        outputs = np.diff(point.outputs)[self._first_gap :] / self.unit - _OUTPUT_GAP
        knots = np.diff(point.knots)[self._first :] - _KNOT_GAP
        if not self.worst:
            return np.concatenate([outputs, knots])
        cells = variables[-1] - (self._cells(point)[0] - self.shift) / self.scale
        return np.concatenate([outputs, knots, cells])

    def inequalities_jacobian(self, variables: Array) -> Array:
        """Return the derivatives of `inequalities`."""
        point = self._point(variables)
        gaps = np.diff(np.eye(self.n_outputs), axis=0)[self._first_gap :] / self.unit
        knots = np.diff(np.eye(self.n_rows), axis=0)[self._first :]
        outputs = self._reduce(point, gaps, np.zeros((len(gaps), self.n_rows, self.n_outputs)))
        jacobian = np.vstack([outputs, self._pull(point, knots, np.zeros_like(knots))])
        if not self.worst:
            return jacobian
        _, in_knots, in_moments = self._cells(point)
        cells = -self._pull(point, in_knots, in_moments) / self.scale
        cells[:, -1] = 1.0
        return np.vstack([jacobian, cells])

    @property
    def _first_gap(self) -> int:
        return (self.n_outputs - 1) // 2 if self.symmetric else 0

    def _cells(self, point: _Point) -> tuple[Array, Array, Array]:
        """Return the largest variance of every cell, and its gradients."""
        knots, moments = point.knots, point.second_moments
        gap, rise = np.diff(knots), np.diff(moments)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (rise / gap / 2.0 - knots[:-1]) / gap
        share = np.clip(np.nan_to_num(share, nan=0.5), 0.0, 1.0)[self._first :]
        eye = np.eye(self.n_rows)[self._first :]
        mix = (1.0 - share)[:, None] * eye[:-1] + share[:, None] * eye[1:]
        x = mix @ knots
        return mix @ moments - x**2, -2.0 * x[:, None] * mix, mix

    def _reduction(self) -> Array:
        """Return the linear map from the reduced variables to all."""
        n, k = self.n_outputs, self.n_rows
        size = 2 * n + k * n
        if not self.symmetric:
            return np.eye(size)
        mirror = np.r_[np.arange(n)[::-1], n + np.arange(n)[::-1], 2 * n + np.arange(k * n)[::-1]]
        sign = np.r_[-np.ones(n), np.ones(n + k * n)]
        chosen = [i for i in range(size) if mirror[i] < i or (mirror[i] == i and sign[i] > 0.0)]
        result = np.zeros((size, len(chosen)))
        for column, i in enumerate(chosen):
            result[mirror[i], column] = sign[i]
            result[i, column] = 1.0
        return result

    def _point(self, variables: Array) -> _Point:
        # the solver asks for value, constraints and derivatives at the same variables in turn
        key = variables.tobytes()
        if self._latest is None or self._latest[0] != key:
            self._latest = key, self._decode(variables[: self._map.shape[1]])
        return self._latest[1]

    def _decode(self, reduced: Array) -> _Point:
        n = self.n_outputs
        full = self._map @ reduced
        outputs = full[:n] * self.unit
        shares = self.floor + (1.0 - self.floor) * full[2 * n :].reshape(self.n_rows, n)
        rows = full[n : 2 * n] * shares
        moments = self.shift + rows @ (outputs**2 - self.shift)
        return _Point(outputs, shares, rows, rows @ outputs, moments)

    def _pull(self, point: _Point, in_knots: Array, in_moments: Array) -> Array:
        """Turn gradients in knots and second moments (J x K) into gradients in the variables."""
        a = point.outputs
        in_outputs = in_knots @ point.rows + 2.0 * a * (in_moments @ point.rows)
        in_rows = in_knots[:, :, None] * a + in_moments[:, :, None] * (a**2 - self.shift)
        return self._reduce(point, in_outputs, in_rows)

    def _reduce(self, point: _Point, in_outputs: Array, in_rows: Array) -> Array:
        """Turn gradients in outputs (J x N) and probabilities (J x K x N) into reduced ones."""
        high = point.rows[0] / point.shares[0]
        in_high = np.sum(in_rows * point.shares, axis=1)
        in_shares = in_rows * (high * (1.0 - self.floor))
        full = np.hstack([in_outputs * self.unit, in_high, in_shares.reshape(len(in_rows), -1)])
        reduced = full @ self._map
        return np.hstack([reduced, np.zeros((len(reduced), 1))]) if self.worst else reduced

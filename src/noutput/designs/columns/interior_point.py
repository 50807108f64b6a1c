r"""Interior-point method for few columns: a convex function under linear equations.

Notes
-----
Minimize :math:`f(z)` subject to :math:`A z = b`, :math:`z \ge 0` by a primal-dual method (Boyd
and Vandenberghe, Convex Optimization, section 11.7): Newton steps on

.. math::

   \nabla f(z) + A'y - s = 0, \qquad A z = b, \qquad z_i s_i = \mu ,

with :math:`\mu` a tenth of the present mean of :math:`z_i s_i`, and steps that are shortened
until the residual falls. Everything is dense: the matrices have a few hundred columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noutput.designs.columns.criterion import Expansion
    from noutput.designs.solution import Array

__all__ = ["Optimum", "minimize"]

_MOST_STEPS = 120
_CENTERING = 0.1
_CENTERED = 0.5
_CENTERED_SLOPES = 0.1
_BOUNDARY = 0.99
_SHORTEST = 1e-10
_FEASIBLE = 1e-9
_DECREASE = 0.01


@dataclass(frozen=True)
class Optimum:
    r"""What the method found.

    Parameters
    ----------
    variables : array
        z, positive.
    multipliers : array
        y, one per equation.
    value : float
    gap : float
        :math:`z's`, the duality gap where both sides are feasible.
    infeasibility : float
        The largest violation of an equation, relative to its largest coefficient.
    """

    variables: Array
    multipliers: Array
    value: float
    gap: float
    infeasibility: float


def minimize(
    function: Callable[[Array], Expansion],
    matrix: Array,
    targets: Array,
    start: Array,
    multipliers: Array | None = None,
    tolerance: float = 1e-9,
    steps: int = _MOST_STEPS,
) -> Optimum:
    """Minimize a convex function of z >= 0 under equations.

    Parameters
    ----------
    function : callable
        Takes z, and returns the value with its derivatives.
    matrix, targets : arrays
        A and b.
    start : array
        Positive; it need not fulfill the equations.
    multipliers : array, optional
        Multipliers of a similar problem, if `start` is near the solution of that.
    tolerance : float
        The largest gap, relative to the value.
    steps : int
        The most Newton steps.

    Notes
    -----
    Nothing needs the slopes to be those of a function: a monotone operator and its derivatives do
    as well, such as the slopes of a function that is convex in some variables and concave in the
    others, with the signs of the latter changed. The solution is then a saddle point.
    """
    scale = np.maximum(np.abs(matrix).max(axis=1), 1e-300)
    matrix, targets = matrix / scale[:, None], targets / scale
    warm = None if multipliers is None else multipliers * scale
    state = _State.at(function, matrix, targets, start, warm)
    for _ in range(steps):
        if state.solves(tolerance):
            break
        least = _CENTERED * tolerance * abs(state.expansion.value) / len(start)
        moved = _step(state, function, matrix, targets, least)
        if moved is None:  # the limit of floats
            break
        state = moved
    violation = float(np.abs(state.infeasibility).max())
    return Optimum(state.z, state.y / scale, state.expansion.value, state.gap, violation)


@dataclass(frozen=True)
class _State:
    """A point of the method with its residuals."""

    z: Array
    y: Array
    s: Array
    expansion: Expansion
    dual: Array
    infeasibility: Array

    @classmethod
    def at(
        cls,
        function: Callable[[Array], Expansion],
        matrix: Array,
        targets: Array,
        start: Array,
        multipliers: Array | None,
    ) -> _State:
        """Return the first state, with slopes s that are positive."""
        expansion = function(start)
        y = multipliers
        if y is None:
            fitted = np.linalg.lstsq(matrix.T, -expansion.gradient, rcond=None)[0]
            y = fitted.astype(np.float64)
        slopes = expansion.gradient + matrix.T @ y
        typical = max(float(np.abs(slopes).mean()), 1e-6)
        if multipliers is not None:
            typical = max(float(np.abs(slopes) @ start) / start.sum(), 1e-12)
        return cls._of(expansion, matrix, targets, start, y, np.maximum(slopes, 0.0) + typical)

    @classmethod
    def _of(
        cls, expansion: Expansion, matrix: Array, targets: Array, z: Array, y: Array, s: Array
    ) -> _State:
        dual = expansion.gradient + matrix.T @ y - s
        return cls(z, y, s, expansion, dual, matrix @ z - targets)

    def moved(
        self,
        function: Callable[[Array], Expansion],
        matrix: Array,
        targets: Array,
        step: tuple[Array, Array, Array],
        length: float,
    ) -> _State:
        """Return the state after a step."""
        z, y, s = (
            old + length * change
            for old, change in zip((self.z, self.y, self.s), step, strict=True)
        )
        return self._of(function(z), matrix, targets, z, y, s)

    @property
    def gap(self) -> float:
        """The duality gap where both sides are feasible."""
        return float(self.z @ self.s)

    def solves(self, tolerance: float) -> bool:
        """Whether all residuals are small; that of a slope in relation to the slope itself."""
        return (
            self.gap <= tolerance * abs(self.expansion.value)
            and float(np.abs(self.infeasibility).max()) <= _FEASIBLE
            and float(np.max(np.abs(self.dual) / self.s)) <= _CENTERED_SLOPES
        )

    def residual(self, mu: float) -> float:
        """Return the length of all residuals."""
        parts = (self.dual, self.infeasibility, self.z * self.s - mu)
        return float(np.sqrt(sum(float(part @ part) for part in parts)))


def _step(
    state: _State,
    function: Callable[[Array], Expansion],
    matrix: Array,
    targets: Array,
    least: float,
) -> _State | None:
    """Return the state after one Newton step, None where no step makes progress."""
    n, m = len(state.z), len(targets)
    mu = max(_CENTERING * state.gap / n, least)
    system = np.zeros((n + m, n + m))
    system[:n, :n] = state.expansion.hessian
    system[np.arange(n), np.arange(n)] += state.s / state.z
    system[:n, n:], system[n:, :n] = matrix.T, matrix
    right = np.concatenate([-state.dual - state.s + mu / state.z, -state.infeasibility])
    try:
        found = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:  # pragma: no cover - only where rounding makes it singular
        return None
    dz, dy = found[:n], found[n:]
    ds = mu / state.z - state.s - state.s / state.z * dz
    length = min(1.0, _reach(state.z, dz), _reach(state.s, ds))
    before = state.residual(mu)
    while length > _SHORTEST:
        after = state.moved(function, matrix, targets, (dz, dy, ds), length)
        if after.residual(mu) <= (1.0 - _DECREASE * length) * before:
            return after
        length /= 2.0
    return None


def _reach(position: Array, change: Array) -> float:
    """Return how much of a step keeps all numbers positive."""
    falling = change < 0.0
    if not falling.any():
        return np.inf
    return _BOUNDARY * float(np.min(-position[falling] / change[falling]))

r"""Local search: move outputs and column minima together to a local optimum.

Notes
-----
Both objectives are explicit functions of the outputs a and the minima m (see
`best_rows`), with exact derivatives. The worst case is a smooth minimax problem: minimize V
subject to :math:`V \ge s_{lr}(x_{lr}) - x_{lr}^2`. The average is one
differentiable function, the sum over the pieces p of s of :math:`W_p\, s_p(\bar x_p)` with the
density's mass :math:`W_p` and mean :math:`\bar x_p` on the piece. Sequential
quadratic programming (SLSQP) solves either; all quantities are scaled to be of order one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize, nnls

from noutput.designs.optimal.best_rows import Cuts, Indexes, reach_rows, slide
from noutput.designs.optimal.linear_program import LEAST_MINIMUM, Layout, Multipliers

if TYPE_CHECKING:
    from noutput.designs.optimal.density import Density
    from noutput.designs.solution import Array

__all__ = ["average_multipliers", "average_slopes", "refine_average", "refine_worst"]

_LEAST_GAP = 1e-7
_ALL_PAIRS_UP_TO = 24


def average_slopes(
    layout: Layout, free_outputs: Array, free_minima: Array, density: Density
) -> tuple[float, Array, Array]:
    """Return the average second moment and its derivatives by free outputs and free minima."""
    outputs, minima = layout.outputs(free_outputs), layout.minima(free_minima)
    cuts, masses = _pieces(outputs, minima, layout.epsilon, density)
    value = float(masses @ cuts.second_moments(minima))
    by_outputs = masses @ cuts.output_slopes(minima)
    by_minima = masses @ cuts.slopes
    return value, layout.fold_outputs(by_outputs), layout.fold_minima(by_minima)


def average_multipliers(
    layout: Layout, free_outputs: Array, free_minima: Array, density: Density
) -> Multipliers:
    """Return multipliers at a local optimum of the average, for its reduced costs."""
    outputs, minima = layout.outputs(free_outputs), layout.minima(free_minima)
    cuts, masses = _pieces(outputs, minima, layout.epsilon, density)
    slopes = layout.fold_minima(masses @ cuts.slopes)
    reach = [reach_rows(outputs, layout.epsilon, side) for side in layout.sides]
    rows = np.vstack([layout.fold_minima(rows) for rows, _ in reach])
    right = np.concatenate([right for _, right in reach])
    tight = np.flatnonzero(rows @ free_minima - right <= 1e-6 * np.abs(outputs).max())
    used = free_minima > 2 * LEAST_MINIMUM
    weights = np.zeros(0)
    if tight.size:
        weights, _ = nnls(rows[np.ix_(tight, np.flatnonzero(used))].T, slopes[used])
    sides = np.repeat(np.asarray(layout.sides, dtype=np.float64), outputs.size)
    return Multipliers(
        weights=masses,
        lows=outputs[cuts.lefts],
        highs=outputs[cuts.rights],
        inputs=cuts.inputs,
        reach_weights=weights,
        reach_points=np.tile(outputs, len(layout.sides))[tight],
        reach_sides=sides[tight],
        symmetric=layout.symmetric,
    )


def _pieces(outputs: Array, minima: Array, epsilon: float, density: Density) -> tuple[Cuts, Array]:
    windows = slide(outputs, minima, epsilon, beyond=True)
    edges = np.clip(windows.knots, -1.0, 1.0)
    edges[0], edges[-1] = -1.0, 1.0
    below, moment = density.integrals(edges)
    masses, moments = np.diff(below), np.diff(moment)
    keep = (masses > 1e-15) & (windows.lefts < windows.rights)
    masses, moments = masses[keep], moments[keep]
    cuts = Cuts(outputs, epsilon, windows.lefts[keep], windows.rights[keep], moments / masses)
    return cuts, masses


def refine_average(
    layout: Layout,
    free_outputs: Array,
    free_minima: Array,
    density: Density,
    *,
    iterations: int,
    tolerance: float,
) -> tuple[Array, Array]:
    """Return (free outputs, free minima) at a local optimum of the average."""
    frame = _Frame(layout, free_outputs, free_minima)
    scale = max(average_slopes(layout, free_outputs, free_minima, density)[0], 1e-300)
    # What can be improved is a small part of the second moment when epsilon is large.
    scale = max(scale - density.second_moment, 1e-3 * scale)

    def objective(variables: Array) -> tuple[float, Array]:
        outputs, minima = frame.split(variables)
        value, by_outputs, by_minima = average_slopes(layout, outputs, minima, density)
        slopes = np.concatenate([by_outputs * frame.output_unit, by_minima * frame.minimum_unit])
        return (value - density.second_moment) / scale, slopes / scale

    found = _slsqp(objective, frame.constraints, frame.start, frame.bounds, iterations, tolerance)
    return frame.split(found)


def refine_worst(
    layout: Layout,
    free_outputs: Array,
    free_minima: Array,
    value: float,
    *,
    iterations: int,
    tolerance: float,
) -> tuple[Array, Array]:
    """Return (free outputs, free minima) at a local optimum of the worst case."""
    frame = _Frame(layout, free_outputs, free_minima)
    lefts, rights = _near_pairs(layout, free_outputs, free_minima)
    last = np.zeros(frame.start.size + 1)
    last[-1] = 1.0

    def objective(variables: Array) -> tuple[float, Array]:
        return float(variables[-1]), last

    def constraints(variables: Array) -> tuple[Array, Array]:
        free, free_low = frame.split(variables[:-1])
        outputs, minima = layout.outputs(free), layout.minima(free_low)
        cuts = Cuts(outputs, layout.epsilon, lefts, rights)
        variances = cuts.second_moments(minima) - cuts.inputs**2
        slopes = np.empty((lefts.size, last.size))
        n_free = layout.n_free
        by_outputs = layout.fold_outputs(cuts.output_slopes(minima))
        slopes[:, :n_free] = -by_outputs * (frame.output_unit / value)
        slopes[:, n_free:-1] = -layout.fold_minima(cuts.slopes) * (frame.minimum_unit / value)
        slopes[:, -1] = 1.0
        rest, rest_slopes = frame.constraints(variables[:-1])
        padded = np.hstack([rest_slopes, np.zeros((rest.size, 1))])
        return (
            np.concatenate([variables[-1] - variances / value, rest]),
            np.vstack([slopes, padded]),
        )

    start = np.concatenate([frame.start, [1.0]])
    bounds = [*frame.bounds, (0.0, None)]
    found = _slsqp(objective, constraints, start, bounds, iterations, tolerance)
    return frame.split(found[:-1])


def _near_pairs(layout: Layout, free_outputs: Array, free_minima: Array) -> tuple[Indexes, Indexes]:
    """Return the pairs that may become binding: all, or the present windows and neighbors."""
    if layout.n_outputs <= _ALL_PAIRS_UP_TO:
        return layout.pairs()
    windows = slide(layout.outputs(free_outputs), layout.minima(free_minima), layout.epsilon)
    n = layout.n_outputs
    steps = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, -1))
    found = np.unique(
        np.concatenate([(windows.lefts + i) * n + windows.rights + j for i, j in steps])
    )
    lefts, rights = np.divmod(found, n)
    keep = (lefts >= 0) & (lefts < rights) & (rights < n)
    if layout.symmetric:
        keep &= lefts + rights >= n - 1
    return lefts[keep], rights[keep]


class _Frame:
    """Scaled variables, and the constraints that both objectives share."""

    def __init__(self, layout: Layout, free_outputs: Array, free_minima: Array) -> None:
        self.layout = layout
        self.output_unit = float(np.abs(free_outputs).max())
        self.minimum_unit = float(free_minima.mean())
        self.start = np.concatenate(
            [free_outputs / self.output_unit, free_minima / self.minimum_unit]
        )
        least_output = _LEAST_GAP if layout.symmetric else None
        least_minimum = LEAST_MINIMUM / self.minimum_unit
        self.bounds: list[tuple[float | None, float | None]] = [
            *[(least_output, None)] * layout.n_free,
            *[(least_minimum, None)] * layout.n_minima,
        ]
        n_free = layout.n_free
        steps = np.eye(n_free - 1, n_free, 1) - np.eye(n_free - 1, n_free)
        self._steps = np.hstack([steps, np.zeros((n_free - 1, layout.n_minima))])
        total = np.exp(layout.epsilon) * layout.fold_minima(np.ones(layout.n_outputs))
        self._total = np.concatenate([np.zeros(n_free), total * self.minimum_unit])

    def split(self, variables: Array) -> tuple[Array, Array]:
        n_free = self.layout.n_free
        return variables[:n_free] * self.output_unit, variables[n_free:] * self.minimum_unit

    def constraints(self, variables: Array) -> tuple[Array, Array]:
        layout, unit = self.layout, self.output_unit
        free, free_low = self.split(variables)
        outputs, minima = layout.outputs(free), layout.minima(free_low)
        values: list[Array] = []
        slopes: list[Array] = []
        for side in layout.sides:
            rows, right = reach_rows(outputs, layout.epsilon, side)
            values.append((rows @ minima - right) / unit)
            difference = side * (outputs - outputs[:, None])
            weights = side * np.where(difference > 0, np.exp(layout.epsilon), 1.0) * minima
            diagonal = np.arange(outputs.size)
            weights[diagonal, diagonal] += side - weights.sum(axis=1)
            by_minima = layout.fold_minima(rows) * (self.minimum_unit / unit)
            slopes.append(np.hstack([layout.fold_outputs(weights), by_minima]))
        total = np.array([self._total @ variables - 1.0])
        values += [total, self._steps @ variables - _LEAST_GAP]
        slopes += [self._total[None, :], self._steps]
        return np.concatenate(values), np.vstack(slopes)


def _slsqp(
    objective: Callable[[Array], tuple[float, Array]],
    constraints: Callable[[Array], tuple[Array, Array]],
    start: Array,
    bounds: list[tuple[float | None, float | None]],
    iterations: int,
    tolerance: float,
) -> Array:
    # SLSQP asks for values and derivatives at the same point one after the other.
    kept: dict[str, tuple[bytes, tuple[Array, Array]]] = {}

    def at(variables: Array) -> tuple[Array, Array]:
        key = variables.tobytes()
        if "last" not in kept or kept["last"][0] != key:
            kept["last"] = (key, constraints(variables))
        return kept["last"][1]

    condition: Any = {"type": "ineq", "fun": lambda z: at(z)[0], "jac": lambda z: at(z)[1]}
    options: Any = {"maxiter": iterations, "ftol": tolerance}
    result = minimize(
        objective,
        start,
        jac=True,
        method="SLSQP",
        bounds=bounds,
        constraints=[condition],
        options=options,
    )
    lower = np.array([-np.inf if low is None else low for low, _ in bounds])
    found: Array = np.maximum(np.asarray(result.x, dtype=np.float64), lower)
    return found

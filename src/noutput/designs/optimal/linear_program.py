r"""The linear program for fixed outputs, solved by cuts.

Notes
-----
For fixed outputs the objective is a convex, piecewise linear function of the column minima m (see
`best_rows`), so the program needs no variable for a single probability. For the worst case it is

.. math::

   \min_{m \ge 0, V} V \quad\text{with}\quad
   V \ge s_{lr}(x_{lr}; m) - x_{lr}^2 \text{ for all pairs } l < r, \qquad
   \text{the reach of } \pm 1 ,

and for an average over inputs :math:`x_k` with masses :math:`\lambda_k` it is the minimum of
:math:`\sum_k \lambda_k (s_k - x_k^2)` with :math:`s_k \ge s_{lr}(x_k; m)`. The pairs that matter
are the windows at the solution. They are found by repeating: solve with the cuts so far, slide
the window at the new minima, add the violated cuts. The multipliers of the last program are
what `noutput.designs.bound` turns into a certificate, and they tell where a further output pays
most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.optimize import linprog

from noutput.designs.optimal.best_rows import Cuts, Indexes, reach_rows, slide

if TYPE_CHECKING:
    from noutput.designs.solution import Array

__all__ = ["LEAST_MINIMUM", "Layout", "Multipliers", "Optimum", "solve_fixed"]

LEAST_MINIMUM = 2.0**-30
_ALL_PAIRS_UP_TO = 24
_MAX_ROUNDS = 80
_SAME_OUTPUT = 1e-12


@dataclass(frozen=True)
class Layout:
    """Which numbers are free: all, or only those of the outputs >= 0 of a symmetric mechanism."""

    epsilon: float
    n_outputs: int
    symmetric: bool

    @property
    def n_free(self) -> int:
        """Number of free outputs."""
        return self.n_outputs // 2 if self.symmetric else self.n_outputs

    @property
    def n_minima(self) -> int:
        """Number of free column minima."""
        return (self.n_outputs + 1) // 2 if self.symmetric else self.n_outputs

    def outputs(self, free: Array) -> Array:
        """Return all outputs."""
        if not self.symmetric:
            return free
        middle = np.zeros(self.n_outputs % 2)
        return np.concatenate([-free[::-1], middle, free])

    def minima(self, free: Array) -> Array:
        """Return all column minima."""
        if not self.symmetric:
            return free
        return np.concatenate([free[::-1], free[self.n_outputs % 2 :]])

    def fold_outputs(self, slopes: Array) -> Array:
        """Turn derivatives by all outputs into derivatives by the free ones."""
        if not self.symmetric:
            return slopes
        n = self.n_free
        return slopes[..., self.n_outputs - n :] - slopes[..., n - 1 :: -1][..., :n]

    def fold_minima(self, slopes: Array) -> Array:
        """Turn derivatives by all minima into derivatives by the free ones."""
        if not self.symmetric:
            return slopes
        n = self.n_free
        folded = slopes[..., n:].copy()
        folded[..., self.n_outputs % 2 :] += slopes[..., n - 1 :: -1][..., :n]
        return folded

    def pairs(self) -> tuple[Indexes, Indexes]:
        """Return all pairs l < r; for a symmetric mechanism those with a vertex at x >= 0."""
        lefts, rights = np.triu_indices(self.n_outputs, 1)
        if self.symmetric:
            keep = lefts + rights >= self.n_outputs - 1
            lefts, rights = lefts[keep], rights[keep]
        return lefts.astype(np.int64), rights.astype(np.int64)

    @property
    def sides(self) -> tuple[int, ...]:
        """The borders whose reach must be demanded."""
        return (1,) if self.symmetric else (1, -1)


@dataclass(frozen=True)
class Multipliers:
    r"""Dual values: :math:`\lambda (a - \alpha)(a - \beta)` at inputs, and the reach of borders.

    A symmetric program lists only inputs x >= 0; each stands for itself and its mirror image
    with half of its weight.
    """

    weights: Array
    lows: Array
    highs: Array
    inputs: Array
    reach_weights: Array
    reach_points: Array
    reach_sides: Array
    symmetric: bool

    def reduced_cost(self, points: Array, epsilon: float) -> Array:
        """Return the change of the objective per unit of minimum of a new output at each point."""
        factor = np.expm1(epsilon)

        def total(at: Array) -> Array:
            phi = (at[:, None] - self.lows) * (at[:, None] - self.highs)
            ray = self.reach_sides * (self.reach_points - at[:, None])
            return np.asarray(
                (phi + factor * np.minimum(phi, 0.0)) @ self.weights
                + (ray + factor * np.minimum(ray, 0.0)) @ self.reach_weights
            )

        return (total(points) + total(-points)) / 2 if self.symmetric else total(points)


@dataclass(frozen=True)
class Optimum:
    """The solution for fixed outputs: value, free column minima and multipliers."""

    value: float
    minima: Array
    multipliers: Multipliers


def solve_fixed(
    layout: Layout,
    free_outputs: Array,
    guess: Array | None = None,
    *,
    seeds: Multipliers | None = None,
    inputs: Array | None = None,
    masses: Array | None = None,
    tolerance: float = 1e-9,
) -> Optimum | None:
    """Solve the program for these outputs, or return ``None`` if no mechanism exists.

    Parameters
    ----------
    layout : Layout
        What is free.
    free_outputs : ndarray
        The free outputs, ascending.
    guess : ndarray, optional
        Free minima whose windows give the first cuts. Needed when there are many outputs.
    seeds : Multipliers, optional
        Multipliers of a program on fewer outputs; their cuts and neighboring ones come first.
    inputs, masses : ndarray, optional
        The inputs of an average (for a symmetric layout those >= 0, with the mass of both
        signs). By default the worst case over all inputs.
    tolerance : float
        Relative difference between the cut and the true objective at which to stop.
    """
    loop = _CutLoop(layout, free_outputs, inputs, masses)
    if seeds is not None:
        loop.seed(seeds)
    return loop.run(guess, tolerance)


class _CutLoop:
    def __init__(
        self, layout: Layout, free_outputs: Array, inputs: Array | None, masses: Array | None
    ) -> None:
        self.layout, self.outputs = layout, layout.outputs(free_outputs)
        self.inputs, self.masses = inputs, masses
        self.scale = float(np.exp(layout.epsilon / 2))
        self.n_epigraphs = 1 if inputs is None else inputs.size
        self.seen: set[tuple[int, int, int]] = set()
        reach = [reach_rows(self.outputs, layout.epsilon, side) for side in layout.sides]
        total = layout.fold_minima(np.ones((1, self.outputs.size)))
        self.reach = np.vstack(
            [layout.fold_minima(rows) for rows, _ in reach] + [np.exp(layout.epsilon) * total]
        )
        self.reach_sides = np.repeat(layout.sides, self.outputs.size)
        self.reach_right = np.concatenate([right for _, right in reach] + [np.ones(1)])
        width = layout.n_minima
        self.rows = np.zeros((0, width + self.n_epigraphs))
        self.right = np.zeros(0)
        self.cut_data = np.zeros((4, 0))

    def first_pairs(self, guess: Array | None) -> tuple[Indexes, Indexes]:
        if self.inputs is None and self.layout.n_outputs <= _ALL_PAIRS_UP_TO:
            return self.layout.pairs()
        if guess is None:
            share = 1.0 / (1.0 + 0.5 * float(np.expm1(self.layout.epsilon)))
            guess = np.full(self.layout.n_minima, share / self.layout.n_outputs)
        windows = slide(self.outputs, self.layout.minima(guess), self.layout.epsilon)
        return windows.lefts, windows.rights

    def add(self, lefts: Indexes, rights: Indexes, epigraphs: Indexes) -> int:
        fresh = []
        for position, key in enumerate(
            zip(epigraphs.tolist(), lefts.tolist(), rights.tolist(), strict=True)
        ):
            if key[1] < key[2] and key not in self.seen:
                self.seen.add(key)
                fresh.append(position)
        if not fresh:
            return 0
        lefts, rights, epigraphs = lefts[fresh], rights[fresh], epigraphs[fresh]
        at = None if self.inputs is None else self.inputs[epigraphs]
        cuts = Cuts(self.outputs, self.layout.epsilon, lefts, rights, at)
        rows = np.zeros((len(fresh), self.rows.shape[1]))
        rows[:, : self.layout.n_minima] = self.layout.fold_minima(cuts.slopes) / self.scale
        rows[np.arange(len(fresh)), self.layout.n_minima + epigraphs] = -1.0
        self.rows = np.vstack([self.rows, rows])
        self.right = np.concatenate([self.right, cuts.inputs**2 - cuts.constants])
        data = np.array([epigraphs, self.outputs[lefts], self.outputs[rights], cuts.inputs])
        self.cut_data = np.hstack([self.cut_data, data])
        return len(fresh)

    def seed(self, seeds: Multipliers) -> None:
        """Add the cuts of earlier multipliers and their neighbors on the present outputs."""
        lefts = np.searchsorted(self.outputs, seeds.lows - _SAME_OUTPUT)
        rights = np.searchsorted(self.outputs, seeds.highs - _SAME_OUTPUT)
        epigraphs = np.zeros(lefts.size, dtype=np.int64)
        if self.inputs is not None:
            old, groups = np.unique(seeds.inputs, return_inverse=True)
            nearest = np.abs(self.inputs[:, None] - old).argmin(axis=1)
            epigraphs, which = np.nonzero(nearest[:, None] == groups)
            lefts, rights = lefts[which], rights[which]
        last = self.outputs.size - 1
        for i in (0, -1, 1):
            for j in (0, -1, 1):
                self.add(np.clip(lefts + i, 0, last), np.clip(rights + j, 0, last), epigraphs)

    def run(self, guess: Array | None, tolerance: float) -> Optimum | None:
        lefts, rights = self.first_pairs(guess)
        if self.inputs is None:
            self.add(lefts, rights, np.zeros(lefts.size, dtype=np.int64))
        elif guess is not None:
            self.add(*self.hit(guess))
        elif not self.seen:
            count = lefts.size * self.n_epigraphs
            if count <= 4096:
                self.add(
                    np.tile(lefts, self.n_epigraphs),
                    np.tile(rights, self.n_epigraphs),
                    np.repeat(np.arange(self.n_epigraphs), lefts.size),
                )
        best_value, best_minima = np.inf, None
        for _ in range(_MAX_ROUNDS):
            solved = self.solve()
            if solved is None:
                return None
            lower, minima, cut_weights, reach_weights = solved
            lefts, rights, epigraphs = self.hit(minima)
            value = self.true_value(minima, lefts, rights, epigraphs)
            if value < best_value:
                best_value, best_minima = value, minima
            if best_value - lower <= tolerance * abs(best_value):
                break
            if not self.add(lefts, rights, epigraphs):
                break
        return (
            None
            if best_minima is None
            else Optimum(best_value, best_minima, self.multipliers(cut_weights, reach_weights))
        )

    def hit(self, minima: Array) -> tuple[Indexes, Indexes, Indexes]:
        """Return the cuts that are tight at these minima."""
        windows = slide(self.outputs, self.layout.minima(minima), self.layout.epsilon)
        if self.inputs is None:
            lefts, rights = windows.lefts, windows.rights
            if self.layout.symmetric:
                keep = lefts + rights >= self.layout.n_outputs - 1
                lefts, rights = lefts[keep], rights[keep]
            return lefts, rights, np.zeros(lefts.size, dtype=np.int64)
        piece = np.searchsorted(windows.knots[1:-1], self.inputs)
        order = np.arange(self.inputs.size)
        return windows.lefts[piece], windows.rights[piece], order

    def true_value(
        self, minima: Array, lefts: Indexes, rights: Indexes, epigraphs: Indexes
    ) -> float:
        at = None if self.inputs is None else self.inputs[epigraphs]
        cuts = Cuts(self.outputs, self.layout.epsilon, lefts, rights, at)
        variances = cuts.second_moments(self.layout.minima(minima)) - cuts.inputs**2
        return float(variances.max() if self.masses is None else self.masses @ variances)

    def solve(self) -> tuple[float, Array, Array, Array] | None:
        n_minima = self.layout.n_minima
        cost = np.zeros(self.rows.shape[1])
        cost[n_minima:] = 1.0 if self.masses is None else self.masses
        reach = np.zeros((self.reach.shape[0], self.rows.shape[1]))
        reach[:, :n_minima] = -self.reach / self.scale
        least = np.zeros(cost.size)
        least[:n_minima] = LEAST_MINIMUM * self.scale
        bounds = [(float(low), None) for low in least]
        methods: tuple[Literal["highs-ds", "highs-ipm"], ...] = ("highs-ds", "highs-ipm")
        for method in methods:
            result = linprog(
                cost,
                A_ub=np.vstack([self.rows, reach]),
                b_ub=np.concatenate([self.right, -self.reach_right]),
                bounds=bounds,
                method=method,
            )
            if result.status == 0 and result.x is not None and result.fun is not None:
                weights = np.maximum(-result.ineqlin.marginals, 0.0)
                split = self.right.size
                minima = np.maximum(result.x[:n_minima] / self.scale, LEAST_MINIMUM)
                return float(result.fun), minima, weights[:split], weights[split:]
        return None

    def multipliers(self, cut_weights: Array, reach_weights: Array) -> Multipliers:
        used = cut_weights > 0
        reached = reach_weights[:-1] > 0
        points = np.tile(self.outputs, len(self.layout.sides))
        return Multipliers(
            weights=cut_weights[used],
            lows=self.cut_data[1, used],
            highs=self.cut_data[2, used],
            inputs=self.cut_data[3, used],
            reach_weights=reach_weights[:-1][reached],
            reach_points=points[reached],
            reach_sides=self.reach_sides[reached].astype(np.float64),
            symmetric=self.layout.symmetric,
        )

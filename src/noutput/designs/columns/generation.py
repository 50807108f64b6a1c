"""Column generation: solve for few columns, add those that would improve it, and so on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noutput.designs.columns.criterion import Expansion
from noutput.designs.columns.interior_point import Optimum, minimize
from noutput.designs.columns.pricing import Pricing, subsets, windows
from noutput.designs.columns.problem import Columns, Problem
from noutput.designs.solution import Array
from noutput.errors import DesignError

__all__ = ["Optimal", "solve"]

_ADDED = 60
_LEAST_WEIGHT = 1e-7
_ROUNDS = 100
_LOOSE = 0.1
_SHARE = 0.1
_KEPT = 300
_FEW_ROWS = 6
_STARTS = (0.0, 0.5, 1.0, 1.15, 1.5)
_FEASIBLE = 1e-6


@dataclass(frozen=True)
class Optimal:
    """The best weights found, and a proof of how good they are.

    Parameters
    ----------
    problem : Problem
    columns : Columns
    weights : array
        One per column.
    value : float
        The criterion, plus the variance where it is minimized.
    bound : float or None
        What no weights on any columns can be below, up to the rounding of floats. None where
        there are too many subsets to look at all.
    rounds : int
        How often columns were added.
    """

    problem: Problem
    columns: Columns
    weights: Array
    value: float
    bound: float | None
    rounds: int

    @property
    def table(self) -> Array:
        """The probabilities, of shape (rows, outputs)."""
        return self.problem.table(self.columns, self.weights)

    @property
    def gap(self) -> float | None:
        """By how much the value may exceed the best one, relative to it."""
        return None if self.bound is None else self.value / self.bound - 1.0


@dataclass(frozen=True)
class _Warm:
    """A solution to start the next one from: its weights, multipliers and other variables."""

    weights: Array
    multipliers: Array
    others: Array


def solve(
    problem: Problem,
    start: Columns | None = None,
    *,
    tolerance: float = 1e-4,
    rounds: int = _ROUNDS,
) -> Optimal:
    """Solve a convex problem over the weights of all extreme columns.

    Parameters
    ----------
    problem : Problem
    start : Columns, optional
        Columns of a similar problem, to begin with.
    tolerance : float
        The gap at which to stop, relative to the bound.
    rounds : int
        The most rounds of column generation.

    Raises
    ------
    DesignError
        If no table has the required moments.
    """
    columns = _first_columns(problem) if start is None else start + _first_columns(problem)
    if problem.moments is not None and problem.moments.variance is not None:
        columns = _feasible(problem, tolerance) + columns
    bound: float | None = None
    accuracy = _LOOSE
    warm: _Warm | None = None
    for done in range(rounds):
        optimum = _restricted(problem, columns, accuracy, warm)
        weights = optimum.variables[: len(columns)]
        pricing = Pricing(problem, columns, weights, optimum.multipliers)
        prices = pricing.price(_ADDED)
        if prices.bound is not None:
            bound = prices.bound if bound is None else max(bound, prices.bound)
            gap = (optimum.value - bound) / abs(bound)
            accuracy = min(accuracy, max(_SHARE * gap, tolerance * _SHARE))
        if (bound is not None and gap <= tolerance) or len(prices.columns) == 0 or done == rounds - 1:
            break
        kept, kept_weights = columns, weights
        if len(columns) > _KEPT:
            order = np.argsort(pricing.own_costs(), kind="stable")[:_KEPT]
            kept, kept_weights = _merged(columns[order], weights[order])
        warm = _Warm(kept_weights, optimum.multipliers, optimum.variables[len(columns) :])
        columns = kept + prices.columns
    return Optimal(problem, columns, weights, optimum.value, bound, done + 1)


def _restricted(problem: Problem, columns: Columns, accuracy: float, warm: _Warm | None) -> Optimum:
    """Solve the problem for these columns alone."""
    matrix, targets = problem.constraints(columns)
    entries = problem.entries(columns.members)
    n, size = len(columns), matrix.shape[1]
    cost = np.zeros(size)
    start = np.ones(size)
    start[:n] = 1.0 / (n * entries.mean())
    if problem.minimizes_variance:
        cost[-1] = 1.0
        start[-1] = 1.0 / np.tanh(problem.epsilon / 2.0) ** 2
    if warm is not None:
        start[: len(warm.weights)] = warm.weights
        start[len(warm.weights) : n] = np.median(warm.weights)
        start[n:] = warm.others

    def function(z: Array) -> Expansion:
        hessian = np.zeros((size, size))
        if problem.criterion is None:
            return Expansion(float(cost @ z), cost, hessian)
        found = problem.criterion.expand(entries, z[:n])
        gradient = cost.copy()
        gradient[:n] += found.gradient
        hessian[:n, :n] = found.hessian
        return Expansion(float(cost @ z) + found.value, gradient, hessian)

    return minimize(
        function, matrix, targets, start, None if warm is None else warm.multipliers, accuracy
    )


def _first_columns(problem: Problem) -> Columns:
    """Return columns among which there is a table: both halves of each cut of the rows."""
    members = windows(problem.n_rows)
    if problem.n_rows <= _FEW_ROWS:
        members = subsets(np.arange(1, (1 << problem.n_rows) - 1), problem.n_rows)
    if problem.moments is None:
        return Columns(members, np.zeros(len(members)))
    order = np.argsort(problem.moments.inputs, kind="stable")
    ranks = np.argsort(order, kind="stable")
    cuts = np.arange(1, problem.n_rows)[:, None]
    above, scale = ranks >= cuts, 1.0 / np.tanh(problem.epsilon / 2.0)
    parts = [
        Columns(side, np.full(len(side), sign * share * scale))
        for share in _STARTS
        for side, sign in ((above, 1.0), (~above, -1.0))
    ]
    columns = parts[0]
    for part in parts[1:]:
        columns = columns + part
    return columns


def _feasible(problem: Problem, tolerance: float) -> Columns:
    """Return columns of the table with the least worst-case variance."""
    assert problem.moments is not None
    limit = problem.moments.variance
    assert limit is not None
    free = replace(problem, criterion=None, moments=replace(problem.moments, variance=None))
    found = solve(free, tolerance=min(tolerance, _FEASIBLE))
    if found.value > limit:
        raise DesignError(
            f"no table with these means has a worst-case variance of {limit!r}: "
            f"the least is {found.value!r}"
        )
    return found.columns[found.weights > _LEAST_WEIGHT]


def _merged(columns: Columns, weights: Array) -> tuple[Columns, Array]:
    """Return one column per subset, with the mean output.

    This changes no mean and no information, and second moments can only fall.
    """
    members, groups = np.unique(columns.members, axis=0, return_inverse=True)
    totals = np.bincount(groups, weights)
    return Columns(members, np.bincount(groups, weights * columns.outputs) / totals), totals


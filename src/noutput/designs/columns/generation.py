"""Column generation: solve for few columns, add those that would improve it, and so on.

Notes
-----
Solutions for few columns are only as exact as the present gap deserves. Their multipliers then
lie in the middle of the many that are optimal, and the columns that are added help for good;
exact solutions need several times as many rounds (Gondzio, Gonzalez-Brevis and Munari, European
Journal of Operational Research 224, 2013, doi:10.1016/j.ejor.2012.07.024).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.columns.criterion import Expansion
from noutput.designs.columns.interior_point import Optimum, minimize
from noutput.designs.columns.pricing import Pricing, windows
from noutput.designs.columns.problem import Columns, Problem
from noutput.errors import DesignError

if TYPE_CHECKING:
    from noutput.designs.solution import Array

__all__ = ["Optimal", "solve"]

_ADDED = 60
_KEPT = 400
_ROUNDS = 100
_LOOSE = 0.1
_SHARE = 0.1
_STARTS = (0.0, 0.5, 1.0, 1.15, 1.5)
_LEAST_VARIANCE = 1e-4
_FEASIBLE = 1e-7


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
        Columns to begin with, among which there is a table with the required moments: those of
        the same problem with a smaller variance, say.
    tolerance : float
        The gap at which to stop, relative to the bound.
    rounds : int
        The most rounds of column generation.

    Raises
    ------
    DesignError
        If no table has the required moments.
    """
    columns = _first_columns(problem) if start is None else start
    bound, accuracy, warm = None, _LOOSE, None
    for done in range(1, rounds + 1):
        optimum = _restricted(problem, columns, accuracy, warm)
        weights = optimum.variables[: len(columns)]
        pricing = Pricing(problem, columns, weights, optimum.multipliers)
        prices = pricing.price(_ADDED)
        gap = accuracy
        if prices.bound is not None:
            bound = prices.bound if bound is None else max(bound, prices.bound)
            gap = (optimum.value - bound) / abs(bound)
        finest = _SHARE * tolerance
        exhausted = len(prices.columns) == 0 and accuracy <= finest
        if (bound is not None and gap <= tolerance) or exhausted or done == rounds:
            break
        wanted = _SHARE * (gap if len(prices.columns) else accuracy)
        accuracy = min(accuracy, max(wanted, finest))
        kept = _thinned(pricing) if len(columns) > _KEPT else (columns, weights)
        warm = _Warm(kept[1], optimum.multipliers, optimum.variables[len(columns) :])
        columns = kept[0] + prices.columns
    if optimum.infeasibility > _FEASIBLE:
        raise DesignError("no table of the given columns has the required moments")
    return Optimal(problem, columns, weights, optimum.value, bound, done)


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
    """Return columns among which there is a table with the required moments.

    Raises
    ------
    DesignError
        If there is none.
    """
    moments = problem.moments
    if moments is None:
        members = windows(problem.n_rows)
        return Columns(members, np.zeros(len(members)))
    if moments.variance is None:
        return _cuts(problem.epsilon, moments.inputs)
    free = replace(problem, criterion=None, moments=replace(moments, variance=None))
    found = solve(free, tolerance=_LEAST_VARIANCE)
    if found.value > moments.variance:
        raise DesignError(
            f"no table with these means has a worst-case variance of {moments.variance!r}: "
            f"the least is {found.value!r}"
        )
    return found.columns


def _cuts(epsilon: float, inputs: Array) -> Columns:
    """Return both sides of each cut of the rows, with several outputs."""
    ranks = np.argsort(np.argsort(inputs, kind="stable"), kind="stable")
    above = ranks >= np.arange(1, len(inputs))[:, None]
    outputs = np.repeat(_STARTS, len(above)) / np.tanh(epsilon / 2.0)
    both = np.concatenate([np.tile(above, (len(_STARTS), 1)), np.tile(~above, (len(_STARTS), 1))])
    return Columns(both, np.concatenate([outputs, -outputs]))


def _thinned(pricing: Pricing) -> tuple[Columns, Array]:
    """Return the columns with the lowest costs, and their weights."""
    order = np.argsort(pricing.own_costs(), kind="stable")[:_KEPT]
    return _merged(pricing.columns[order], pricing.weights[order])


def _merged(columns: Columns, weights: Array) -> tuple[Columns, Array]:
    """Return one column per subset, with the mean output.

    This changes no mean and no information, and second moments can only fall.
    """
    members, groups = np.unique(columns.members, axis=0, return_inverse=True)
    totals = np.bincount(groups, weights).astype(np.float64)
    return Columns(members, np.bincount(groups, weights * columns.outputs) / totals), totals

r"""The best table for the worst population: a saddle point, found by column generation.

Notes
-----
Let B be a matrix with :math:`BB' = C`, the error of an estimate d being :math:`d'Cd`. Among
unbiased estimates from one report of a person whose answer is drawn from the shares :math:`\pi`,
the best one has the error

.. math::

   \Phi(\theta, \pi) = \mathrm{tr}(C\,I^{-1}) - \sum_k \pi_k C_{kk} , \qquad
   I = \sum_S \frac{\theta_S}{\pi'v_S}\,v_S v_S'

beyond that of an answer that is told openly. It is convex in the weights :math:`\theta` of the
extreme columns :math:`v_S`, because the trace of an inverse is, and concave in :math:`\pi`,
because it is the least of functions that are linear in :math:`\pi`: one per unbiased estimate.
So there is a table and a population for which neither can be changed for the better, and an
interior-point method finds both at once.

At the weights and the population of few columns, with :math:`Z = I^{-1}B` and multipliers y of the
rows' sums, another column S would help where :math:`|Z'v_S|^2 > (\pi'v_S)(y'v_S)`. Where no column
does, :math:`2\,\mathrm{tr}(B'Z) - \sum y - \sum_k \pi_k C_{kk}` is a lower bound for all tables:
see `noutput.designs.answers.certificate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.columns.criterion import Expansion
from noutput.designs.columns.interior_point import minimize
from noutput.designs.columns.pricing import subsets, windows

if TYPE_CHECKING:
    from noutput.designs.columns.problem import Members
    from noutput.designs.solution import Array

__all__ = ["MOST_ENUMERATED", "Saddle", "restricted", "solve", "worst_population"]

MOST_ENUMERATED = 16
"""The largest number of answers of which all subsets are looked at."""

_ADDED = 60
_KEPT = 500
_ROUNDS = 60
_LOOSE = 0.1
_SHARE = 0.1
_SEARCHED = 32
_PASSES = 40
_STEPS = 600
_SEARCH_ROUNDS = 30
_SEARCH_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Saddle:
    """Weights of columns, and the population that is worst for them.

    Parameters
    ----------
    epsilon : float
    factor : array of shape (k, r)
        The matrix B.
    members : array of bool, of shape (columns, k)
    weights : array
        One per column.
    population : array of shape (k,)
        Shares of the answers.
    multipliers : array of shape (k,)
        The numbers y.
    value : float
        The error at both.
    """

    epsilon: float
    factor: Array
    members: Members
    weights: Array
    population: Array
    multipliers: Array
    value: float

    @property
    def entries(self) -> Array:
        """The entries v of the columns, of shape (columns, k)."""
        return _entries(self.epsilon, self.members)

    @property
    def table(self) -> Array:
        """The probabilities, of shape (k, columns)."""
        return (self.entries * self.weights[:, None]).T

    @property
    def influence(self) -> Array:
        """The matrix Z, of shape (k, r)."""
        entries = self.entries
        scaled = entries * (self.weights / (entries @ self.population))[:, None]
        return np.asarray(np.linalg.solve(entries.T @ scaled, self.factor))

    def excess(self, members: Members) -> Array:
        """Return by how much columns break the inequality, per mean entry; positive ones help."""
        entries = _entries(self.epsilon, members)
        squares = np.square(entries @ self.influence).sum(axis=1)
        costs = squares / (entries @ self.population) - entries @ self.multipliers
        return np.asarray(costs / entries.mean(axis=1))


def solve(
    epsilon: float, factor: Array, *, tolerance: float = 1e-4, rounds: int = _ROUNDS
) -> Saddle:
    """Return the best table for the worst population.

    Parameters
    ----------
    epsilon : float
    factor : array of shape (k, r)
        The matrix B.
    tolerance : float
        The gap at which to stop, relative to the value.
    rounds : int
        The most rounds of column generation. Above 16 answers not all columns are looked at, so
        fewer rounds and a larger gap have to do.
    """
    k = len(factor)
    every = subsets(np.arange(1, (1 << k) - 1), k) if k <= MOST_ENUMERATED else None
    members, warm, accuracy = _first_columns(k), None, _LOOSE
    if every is None:
        rounds, tolerance = min(rounds, _SEARCH_ROUNDS), max(tolerance, _SEARCH_TOLERANCE)
    for _ in range(rounds):
        found = restricted(epsilon, factor, members, accuracy, warm)
        candidates = _near(found) if every is None else every
        excess = found.excess(candidates)
        order = np.argsort(-excess, kind="stable")[:_ADDED]
        added = candidates[order[excess[order] > 0.0]]
        gap = max(float(excess.max()), 0.0) / found.value + accuracy
        if gap <= tolerance:
            break
        accuracy = min(accuracy, max(_SHARE * gap, _SHARE * tolerance))
        kept = np.argsort(-found.excess(found.members), kind="stable")[:_KEPT]
        members = _distinct(np.concatenate([found.members[kept], added]))
        start = np.full(len(members), np.median(found.weights[kept]))
        start[: len(kept)] = found.weights[kept]
        warm = found, start
    return found


def restricted(
    epsilon: float,
    factor: Array,
    members: Members,
    accuracy: float,
    warm: tuple[Saddle, Array] | None = None,
    steps: int = _STEPS,
) -> Saddle:
    """Solve for these columns alone; `warm` is the solution of a similar problem and weights."""
    entries = _entries(epsilon, members)
    means = entries.mean(axis=1)
    entries = entries / means[:, None]  # the variables are probabilities of outputs
    n, k = entries.shape
    matrix = np.zeros((k + 1, n + k))
    matrix[:k, :n], matrix[k, n:] = entries.T, 1.0
    start = np.full(n + k, 1.0 / k)
    start[:n] = 1.0 / n
    multipliers = None
    if warm is not None:
        start[:n], start[n:] = warm[1] * means, warm[0].population
        multipliers = np.append(warm[0].multipliers, 0.0)
        multipliers[k] = -warm[0].value  # homogeneity: the slopes in the shares average to it
    optimum = minimize(
        lambda z: _operator(entries, factor, z[:n], z[n:]),
        matrix, np.ones(k + 1), start, multipliers, accuracy, steps,
    )  # fmt: skip
    weights, population = optimum.variables[:n] / means, optimum.variables[n:]
    multipliers = optimum.multipliers[:k]
    return Saddle(epsilon, factor, members, weights, population, multipliers, optimum.value)


def worst_population(table: Array, factor: Array, accuracy: float = 1e-9) -> Array:
    """Return the shares of the answers for which a table of shape (k, N) has the largest error."""
    k, n = table.shape
    columns, ones = table.T, np.ones(n)

    def shares_only(population: Array) -> Expansion:
        found = _operator(columns, factor, ones, population)
        return Expansion(found.value, found.gradient[n:], found.hessian[n:, n:])

    matrix = np.ones((1, k))
    start = np.full(k, 1.0 / k)
    found = minimize(shares_only, matrix, np.ones(1), start, None, accuracy, _STEPS)
    population = np.maximum(found.variables, 0.0)
    return np.asarray(population / population.sum())


def _operator(entries: Array, factor: Array, weights: Array, population: Array) -> Expansion:
    """Return the error, its slopes (negative in the shares) and their derivatives."""
    n, k = entries.shape
    shares = entries @ population
    information = (entries * (weights / shares)[:, None]).T @ entries
    inverse = np.linalg.inv(information)
    halves = entries @ inverse
    steps = halves @ factor
    squares = np.square(steps).sum(axis=1)
    own = np.square(factor).sum(axis=1)
    value = float(np.sum((inverse @ factor) * factor) - population @ own)
    curvature = 2.0 * (halves @ entries.T) * (steps @ steps.T)
    by_shares = -(weights / shares**2)[:, None] * entries
    moved = curvature @ by_shares
    mixed = moved / shares[:, None] + (squares / shares**2)[:, None] * entries
    second = by_shares.T @ moved
    second -= entries.T @ ((2.0 * weights * squares / shares**3)[:, None] * entries)
    jacobian = np.empty((n + k, n + k))
    jacobian[:n, :n] = curvature / np.outer(shares, shares)
    jacobian[:n, n:], jacobian[n:, :n] = mixed, -mixed.T
    jacobian[n:, n:] = -second
    slopes = np.concatenate([-squares / shares, by_shares.T @ squares + own])
    return Expansion(value, slopes, jacobian)


def _entries(epsilon: float, members: Members) -> Array:
    return np.asarray(1.0 + np.expm1(epsilon) * members)


def _first_columns(k: int) -> Members:
    """Return columns from which all shares can be estimated."""
    if k <= MOST_ENUMERATED:
        return windows(k)
    above = np.arange(k) >= np.arange(1, k)[:, None]
    single = np.eye(k, dtype=np.bool_)
    return np.unique(np.concatenate([above, ~above, single, ~single]), axis=0)


def _near(found: Saddle) -> Members:
    """Return columns that a local search finds: exchanges of one answer, from good ones."""
    k = len(found.population)
    best = np.unique(np.concatenate([windows(k), found.members]), axis=0)
    best = best[np.argsort(-found.excess(best), kind="stable")[:_SEARCHED]]
    flips = np.eye(k, dtype=np.bool_)
    pool = [best]
    for _ in range(_PASSES):
        near = np.unique((best[:, None, :] ^ flips).reshape(-1, k), axis=0)
        near = near[near.any(axis=1) & ~near.all(axis=1)]
        merged = np.unique(np.concatenate([best, near]), axis=0)
        after = merged[np.argsort(-found.excess(merged), kind="stable")[:_SEARCHED]]
        pool.append(after)
        if np.array_equal(after, best):
            break
        best = after
    return np.unique(np.concatenate(pool), axis=0)


def _distinct(members: Members) -> Members:
    """Drop columns that occur before."""
    _, first = np.unique(members, axis=0, return_index=True)
    return members[np.sort(first)]

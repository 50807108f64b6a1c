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

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.columns.criterion import Expansion
from noutput.designs.columns.interior_point import minimize
from noutput.designs.columns.pricing import subsets, windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.designs.columns.problem import Members
    from noutput.designs.solution import Array

__all__ = ["MOST_ENUMERATED", "Aim", "Saddle", "restricted", "solve", "worst_population"]

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
class Aim:
    r"""The statistics whose error counts, and the places where people can be.

    Parameters
    ----------
    factor : array of shape (k, r)
        The matrix B: one statistic per column, one row per row of the table.
    spans : array of whole numbers, of shape (s, 2), optional
        The rows at the two ends of each span of numbers, between which rows are linear. Without
        spans (answers) people are at the rows themselves.
    rises : array of shape (s,), optional
        By how much the mean rises within each span, squared, in the unit of its column of B.

    Notes
    -----
    A number x of a span of width w that goes to the upper end with probability :math:`\lambda` has
    the square of its places' mean: :math:`x^2` is below the mean square of the two places by
    :math:`\lambda(1 - \lambda) w^2`. What privacy adds to the error of a mean is measured from
    :math:`x^2`. Of all people with the shares a and b of the two places, those at one number have
    the least squares: the error grows by :math:`w^2 ab / (a + b)`, which is concave in a and b.
    """

    factor: Array
    spans: NDArray[np.intp] = field(default_factory=lambda: np.empty((0, 2), np.intp))
    rises: Array = field(default_factory=lambda: np.empty(0))

    @cached_property
    def row(self) -> NDArray[np.intp]:
        """The row of each place: two places per span, or one per row without spans."""
        return self.spans.ravel() if self.spans.size else np.arange(len(self.factor))

    @property
    def n_places(self) -> int:
        """How many places there are."""
        return len(self.row)

    def by_row(self, population: Array) -> Array:
        """The shares of the rows of a population that is given by places."""
        return np.bincount(self.row, population, len(self.factor)).astype(np.float64)

    def inside(self, population: Array) -> Expansion:
        """What people inside the spans add to the error, with its derivatives."""
        n = self.n_places
        gradient, hessian = np.zeros(n), np.zeros((n, n))
        if not self.spans.size:
            return Expansion(0.0, gradient, hessian)
        a, b = population[0::2], population[1::2]
        both = a + b
        gradient[0::2], gradient[1::2] = self.rises * (b / both) ** 2, self.rises * (a / both) ** 2
        lower, bend = np.arange(0, n, 2), -2.0 * self.rises / both**3
        hessian[lower, lower], hessian[lower + 1, lower + 1] = bend * b**2, bend * a**2
        hessian[lower, lower + 1] = hessian[lower + 1, lower] = -bend * a * b
        return Expansion(float(self.rises @ (a * b / both)), gradient, hessian)


@dataclass(frozen=True)
class Saddle:
    """Weights of columns, and the population that is worst for them.

    Parameters
    ----------
    epsilon : float
    aim : Aim
        The statistics whose error counts.
    members : array of bool, of shape (columns, k)
    weights : array
        One per column.
    population : array
        One share per place of the aim.
    multipliers : array of shape (k,)
        The numbers y.
    value : float
        The error at both.
    """

    epsilon: float
    aim: Aim
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
        scaled = entries * (self.weights / (entries @ self.shares))[:, None]
        return np.asarray(np.linalg.solve(entries.T @ scaled, self.aim.factor))

    @property
    def shares(self) -> Array:
        """The population by rows of the table, of shape (k,)."""
        return self.aim.by_row(self.population)

    def excess(self, members: Members) -> Array:
        """Return by how much columns break the inequality, per mean entry; positive ones help."""
        entries = _entries(self.epsilon, members)
        squares = np.square(entries @ self.influence).sum(axis=1)
        costs = squares / (entries @ self.shares) - entries @ self.multipliers
        return np.asarray(costs / entries.mean(axis=1))


def solve(epsilon: float, aim: Aim, *, tolerance: float = 1e-4, rounds: int = _ROUNDS) -> Saddle:
    """Return the best table for the worst population.

    Parameters
    ----------
    epsilon : float
    aim : Aim
    tolerance : float
        The gap at which to stop, relative to the value.
    rounds : int
        The most rounds of column generation. Above 16 answers not all columns are looked at, so
        fewer rounds and a larger gap have to do.
    """
    k = len(aim.factor)
    every = subsets(np.arange(1, (1 << k) - 1), k) if k <= MOST_ENUMERATED else None
    members, warm, accuracy = _first_columns(k), None, _LOOSE
    if every is None:
        rounds, tolerance = min(rounds, _SEARCH_ROUNDS), max(tolerance, _SEARCH_TOLERANCE)
    for _ in range(rounds):
        found = restricted(epsilon, aim, members, accuracy, warm)
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
    aim: Aim,
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
    matrix = np.zeros((k + 1, n + aim.n_places))
    matrix[:k, :n], matrix[k, n:] = entries.T, 1.0
    start = np.full(n + aim.n_places, 1.0 / aim.n_places)
    start[:n] = 1.0 / n
    multipliers = None
    if warm is not None:
        start[:n], start[n:] = warm[1] * means, warm[0].population
        multipliers = np.append(warm[0].multipliers, 0.0)
        multipliers[k] = -warm[0].value  # homogeneity: the slopes in the shares average to it
    optimum = minimize(
        lambda z: _operator(entries, aim, z[:n], z[n:]),
        matrix, np.ones(k + 1), start, multipliers, accuracy, steps,
    )  # fmt: skip
    weights, population = optimum.variables[:n] / means, optimum.variables[n:]
    multipliers = optimum.multipliers[:k]
    return Saddle(epsilon, aim, members, weights, population, multipliers, optimum.value)


def worst_population(table: Array, aim: Aim, accuracy: float = 1e-9) -> Array:
    """Return the shares of the places for which a table of shape (k, N) has the largest error."""
    n = table.shape[1]
    columns, ones = table.T, np.ones(n)

    def shares_only(population: Array) -> Expansion:
        found = _operator(columns, aim, ones, population)
        return Expansion(found.value, found.gradient[n:], found.hessian[n:, n:])

    start = np.full(aim.n_places, 1.0 / aim.n_places)
    matrix = np.ones((1, aim.n_places))
    found = minimize(shares_only, matrix, np.ones(1), start, None, accuracy, _STEPS)
    population = np.maximum(found.variables, 0.0)
    return np.asarray(population / population.sum())


def _operator(entries: Array, aim: Aim, weights: Array, population: Array) -> Expansion:
    """Return the error, its slopes (negative in the shares) and their derivatives."""
    n, factor = len(entries), aim.factor
    shares = entries @ aim.by_row(population)
    information = (entries * (weights / shares)[:, None]).T @ entries
    inverse = np.linalg.inv(information)
    halves = entries @ inverse
    steps = halves @ factor
    squares = np.square(steps).sum(axis=1)
    own = np.square(factor).sum(axis=1)
    inside = aim.inside(population)
    value = float(np.sum((inverse @ factor) * factor) - aim.by_row(population) @ own) + inside.value
    curvature = 2.0 * (halves @ entries.T) * (steps @ steps.T)
    by_shares = -(weights / shares**2)[:, None] * entries
    moved = curvature @ by_shares
    mixed = moved / shares[:, None] + (squares / shares**2)[:, None] * entries
    second = by_shares.T @ moved
    second -= entries.T @ ((2.0 * weights * squares / shares**3)[:, None] * entries)
    row = aim.row
    jacobian = np.empty((n + len(row), n + len(row)))
    jacobian[:n, :n] = curvature / np.outer(shares, shares)
    jacobian[:n, n:], jacobian[n:, :n] = mixed[:, row], -mixed[:, row].T
    jacobian[n:, n:] = -second[np.ix_(row, row)] - inside.hessian
    slopes = np.concatenate(
        [-squares / shares, (by_shares.T @ squares + own)[row] - inside.gradient]
    )
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
    k = found.members.shape[1]
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

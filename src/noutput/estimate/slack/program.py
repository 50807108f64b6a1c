r"""Quadratic program behind slack intervals: the best fit, and its tableau.

Notes
-----
A population is a mixture :math:`\mu \ge 0` of K atoms, which add up: :math:`E \mu = e` (a single
row of ones for a mixture without further rules). Its reports have the chances
:math:`q = W^T \mu`. Their misfit to shares f of n reports is

.. math:: \sum_j \frac{n}{\hat q_j} (q_j - f_j)^2 = \|R \mu - y\|^2 ,

Pearson's statistic with the variances of a first fit :math:`\hat q`, so that it is quadratic. The
best fit has the least misfit. With its support A, the conditions of optimality

.. math:: w = H \mu - b - \lambda g + E^T \eta \ge 0, \quad \mu \ge 0, \quad w^T \mu = 0,
          \quad E \mu = e, \qquad H = R^T R

of the program that also wants :math:`\lambda g^T \mu` large are solved for :math:`\mu_A`,
:math:`\eta` and :math:`w_N` in terms of the others, once: the tableau T of
:math:`v = q + \lambda p + T z`, where v holds :math:`\mu_A, w_N` and z holds
:math:`w_A, \mu_N`, of which only those are not 0 that have left or joined the support.
`noutput.estimate.slack.path` follows :math:`\lambda` from there, for many statistics at once.

References
----------
Best (1996), "An algorithm for the solution of the parametric quadratic programming problem",
10.1007/978-3-642-99789-1_5; Cottle, Pang and Stone (2009), *The linear complementarity problem*,
10.1137/1.9780898719000, for principal pivot transforms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array

__all__ = ["BestFit", "Program", "first_chances", "most_reports"]

_RIDGE = 1e-2  # in units of the misfit: below a hundredth of what any threshold is
_SOFT = 1e-11  # of rules that no atom of the support takes part in
_TOLERANCE = 1e-3  # how much the misfit of the best fit can be off
_HEAVY = 1e3
_ADDED = 0.5  # to every count before the first fit
_STEPS = 1000
_MOST_REPORTS = 2.0**26  # of more, only so many count: wider, and safe from rounding
_ALIKE = 1e-7  # of misfits: what does not fit better by more is no progress
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Program:
    """Which populations are possible: mixtures of atoms.

    Parameters
    ----------
    rows : array of shape (K, J)
        The chances of the outputs, of every atom.
    sums : array of shape (m, K), optional
        What adds up, as weights of the atoms. The first are 1 for atoms with mass and 0 for others
        (which have no chances and no statistics); by default there are no others, and no more sums.
    totals : array of shape (m,), optional
        To what; the first is 1.
    most : float
        What all weights of a mixture add up to, at most.
    spare : array of bool of shape (K,), optional
        Atoms between two others, whose rows are mixtures of theirs: no fit needs them, and a
        statistic only where it is larger there than the mixture says. By default there are none.
    position : array of shape (K,), optional
        Increasing: what the rows of spare atoms are linear in.
    """

    rows: Array
    sums: Array | None = None
    totals: Array | None = None
    most: float = 1.0
    spare: NDArray[np.bool_] | None = None
    position: Array | None = None

    @cached_property
    def needed(self) -> NDArray[np.bool_]:
        """Which atoms are not spare."""
        return np.ones(len(self.rows), np.bool_) if self.spare is None else ~self.spare

    def useful(self, goals: Array) -> NDArray[np.bool_]:
        """Say which atoms can make statistics of shape (B, K) larger."""
        result = np.tile(self.needed, (len(goals), 1))
        if self.spare is not None:
            x = np.arange(len(self.rows)) if self.position is None else self.position
            share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
            chord = (1.0 - share) * goals[:, :-2] + share * goals[:, 2:]
            result[:, 1:-1] |= goals[:, 1:-1] > chord + _TINY
        return result

    @cached_property
    def rules(self) -> tuple[Array, Array]:
        """Sums and totals."""
        if self.sums is None or self.totals is None:
            return np.ones((1, len(self.rows))), np.ones(1)
        return self.sums, self.totals


class BestFit:
    """The mixture with the least misfit to shares of outputs, and the tableau around it.

    Parameters
    ----------
    program : Program
    shares : array of shape (J,)
    reports : float

    Attributes
    ----------
    mixture : array of shape (K,)
    least : float
        Its misfit.
    """

    def __init__(self, program: Program, shares: Array, reports: float) -> None:
        self.program = program
        reports = most_reports(reports)
        chances = first_chances(shares, reports)
        start = _nearest(program, shares, chances, reports)
        chances = np.maximum(start @ program.rows, 0.01 * chances)
        start = _nearest(program, shares, chances, reports)
        self.weights: Array = np.sqrt(reports / chances)
        self.weighted: Array = (program.rows * self.weights).T  # R
        self.observed: Array = self.weights * shares  # y
        gram = self.weighted.T @ self.weighted
        gram[np.diag_indices(len(gram))] += _RIDGE
        self._solve(gram, start)
        self.least = self._misfit(self.mixture)

    def _misfit(self, mixture: Array) -> float:
        residual = self.weighted @ mixture - self.observed
        return float(residual @ residual)

    def _solve(self, gram: Array, start: Array) -> None:
        """Find the best mixture by steps that never make it worse (Lawson and Hanson)."""
        sums, totals = self.program.rules
        right = self.weighted.T @ self.observed
        self.mixture: Array = start
        lowest = np.inf
        support = np.flatnonzero(start > _TINY)
        for _ in range(_STEPS):
            inverse = _inverse(gram, sums, support)
            size = len(support)
            found = inverse @ np.concatenate([right[support], totals])
            masses = found[:size]
            if masses.min() < 0.0 and size > 1:
                support, start = _shorten(support, start, masses)
                continue
            start = np.zeros(len(gram))
            start[support] = masses
            misfit = self._misfit(start)
            if misfit > lowest - _ALIKE:
                break
            slopes = gram[:, support] @ masses - right + found[size:] @ sums
            lowest, self.mixture, kept = misfit, start, (support, inverse, slopes)
            wanting = np.where(self.program.needed, slopes, 0.0)
            wanting[support] = 0.0
            if wanting.min() >= -_TOLERANCE:
                break
            support = np.sort(np.append(support, wanting.argmin()))
        self._tabulate(gram, *kept)

    def _tabulate(
        self, gram: Array, support: NDArray[np.intp], inverse: Array, slopes: Array
    ) -> None:
        sums, _ = self.program.rules
        size = len(support)
        self.inside: NDArray[np.bool_] = np.zeros(len(gram), np.bool_)
        self.inside[support] = True
        outside = np.flatnonzero(~self.inside)
        borders = np.vstack([gram[np.ix_(support, outside)], sums[:, outside]])
        effect = inverse @ borders
        tableau = np.zeros_like(gram)
        tableau[np.ix_(support, support)] = inverse[:size, :size]
        tableau[np.ix_(support, outside)] = -effect[:size]
        tableau[np.ix_(outside, support)] = effect[:size].T
        tableau[np.ix_(outside, outside)] = gram[np.ix_(outside, outside)] - borders.T @ effect
        self.tableau: Array = tableau
        self.start: Array = np.zeros(len(gram))
        self.start[support] = self.mixture[support]
        self.start[outside] = np.maximum(slopes[outside], 0.0)
        self._support, self._outside = support, outside
        self._inverse, self._effect = inverse[:size, :size], effect[:size]

    def reached(self, changes: Array) -> Array:
        """Return squared lengths of the parts of changes that the support reaches.

        Parameters
        ----------
        changes : array of shape (B, J)
            Of the weighted chances of outputs.
        """
        inner = changes @ self.weighted[:, self._support]
        result: Array = ((inner @ self._inverse) * inner).sum(axis=1)
        return result

    def directions(self, goals: Array) -> Array:
        """Return p for every goal g: how v moves with lambda while the support stays."""
        inner = goals[:, self._support]
        result = np.empty_like(goals)
        result[:, self._support] = inner @ self._inverse
        result[:, self._outside] = inner @ self._effect - goals[:, self._outside]
        return result


def most_reports(reports: float) -> float:
    """Return how many of the reports count."""
    return min(reports, _MOST_REPORTS)


def first_chances(shares: Array, reports: float) -> Array:
    """Return chances of the outputs that no count of 0 makes impossible."""
    return (shares * reports + _ADDED) / (reports + _ADDED * len(shares))


def _nearest(program: Program, shares: Array, chances: Array, reports: float) -> Array:
    """Return the mixture with about the least misfit under given variances."""
    sums, totals = program.rules
    weights = np.sqrt(reports / chances)
    heavy = _HEAVY * np.sqrt(reports)
    system = np.vstack([(program.rows * weights).T, heavy * sums])[:, program.needed]
    right = np.concatenate([weights * shares, heavy * totals])
    result = np.zeros(len(program.rows))
    result[program.needed] = nnls(system, right, maxiter=30_000)[0]
    return result


def _inverse(gram: Array, sums: Array, support: NDArray[np.intp]) -> Array:
    """Return the inverse of the conditions of optimality on a support."""
    size, rules = len(support), len(sums)
    matrix = np.zeros((size + rules, size + rules))
    matrix[:size, :size] = gram[np.ix_(support, support)]
    matrix[size:, :size] = sums[:, support]
    matrix[:size, size:] = sums[:, support].T
    matrix[size:, size:] = -_SOFT * np.eye(rules)
    return np.asarray(np.linalg.inv(matrix), np.float64)


def _shorten(
    support: NDArray[np.intp], mixture: Array, masses: Array
) -> tuple[NDArray[np.intp], Array]:
    """Go toward masses of which some are negative, until the first of them is 0."""
    before = mixture[support]
    falling = np.flatnonzero(masses < 0.0)
    steps = before[falling] / (before[falling] - masses[falling])
    step = steps.min()
    result = np.zeros_like(mixture)
    result[support] = np.maximum(before + step * (masses - before), 0.0)
    gone = falling[steps <= step]
    result[support[gone]] = 0.0
    return np.delete(support, gone), result

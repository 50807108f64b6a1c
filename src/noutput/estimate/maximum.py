r"""The maximum of the likelihood of histograms, with a proof of how close it is.

Notes
-----
With shares :math:`c_j`, bins :math:`\pi_i` and chances :math:`q = \Theta^T \pi`, the problem is to
maximize the concave function :math:`\sum_j c_j \ln q_j` over the simplex. Its dual is to maximize
:math:`\sum_j c_j \ln y_j` subject to :math:`\Theta y \le 1`; at the optimum
:math:`y_j = c_j / q_j`, and a bin is empty where its row of :math:`\Theta y` stays below 1. EM
empties such bins so slowly that acceleration (SQUAREM included) still needs thousands of steps.
The primal-dual interior-point method below follows

.. math:: \Theta y + s = 1, \qquad \Theta^T \pi = c / y, \qquad \pi_i s_i = \mu \to 0

by Newton steps with Mehrotra's correction, which come down to one system of J equations per row, or
of as many as there are bins where these are fewer, and end after some 15 of them, however many bins
are empty.

For every :math:`\pi` of the simplex the largest log-likelihood per report is at most
:math:`\ln \max_i \sum_j \Theta_{ij} c_j / q_j` higher. A row stops when this bound is within
the tolerance, so convergence is proven, not guessed.

Where the counts can be met in several ways (few outputs, many bins), the maximum is not unique;
the method then ends near the middle of the solutions.

References
----------
Koenker and Mizera (2014), 10.1080/01621459.2013.869224; Mehrotra (1992), 10.1137/0802028. For
the alternative: Varadhan and Roland (2008), 10.1111/j.1467-9469.2007.00585.x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.fit import Fit, mean_log_likelihood

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array

__all__ = ["MAX_ITERATIONS", "likelihood_gap", "maximize"]

MAX_ITERATIONS = 60
_ROWS = 256
_MARGIN = 1.05  # how far inside its constraints the dual starts


def maximize(
    shares: Array,
    theta: Array,
    tolerance: Array,
    *,
    max_iterations: int = MAX_ITERATIONS,
    target: Array | None = None,
) -> Fit:
    """Return the histograms of largest likelihood.

    Parameters
    ----------
    shares, theta : arrays
        As for `noutput.estimate.em.maximize`.
    tolerance : array of shape (B,)
        How far below the maximum the log-likelihood per report may end.
    target : array of shape (B,), optional
        A row also stops once its log-likelihood per report reaches this, or provably never will.
    """
    target = np.full(len(shares), np.inf) if target is None else target
    rows, bins = len(shares), len(theta)
    result = Fit(
        np.full((rows, bins), 1.0 / bins), np.zeros(rows, np.intp), np.zeros(rows, np.bool_)
    )
    for rule in (_BOLD, _CAUTIOUS):
        open_rows = np.flatnonzero(~result.converged)
        for start in range(0, len(open_rows), _ROWS):
            some = open_rows[start : start + _ROWS]
            _follow(shares, theta, (tolerance, target), max_iterations, rule, some, result)
    return result


def likelihood_gap(shares: Array, probabilities: Array, theta: Array) -> Array:
    """Return a bound on how much the log-likelihood per report can still rise, for every row."""
    chances = probabilities @ theta
    ratios = np.divide(shares, chances, out=np.zeros_like(shares), where=shares > 0.0)
    result: Array = np.log(np.maximum((ratios @ theta.T).max(axis=1), 1.0))
    return result


@dataclass(frozen=True, slots=True)
class _Rule:
    """How steps are chosen: which share of the way to the boundary, toward which center."""

    share: float
    correct: bool
    least_centering: float


_BOLD = _Rule(share=0.9, correct=True, least_centering=0.0)
_CAUTIOUS = _Rule(share=0.8, correct=False, least_centering=0.2)  # for the rare row that jams


def _follow(
    shares: Array,
    theta: Array,
    limits: tuple[Array, Array],
    max_iterations: int,
    rule: _Rule,
    active: NDArray[np.intp],
    result: Fit,
) -> None:
    """Follow the path of every `active` row; write where it ends into `result`."""
    tolerance, target = limits
    path = _Path.start(shares[active], theta)
    smallest = np.full(len(shares), np.inf)
    for iteration in range(max_iterations + 1):
        probabilities = path.bins / path.bins.sum(axis=1, keepdims=True)
        gap = likelihood_gap(path.shares, probabilities, theta)
        sound = np.isfinite(gap)
        better = gap < smallest[active]
        smallest[active[better]] = gap[better]
        result.probabilities[active[better]] = probabilities[better]
        result.iterations[active] += iteration > 0
        result.converged[active] = gap <= tolerance[active]
        if np.isfinite(target).any():
            reached = mean_log_likelihood(path.shares, probabilities, theta)
            wanted = target[active]
            result.converged[active] |= (reached >= wanted) | (reached + gap < wanted)
        going = sound & ~result.converged[active]
        if iteration == max_iterations or not going.any():
            return
        if not going.all():
            active, path = active[going], path.take(going)
        try:
            with np.errstate(all="ignore"):  # a row that breaks down turns to NaN, and is left
                path = path.step(theta, rule)
        except np.linalg.LinAlgError:
            return


@dataclass(frozen=True)
class _Path:
    """The place of several rows on their paths: all entries of bins and slack are positive."""

    shares: Array
    bins: Array
    dual: Array
    slack: Array

    @classmethod
    def start(cls, shares: Array, theta: Array) -> _Path:
        """Start from the uniform histogram and the dual that belongs to it, moved inside."""
        bins = np.full((len(shares), len(theta)), 1.0 / len(theta))
        dual = shares / (bins @ theta)
        dual /= (dual @ theta.T).max(axis=1, keepdims=True) * _MARGIN
        return cls(shares, bins, dual, 1.0 - dual @ theta.T)

    def take(self, rows: NDArray[np.bool_]) -> _Path:
        """Keep some rows."""
        return _Path(self.shares[rows], self.bins[rows], self.dual[rows], self.slack[rows])

    def step(self, theta: Array, rule: _Rule) -> _Path:
        """Predict with a full Newton step, then correct and center."""
        newton = _Newton(self, theta)
        product = self.bins * self.slack
        move = newton.solve(-product)
        length = move.length(rule.share)
        center = product.mean(axis=1, keepdims=True)
        ahead = (self.bins + length * move.bins) * (self.slack + length * move.slack)
        ratio = ahead.mean(axis=1, keepdims=True) / center
        target = np.maximum(ratio**3, rule.least_centering) * center - product
        move = newton.solve(target - move.bins * move.slack if rule.correct else target)
        length = move.length(rule.share)
        return _Path(
            self.shares,
            self.bins + length * move.bins,
            self.dual * (1.0 + length * move.growth),
            self.slack + length * move.slack,
        )


@dataclass(frozen=True)
class _Move:
    """A Newton step; the dual's is relative to the dual."""

    path: _Path
    bins: Array
    growth: Array
    slack: Array

    def length(self, share: float) -> Array:
        """Return which part of the step keeps every entry positive, at most all of it."""
        fastest = np.maximum.reduce(
            [
                (-self.bins / self.path.bins).max(axis=1),
                (-self.slack / self.path.slack).max(axis=1),
                (-self.growth).max(axis=1),
                np.full(len(self.growth), share),
            ]
        )
        result: Array = (share / fastest)[:, None]
        return result


class _Newton:
    """The linearized equations at one point, reduced to the dual's growth or to the bins' steps.

    Whichever are fewer. An output without count has dual 0 and growth 0: its equation reads
    1 * growth = 0.
    """

    def __init__(self, path: _Path, theta: Array) -> None:
        self._path = path
        self._theta = theta
        self._weights = path.bins / path.slack
        self._primal = path.shares - path.dual * (path.bins @ theta)
        self._dual = 1.0 - path.dual @ theta.T - path.slack
        self._counted = np.where(path.shares > 0.0, path.shares, 1.0)
        self._few_bins = theta.shape[0] < theta.shape[1]
        if self._few_bins:
            matrix = np.matmul(theta * (path.dual**2 / self._counted)[:, None, :], theta.T)
        else:
            matrix = np.matmul(theta.T * self._weights[:, None, :], theta)
            matrix *= path.dual[:, :, None] * path.dual[:, None, :]
        index = np.arange(min(theta.shape))
        matrix[:, index, index] += 1.0 / self._weights if self._few_bins else self._counted
        self._matrix = matrix

    def solve(self, target: Array) -> _Move:
        """Return the step after which bins times slack has changed by `target`."""
        path, theta = self._path, self._theta
        if self._few_bins:
            right = target / path.bins - self._dual
            bins = self._solved(right + (path.dual * self._primal / self._counted) @ theta.T)
            growth = (self._primal - path.dual * (bins @ theta)) / self._counted
            return _Move(path, bins, growth, self._dual - (path.dual * growth) @ theta.T)
        wanted = target / path.slack
        right = self._primal - path.dual * ((wanted - self._weights * self._dual) @ theta)
        growth = self._solved(right)
        slack = self._dual - (path.dual * growth) @ theta.T
        return _Move(path, wanted - self._weights * slack, growth, slack)

    def _solved(self, right: Array) -> Array:
        result: Array = np.linalg.solve(self._matrix, right[..., None])[..., 0].astype(np.float64)
        return result

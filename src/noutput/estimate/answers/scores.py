r"""Scores of the outputs whose average over the reports estimates the shares of places.

Notes
-----
Row x of W has the probabilities of the N outputs at place x: an answer of a list, or an end of a
cell of numbers. So the outputs of a population with shares :math:`\pi` have the probabilities
:math:`q = \pi W`, and a statistic is :math:`\pi c` for a vector c over places. Give output j the
score :math:`s_j`. The average score of n reports is unbiased for the statistic of *every*
population if and only if :math:`W s = c`: c must lie in the column space of W, as every c does
where no row is a mixture of others. With more outputs than the rank of W, many scores do. For a
population with the output probabilities q the best of them are :math:`s = S c` with

.. math:: S(q) = D^{-1} W^T (W D^{-1} W^T)^{-}, \qquad D = \operatorname{diag}(q),

with any generalized inverse: the variance of a report's score, :math:`s^T D s - (\pi c)^2`, is
smallest (for every share, every CDF value and every mean at once) by the theorem of Gauss and
Markov, and no unbiased estimate undercuts it (Cramer and Rao). For any reference population, right
or wrong, :math:`W S(q) c = c` holds exactly, and the scores of an output for all places add up to
1, since :math:`W D^{-1} W^T \pi^T = W 1 = 1`.

The best q is that of the people asked, which is not known. Two choices are honest:

*Fixed scores*, for the uniform population. Exactly unbiased; the reports' scores are independent
and bounded, which exact intervals need. But at epsilon = 3 they have up to 3 times the variance
that is possible where most people give one answer.

*Scores of the others*: the i-th report is scored by the best scores for the population that all
**other** reports estimate. Given the others, these scores are fixed and unbiased, and the report
is independent of them. So its expected score is right, and the average is **exactly unbiased** for
every population and every :math:`n \ge 2`, as with fixed scores: no prior and no smoothing can
bias it. And as n grows the reference approaches the truth, so the average reaches the smallest
variance possible: that of the information which optimal tables are designed for. (Leave-one-out
scores are a deterministic form of the cross-fitting of Chernozhukov et al.) A report that is left
out is known by its output, so N references suffice, whatever n is.

The reference is the likeliest population of the other reports. Their counts are first rounded to
steps of at most half the noise of a count: with many reports, leaving one out then changes few of
the rounded counts, and few references are to be computed. Where the scores come from affects the
variance alone.

References
----------
Chernozhukov et al. (2018), "Double/debiased machine learning for treatment and structural
parameters", 10.1111/ectj.12097.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from noutput.errors import InvalidArgumentError
from noutput.estimate.maximum import maximize

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.estimate.stacked_answers import StackedAnswers
    from noutput.mechanisms.answers import AnswerMechanism

__all__ = [
    "best_scores",
    "closest_distributions",
    "closest_within",
    "column_space",
    "fixed_scores",
    "likeliest",
    "scores_of_others",
]

_LEAST_RANK = 1e-8  # of singular values, relative to the largest: below it, rows look alike
_VALUE_GAP = 1e-5  # of the log-likelihood of all reports: 0.004 standard errors
_REFERENCE_GAP = 0.1
_LEAST_GAP = 1e-13  # per report, which rounding allows
_STEPS_PER_NOISE = 2.0


def column_space(table: Array) -> Array:
    """Return orthonormal columns that span the means of all scores; all of them at full rank.

    Examples
    --------
    >>> column_space(np.array([[0.5, 0.5], [0.25, 0.75]]))
    array([[1., 0.],
           [0., 1.]])
    >>> column_space(np.array([[0.5, 0.5], [0.5, 0.5]])).shape
    (2, 1)
    """
    left, extents, _ = np.linalg.svd(table, full_matrices=False)
    rank = int(np.count_nonzero(extents > _LEAST_RANK * extents[0]))
    result: Array = np.eye(len(table)) if rank == len(table) else left[:, :rank]
    return result


def best_scores(table: Array, population: Array, space: Array | None = None) -> Array:
    """Return the unbiased scores, of shape (N, k), with the smallest variance for a population.

    Examples
    --------
    >>> rows = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    >>> scores = best_scores(rows, np.array([0.5, 0.5]))
    >>> bool(np.allclose(rows @ scores, np.eye(2))), bool(np.allclose(scores.sum(axis=1), 1.0))
    (True, True)
    """
    space = column_space(table) if space is None else space
    reduced = space.T @ table
    weighted = reduced / (population @ table)
    return np.asarray(np.linalg.solve(weighted @ reduced.T, weighted).T @ space.T, np.float64)


def fixed_scores(mechanism: AnswerMechanism | StackedAnswers) -> Array:
    """Return the best scores for the uniform population, of a table that tells all answers apart.

    Raises
    ------
    InvalidArgumentError
        If it does not.
    """
    table = mechanism.table()
    space = column_space(table)
    if space.shape[1] < len(table):
        rule = "have rows of which none is a mixture of others: it does not tell all answers apart"
        raise InvalidArgumentError("mechanism", rule, repr(mechanism))
    return best_scores(table, np.full(len(table), 1.0 / len(table)), space)


def likeliest(table: Array, counts: Array, gap: float = _VALUE_GAP) -> Array:
    """Return the population of the largest likelihood for every row of counts.

    Parameters
    ----------
    table : array of shape (k, N)
    counts : array of shape (B, N)
    gap : float
        How far below the largest the log-likelihood of all reports may end.

    Examples
    --------
    >>> rows = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> likeliest(rows, np.array([[40.0, 60.0], [10.0, 90.0]])).round(3)
    array([[0.3, 0.7],
           [0. , 1. ]])
    """
    totals = counts.sum(axis=1, keepdims=True)
    tolerance = np.maximum(gap / totals[:, 0], _LEAST_GAP)
    return maximize(counts / totals, table, tolerance).probabilities


def scores_of_others(table: Array, space: Array, counts: Array) -> Array:
    """Return the scores of every output, by the population that all other reports estimate.

    Parameters
    ----------
    table : array of shape (k, N)
    space : array of shape (k, r)
        Its column space.
    counts : array of shape (N,)
        Whole numbers: how many reports have each output; at least two in all.

    Returns
    -------
    array of shape (N, k)
        The row of an output that was not reported leaves no report out.
    """
    n_outputs, reduced = table.shape[1], space.T @ table
    noise = math.sqrt(counts.sum() / n_outputs)
    step = 2.0 ** max(math.floor(math.log2(noise / _STEPS_PER_NOISE)), 0)
    others = np.vstack([counts - np.diag(np.minimum(counts, 1.0)), counts])
    rounded = np.floor(others / step)
    index = np.where((rounded[:-1] != rounded[-1]).any(axis=1), np.arange(n_outputs), n_outputs)
    fitted, reference = np.unique(index, return_inverse=True)
    middles = step * rounded[fitted] + (step - 1.0) / 2.0
    chances = likeliest(table, middles, _REFERENCE_GAP) @ table
    information = np.matmul(reduced / chances[:, None, :], reduced.T)
    own = reduced.T / chances[reference, np.arange(n_outputs)][:, None]
    solved = np.linalg.solve(information[reference], own[:, :, None])[:, :, 0]
    return np.asarray(solved @ space.T, np.float64)


def closest_distributions(rows: Array) -> Array:
    """Return the closest distribution (least squares) to every row: see `norm_sub`.

    Examples
    --------
    >>> closest_distributions(np.array([[0.7, 0.5, -0.2], [0.2, 0.3, 0.5]]))
    array([[0.6, 0.4, 0. ],
           [0.2, 0.3, 0.5]])
    """
    falling = np.sort(rows, axis=1)[:, ::-1]
    levels = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, rows.shape[1] + 1)
    above = np.maximum(np.count_nonzero(falling >= levels, axis=1), 1)
    level = np.take_along_axis(levels, above[:, None] - 1, axis=1)
    result: Array = np.maximum(rows - level, 0.0)
    return result


def closest_within(shares: Array, low: Array, high: Array) -> Array:
    """Return the closest distribution (least squares) with every share in its interval.

    Where there is none, since all lower ends add up to more than 1 or all upper ends to less, these
    ends are returned.

    Examples
    --------
    >>> shares = np.array([0.7, 0.5, -0.2])
    >>> closest_within(shares, np.zeros(3), np.ones(3))
    array([0.6, 0.4, 0. ])
    >>> closest_within(shares, np.array([0.65, 0.3, 0.0]), np.ones(3))
    array([0.65, 0.35, 0.  ])
    """
    steps = np.sort(np.concatenate([shares - high, shares - low]))
    sums = np.clip(shares - steps[:, None], low, high).sum(axis=1)
    level = np.interp(1.0, sums[::-1], steps[::-1])
    result: Array = np.clip(shares - level, low, high)
    return result

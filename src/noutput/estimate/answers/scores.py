r"""Scores of the outputs whose average over the reports estimates the shares of the answers.

Notes
-----
Row x of W has the probabilities of the N outputs where the answer is x, so the outputs of a
population with shares :math:`\pi` have the probabilities :math:`q = \pi W`. Give output j the
scores :math:`S_{jx}`. The average score of n reports is unbiased for the shares of *every*
population if and only if :math:`W S = 1` (the k x k identity). Where a table has more outputs than
answers, many scores do. For a population with the output probabilities q the best of them is

.. math:: S(q) = D^{-1} W^T (W D^{-1} W^T)^{-1}, \qquad D = \operatorname{diag}(q):

the covariance of a report's scores, :math:`S^T D S - \pi^T \pi`, is smallest (in the order of
matrices, so for every share, every CDF value and every mean at once) by the theorem of Gauss and
Markov, and equals the inverse information :math:`(W D^{-1} W^T)^{-1} - \pi^T \pi` of the
multinomial counts, which no unbiased estimate undercuts (Cramer and Rao). For any reference
population, right or wrong, :math:`W S(q) = 1` holds exactly, and the scores of an output add up to
1, since :math:`W D^{-1} W^T \pi^T = W 1 = 1`.

The best q is that of the people asked, which is not known. Two choices are honest:

*Fixed scores*, for the uniform population. Exactly unbiased; the reports' scores are independent
and bounded, which exact intervals need. But at epsilon = 3 they have up to 3 times the variance
that is possible where most people give one answer.

*Scores of the others*: the i-th report is scored by the best scores for the population that all
**other** reports estimate. Given the others, these scores are fixed and satisfy
:math:`W S = 1`, and the report is independent of them. So its expected score is right, and the
average is **exactly unbiased** for every population and every :math:`n \ge 2`, as with fixed
scores: no prior and no smoothing can bias it. And as n grows the reference approaches the truth,
so the average reaches the smallest variance possible: that of the information which optimal tables
are designed for. (Leave-one-out scores are a deterministic form of the cross-fitting of
Chernozhukov et al.) A report that is left out is known by its output, so N references suffice,
whatever n is.

The reference is the estimate by fixed scores, shrunken to the uniform population by as much as it
is noise (James and Stein) and moved to the closest distribution. Where the scores come from
affects the variance alone.

References
----------
James and Stein (1961), "Estimation with quadratic loss", 4th Berkeley Symposium.
Chernozhukov et al. (2018), "Double/debiased machine learning for treatment and structural
parameters", 10.1111/ectj.12097.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.estimate.stacked_answers import StackedAnswers
    from noutput.mechanisms.answers import AnswerMechanism

__all__ = [
    "best_scores",
    "closest_distributions",
    "closest_within",
    "fixed_scores",
    "scores_of_others",
]

_LEAST_RANK = 1e-9  # of singular values, relative to the largest: below it, answers look alike


def best_scores(table: Array, population: Array) -> Array:
    """Return the unbiased scores, of shape (N, k), with the smallest variance for a population.

    Examples
    --------
    >>> rows = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    >>> scores = best_scores(rows, np.array([0.5, 0.5]))
    >>> bool(np.allclose(rows @ scores, np.eye(2))), bool(np.allclose(scores.sum(axis=1), 1.0))
    (True, True)
    """
    weighted = table / (population @ table)
    return np.asarray(np.linalg.solve(weighted @ table.T, weighted).T, np.float64)


@dataclass(frozen=True)
class _Key:
    """A mechanism is known by its fingerprint, so equal ones share their scores."""

    fingerprint: str
    mechanism: AnswerMechanism | StackedAnswers = field(compare=False)


@lru_cache(maxsize=256)
def _fixed(key: _Key) -> Array:
    table = key.mechanism.table()
    size = len(table)
    extents = np.linalg.svd(table, compute_uv=False)
    if table.shape[1] < size or extents[-1] < _LEAST_RANK * extents[0]:
        rule = "have rows of which none is a mixture of others: it does not tell all answers apart"
        raise InvalidArgumentError("mechanism", rule, repr(key.mechanism))
    result = best_scores(table, np.full(size, 1.0 / size))
    result.flags.writeable = False
    return result


def fixed_scores(mechanism: AnswerMechanism | StackedAnswers) -> Array:
    """Return the best scores for the uniform population (read-only), computed once."""
    return _fixed(_Key(mechanism.fingerprint, mechanism))


def scores_of_others(table: Array, fixed: Array, shares: Array, reports: float) -> Array:
    """Return the scores of every output, by the population that all other reports estimate.

    Parameters
    ----------
    table : array of shape (k, N)
    fixed : array of shape (N, k)
        The best scores for the uniform population.
    shares : array of shape (N,)
        The share of every output among the reports.
    reports : float
        How many reports there are; at least two.

    Returns
    -------
    array of shape (N, k)
        The row of an output that was not reported leaves no report out.
    """
    size, n_outputs = table.shape
    if size == n_outputs:  # one choice only
        return fixed
    first = shares @ fixed
    left_out = (shares > 0.0)[:, None]
    others = np.where(left_out, first + (first - fixed) / (reports - 1.0), first)
    noise = (table.mean(axis=0) @ fixed**2).sum() - 1.0 / size
    populations = _populations(others, noise / (reports - 1.0))
    chances = populations @ table  # (N, N): row j is the reference of output j
    own = table.T / np.diagonal(chances)[:, None]
    information = (table / chances[:, None, :]) @ table.T
    return np.asarray(np.linalg.solve(information, own[:, :, None])[:, :, 0], np.float64)


def _populations(estimates: Array, noise: float) -> Array:
    """Return distributions near rows of estimated shares whose squared error is `noise`."""
    uniform = 1.0 / estimates.shape[1]
    away = estimates - uniform
    lengths = np.maximum((away**2).sum(axis=1, keepdims=True), 1e-300)
    shrunken = uniform + np.maximum(1.0 - noise / lengths, 0.0) * away
    return closest_distributions(shrunken)


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

r"""Upper ends of exact intervals, for many scores at once.

Notes
-----
What `noutput.estimate.answers.exact` computes for one linear function, for a stack of them, and
the upper end alone. For every :math:`\lambda`, the end is the largest mean of :math:`a_x` over
populations whose mean of :math:`h_x = M_x(\lambda) - (\alpha / 2)^{1/n}` is not negative. Weak
duality bounds it from above by :math:`\max_x (a_x + \mu h_x)` for any :math:`\mu \ge 0`. The best
:math:`\mu` makes two points equal, one at either side of 0; they are found by exchanges, as many
as there are time for: any :math:`\mu` gives an end that is not too low.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.answers.exact import (
    ALIKE,
    LARGEST_EXPONENT,
    MOST_REPORTS,
    RATIOS,
    exact_interval,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array

__all__ = ["upper_ends"]

_EXCHANGES = 40
_TINY = 1e-100
_AT_ONCE = 64  # statistics, which take some megabytes


def upper_ends(
    table: Array, scores: Array, shares: Array, reports: float, alpha: float
) -> Array:  # fmt: skip
    """Return ends that are too low with a probability of at most alpha / 2.

    Parameters
    ----------
    table : array of shape (K, N)
    scores : array of shape (B, N)
    shares : array of shape (N,)
        The share of every output among the reports.
    reports : float
    alpha : float

    Examples
    --------
    >>> rows = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    >>> scores, shares = np.array([[-1.0, 0.0, 1.0]]), np.array([0.3, 0.3, 0.4])
    >>> upper_ends(rows, scores, shares, 1000.0, 0.05).round(3).tolist()
    [0.171]
    >>> round(exact_interval(rows, scores[0], rows @ scores[0], shares, 1000.0, 0.05)[1], 3)
    0.171
    """
    weights = scores @ table.T
    parts = [
        _some_ends(table, scores[start : start + _AT_ONCE], weights[start : start + _AT_ONCE],
                   shares, reports, alpha)
        for start in range(0, len(scores), _AT_ONCE)
    ]  # fmt: skip
    found = np.concatenate(parts) if parts else np.empty(0)
    for place in np.flatnonzero(_two_valued(scores)):
        found[place] = exact_interval(
            table, scores[place], weights[place], shares, reports, alpha, side=-1.0
        )[1]
    result: Array = np.clip(found, weights.min(axis=1), weights.max(axis=1))
    return result


def _two_valued(scores: Array) -> Array:
    """Say which scores have two values only, or one: there a binomial interval is shorter."""
    least = scores.min(axis=1, keepdims=True)
    width = np.ptp(scores, axis=1)
    upper = scores > least + width[:, None] / 2.0
    tops = np.where(upper, scores, np.inf).min(axis=1)
    bottoms = np.where(upper, -np.inf, scores).max(axis=1)
    apart = np.maximum(scores.max(axis=1) - tops, bottoms - least[:, 0])
    return np.asarray((width == 0.0) | (apart <= ALIKE * width))


def _some_ends(
    table: Array, scores: Array, weights: Array, shares: Array, reports: float, alpha: float
) -> Array:
    fallen = math.log(alpha / 2.0) / min(reports, MOST_REPORTS) * (1.0 + 1e-9)
    averages = np.clip(scores @ shares, weights.min(axis=1), weights.max(axis=1))
    away = scores - averages[:, None]
    variances = np.maximum(away**2 @ shares, (away**2 @ table.T).min(axis=1))
    variances = np.maximum(variances, _TINY)
    base = np.sqrt(-2.0 * fallen / variances)[:, None] * RATIOS
    largest = np.maximum(np.abs(away).max(axis=1), _TINY)
    base = np.minimum(base, (LARGEST_EXPONENT / largest)[:, None])
    heights = np.expm1(-base[:, :, None] * away[:, None, :]) @ table.T - math.expm1(fallen)
    ends = _crossings(weights, heights).min(axis=1)
    return np.where(np.isfinite(ends), ends, averages)


def _crossings(weights: Array, heights: Array) -> Array:
    """Return the largest means of weights (B, K) with a mean of heights (B, L, K) of at least 0.

    Where all heights are negative, that is minus infinity.
    """
    places = weights[:, None, :]
    right = np.broadcast_to(weights.argmax(axis=1)[:, None], heights.shape[:2]).copy()
    top = heights.argmax(axis=2)

    def at(values: Array, which: NDArray[np.intp]) -> Array:
        full = np.broadcast_to(values, heights.shape)
        return np.asarray(np.take_along_axis(full, which[:, :, None], axis=2)[:, :, 0])

    best = np.where(at(heights, right) >= 0.0, at(places, right), np.inf)
    none = at(heights, top) < 0.0
    for _ in range(_EXCHANGES):
        (x0, h0), (x1, h1) = ((at(places, w), at(heights, w)) for w in (right, top))
        slope = np.where(h0 < 0.0, (x0 - x1) / np.maximum(h1 - h0, _TINY), 0.0)
        slope = np.maximum(slope, 0.0)
        values = places + slope[:, :, None] * heights
        which = values.argmax(axis=2)
        bound = at(values, which)
        best = np.minimum(bound, best)
        moved = bound > x1 + slope * h1 + 1e-12
        if not moved.any():
            break
        falls = at(heights, which) < 0.0
        right = np.where(moved & falls, which, right)
        top = np.where(moved & ~falls, which, top)
    return np.where(none, -np.inf, best)

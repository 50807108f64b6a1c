r"""Densities of limited variation: the best fit, and the ends of statistics.

Notes
-----
A density is constant inside of K equal cells, with heights :math:`h_k \ge 0` as multiples of the
even density: :math:`\frac1K \sum_k h_k = 1`. With 0 before the first and after the last, its ups
and downs :math:`d = D h` are limited by :math:`|d_j| \le u_j` and :math:`\sum_j u_j \le c`. The
misfit is :math:`\|R h - y\|^2`, as in `noutput.estimate.slack.program`. Nearly every such density
has many mixtures of runs of cells, so that a method of active sets goes from one to the other
without end. `noutput.estimate.slack.interior` goes through the inside instead.

The end that is returned does not depend on how well that went. For any scores s of the reports,

.. math:: g^T h \le s^T y + r \|s\| + \max_{h'} \, (g - R^T s)^T h'

for every density with a misfit of at most :math:`r^2`, where the maximum is over all densities of
the assumption: weak duality. They are the mixtures of uniform distributions over runs of cells, of
which one with mass m and width w takes :math:`2 m / w` of c. So the maximum is
:math:`\min_{\nu \ge 0} \, \nu + \max_a (v_a - \nu\,t_a)` over all runs a with values :math:`v_a`
and variations :math:`t_a` as parts of c: convex in one number.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.slack.interior import Interior
from noutput.estimate.slack.program import first_chances, most_reports

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array

__all__ = ["LimitedVariation"]

_FIT_GAP = 1e-3  # of the misfit
_END_GAP = 2e-4  # of statistics, as parts of their range
_HALVINGS = 50  # of the interval in which the price of variation lies
_AT_ONCE = 128  # statistics that go on together


class LimitedVariation:
    """The best fit among densities of limited variation, and how large statistics can be.

    Parameters
    ----------
    rows : array of shape (K, J)
        The chances of the outputs, of every cell.
    limit : float
        Of the variation, as a multiple of the even density; above 2.
    shares : array of shape (J,)
    reports : float

    Attributes
    ----------
    weights, observed : array of shape (J,)
        What chances are multiplied with, and what they should be then.
    least : float
        The misfit of the best fit.
    mixture : array of shape (K,)
        Its masses of the cells.
    """

    def __init__(self, rows: Array, limit: float, shares: Array, reports: float) -> None:
        self._limit = limit
        size = len(rows)
        reports = most_reports(reports)
        chances = first_chances(shares, reports)
        for _ in range(2):
            self.weights: Array = np.sqrt(reports / chances)
            self.observed: Array = self.weights * shares
            self._map: Array = rows / size * self.weights  # heights @ map: weighted chances
            self._inside = Interior(self._map, self.observed, limit)
            (self._heights,) = self._inside.fit(_FIT_GAP).heights
            chances = np.maximum(self._heights @ rows / size, 0.01 * chances)
        self.mixture: Array = self._heights / size
        self.least = float(((self._heights @ self._map - self.observed) ** 2).sum())

    def largest(self, goals: Array, threshold: float) -> Array:
        """Return upper ends of statistics.

        Parameters
        ----------
        goals : array of shape (B, K)
            The statistics: their values at the cells.
        threshold : float
            By how much the misfit may exceed the least one.
        """
        result: Array = goals @ self.mixture
        scale = np.ptp(goals, axis=1)
        varied = np.flatnonzero(scale > 0.0)
        for start in range(0, len(varied), _AT_ONCE):
            which = varied[start : start + _AT_ONCE]
            found = self._ends(goals[which] / scale[which, None], self.least + threshold)
            result[which] = np.maximum(result[which], found * scale[which])
        return result

    def _ends(self, goals: Array, most: float) -> Array:
        """Return ends of statistics with a range of 1, where the misfit is at most so large."""

        def prove(which: NDArray[np.intp], scores: Array, price: Array) -> Array:
            return self._proven(goals[which], scores, most, price * self._limit)

        per_height = goals / len(self._map)
        point = self._inside.farthest(per_height, most, self._heights, _END_GAP, prove)
        return self._proven(goals, point.scores, most)

    def _proven(
        self, goals: Array, scores: Array, most: float, price: Array | None = None
    ) -> Array:
        """Return ends that scores prove, whatever they are."""
        fixed: Array = scores @ self.observed + np.sqrt(most) * np.linalg.norm(scores, axis=1)
        values = goals - scores @ self._map.T * len(self._map)
        return fixed + (
            _cover(values, self._limit) if price is None else _covered(values, self._limit, price)
        )


@lru_cache(maxsize=4)
def _runs(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first cells of all runs, and those after the last."""
    starts, ends = np.triu_indices(size + 1, 1)
    return starts, ends


def _averages(values: Array, limit: float) -> tuple[Array, Array]:
    """Return averages over all runs, and what runs take of the limit."""
    count, size = values.shape
    starts, ends = _runs(size)
    sums = np.concatenate([np.zeros((count, 1)), np.cumsum(values, axis=1)], axis=1)
    widths = ends - starts
    return (sums[:, ends] - sums[:, starts]) / widths, 2.0 * size / widths / limit


def _covered(values: Array, limit: float, price: Array) -> Array:
    """Return what a price of variation proves of the largest expectations."""
    averages, parts = _averages(values, limit)
    result: Array = (averages - price[:, None] * parts).max(axis=1) + price
    return result


def _cover(values: Array, limit: float) -> Array:
    """Return the largest expectations over all densities whose variation is within the limit."""
    count, size = values.shape
    averages, parts = _averages(values, limit)
    rows = np.arange(count)
    low = np.zeros(count)
    # from there on, the run of all cells is the best: it takes the least
    high = np.ptp(averages, axis=1) / (2.0 * size / (size - 1) / limit - 2.0 / limit)
    best: Array = averages.max(axis=1)
    for _ in range(_HALVINGS):
        price = (low + high) / 2.0
        rest = averages - price[:, None] * parts
        which = rest.argmax(axis=1)
        best = np.minimum(best, rest[rows, which] + price)
        falls = parts[which] > 1.0  # a higher price covers more cheaply
        low, high = np.where(falls, price, low), np.where(falls, high, price)
    return best

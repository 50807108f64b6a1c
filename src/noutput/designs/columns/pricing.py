r"""Pricing: the columns that would improve a solution most, and the bound that they prove.

Notes
-----
Let y, u and w >= 0 be multipliers of the row sums, the means and the second moments, and g the
slopes of the criterion :math:`\Phi` at weights :math:`\theta^0`. The reduced cost of a column is

.. math::

   r(S, a) = g_S + v_S'y + a\,v_S'u + a^2\,v_S'w .

For a given S the best a is the vertex of a parabola. :math:`\Phi` is convex, so for all feasible
weights :math:`\Phi(\theta) \ge \Phi(\theta^0) + g'(\theta - \theta^0)`, and

.. math::

   \Phi(\theta) \ge \Phi(\theta^0) - g'\theta^0 - \sum_k (y_k + u_k x_k + w_k (q_k + V))
       + \sum \theta_{S,a}\,r(S, a) .

Without negative reduced costs the last sum is not negative, and the rest is a lower bound. A
violation :math:`\delta = \max(-r / \bar v_S)`, where :math:`\bar v_S` is the mean of
:math:`v_S` over the rows, is repaired by raising every :math:`y_k` by :math:`\delta / K`, which
costs :math:`\delta`. Where V is a variable with cost 1, its term is left out and the
:math:`w_k` add up to 1 at most.

All subsets are enumerated up to 18 rows. With more rows a local search finds good columns, and
nothing is proven.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.columns.problem import Columns, Members, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.designs.solution import Array

__all__ = ["MOST_ENUMERATED", "Prices", "Pricing", "subsets", "windows"]

MOST_ENUMERATED = 18
"""The largest number of rows of which all subsets are enumerated."""

_CHUNK = 1 << 14
_SEARCHED = 64
_PASSES = 40
_BINS = 20


@dataclass(frozen=True)
class Prices:
    """Columns with negative reduced costs, and the lower bound.

    Parameters
    ----------
    columns : Columns
        The most negative first.
    bound : float or None
        A lower bound of the whole problem; None where not all subsets were enumerated.
    """

    columns: Columns
    bound: float | None


@dataclass(frozen=True)
class Pricing:
    """A solution of a restricted problem: weights, multipliers and slopes.

    Parameters
    ----------
    problem : Problem
    columns : Columns
    weights : array
        Positive; one per column.
    multipliers : array
        One per equation of `Problem.constraints`.
    """

    problem: Problem
    columns: Columns
    weights: Array
    multipliers: Array

    def price(self, most: int) -> Prices:
        """Return up to `most` columns with the most negative reduced costs, and the bound."""
        if self.problem.n_rows > MOST_ENUMERATED:
            return Prices(self._search(most), None)
        worst = 0.0
        kept: list[tuple[Array, Columns]] = []
        numbers = np.arange((1 << self.problem.n_rows) - 1)
        slopes = self._all_slopes()
        for chunk in np.array_split(numbers, len(numbers) // _CHUNK + 1):
            members = subsets(chunk, self.problem.n_rows)
            costs, outputs = self._reduced(members, slopes[chunk % len(slopes)])
            worst = min(worst, float(costs.min()))
            negative = np.flatnonzero(costs < 0.0)
            kept.append((costs[negative], Columns(members[negative], outputs[negative])))
        costs = np.concatenate([each[0] for each in kept])
        members = np.concatenate([each[1].members for each in kept])
        columns = Columns(members, np.concatenate([each[1].outputs for each in kept]))
        return Prices(columns[_varied(costs, columns.outputs, most)], self._base() + worst)

    def reduced_costs(self, members: Members) -> tuple[Array, Array]:
        """Return reduced costs per mean entry at the best outputs, and these outputs."""
        return self._reduced(members, self._slopes(members))

    def _reduced(self, members: Members, slopes: Array) -> tuple[Array, Array]:
        entries = self.problem.entries(members)
        sums, means, seconds = self._multipliers()
        costs = slopes + entries @ sums
        outputs = np.zeros(len(members))
        if self.problem.moments is not None:
            linear, square = entries @ means, np.maximum(entries @ seconds, 1e-300)
            outputs = -linear / (2.0 * square)
            costs += linear * outputs / 2.0
        return costs / entries.mean(axis=1), outputs

    def _slopes(self, members: Members) -> Array:
        """Return the slopes of the criterion, zeros where there is none."""
        if self.problem.criterion is None:
            return np.zeros(len(members))
        entries = self.problem.entries(members)
        return self.problem.criterion.slopes(self._table, entries)

    def _all_slopes(self) -> Array:
        """Return the slopes of all subsets of the rows that the criterion looks at."""
        if self.problem.criterion is None:
            return np.zeros(1)
        cells = self.problem.criterion.n_cells
        return self._slopes(subsets(np.arange(1 << cells), cells))

    def own_costs(self) -> Array:
        """Return the reduced costs of the solution's own columns, per mean entry."""
        entries = self.problem.entries(self.columns.members)
        sums, means, seconds = self._multipliers()
        costs = self._slopes(self.columns.members) + entries @ sums
        if self.problem.moments is not None:
            outputs = self.columns.outputs
            costs += outputs * (entries @ means) + outputs**2 * (entries @ seconds)
        result: Array = costs / entries.mean(axis=1)
        return result

    @property
    def _table(self) -> Array:
        return self.problem.table(self.columns, self.weights)

    def _multipliers(self) -> tuple[Array, Array, Array]:
        """Return multipliers of sums, means and second moments; the last are feasible."""
        k = self.problem.n_rows
        sums, means, seconds = (self.multipliers[i * k : (i + 1) * k] for i in range(3))
        seconds = np.maximum(seconds, 0.0)
        if self.problem.minimizes_variance:
            seconds = seconds / max(1.0, float(seconds.sum()))
        return sums, means, seconds

    def _base(self) -> float:
        """Return the bound for reduced costs that are not negative."""
        problem = self.problem
        sums, means, seconds = self._multipliers()
        value = -float(sums.sum())
        if problem.criterion is not None:
            slopes = self._slopes(self.columns.members)
            value += problem.criterion.value(self._table) - float(slopes @ self.weights)
        if problem.moments is not None:
            limits = problem.moments.squares + (problem.moments.variance or 0.0)
            value -= float(means @ problem.moments.inputs + seconds @ limits)
        return value

    def _search(self, most: int) -> Columns:
        """Return columns that no exchange of one row improves, and those on the way to them."""
        pool = np.unique(
            np.concatenate([windows(self.problem.n_rows), self.columns.members]), axis=0
        )
        costs, _ = self.reduced_costs(pool)
        best = pool[np.argsort(costs)[: max(_SEARCHED, most)]]
        flips = np.eye(self.problem.n_rows, dtype=np.bool_)
        for _ in range(_PASSES):
            near = best[:_SEARCHED, None, :] ^ flips
            merged = np.unique(np.concatenate([best, near.reshape(-1, flips.shape[1])]), axis=0)
            costs, _ = self.reduced_costs(merged)
            after = merged[np.argsort(costs, kind="stable")[: len(best)]]
            if np.array_equal(after, best):
                break
            best = after
        costs, outputs = self.reduced_costs(best)
        chosen = np.flatnonzero(costs < 0.0)[:most]
        return Columns(best, outputs)[chosen]


def subsets(numbers: NDArray[np.intp], n_rows: int) -> Members:
    """Return the subsets whose rows are the binary digits of numbers, the lowest first.

    Examples
    --------
    >>> import numpy as np
    >>> subsets(np.arange(4), 2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    return (numbers[:, None] >> np.arange(n_rows) & 1).astype(np.bool_)


def windows(n_rows: int) -> Members:
    """Return all runs of neighboring rows and their complements.

    Examples
    --------
    >>> len(windows(4))
    12
    """
    edges = np.arange(n_rows + 1)
    first, last = (each.ravel() for each in np.meshgrid(edges, edges, indexing="ij"))
    rows = np.arange(n_rows)
    runs = (rows >= first[:, None]) & (rows < last[:, None])
    both = np.unique(np.concatenate([runs, ~runs]), axis=0)
    return both[both.any(axis=1) & ~both.all(axis=1)]


def _varied(costs: Array, outputs: Array, most: int) -> NDArray[np.intp]:
    """Choose columns with low costs whose outputs are not all alike: some of every bin."""
    order = np.argsort(costs, kind="stable")
    edges = (
        np.quantile(outputs, np.linspace(0.0, 1.0, _BINS + 1)[1:-1]) if len(outputs) else outputs
    )
    bins = np.searchsorted(edges, outputs[order])
    ranks = np.zeros(len(order), np.intp)
    for each in range(_BINS):
        mine = bins == each
        ranks[mine] = np.arange(np.count_nonzero(mine))
    return order[np.argsort(ranks, kind="stable")[:most]]

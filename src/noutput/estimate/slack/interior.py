r"""Interior-point method for densities of limited variation, for many statistics at once.

Notes
-----
The heights h of K cells and the limits u of their ups and downs :math:`d = D h` solve

.. math:: \min -g^T h \quad \text{with} \quad h \ge 0, \quad |d_j| \le u_j, \quad
          \sum_j u_j \le c, \quad \tfrac12 \|R h - y\|^2 \le \tfrac12 r^2, \quad
          \tfrac1K \sum_k h_k = 1 ,

or have the least misfit, without the last inequality. With slacks s and prices z of the
inequalities, Newton's method goes to :math:`s_i z_i = \mu` for smaller and smaller :math:`\mu`,
with Mehrotra's corrections. In every step, the limits u are eliminated: their part of the matrix is
a diagonal with a rank-one matrix, so what is left is one system of K equations per statistic.

Rounding errors end the progress sooner or later, and may undo it. So what a step proves is
computed after each, and the best is kept.

References
----------
Mehrotra (1992), "On the implementation of a primal-dual interior point method",
10.1137/0802028; Boyd and Vandenberghe (2004), *Convex optimization*, 10.1017/CBO9780511804441,
chapter 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noutput.estimate.counts import Array

__all__ = ["Interior", "Point"]

Prove: TypeAlias = "Callable[[NDArray[np.intp], Array, Array], Array]"

_STEPS = 30
_INSIDE = 0.995  # of the way to the edge
_EVEN = 0.1  # of the even density that a start contains
_LITTLE = 1e-4  # the same, at least
_SLACK = 1e-3  # of inequalities at a start, at least


def _ups(heights: Array) -> Array:
    """Return ups and downs, with those from 0 and to 0."""
    return np.diff(heights, axis=1, prepend=0.0, append=0.0)


def _back(values: Array) -> Array:
    """Return the transpose of `_ups`, applied."""
    return values[:, :-1] - values[:, 1:]


@dataclass(slots=True)
class Point:
    """Densities of some statistics, and what proves that there is hardly a better one.

    Attributes
    ----------
    heights, limits : array of shape (B, K), of shape (B, K + 1)
    slacks, prices : array of shape (B, M)
    total : array of shape (B,)
        The price of the mass.
    scores : array of shape (B, J)
        Those of the outputs that have proven the most.
    proven : array of shape (B,)
        What: the statistics are not larger.
    """

    heights: Array
    limits: Array
    slacks: Array
    prices: Array
    total: Array
    scores: Array
    proven: Array

    def of(self, which: NDArray[np.intp]) -> Point:
        """Return those of some statistics."""
        return Point(*(getattr(self, name)[which] for name in self.__slots__))

    def put(self, which: NDArray[np.intp], other: Point) -> None:
        """Replace those of some statistics."""
        for name in self.__slots__:
            getattr(self, name)[which] = getattr(other, name)


class Interior:
    """Densities whose variation is within a limit, and the misfit of their reports.

    Parameters
    ----------
    rows : array of shape (K, J)
        What turns heights into weighted chances.
    observed : array of shape (J,)
        What they should be.
    limit : float
    """

    def __init__(self, rows: Array, observed: Array, limit: float) -> None:
        self.rows, self.observed, self.limit = rows, observed, limit
        self.gram: Array = rows @ rows.T

    def fit(self, gap: float) -> Point:
        """Return the density with the least misfit, up to a gap."""
        size = len(self.rows)
        point = self._start(np.ones((1, size)), None)
        point.prices = 1.0 / point.slacks
        none = np.zeros((1, size))
        for _ in range(_STEPS):
            _Step(self, point, none, None).take()
            if (point.slacks * point.prices).sum() <= gap:
                break
        return point

    def farthest(
        self,
        goals: Array,
        most: float,
        near: Array,
        gap: float,
        prove: Prove,
        steps: int = _STEPS,
    ) -> Point:
        """Return densities with the largest statistics whose misfit is at most so large.

        Parameters
        ----------
        goals : array of shape (B, K)
            Statistics: their values per height.
        most : float
        near : array of shape (K,)
            Heights of a density whose misfit is smaller.
        gap : float
            Between what is proven and what is found, at the end.
        prove : callable
            Returns what the statistics cannot exceed, from which of them it is about, the scores,
            and the price of the variation.
        steps : int
            At most.
        """
        point = self._start(np.tile(self._inner(near, most), (len(goals), 1)), most)
        point.prices = _EVEN / len(near) / point.slacks
        going = np.arange(len(goals))
        for _ in range(steps):
            here = point.of(going)
            _Step(self, here, goals[going], most).take()
            self._judge(here, most, going, prove)
            point.put(going, here)
            found = (goals[going] * here.heights).sum(axis=1)
            going = going[here.proven - found > gap]
            if not going.size:
                break
        return point

    def _judge(self, at: Point, most: float, which: NDArray[np.intp], prove: Prove) -> None:
        """Keep what the scores of a step prove, where that is more than before."""
        residual = at.heights @ self.rows - self.observed
        scores = residual * at.prices[:, -1:] / max(most, 1.0)
        proven = prove(which, scores, at.prices[:, -2])
        better = proven < at.proven
        at.scores = np.where(better[:, None], scores, at.scores)
        at.proven = np.where(better, proven, at.proven)

    def _inner(self, near: Array, most: float) -> Array:
        """Return heights with some of the even density whose misfit is still clearly smaller."""
        middle = (most + float(((near @ self.rows - self.observed) ** 2).sum())) / 2.0
        part, result = _EVEN, near
        while part > _LITTLE:
            result = (1.0 - part) * near + part
            if float(((result @ self.rows - self.observed) ** 2).sum()) < middle:
                break
            part /= 2.0
        return result

    def _start(self, heights: Array, most: float | None) -> Point:
        ups = np.abs(_ups(heights))
        spare = max(self.limit - float(ups.sum(axis=1).max()), _EVEN * self.limit)
        limits = ups + 0.5 * spare / ups.shape[1]
        slacks = np.maximum(-self.excesses(heights, limits, most), _SLACK)
        none = np.zeros((len(heights), len(self.observed)))
        unknown = np.full(len(heights), np.inf)
        return Point(heights, limits, slacks, slacks, np.zeros(len(heights)), none, unknown)

    def excesses(self, heights: Array, limits: Array, most: float | None) -> Array:
        """Return by how much the inequalities are not kept; negative inside."""
        ups = _ups(heights)
        over = (limits.sum(axis=1) - self.limit)[:, None]
        parts = [-heights, ups - limits, -ups - limits, over]
        if most is not None:
            misfit = ((heights @ self.rows - self.observed) ** 2).sum(axis=1)
            parts.append((0.5 * (misfit - most) / max(most, 1.0))[:, None])
        return np.concatenate(parts, axis=1)


class _Step:
    """A step of Newton's method: its equations, solved for any right-hand side."""

    def __init__(self, inside: Interior, at: Point, goals: Array, most: float | None) -> None:
        self._inside, self._at, self._most = inside, at, most
        self._unit = 1.0 if most is None else max(most, 1.0)
        self._residual = at.heights @ inside.rows - inside.observed
        self._pull = self._residual @ inside.rows.T
        ratio = at.prices / at.slacks
        self._ratio = ratio
        _, up, down, over, misfit = self._split(ratio)
        self._own, self._cross = up + down, down - up
        self._weight = 1.0 / over + (1.0 / self._own).sum(axis=1)
        matrix = self._matrix(ratio, misfit)
        self._inverse = np.linalg.inv(matrix)
        self._even = self._inverse.mean(axis=2)
        self._short = inside.excesses(at.heights, at.limits, most) + at.slacks
        self._slopes = self._by_heights(at.prices) - goals + at.total[:, None] / goals.shape[1]
        if most is None:
            self._slopes += self._pull
        self._slopes_of_limits = self._by_limits(at.prices)

    def take(self) -> None:
        """Move the point: first as far as it gets, to learn how far that is, then in a curve."""
        at = self._at
        gap = (at.slacks * at.prices).mean(axis=1)
        _, _, slacks, prices, _ = self._solve(-at.slacks * at.prices)
        length = self._length(slacks, prices)[:, None]
        left = ((at.slacks + length * slacks) * (at.prices + length * prices)).mean(axis=1)
        wanted = (gap * (left / gap) ** 3)[:, None]
        right = wanted - at.slacks * at.prices - slacks * prices
        heights, limits, slacks, prices, total = self._solve(right)
        length = _INSIDE * self._length(slacks, prices)
        far = length[:, None]
        at.heights = at.heights + far * heights
        at.limits = at.limits + far * limits
        at.slacks, at.prices = at.slacks + far * slacks, at.prices + far * prices
        at.total = at.total + length * total

    def _split(self, values: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return what belongs to heights, ups, downs, all limits and the misfit."""
        size = len(self._inside.rows)
        ends = np.cumsum([size, size + 1, size + 1])
        heights, up, down, rest = np.split(values, ends, axis=1)
        return heights, up, down, rest[:, 0], rest[:, -1]

    def _matrix(self, ratio: Array, misfit: Array) -> Array:
        """Return the matrix of the heights, where the limits are eliminated."""
        gram, size = self._inside.gram, len(self._inside.rows)
        if self._most is None:
            matrix = np.tile(gram, (len(ratio), 1, 1))
        else:
            matrix = (self._at.prices[:, -1] / self._unit)[:, None, None] * gram
            outer = self._pull * (np.sqrt(misfit) / self._unit)[:, None]
            matrix += outer[:, :, None] * outer[:, None, :]
        bend = self._own - self._cross**2 / self._own
        along = _back(self._cross / self._own)
        matrix += along[:, :, None] * along[:, None, :] / self._weight[:, None, None]
        order = np.arange(size)
        matrix[:, order, order] += ratio[:, :size] + bend[:, :-1] + bend[:, 1:]
        matrix[:, order[:-1], order[1:]] -= bend[:, 1:-1]
        matrix[:, order[1:], order[:-1]] -= bend[:, 1:-1]
        return matrix

    def _by_heights(self, prices: Array) -> Array:
        """Return what inequalities with these prices contribute to the slopes of heights."""
        heights, up, down, _, misfit = self._split(prices)
        result = _back(up - down) - heights
        if self._most is not None:
            result = result + self._pull * (misfit / self._unit)[:, None]
        return result

    def _by_limits(self, prices: Array) -> Array:
        """Return what they contribute to the slopes of limits."""
        _, up, down, over, _ = self._split(prices)
        return over[:, None] - up - down

    def _eliminated(self, right: Array) -> Array:
        """Return the limits that solve their own equations."""
        scaled = right / self._own
        result: Array = scaled - (scaled.sum(axis=1) / self._weight)[:, None] / self._own
        return result

    def _solve(self, right: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return the step for which slacks and prices change by so much, linearized."""
        at = self._at
        extra = right / at.slacks + self._ratio * self._short
        slopes = self._slopes + self._by_heights(extra)
        of_limits = self._slopes_of_limits + self._by_limits(extra)
        rest = _back(self._cross * self._eliminated(of_limits)) - slopes
        heights = np.matmul(self._inverse, rest[:, :, None])[:, :, 0]
        off = heights.mean(axis=1) + at.heights.mean(axis=1) - 1.0
        total = off / self._even.mean(axis=1)
        heights = heights - total[:, None] * self._even
        ups = _ups(heights)
        limits = self._eliminated(-of_limits - self._cross * ups)
        parts = [-heights, ups - limits, -ups - limits, limits.sum(axis=1)[:, None]]
        if self._most is not None:
            parts.append(((self._pull * heights).sum(axis=1) / self._unit)[:, None])
        change = np.concatenate(parts, axis=1)
        return heights, limits, -self._short - change, extra + self._ratio * change, total

    def _length(self, slacks: Array, prices: Array) -> Array:
        """Return how far a step can go until a slack or a price is 0; at most 1."""
        fastest = np.maximum(
            (-slacks / self._at.slacks).max(axis=1), (-prices / self._at.prices).max(axis=1)
        )
        result: Array = 1.0 / np.maximum(fastest, 1.0)
        return result

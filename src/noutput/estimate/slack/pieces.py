r"""Pieces of parametric paths: where the mixtures of many statistics go, one exchange at a time.

Notes
-----
With the tableau of `noutput.estimate.slack.program`, :math:`v = q + \lambda p + T z`. The atoms of
a set C have changed sides: their v is 0 and their z is not. As a function of :math:`\lambda`,

.. math:: z_C = -T_{CC}^{-1} (q + \lambda p)_C, \qquad
          v_N = (q + \lambda p)_N + T_{NC} z_C .

When another atom c joins C, or one of C returns, all of these move along one column of the
exchanged tableau: :math:`-T_{CC}^{-1} T_{Cc}` inside of C and :math:`T_{Nc} - T_{NC} T_{CC}^{-1}
T_{Cc}` outside, or a column of the inverse for one that returns. The inverse gets a rank-one
update, so an exchange costs :math:`O(K^2)` for each statistic. T is symmetric up to the signs of
atoms inside and outside of the first support, and so is the inverse.

Let P be the projection on the chances that mixtures of the first support reach, and :math:`P_0`
that of the current support, restricted to one value of the statistic. How many degrees of
freedom of the best fit the mixtures on the path have given up is :math:`\operatorname{tr} P (I
- P_0)`. With the atoms G that left and B that joined, :math:`T_{GG}` is the Gram matrix of what
leaves P, and :math:`T_{BB}` that of what joins, outside of P. Schur's complement gives

.. math:: \operatorname{tr} P (I - P_0) =
          |G| - |B| + \operatorname{tr} (T_{CC}^{-1})_{BB} T_{BB} + \|P e\|^2 / \|e\|^2 ,

where e is how the chances move along the path. It is 1 while no atom has changed sides, 1 + |G|
where some only left, and close to 1 where atoms replaced others that cause nearly the same.
`noutput.estimate.slack.threshold` has what it is for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array
    from noutput.estimate.slack.program import BestFit

__all__ = ["REPLACED", "Pieces"]

REPLACED = 1.5  # degrees of freedom that are lost at most where atoms replace others
_FALLING = -1e-12
_SINGULAR = 1e-14  # relative to the tableau's own
_MORE_ROOM = 16
_MANY_ATOMS = 512
_LEVEL_GROUND = 1e-14  # a slope of the statistic that is none
_KEPT = ("names", "at", "slope", "inside", "at_lambda", "excess", "gone", "came", "below")


class Pieces:
    """The current pieces of the paths that go on.

    Parameters
    ----------
    fit : BestFit
    directions : array of shape (B, K)
        How v moves with lambda, for every statistic.

    Attributes
    ----------
    names : array of shape (b,)
        Which of the statistics go on.
    at, slope : array of shape (b, K)
        What is not negative, masses inside of the support and slopes outside: at + lambda slope.
    inside : array of bool of shape (b, K)
    at_lambda, excess : array of shape (b,)
        Where the pieces start, and by how much the misfit exceeds the least one there.
    gone, came : array of shape (b,)
        How many atoms have left the first support, and how many have joined.
    below : array of bool of shape (b,)
        Whose misfit was below the threshold at the start of the piece.
    """

    def __init__(self, fit: BestFit, directions: Array) -> None:
        count = len(directions)
        self._fit = fit
        self._tableau = fit.tableau
        self._transposed = np.ascontiguousarray(fit.tableau.T)
        self._first = fit.inside
        self._signs = np.where(fit.inside, -1.0, 1.0)
        self.names = np.arange(count)
        self.at: Array = np.tile(fit.start, (count, 1))
        self.slope: Array = directions.copy()
        self.inside: NDArray[np.bool_] = np.tile(fit.inside, (count, 1))
        self.at_lambda: Array = np.zeros(count)
        self.excess: Array = np.zeros(count)
        self.gone = np.zeros(count, np.intp)
        self.came = np.zeros(count, np.intp)
        self.below: NDArray[np.bool_] = np.ones(count, np.bool_)
        # C in slots, some of which are empty: rows and columns of the inverse are 0 there
        self._members = np.zeros((count, 0), np.intp)
        self._taken: NDArray[np.bool_] = np.zeros((count, 0), np.bool_)
        self._inverse: Array = np.zeros((count, 0, 0))

    def __len__(self) -> int:
        return len(self.names)

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Leave out the others."""
        if which.all():
            return
        for name in _KEPT:
            setattr(self, name, getattr(self, name)[which])
        self._members, self._taken = self._members[which], self._taken[which]
        self._inverse = self._inverse[which]

    def limits(self, useful: NDArray[np.bool_]) -> tuple[Array, NDArray[np.intp]]:
        """Return the lambdas at which the pieces end, and the atoms that change sides there."""
        ends = np.full_like(self.at, np.inf)
        np.divide(-self.at, self.slope, out=ends, where=(self.slope < _FALLING) & useful)
        ends = np.maximum(ends, self.at_lambda[:, None])
        which = ends.argmin(axis=1)
        return ends[np.arange(len(self)), which], which

    def degrees(self, which: NDArray[np.bool_], moving: Array, growth: Array) -> Array:
        """Return how many degrees of freedom of the best fit some paths have given up.

        Parameters
        ----------
        which : array of bool of shape (b,)
            Whose.
        moving : array of shape (b, K)
            How masses move with lambda.
        growth : array of shape (b,)
            How the statistics do.
        """
        size = int(self._taken[which].sum(axis=1).max(initial=0))
        order = np.argsort(~self._taken[which], axis=1, kind="stable")[:, :size]
        members = np.take_along_axis(self._members[which], order, 1)
        joined = np.take_along_axis(self._taken[which], order, 1) & ~self._first[members]
        pairs = joined[:, :, None] & joined[:, None, :]
        paths = np.flatnonzero(which)[:, None, None]
        inverse = self._inverse[paths, order[:, :, None], order[:, None, :]]
        among = self._tableau[members[:, :, None], members[:, None, :]]
        apart = np.where(pairs, inverse * among, 0.0).sum(axis=(1, 2))
        inside = self._fit.reached(moving[which] @ self._fit.weighted.T)
        along = inside / np.maximum(growth[which], _LEVEL_GROUND)
        result: Array = self.gone[which] - self.came[which] + apart + np.minimum(along, 1.0)
        return result

    def counted(self) -> Array:
        """Return how many degrees of freedom are lost by the numbers of atoms alone."""
        result: Array = np.maximum(self.gone - self.came, 0) ** 2 / np.maximum(self.gone, 1)
        return result

    def lost(
        self, which: NDArray[np.bool_], moving: Array, growth: Array, most: float = REPLACED
    ) -> Array:
        """Return how many degrees of freedom, beyond one, count as lost on some paths.

        Where atoms replace others, those are at most so many.
        """
        replaced = self.degrees(which, moving, growth) - 1.0
        result: Array = np.maximum(self.counted()[which], np.clip(replaced, 0.0, most))
        return result

    def exchange(self, which: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Let one atom per path change sides; say for whom that is not possible."""
        every = np.arange(len(self))
        self._make_room()
        returns = self.inside[every, which] != self._first[which]
        slot = (self._taken & (self._members == which[:, None])).argmax(axis=1)
        column = self._column(which, returns, slot)
        moves = self._moves(column, which, returns)
        pivots = moves[every, which]
        stuck = ~(pivots > _SINGULAR * np.abs(self._tableau[which, which]))
        pivots = np.where(stuck, 1.0, pivots)
        for values in (self.at, self.slope):
            steps = np.where(stuck, 0.0, -values[every, which] / pivots)
            values += moves * steps[:, None]
            values[every, which] = np.where(stuck, values[every, which], steps)
        self._update(column, pivots, which, returns, slot)
        turn = np.where(returns, -1, 1)
        leaves = self._first[which]
        self.gone = self.gone + np.where(leaves, turn, 0)
        self.came = self.came + np.where(leaves, 0, turn)
        self.inside[every, which] ^= True
        return stuck

    def _column(
        self, which: NDArray[np.intp], returns: NDArray[np.bool_], slot: NDArray[np.intp]
    ) -> Array:
        """Return how z of C moves with what changes sides, by slots."""
        entries = self._tableau[self._members, which[:, None]] * self._taken
        joined = -np.matmul(self._inverse, entries[:, :, None])[:, :, 0]
        returned = self._inverse[np.arange(len(self)), :, slot]
        result: Array = np.where(returns[:, None], returned, joined)
        return result

    def _moves(self, column: Array, which: NDArray[np.intp], returns: NDArray[np.bool_]) -> Array:
        """Return how everything moves with what changes sides, of shape (b, K)."""
        rows, slots = np.nonzero(self._taken)
        members = self._members[rows, slots]
        result: Array = self._along(column, rows, slots, members)
        result += np.where(returns[:, None], 0.0, self._transposed[which])
        result[rows, members] = column[rows, slots]
        return result

    def _along(
        self,
        column: Array,
        rows: NDArray[np.intp],
        slots: NDArray[np.intp],
        members: NDArray[np.intp],
    ) -> Array:
        """Return the columns of the tableau, weighted: of C alone where there are many atoms."""
        if len(self._transposed) > _MANY_ATOMS:
            weights = np.where(self._taken, column, 0.0)
            found: Array = np.matmul(weights[:, None, :], self._transposed[self._members])[:, 0]
            return found
        spread = np.zeros_like(self.at)
        spread[rows, members] = column[rows, slots]
        return spread @ self._transposed

    def _update(
        self,
        column: Array,
        pivots: Array,
        which: NDArray[np.intp],
        returns: NDArray[np.bool_],
        slot: NDArray[np.intp],
    ) -> None:
        """Update the inverses; who joins gets an empty slot."""
        signs = self._signs[which] * np.where(returns, -1.0, 1.0)
        row = column * self._signs[self._members] * signs[:, None]
        scaled = column / pivots[:, None]
        self._inverse += scaled[:, :, None] * row[:, None, :]
        slot = np.where(returns, slot, self._taken.argmin(axis=1))
        every, joins = np.arange(len(self)), ~returns
        self._inverse[every, :, slot] = scaled * joins[:, None]
        self._inverse[every, slot, :] = row * (joins / pivots)[:, None]
        self._inverse[every, slot, slot] = joins / pivots
        self._members[every, slot] = which
        self._taken[every, slot] = joins

    def _make_room(self) -> None:
        """Add empty slots, if somebody has none."""
        if not self._taken.all(axis=1).any():
            return
        count, size = self._taken.shape
        wider = ((0, 0), (0, _MORE_ROOM))
        self._members = np.pad(self._members, wider)
        self._taken = np.pad(self._taken, wider)
        inverse = np.zeros((count, size + _MORE_ROOM, size + _MORE_ROOM))
        inverse[:, :size, :size] = self._inverse
        self._inverse = inverse

r"""Parametric path: how large statistics can be while the misfit stays below a threshold.

Notes
-----
The largest :math:`g^T \mu` with a misfit of at most :math:`r^2` lies on the path of the mixtures
:math:`\mu(\lambda)` that make :math:`\lambda g^T \mu - \frac12 \|R \mu - y\|^2` largest. It starts
at the best fit and is linear between the values of :math:`\lambda` at which an atom joins or
leaves the support. On a piece on which :math:`g^T \mu` grows with slope :math:`\sigma`, the misfit
grows by :math:`\sigma (\lambda_1^2 - \lambda_0^2)`. All statistics go on together, each with its
own set C of atoms that changed sides; a step solves :math:`T_{CC} z_C = -(q + \lambda p)_C`.

The end that is returned does not depend on how well the path was followed. With
:math:`u = (R \mu - y) / \lambda` and any :math:`\eta`, every possible mixture of a misfit of at
most :math:`r^2` has

.. math:: g^T \mu \le e^T \eta + u^T y + r \|u\| , \qquad \text{if } E^T \eta \ge g - R^T u ,

which is what is computed: weak duality. A path that is broken off gives a wider interval.

References
----------
Rust and Burrus (1972), *Mathematical programming and the numerical solution of linear equations*;
Stark (1992), "Inference in infinite-dimensional inverse problems: discretization and duality",
10.1029/92JB00739, for strict bounds and their duals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array
    from noutput.estimate.slack.program import BestFit

__all__ = ["best_scores", "largest"]

_ROUNDS = (
    48  # of many paths; a path that is not there yet is broken off: its end is some percent wider
)
_MANY_ROUNDS = 200  # of few, and from fits that need all atoms
_FEW = 8
_FALLING = -1e-12
_LEVEL_GROUND = 1e-14  # a slope of the statistic that is none
_AT_ONCE = 128  # statistics that go on together


def largest(fit: BestFit, goals: Array, thresholds: Array) -> Array:
    """Return upper ends of statistics.

    Parameters
    ----------
    fit : BestFit
    goals : array of shape (B, K)
        The statistics: their values at the atoms.
    thresholds : array of shape (D,)
        By how much the misfit may exceed the least one, where the support has lost so many atoms.

    Returns
    -------
    array of shape (B,)
    """
    rounds = _MANY_ROUNDS if len(goals) <= _FEW else _ROUNDS
    parts = [
        _Path(fit, goals[start : start + _AT_ONCE], thresholds).follow(rounds).ends
        for start in range(0, len(goals), _AT_ONCE)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def best_scores(fit: BestFit, goals: Array, threshold: float) -> Array:
    """Return scores of the outputs whose expectations, up to a constant, exceed statistics.

    They make the upper ends of the statistics smallest if the reports are those of the fit. Shape
    (B, J). The constants are added by `noutput.estimate.slack.guaranteed`.
    """
    limit = np.array([threshold])
    parts = [
        _Path(fit, goals[start : start + _AT_ONCE], limit).follow(_MANY_ROUNDS).scores
        for start in range(0, len(goals), _AT_ONCE)
    ]
    return np.concatenate(parts) * fit.weights


@dataclass(frozen=True, eq=False)
class _Piece:
    """Where the mixtures of some statistics go: v or z as functions of lambda."""

    at: Array  # what is not negative: masses inside of the support, slopes outside
    slope: Array
    inside: NDArray[np.bool_]
    next: Array
    which: NDArray[np.intp]


class _Path:
    def __init__(self, fit: BestFit, goals: Array, thresholds: Array) -> None:
        self._fit = fit
        self._goals = goals
        self._thresholds = thresholds
        self._directions = fit.directions(goals)
        count = len(goals)
        self._lambda = np.zeros(count)
        self._excess = np.zeros(count)  # of the misfit over the least one
        self._changed = np.zeros(goals.shape, np.bool_)
        self._useful = fit.program.useful(goals)
        self.ends = self._farthest()  # where no threshold stops a path
        self.scores = np.zeros((count, len(fit.observed)))
        self._columns = np.ascontiguousarray(fit.tableau.T)

    def follow(self, rounds: int) -> _Path:
        """Follow all statistics to their thresholds."""
        active = np.arange(len(self._goals))
        for step in range(rounds):
            if not active.size:
                break
            piece = self._piece(active)
            there = self._arrive(active, piece, last=step == rounds - 1)
            going = ~there
            active = active[going]
            self._lambda[active] = piece.next[going]
            self._changed[active, piece.which[going]] ^= True
        return self

    def _piece(self, active: NDArray[np.intp]) -> _Piece:
        """Return the next piece of some paths."""
        changed = self._changed[active]
        at = np.tile(self._fit.start, (len(active), 1))
        slope = self._directions[active]
        most = int(changed.sum(axis=1).max())
        if most:
            place = np.argsort(~changed, axis=1, kind="stable")[:, :most]
            used = np.take_along_axis(changed, place, axis=1)
            matrix = self._fit.tableau[place[:, :, None], place[:, None, :]]
            matrix *= used[:, :, None] & used[:, None, :]
            matrix[:, range(most), range(most)] += ~used
            right = np.stack([self._fit.start[place], np.take_along_axis(slope, place, 1)], axis=2)
            solved = np.linalg.solve(matrix, -right * used[:, :, None])
            columns = self._columns[place]
            for values, part in ((at, solved[:, :, 0]), (slope, solved[:, :, 1])):
                values += np.matmul(part[:, None, :], columns)[:, 0]
                rows, there = np.nonzero(used)
                values[rows, place[rows, there]] = part[rows, there]
        limits = np.full_like(at, np.inf)
        possible = (slope < _FALLING) & self._useful[active]
        np.divide(-at, slope, out=limits, where=possible)
        limits = np.maximum(limits, self._lambda[active][:, None])
        which = limits.argmin(axis=1)
        following = limits[np.arange(len(active)), which]
        return _Piece(at, slope, self._fit.inside != changed, following, which)

    def _arrive(self, active: NDArray[np.intp], piece: _Piece, *, last: bool) -> NDArray[np.bool_]:
        """Go to the ends of the pieces, or to the thresholds; say who is there."""
        moving = np.where(piece.inside, piece.slope, 0.0)
        growth = np.maximum((moving * self._goals[active]).sum(axis=1), 0.0)
        limit = self._limits(piece.inside)
        rest = np.maximum(limit - self._excess[active], 0.0)
        endless = ~np.isfinite(piece.next)
        before = self._lambda[active]
        following = np.where(endless, before, piece.next)
        gain = growth * (following**2 - before**2)
        gain[endless] = np.where(growth[endless] > _LEVEL_GROUND, np.inf, 0.0)
        there = (gain >= rest) & (gain > 0.0)
        final = np.sqrt(before**2 + np.divide(rest, growth, out=np.zeros_like(rest), where=there))
        if last:
            final, there = np.where(there, final, following), final > 0.0
        if there.any():
            at = piece.at[there] + final[there, None] * piece.slope[there]
            mixtures = np.where(piece.inside[there], at, 0.0)
            which = active[there]
            self._settle(which, mixtures, final[there], limit[there])
        done: NDArray[np.bool_] = there | endless
        self._excess[active] += np.where(done, 0.0, gain)
        return done

    def _limits(self, inside: NDArray[np.bool_]) -> Array:
        """Return how large the excess of the misfit may be where the support is so."""
        gone = (self._fit.inside & ~inside).sum(axis=1)
        came = (~self._fit.inside & inside).sum(axis=1)
        lost = np.maximum(gone - came, 0) ** 2 / np.maximum(gone, 1)
        result: Array = np.interp(lost, np.arange(len(self._thresholds)), self._thresholds)
        return result

    def _settle(self, which: NDArray[np.intp], mixtures: Array, final: Array, limit: Array) -> None:
        """Keep scores, and the ends that they prove, whatever the path was: weak duality."""
        fit = self._fit
        scores = (mixtures @ fit.weighted.T - fit.observed) / final[:, None]
        rest = self._goals[which] - scores @ fit.weighted
        radius = np.sqrt(fit.least + limit)
        fixed = scores @ fit.observed + radius * np.linalg.norm(scores, axis=1)
        found = fixed + self._cover(rest, mixtures)
        better = found < self.ends[which]
        self.ends[which[better]] = found[better]
        self.scores[which[better]] = scores[better]

    def _cover(self, rest: Array, mixtures: Array) -> Array:
        """Return what the statistics less their scores are at most, over all mixtures."""
        sums, totals = self._fit.program.rules
        if len(sums) == 1:  # masses add up to 1, and nothing else
            result: Array = rest.max(axis=1)
            return result
        prices = np.array(
            [
                np.linalg.lstsq(sums[:, mixture > 0.0].T, each[mixture > 0.0])[0]
                for each, mixture in zip(rest, mixtures, strict=True)
            ]
        )
        uncovered = np.maximum((rest - prices @ sums).max(axis=1), 0.0)
        covered: Array = prices @ totals + uncovered * self._fit.program.most
        return covered

    def _farthest(self) -> Array:
        """Return what no statistic can exceed: its value at the best of all atoms with mass."""
        sums, _ = self._fit.program.rules
        result: Array = self._goals[:, sums[0] > 0.0].max(axis=1)
        return result

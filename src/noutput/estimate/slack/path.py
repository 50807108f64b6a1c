r"""Parametric path: how large statistics can be while the misfit stays below a threshold.

Notes
-----
The largest :math:`g^T \mu` with a misfit of at most :math:`r^2` lies on the path of the mixtures
:math:`\mu(\lambda)` that make :math:`\lambda g^T \mu - \frac12 \|R \mu - y\|^2` largest. It starts
at the best fit and is linear between the values of :math:`\lambda` at which an atom joins or
leaves the support. On a piece on which :math:`g^T \mu` grows with slope :math:`\sigma`, the misfit
grows by :math:`\sigma (\lambda_1^2 - \lambda_0^2)`. All statistics go on together, each with its
own set C of atoms that changed sides: `noutput.estimate.slack.pieces`.

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

from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.slack.pieces import REPLACED, Pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array
    from noutput.estimate.slack.program import BestFit

__all__ = ["best_scores", "largest", "steady_ends"]

_ROUNDS = 400  # a path that is not there by then is broken off: its end is wider
_LOST = 6  # degrees of freedom that may be lost, once the misfit has passed its threshold
_LEVEL_GROUND = 1e-14  # a slope of the statistic that is none
_AT_ONCE = 128  # statistics that go on together


def largest(
    fit: BestFit, goals: Array, thresholds: Array, *, replaced: float = REPLACED
) -> Array:  # fmt: skip
    """Return upper ends of statistics.

    Parameters
    ----------
    fit : BestFit
    goals : array of shape (B, K)
        The statistics: their values at the atoms.
    thresholds : array of shape (D,)
        By how much the misfit may exceed the least one, where so many degrees of freedom are lost.
    replaced : float
        How many of them are lost at most where atoms replace others.

    Returns
    -------
    array of shape (B,)
    """
    parts = [
        _Path(fit, goals[start : start + _AT_ONCE], thresholds, replaced).follow(_ROUNDS).ends
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
        _Path(fit, goals[start : start + _AT_ONCE], limit, 0.0).follow(_ROUNDS).scores
        for start in range(0, len(goals), _AT_ONCE)
    ]
    return np.concatenate(parts) * fit.weights


def steady_ends(fit: BestFit, goals: Array, threshold: float) -> tuple[Array, Array]:
    r"""Return upper ends under one threshold, and what one report adds to them, times all reports.

    Notes
    -----
    The threshold does not depend on the support, so the ends depend continuously on the reports.
    Let :math:`\mu` reach the end at :math:`\lambda`. By the envelope theorem the end grows with y
    by :math:`u = (R \mu - y) / \lambda` where the largest misfit is fixed, and with the latter by
    :math:`1 / (2 \lambda)`. The largest misfit is a constant more than that of the best fit
    :math:`\hat\mu`, which grows with y by :math:`2 (y - R \hat\mu)`. Together,

    .. math:: \nabla_y = R (\mu - \hat\mu) / \lambda :

    the noise of the reports cancels. Ends that no threshold stops do not move.

    Returns
    -------
    array of shape (B,), array of shape (B, J)
    """
    path = _Path(fit, goals, np.array([threshold]), 0.0).follow(_ROUNDS)
    return path.ends, path.influences * fit.weights


class _Path:
    """The paths of some statistics, and the ends that they have proven."""

    def __init__(self, fit: BestFit, goals: Array, thresholds: Array, replaced: float) -> None:
        self._replaced = replaced
        self._fit = fit
        self._goals = goals
        self._thresholds = thresholds
        self._useful = fit.program.useful(goals)
        self._farthest = self._values_of_atoms()
        self.ends: Array = self._farthest.copy()  # where no threshold stops a path
        support = int(fit.inside.sum())
        self._most = float(thresholds[min(support, _LOST, len(thresholds) - 1)])
        self.scores = np.zeros((len(goals), len(fit.observed)))
        self.influences = np.zeros((len(goals), len(fit.observed)))

    def follow(self, rounds: int) -> _Path:
        """Follow all statistics to their thresholds."""
        paths = Pieces(self._fit, self._fit.directions(self._goals))
        for step in range(rounds):
            following, which = paths.limits(self._useful[paths.names])
            done = self._arrive(paths, following, last=step == rounds - 1)
            paths.keep(~done)
            if not len(paths):
                break
            stuck = paths.exchange(which[~done])
            if stuck.any():
                self._break_off(paths, stuck)
                paths.keep(~stuck)
        return self

    def _arrive(self, paths: Pieces, following: Array, *, last: bool) -> NDArray[np.bool_]:
        """Go to the ends of the pieces; settle where the threshold is met; say who is done.

        The threshold grows as degrees of freedom are lost, so a path that has met it goes on until
        no threshold is likely to exceed its misfit, and the last meeting counts.
        """
        moving = np.where(paths.inside, paths.slope, 0.0)
        growth = np.maximum((moving * self._goals[paths.names]).sum(axis=1), 0.0)
        endless = ~np.isfinite(following)
        before = paths.at_lambda
        following = np.where(endless, before, following)
        gain = growth * (following**2 - before**2)
        gain[endless] = np.where(growth[endless] > _LEVEL_GROUND, np.inf, 0.0)
        limit = self._limits(paths, paths.excess + gain, moving, growth)
        rest = limit - paths.excess
        there = (gain >= rest) & (gain > 0.0) & (rest >= 0.0)
        final = np.sqrt(before**2 + np.divide(rest, growth, out=np.zeros_like(rest), where=there))
        stops = ~there & (rest >= 0.0) & last
        passed = paths.below & (rest < 0.0)  # the threshold fell when an atom joined
        final = np.where(stops, following, np.where(passed, before, final))
        settled = (there | stops | passed) & (final > 0.0)
        paths.below = (rest >= 0.0) & ~there
        if settled.any():
            limit = np.where(passed, paths.excess, limit)
            self._settle(paths, settled, final[settled], limit[settled])
        all_the_way = endless & ~there & (rest >= 0.0)
        self.ends[paths.names[all_the_way]] = self._farthest[paths.names[all_the_way]]
        paths.excess = paths.excess + np.where(endless, 0.0, gain)
        paths.at_lambda = following
        done: NDArray[np.bool_] = endless | (~paths.below & (paths.excess > self._most))
        return done

    def _break_off(self, paths: Pieces, stuck: NDArray[np.bool_]) -> None:
        """Settle paths that cannot go on, where they are."""
        which = stuck & paths.below & (paths.at_lambda > 0.0)
        if which.any():
            limit = np.maximum(paths.excess[which], self._thresholds[0])
            self._settle(paths, which, paths.at_lambda[which], limit)

    def _limits(self, paths: Pieces, after: Array, moving: Array, growth: Array) -> Array:
        """Return how large the excess of the misfit may be, where the support is so.

        What replaced atoms take is computed only where it can matter: at the thresholds between
        which it is.
        """
        places = np.arange(len(self._thresholds))
        counted = paths.counted()
        result: Array = np.interp(counted, places, self._thresholds)
        most = float(np.interp(self._replaced, places, self._thresholds))
        near = (counted < self._replaced) & (after > result) & (paths.excess < most)
        if near.any():
            lost = paths.lost(near, moving, growth, self._replaced)
            result[near] = np.interp(lost, places, self._thresholds)
        return result

    def _settle(
        self, paths: Pieces, settled: NDArray[np.bool_], final: Array, limit: Array
    ) -> None:
        """Keep scores, and the ends that they prove, whatever the path was: weak duality."""
        fit = self._fit
        which = paths.names[settled]
        mixtures = paths.at[settled] + final[:, None] * paths.slope[settled]
        mixtures = np.where(paths.inside[settled], mixtures, 0.0)
        scores = (mixtures @ fit.weighted.T - fit.observed) / final[:, None]
        rest = self._goals[which] - scores @ fit.weighted
        radius = np.sqrt(fit.least + limit)
        fixed = scores @ fit.observed + radius * np.linalg.norm(scores, axis=1)
        found = fixed + self._cover(rest, mixtures)
        found = np.maximum(found, self._goals[which] @ fit.mixture)  # where nothing fits: rounding
        better = found < self._farthest[which]
        self.ends[which] = np.where(better, found, self._farthest[which])
        self.scores[which[better]] = scores[better]
        residual = (fit.observed - fit.weighted @ fit.mixture) / final[:, None]
        self.influences[which[better]] = (scores + residual)[better]

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

    def _values_of_atoms(self) -> Array:
        """Return what no statistic can exceed: its value at the best of all atoms with mass."""
        sums, _ = self._fit.program.rules
        result: Array = self._goals[:, sums[0] > 0.0].max(axis=1)
        return result

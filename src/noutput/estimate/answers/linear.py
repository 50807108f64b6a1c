"""Statistics as linear functions of shares of places: what all estimates here are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.estimate.answers import normal
from noutput.estimate.answers.exact import exact_interval
from noutput.estimate.answers.scores import (
    best_scores,
    column_space,
    likeliest,
    scores_of_others,
)
from noutput.estimate.possible import possible_ends

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array

__all__ = ["KINDS", "Linear", "Observed", "quantile_range"]

KINDS = ("normal", "guaranteed")
_OUTSIDE = 1e-6  # of a statistic outside the column space, relative to its range
_USELESS = 1e6  # standard deviation of a report's score, relative to the statistic's range


@dataclass(frozen=True, eq=False)
class Observed:
    """Counts of one table, and what all estimates from them share.

    Parameters
    ----------
    table : array of shape (k, N)
        The probabilities of the outputs, one row per place.
    counts : array of shape (N,)
        How many reports have each output; at least two in all.
    """

    table: Array = field(repr=False)
    counts: Array = field(repr=False)

    @property
    def reports(self) -> float:
        """How many reports there are."""
        return float(self.counts.sum())

    @cached_property
    def shares(self) -> Array:
        """The share of every output among the reports."""
        return self.counts / self.reports

    @cached_property
    def space(self) -> Array:
        """The column space of the table: statistics in it have unbiased estimates."""
        return column_space(self.table)

    @cached_property
    def fixed(self) -> Array:
        """Unbiased scores of shape (N, k) that no report changes."""
        size = len(self.table)
        return best_scores(self.table, np.full(size, 1.0 / size), self.space)

    @cached_property
    def scores(self) -> Array:
        """Unbiased scores of shape (N, k) that estimates average."""
        if self.space.shape[1] == self.table.shape[1]:  # one choice only
            return self.fixed
        return scores_of_others(self.table, self.space, self.counts)

    @cached_property
    def population(self) -> Array:
        """The likeliest shares of the places."""
        result: Array = likeliest(self.table, self.counts[None, :])[0]
        return result

    def identified(self, weights: Array) -> NDArray[np.bool_]:
        """Which statistics, one per column, have an unbiased estimate of finite use."""
        extents = np.ptp(weights, axis=0)
        outside = weights - self.space @ (self.space.T @ weights)
        chances, scores = self.table.mean(axis=0), self.fixed @ weights
        deviations = np.sqrt(chances @ (scores - chances @ scores) ** 2)
        result: NDArray[np.bool_] = (np.abs(outside).max(axis=0) <= _OUTSIDE * extents) & (
            deviations <= _USELESS * extents
        )
        return result


@dataclass(frozen=True, eq=False)
class Linear:
    r"""Estimates of several linear functions :math:`\sum_x a_x \pi_x` of the shares of places.

    Parameters
    ----------
    observed : Observed
    weights : array of shape (k, m)
        One column per function.

    Notes
    -----
    A function lies between its smallest and its largest weight. Its intervals end there, and are
    never shorter than those of an estimate there: see `noutput.estimate.possible`. So the share of
    an empty answer is covered in about 97.5% of campaigns at a level of 95%: only a lower end can
    miss it.
    """

    observed: Observed
    weights: Array

    @cached_property
    def values(self) -> Array:
        """The estimates: unbiased, so that they may lie outside what is possible."""
        result: Array = self.observed.shares @ self._scores
        return result

    @property
    def likeliest(self) -> Array:
        """The values of the likeliest population: possible, and all of one population."""
        result: Array = self.observed.population @ self.weights
        return result

    @cached_property
    def _scores(self) -> Array:
        result: Array = self.observed.scores @ self.weights
        return result

    @cached_property
    def _away(self) -> Array:
        return self._scores - self.values

    @cached_property
    def _score_covariance(self) -> Array:
        seen = self.observed
        found = normal.score_covariance(seen.table, self._scores, seen.shares, seen.reports)
        unknown = np.ptp(self.weights, axis=0) > 0.0
        result: Array = np.where(unknown & unknown[:, None], found, 0.0)
        return result

    @property
    def variances(self) -> Array:
        """The variance of the score of one report."""
        return np.diagonal(self._score_covariance)

    @property
    def covariance(self) -> Array:
        """The covariance of the estimates."""
        return self._score_covariance / self.observed.reports

    @property
    def standard_errors(self) -> Array:
        """The standard errors of the estimates."""
        result: Array = np.sqrt(self.variances / self.observed.reports)
        return result

    def interval(self, level: float, kind: str, *, simultaneous: bool) -> tuple[Array, Array]:
        """Return the lower and the upper ends, cut at what is possible."""
        low, high = self.uncut(level, kind, simultaneous=simultaneous)
        if normal.kind_used(kind, self.observed.reports) == "guaranteed":
            return low, high
        least, most = self.weights.min(axis=0), self.weights.max(axis=0)
        return possible_ends(self.values, low, high, least, most)

    def uncut(self, level: float, kind: str, *, simultaneous: bool) -> tuple[Array, Array]:
        """Return the ends before they are cut; exact ones are cut always."""
        _checks.inner_share("level", level)
        _checks.choice("kind", kind, KINDS)
        if normal.kind_used(kind, self.observed.reports) == "guaranteed":
            return self._exact((1.0 - level) / (self._different if simultaneous else 1))
        z = normal.critical_value(level)
        if simultaneous:
            z = normal.joint_critical_value(self._largest, level)
        thirds = self.observed.shares @ self._away**3
        return normal.ends(self.values, self.variances, thirds, self.observed.reports, z)

    @cached_property
    def _largest(self) -> Array:
        return normal.largest_draws(self.covariance)

    @property
    def _different(self) -> int:
        """How many functions are unknown; two that add up to a constant are one."""
        unknown = self.weights[:, np.ptp(self.weights, axis=0) > 0.0]
        mirrored = unknown.shape[1] == 2 and np.ptp(unknown.sum(axis=1)) == 0.0
        return 1 if mirrored else max(1, unknown.shape[1])

    def _exact(self, alpha: float) -> tuple[Array, Array]:
        seen, found = self.observed, []
        for each, scores in zip(self.weights.T, (seen.fixed @ self.weights).T, strict=True):
            if np.ptp(each) == 0.0:
                found.append((float(each[0]), float(each[0])))
                continue
            args = (seen.table, scores, each, seen.shares, seen.reports, alpha)
            found.append(exact_interval(*args))
        both = np.array(found)
        return both[:, 0], both[:, 1]


def quantile_range(low: Array, high: Array, share: float) -> tuple[int, int]:
    """Return the first and the last of ordered answers or cells that may hold a quantile.

    Parameters
    ----------
    low, high : arrays
        The ends of the intervals of the share of people in each or one before; the last is 1.
    share : float

    Examples
    --------
    >>> quantile_range(np.array([0.1, 0.4, 1.0]), np.array([0.3, 0.6, 1.0]), 0.5)
    (1, 2)
    """
    before = np.append(-1.0, low[:-1])
    return int(np.flatnonzero(high >= share)[0]), int(np.flatnonzero(before < share)[-1])

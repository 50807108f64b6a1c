"""Linear functions of the shares: the one kind of estimate that all others here are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.estimate.answers import normal
from noutput.estimate.answers.exact import exact_interval
from noutput.estimate.possible import possible_ends

if TYPE_CHECKING:
    from noutput.estimate.counts import Array

__all__ = ["KINDS", "Linear", "Observed"]

KINDS = ("normal", "exact")


@dataclass(frozen=True, eq=False)
class Observed:
    """Counts with everything that estimates need, as arrays.

    Parameters
    ----------
    table : array of shape (k, N)
        The probabilities of the outputs.
    fixed, scores : array of shape (N, k)
        Unbiased scores: fixed ones, and those that estimates average.
    shares : array of shape (N,)
        The share of every output among the reports.
    reports : float
    """

    table: Array = field(repr=False)
    fixed: Array = field(repr=False)
    scores: Array = field(repr=False)
    shares: Array = field(repr=False)
    reports: float


@dataclass(frozen=True, eq=False)
class Linear:
    r"""Estimates of several linear functions :math:`\sum_x a_x \pi_x` of the shares.

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
        if normal.kind_used(kind, self.observed.reports) == "exact":
            return low, high
        least, most = self.weights.min(axis=0), self.weights.max(axis=0)
        return possible_ends(self.values, low, high, least, most)

    def uncut(self, level: float, kind: str, *, simultaneous: bool) -> tuple[Array, Array]:
        """Return the ends before they are cut; exact ones are cut always."""
        _checks.inner_share("level", level)
        _checks.choice("kind", kind, KINDS)
        if normal.kind_used(kind, self.observed.reports) == "exact":
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

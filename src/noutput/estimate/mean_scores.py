r"""Scores of the outputs whose average over the reports estimates the mean.

Notes
-----
A report decodes to its output :math:`a_j`, and the average is unbiased. Other scores :math:`b_j`
have an expectation :math:`g(x) = \sum_j b_j P(j \mid x)` that is off by at most

.. math:: \delta = \max_x |g(x) - x| = \max_k |g(x_k) - x_k| ,

since rows are linear between knots. So the average score is off by at most :math:`\delta` on
average, **whatever the people's numbers are**, and a normal interval that allows for the worst
bias, with the half width :math:`c\,s` for the standard error s and
:math:`P(|Z + \delta / s| \le c) = \text{level}`, covers their mean with at least this probability.
It is shorter than that of the decoded reports where the scores have a far smaller variance:
tables for distributions tell bins apart well, and places inside a bin hardly.

For each of several :math:`\delta`, the scores have the smallest variance for people who are spread
evenly: a quadratic program, solved as Lawson and Hanson's least-distance problem. The bias that is
reported is computed from the scores that were found, so an inexact solution is still honest.

Which scores are used depends on the table and on the number of reports, never on what the reports
say. So the empirical Bernstein bound holds for them, too, and no coverage is lost by choosing.
The :math:`\delta` is that with the shortest expected interval for people spread evenly, and only
where it is at least 5% shorter than the decoded one wherever the people are, if they all have one
number. As the number of reports grows, :math:`\delta` falls, and in the end reports are decoded.

References
----------
Donoho (1994), "Statistical estimation and optimal recovery", 10.1214/aos/1176325367.
Armstrong and Kolesar (2018), "Optimal inference in a class of regression models",
10.3982/ECTA14434.
Lawson and Hanson (1995), "Solving least squares problems", chapter 23,
10.1137/1.9781611971217.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.optimize import brentq, linprog, nnls

from noutput.estimate.stacked import StackedChannel
from noutput.estimate.stacked_scores import reference, unbiased_scores
from noutput.mechanisms import moments

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.mechanisms.table import TableMechanism

    Table: TypeAlias = TableMechanism | StackedChannel

__all__ = [
    "MeanScores", "can_gain", "decoded_scores", "half_width", "limited_scores", "reports_for",
    "scores_for",
]  # fmt: skip

_LEVEL = 0.95  # of the intervals whose widths are compared
_LARGEST_BIAS = 1.0 / 24.0  # beyond it, scores gain by shrinking everything to the middle
_STEP = math.sqrt(0.5)
_MOST_STEPS = 24
_SHORTER = 0.95
_FAR = 8.0  # standard errors of bias from which one side of the interval decides
_MANY = 1e15
_NORMAL = NormalDist()


@dataclass(frozen=True, eq=False)
class MeanScores:
    """One score per output, and what it expects of people.

    Parameters
    ----------
    values : array of shape (N,)
    bias_bound : float
        How far the expected score can be off a number, at most; 0 for the outputs themselves.
    knots, means, second_moments : array of shape (K,)
        The expectations of the score and of its square at the knots, linear in between.
    """

    values: Array
    bias_bound: float
    knots: Array
    means: Array
    second_moments: Array

    @cached_property
    def noise(self) -> Array:
        """The variance of the score at every knot."""
        return np.maximum(self.second_moments - self.means**2, 0.0)

    @cached_property
    def smallest_noise(self) -> float:
        """The smallest variance at any number, since it is concave between knots."""
        return float(self.noise.min())

    def variance(self, shares: Array) -> float:
        """Return the variance of the score of a report, given the share of every output."""
        mean = float(shares @ self.values)
        return float(shares @ (self.values - mean) ** 2)

    def expected(self, prior: Array) -> tuple[float, float]:
        """Return the variance of a report's score, and the part that is noise.

        Parameters
        ----------
        prior : array
            The people's numbers: a histogram of equal bins of [-1, 1] that adds up to 1.
        """
        edges = np.linspace(-1.0, 1.0, len(prior) + 1)
        columns = np.stack([self.means, self.second_moments], axis=1)
        mean, second = (prior @ moments.bin_means(self.knots, columns, edges)).tolist()
        squares = float(prior @ moments.bin_mean_squares(self.knots, self.means, edges))
        return second - mean**2, second - squares

    def worst_variance(self) -> float:
        """Return the largest variance of a report's score over all distributions of numbers."""
        order = np.lexsort((self.second_moments, self.means))
        x, s = self.means[order], self.second_moments[order]
        hull: list[int] = []
        for c in range(len(x)):
            if hull and x[hull[-1]] == x[c]:
                hull.pop()  # the same mean with a smaller second moment
            while len(hull) > 1:
                a, b = hull[-2:]
                if (s[b] - s[a]) * (x[c] - x[a]) > (s[c] - s[a]) * (x[b] - x[a]):
                    break
                hull.pop()  # b lies on or below the line from a to c
            hull.append(c)
        return moments.largest_variance(x[hull], s[hull])


@lru_cache(maxsize=64)
def decoded_scores(mechanism: Table) -> MeanScores:
    """Return the outputs themselves as scores: they are unbiased.

    Of several tables, those of the stack (`noutput.estimate.stacked_scores`).
    """
    if isinstance(mechanism, StackedChannel):
        values = unbiased_scores(mechanism)
        if values is None:
            raise ArithmeticError("no part covers the bounds of all")
        corners, rows = _rows(mechanism)
        return MeanScores(values, 0.0, corners, corners, rows @ values**2)
    x = mechanism.knots
    return MeanScores(mechanism.outputs, 0.0, x, x, mechanism.variance(x) + x**2)


def scores_for(mechanism: Table, n_reports: int) -> MeanScores:
    """Return the scores with the shortest guaranteed interval for so many reports.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(1.0, 64, objective="distribution").mechanism
    >>> [round(scores_for(m, n).bias_bound, 4) for n in (200, 20_000, 10**6)]
    [0.0417, 0.0104, 0.0]
    """
    decoded, found = decoded_scores(mechanism), _candidates(mechanism)
    if not found.scores:
        return decoded
    n = float(n_reports)
    place = int(np.argmin(_rough_widths(found.variances_if_even / n, found.bias_bounds)))
    best = found.scores[place]
    widths = _rough_widths(best.noise / n, best.bias_bound)
    limits = _SHORTER * _rough_widths(decoded.noise / n, 0.0)
    return best if np.all(widths <= limits) else decoded


@lru_cache(maxsize=64)
def limited_scores(mechanism: Table, reach: float) -> MeanScores:
    r"""Return the scores of a limited size whose bias is the smallest possible.

    Parameters
    ----------
    mechanism : TableMechanism
    reach : float
        How far from 0 a score may be, in units of half the bounds' width.

    Notes
    -----
    A linear program: :math:`\delta` is smallest such that
    :math:`|\sum_j b_j P(j \mid x_k) - x_k| \le \delta` at every knot and :math:`|b_j| \le r`. The
    bias that is reported is computed from the scores that were found. Two rows of a table that
    satisfies :math:`\epsilon`-local differential privacy differ by at most
    :math:`t = \tanh(\epsilon / 2)` in total variation, so :math:`g(1) - g(-1) \le 2 r t`: no scores
    have a bias below :math:`1 - r t`, and none below the reach :math:`1 / t` are unbiased. Two
    outputs (Duchi) reach both bounds.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> round(limited_scores(m, 1.5).bias_bound, 9), round(limited_scores(m, 2.0).bias_bound, 9)
    (0.25, 0.0)
    """
    x, rows = _rows(mechanism)
    ones = np.ones((len(x), 1))
    sides = np.vstack([np.hstack([rows, -ones]), np.hstack([-rows, -ones])])
    cost = np.zeros(rows.shape[1] + 1)
    cost[-1] = 1.0
    limits = [(-reach, reach)] * rows.shape[1] + [(0.0, None)]
    found = linprog(cost, sides, np.concatenate([x, -x]), bounds=limits, method="highs")
    if not found.success or found.x is None:
        raise ArithmeticError("the solver found no scores")
    values = np.clip(found.x[:-1], -reach, reach)
    means = rows @ values
    largest = float(np.abs(means - x).max())
    return MeanScores(values, largest, x, means, rows @ values**2)


def can_gain(mechanism: Table) -> bool:
    """Say whether reports of a table tell more about the mean than their decoded values do.

    Examples
    --------
    >>> import noutput as no
    >>> tables = [no.design(1.0, 64, objective=each) for each in ("distribution", "worst")]
    >>> [can_gain(each.mechanism) for each in tables]
    [True, False]
    """
    return bool(_candidates(mechanism).scores)


def half_width(standard_error: float, bias_bound: float, level: float) -> float:
    r"""Return half the width of the normal interval that allows for a bias.

    Examples
    --------
    >>> round(half_width(1.0, 0.0, 0.95), 3), round(half_width(1.0, 0.5, 0.95), 3)
    (1.96, 2.181)
    >>> round(half_width(0.1, 3.0, 0.95), 3)
    3.164
    """
    if bias_bound == 0.0:
        return _NORMAL.inv_cdf(0.5 + level / 2.0) * standard_error
    if bias_bound > _FAR * standard_error:
        return bias_bound + max(_NORMAL.inv_cdf(level) * standard_error, 0.0)
    return _critical_value(bias_bound / standard_error, level) * standard_error


def reports_for(mechanism: Table, variance: Callable[[MeanScores], float], wanted: float) -> float:
    """Return how many reports bring half the width of the 95% interval down to what is wanted.

    Parameters
    ----------
    mechanism : TableMechanism
    variance : callable
        The variance of a report's score, for any scores.
    wanted : float
        In units of half the width of the bounds.
    """
    score = half_width(1.0, 0.0, _LEVEL)
    ratio = score / wanted if wanted else math.inf
    enough = variance(decoded_scores(mechanism)) * (ratio * ratio)
    if not enough <= _MANY or not _candidates(mechanism).scores:
        return enough

    def suffices(n: int) -> bool:
        scores = scores_for(mechanism, n)
        if scores.bias_bound == 0.0:
            return n >= enough
        return half_width(math.sqrt(variance(scores) / n), scores.bias_bound, _LEVEL) <= wanted

    least, most = 1, math.ceil(enough)
    if most < 3 or not suffices(most - 1):
        return enough
    most -= 1
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if suffices(middle) else (middle, most)
    return float(most)


@dataclass(frozen=True, eq=False)
class _Candidates:
    scores: tuple[MeanScores, ...]
    bias_bounds: Array
    variances_if_even: Array


@lru_cache(maxsize=64)
def _candidates(mechanism: Table) -> _Candidates:
    """Return scores with less and less bias, as long as they can make a shorter interval.

    Less bias takes more variance, so a table that has nothing to gain is known after one step.
    """
    even = _even(mechanism)
    limit = _SHORTER**2 * decoded_scores(mechanism).variance(even)
    found: list[MeanScores] = []
    for step in range(_MOST_STEPS):
        scores = _least_variance(mechanism, even, _LARGEST_BIAS * _STEP**step)
        if scores is None or scores.variance(even) > limit:
            break
        found.append(scores)
    biases, variances = [each.bias_bound for each in found], [each.variance(even) for each in found]
    return _Candidates(tuple(found), np.array(biases), np.array(variances))


def _rows(mechanism: Table) -> tuple[Array, Array]:
    """Return the numbers between which rows are linear, and their rows."""
    if isinstance(mechanism, StackedChannel):
        return mechanism.corners(), mechanism.rows
    return mechanism.knots, mechanism.weights / mechanism.scale


def _even(mechanism: Table) -> Array:
    """Return the shares of the outputs for which scores have the least variance."""
    if isinstance(mechanism, StackedChannel):
        return reference(mechanism)
    result: Array = mechanism.transition(1)[0]
    return result


def _least_variance(mechanism: Table, shares: Array, bias: float) -> MeanScores | None:
    r"""Return the scores with the smallest mean square whose bias is at most so large.

    With :math:`u_j = \sqrt{q_j}\,b_j` it is the least distance: the shortest u with
    :math:`G u \ge h`. Its dual is a problem of nonnegative least squares.
    """
    x, rows = _rows(mechanism)
    roots = np.sqrt(shares)
    scaled = (rows / roots).T
    sides = np.hstack([scaled, -scaled])
    system = np.vstack([sides, np.concatenate([x - bias, -x - bias])])
    unit = np.zeros(len(system))
    unit[-1] = 1.0
    try:
        residual = system @ nnls(system, unit)[0] - unit
    except RuntimeError:  # too many iterations
        return None
    values = -residual[:-1] / residual[-1] / roots
    if not np.all(np.isfinite(values)):
        return None
    means = rows @ values
    largest = float(np.abs(means - x).max())
    return MeanScores(values, largest, x, means, rows @ values**2)


def _critical_value(shift: float, level: float) -> float:
    """Return the quantile of the size of a normal number whose mean is not 0 but the shift."""

    def excess(c: float) -> float:
        return _NORMAL.cdf(c - shift) - _NORMAL.cdf(-c - shift) - level

    least = max(0.0, shift + _NORMAL.inv_cdf(level))
    most = shift + _NORMAL.inv_cdf(0.5 + level / 2.0) + 1e-6  # beyond rounding errors
    if excess(least) >= 0.0:  # the far side adds nothing that numbers can tell
        return least
    return float(brentq(excess, least, most))


@cache
def _critical_table() -> tuple[Array, Array]:
    shifts = np.linspace(0.0, _FAR, 513)
    return shifts, np.array([_critical_value(shift, _LEVEL) for shift in shifts.tolist()])


def _rough_widths(variances: Array, bias: Array | float) -> Array:
    """Return half widths at the level of comparison, to four digits."""
    errors = np.sqrt(np.maximum(variances, 1e-300))
    shifts = bias / errors
    critical = np.interp(shifts, *_critical_table()) + np.maximum(shifts - _FAR, 0.0)
    result: Array = critical * errors
    return result

r"""Normal intervals for linear functions of the shares, corrected for skewness on both sides.

Notes
-----
The estimate of :math:`\theta = \sum_x a_x \pi_x` is the average of the reports' scores s, with
sample variance v and third central moment :math:`\mu_3`. The usual interval
:math:`\hat\theta \pm z \sqrt{v / n}` takes v as given, though it depends on :math:`\theta`: where
an answer is rare, an estimate that is too low comes with a variance that is too low, and the
interval ends too early. Three corrections:

*Variance at the hypothesis.* Among populations with :math:`\sum a_x \pi_x = \theta`, the one
closest to the counts moves the mean of :math:`(s - \hat\theta)^2` by its regression on s, that is
by :math:`\mu_3 / v` per unit of :math:`\theta`, so with :math:`d = \theta - \hat\theta` the
variance is

.. math:: V(\theta) = v + (\mu_3 / v)\, d - d^2 .

For one binary score this is :math:`\theta (1 - \theta)` up to scale, and the interval of all
:math:`\theta` with :math:`|d| \le z \sqrt{V(\theta) / n}` is that of Wilson.

*Skewness.* A standardized average with skewness :math:`\gamma / \sqrt n` has the quantiles
:math:`\pm z + \gamma (z^2 - 1) / (6 \sqrt n)` (Cornish and Fisher), so both ends miss equally
often. The shift is limited to z / 2.

*Few reports.* A few reports may all agree, which is no certainty. Eight more are added to the
variance, as if they had come from the uniform population. With 2,000 reports that is nothing, and
with a hundred a safeguard. The values are left alone. With fewer than 100 reports exact intervals
take the place of normal ones.

Several intervals at once use, in place of z, the level's quantile of :math:`\max_i |Z_i|`, where Z
is normal with the estimated correlations (65,536 draws from a fixed seed).

The difference of independent estimates of two groups has the interval of Newcombe: with the
intervals :math:`[l_i, u_i]` of each, its lower end is
:math:`\hat\theta_1 - \hat\theta_2 - \sqrt{(\hat\theta_1 - l_1)^2 + (u_2 - \hat\theta_2)^2}`, and
its upper end mirrors that.

References
----------
Wilson (1927), 10.1080/01621459.1927.10502953.
Cornish and Fisher (1938), 10.2307/1400905.
Cai (2005), "One-sided confidence intervals in discrete distributions",
10.1016/j.jspi.2004.01.005.
Newcombe (1998), "Interval estimation for the difference between independent proportions",
10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noutput.estimate.counts import Array

__all__ = [
    "FEWEST",
    "critical_value",
    "ends",
    "joint_critical_value",
    "kind_used",
    "largest_draws",
    "newcombe",
    "score_covariance",
]

_NORMAL = NormalDist()
_DRAWS = 1 << 16
_ADDED = 8.0  # reports
FEWEST = 100
"""Reports from which normal intervals are given; with fewer, exact ones take their place."""


def kind_used(kind: str, reports: float) -> str:
    """Return which intervals are computed where those of a kind are asked for.

    Examples
    --------
    >>> kind_used("normal", 100), kind_used("normal", 99), kind_used("guaranteed", 100)
    ('normal', 'guaranteed', 'guaranteed')
    """
    return "guaranteed" if reports < FEWEST else kind


def score_covariance(table: Array, scores: Array, shares: Array, reports: float) -> Array:
    """Return the covariance of the scores of one report, of shape (m, m).

    Parameters
    ----------
    table : array of shape (k, N)
    scores : array of shape (N, m)
    shares : array of shape (N,)
        The share of every output among the reports.
    reports : float

    Examples
    --------
    >>> rows, both = np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([0.5, 0.5])
    >>> score_covariance(rows, np.array([[-1.0], [1.0]]), both, 1e6).round(3)
    array([[1.]])
    >>> score_covariance(rows, np.array([[-1.0], [1.0]]), np.array([0.0, 1.0]), 2.0)  # both agree
    array([[0.8]])
    """
    seen = _covariance(scores, shares) * (reports / (reports - 1.0))
    even = _covariance(scores, table.mean(axis=0))
    result: Array = (reports * seen + _ADDED * even) / (reports + _ADDED)
    return result


def _covariance(scores: Array, chances: Array) -> Array:
    away = scores - chances @ scores
    result: Array = away.T @ (chances[:, None] * away)
    return result


def critical_value(level: float) -> float:
    """Return z: a standard normal number lies between -z and z with the probability `level`."""
    return _NORMAL.inv_cdf(0.5 + level / 2.0)


def joint_critical_value(largest: Array, level: float) -> float:
    """Return the quantile of the largest of several standardized normal numbers from its draws.

    Examples
    --------
    >>> both = np.array([[1.0, -1.0], [-1.0, 1.0]])  # two shares that add up to 1 are one number
    >>> [round(joint_critical_value(largest_draws(each), 0.95), 1) for each in (both, np.eye(2))]
    [2.0, 2.2]
    """
    found = float(np.quantile(largest, level)) if largest.size else 0.0
    return max(found, critical_value(level))


def largest_draws(covariance: Array) -> Array:
    """Return draws of the largest of several standardized normal numbers; none if all are sure."""
    errors = np.sqrt(np.diagonal(covariance))
    uncertain = errors > 1e-9 * errors.max()
    if not uncertain.any():
        return np.zeros(0)
    scaled = errors[uncertain]
    values, vectors = np.linalg.eigh(covariance[np.ix_(uncertain, uncertain)])
    roots = vectors * np.sqrt(np.maximum(values, 0.0)) / scaled[:, None]
    drawn = np.random.default_rng(0).standard_normal((_DRAWS, len(scaled))) @ roots.T
    result: Array = np.abs(drawn).max(axis=1)
    return result


def ends(
    values: Array, variances: Array, thirds: Array, reports: float, z: float
) -> tuple[Array, Array]:
    """Return both ends of the intervals of averages, before they are cut at what is possible.

    Parameters
    ----------
    values, variances, thirds : arrays of one shape
        Averages of scores, and second and third central moments of a score.
    reports : float
    z : float

    Examples
    --------
    With one binary score and no shift for skewness, that of Wilson:

    >>> low, high = ends(np.array(0.5), np.array(0.25), np.array(0.0), 100, 1.96)
    >>> round(float(low), 3), round(float(high), 3)
    (0.404, 0.596)
    """
    slope = np.divide(thirds, variances, out=np.zeros_like(thirds), where=variances > 0.0)
    skewness = slope / np.sqrt(np.where(variances > 0.0, variances, 1.0) * reports)
    shift = np.clip(skewness * (z**2 - 1.0) / 6.0, -z / 2.0, z / 2.0)
    low = values + _distance(z + shift, variances, slope, reports, -1.0)
    high = values + _distance(z - shift, variances, slope, reports, 1.0)
    return low, high


def _distance(z: Array, variance: Array, slope: Array, reports: float, side: float) -> Array:
    r"""Return the root of :math:`d^2 = z^2 (v + b d - d^2) / n` on one side of 0."""
    part = z**2 / reports
    middle = part * slope / 2.0
    root = np.sqrt(middle**2 + (1.0 + part) * part * variance)
    result: Array = (middle + side * root) / (1.0 + part)
    return result


def newcombe(
    first: tuple[Array, Array, Array], second: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    """Return the ends of the interval of a difference, from (value, low, high) of both groups."""
    value, low, high = first
    other, other_low, other_high = second
    difference = value - other
    return (
        difference - np.hypot(value - low, other_high - other),
        difference + np.hypot(high - value, other - other_low),
    )

r"""Exact intervals for linear functions of the shares: for every population and every n.

Notes
-----
Let :math:`\theta = \sum_x a_x \pi_x`, and score output j by :math:`s_j` with
:math:`\sum_j W_{xj} s_j = a_x`: fixed scores, which no report changes. The n reports are drawn
independently with the probabilities :math:`\pi W`, and t is their average score.

**Two scores.** Where s has two values only, as in direct encoding, subset selection and all tables
of two outputs, the number of reports with the larger one is binomial, and the interval of Clopper
and Pearson covers its probability, of which :math:`\theta` is an increasing linear function. Values
that differ in rounding only are taken at their smallest for the lower end and at their largest for
the upper one.

**Any scores.** For :math:`\lambda > 0`, Markov's inequality for :math:`e^{\lambda n t}` gives

.. math:: P_\pi(\text{average} \ge t) \le \Big(\sum_x \pi_x M_x(\lambda)\Big)^n, \qquad
   M_x(\lambda) = \sum_j W_{xj} e^{\lambda (s_j - t)} ,

and by the concave envelope :math:`E_\lambda` of the points :math:`(a_x, M_x)`, the right side is at
most :math:`E_\lambda(\theta)^n` for *every* population with this :math:`\theta`. The smallest of
these bounds over :math:`\lambda` falls as t grows, so it is a p-value: a :math:`\theta` at which
it is at most :math:`\alpha / 2` is rejected with at most this probability where it is the truth.
Averages that are too low are the same with :math:`\lambda < 0`. What remains is at least as likely
to hold the truth as :math:`1 - \alpha`. For each :math:`\lambda`, the :math:`\theta` that remain
are those with :math:`E_\lambda(\theta) > (\alpha / 2)^{1/n}`: an interval, since the envelope is
concave, and its ends are the crossings of chords with that level. The result is the intersection
over 2 x 13 values of :math:`\lambda` around the best one. Leaving others out only makes it wider,
so it does not matter that the data choose them.

**Averages beyond what is possible.** Where t lies below every :math:`a_x`, the smallest of them
takes its place. A larger t makes averages as low as it more likely, so fewer :math:`\theta` are
rejected for an average that is too low. For one that is too high none was rejected, and none is:
no :math:`\theta` is below the new t, so the bound is 1 at least (Jensen). Averages above every
:math:`a_x` are the same from the other side, and so are counts, which may become fractions. So the
interval is never a single point, however unlikely the reports are.

The channel is known and enters through :math:`M_x`: only the population is arbitrary. With many
reports the interval is about 1.4 times as wide as the normal one at 95% (2.7 standard errors
instead of 1.96), which is Chernoff's price for holding always.

Several intervals at once share :math:`\alpha` equally (Bonferroni), and so do the two groups of a
difference.

References
----------
Clopper and Pearson (1934), 10.1093/biomet/26.4.404.
Chernoff (1952), 10.1214/aoms/1177729330.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from noutput.estimate.counts import Array

__all__ = ["ALIKE", "LARGEST_EXPONENT", "MOST_REPORTS", "RATIOS", "exact_interval"]

RATIOS = 2.0 ** np.linspace(-3.0, 3.0, 13)
LARGEST_EXPONENT = 200.0
MOST_REPORTS = 1e12  # of more, only so many count: wider, and safe from rounding
ALIKE = 1e-6  # of scores, relative to their range


def exact_interval(
    table: Array,
    scores: Array,
    weights: Array,
    shares: Array,
    reports: float,
    alpha: float,
    *,
    side: float | None = None,
) -> tuple[float, float]:
    """Return an interval that covers with the probability 1 - alpha at least.

    Parameters
    ----------
    table : array of shape (k, N)
    scores : array of shape (N,)
        With ``table @ scores == weights``.
    weights : array of shape (k,)
        What the linear function multiplies the shares by.
    shares : array of shape (N,)
        The share of every output among the reports.
    reports : float
    alpha : float
    side : {1.0, -1.0}, optional
        Where one end is wanted: 1 for the lower end, -1 for the upper one, each wrong with the
        probability alpha / 2 at most. The other end may be as far off as is possible then.

    Examples
    --------
    >>> rows = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> found = exact_interval(
    ...     rows, np.array([-0.5, 1.5]), np.array([0.0, 1.0]), np.array([0.5, 0.5]), 1000.0, 0.05)
    >>> [round(end, 3) for end in found]
    [0.437, 0.563]
    """
    least, most = float(weights.min()), float(weights.max())
    width = float(np.ptp(scores))
    if width == 0.0:  # nothing depends on the reports
        return least, most
    upper = scores > scores.min() + width / 2.0
    apart = max(float(np.ptp(scores[upper])), float(np.ptp(scores[~upper])))
    if apart <= ALIKE * width and reports <= MOST_REPORTS:
        low, high = _two_scores(scores, upper, (least, most), shares, reports, alpha)
    else:
        sides = (1.0, -1.0) if side is None else (side,)
        low, high = _any_scores(table, scores, weights, shares, reports, alpha, sides)
    return min(max(low, least), most), min(max(high, least), most)


def _two_scores(
    scores: Array,
    upper: np.ndarray,
    limits: tuple[float, float],
    shares: Array,
    reports: float,
    alpha: float,
) -> tuple[float, float]:
    first, step = float(scores[~upper].mean()), float(scores[upper].mean() - scores[~upper].mean())
    fewest, most = (min(max((limit - first) / step, 0.0), 1.0) * reports for limit in limits)
    count = min(max(float(np.round(shares[upper].sum() * reports)), fewest), most)
    rest = reports - count
    low = float(special.betaincinv(count, rest + 1.0, alpha / 2.0)) if count else 0.0
    high = float(special.betaincinv(count + 1.0, rest, 1.0 - alpha / 2.0)) if rest else 1.0
    low, high = min(low, count / reports), max(high, count / reports)  # scipy is wrong now and then
    down, up = scores[~upper], scores[upper]
    return (
        (1.0 - low) * float(down.min()) + low * float(up.min()),
        (1.0 - high) * float(down.max()) + high * float(up.max()),
    )


def _any_scores(
    table: Array,
    scores: Array,
    weights: Array,
    shares: Array,
    reports: float,
    alpha: float,
    sides: tuple[float, ...],
) -> tuple[float, float]:
    count = min(reports, MOST_REPORTS)
    average = min(max(float(shares @ scores), float(weights.min())), float(weights.max()))
    away = scores - average
    fallen = math.log(alpha / 2.0) / count * (1.0 + 1e-9)
    variance = max(float(shares @ away**2), float((table @ away**2).min()))
    base = math.sqrt(-2.0 * fallen / variance) * RATIOS
    base = np.minimum(base, LARGEST_EXPONENT / np.abs(away).max())
    low, high = -math.inf, math.inf
    for sign in sides:
        raised = np.expm1(sign * base[:, None] * away) @ table.T  # M - 1, of shape (lambdas, k)
        some_low, some_high = _remaining(raised, weights, math.expm1(fallen))
        low, high = max(low, some_low), min(high, some_high)
    return min(low, average), max(high, average)


def _remaining(raised: Array, weights: Array, level: float) -> tuple[float, float]:
    """Return where the concave envelopes of all rows of points exceed a level."""
    places = np.unique(weights)
    heights = np.stack([raised[:, weights == place].max(axis=1) for place in places], axis=1)
    above = heights >= level
    if not above.any(axis=1).all():
        return math.inf, -math.inf
    gaps = heights[:, None, :] - heights[:, :, None]  # [row, from, to]
    crosses = ~above[:, :, None] & above[:, None, :]
    part = np.divide(level - heights[:, :, None], gaps, out=np.zeros_like(gaps), where=crosses)
    found = places[:, None] + part * (places[None, :] - places[:, None])
    reach = np.where(above, places, math.inf).min(axis=1)
    low = np.minimum(reach, np.where(crosses, found, math.inf).min(axis=(1, 2)))
    reach = np.where(above, places, -math.inf).max(axis=1)
    high = np.maximum(reach, np.where(crosses, found, -math.inf).max(axis=(1, 2)))
    return float(low.max()), float(high.min())

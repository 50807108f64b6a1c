r"""Threshold of the misfit: how much worse than the best fit a population may fit.

Notes
-----
Let G be the gain of the best fit over the truth, and :math:`G_0` the gain of the best fit among
the populations that have the true value of the statistic. If nothing but the total mass bounded
the mixtures, the difference :math:`G - G_0` would have a :math:`\chi^2` distribution with one
degree of freedom (Wilks). Masses that cannot be negative change that. Given its support, the
gain of a fit over the truth is about :math:`\chi^2` with one degree per atom beyond the first
(Bartholomew; Wollan and Dykstra): the length of the projection of the noise on what the support
reaches. Let P be that projection for the best fit, and :math:`P_0` that for the fit with the
value. The difference is about :math:`z^T (P - P_0) z` for standard normal noise z, and :math:`V
= \operatorname{tr} P (I - P_0)` is the sum of the squares of its positive eigenvalues: how many
degrees of freedom the best fit has that the fit with the value gave up. V is 1 where both have
the same support, and 1 + r where r atoms were lost. Where a others took their place, V is
smaller, depending on the angles between what they cause (`noutput.estimate.slack.pieces`
computes it along the path). The negative eigenvalues are what the others win back, so that V
alone would be too much. We count

.. math:: d = \max \Big( \frac{(r - a)_+^2}{r}, \; \min \Big( V - 1, \frac32 \Big) \Big)

as lost, and the threshold is the quantile of :math:`\chi^2` with 1 + d degrees times a factor.
The last place on the path at which the misfit is below its threshold counts. The first part
matters where all people have one number, or sit at the ends: there a threshold of 3.84 covers
the largest possible value of a statistic in as little as 15% of campaigns (Batlle et al. show
other cases). The second matters for shares and few numbers at which cells of the table start:
the best fit puts some of the people on the wrong side. It is left out for the mean and the
variance, which have no jumps. Both, and the factor, were chosen on a family of populations for
that; ``python -m benchmarks.calibrate`` repeats the choice of the factor, and
`docs/estimation.md` has the coverage on other populations.

References
----------
Wollan and Dykstra (1986), "Conditional tests with an order restriction as a null hypothesis", in
*Advances in order restricted statistical inference*; Batlle, Patil, Stanley and Kuusela (2023),
"Optimization-based frequentist confidence intervals for functionals in constrained inverse
problems", 10.48550/arXiv.2310.02461.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2

if TYPE_CHECKING:
    from noutput.estimate.counts import Array

__all__ = ["FACTOR", "thresholds"]

FACTOR = 1.3
_MOST_LOST = 64


@lru_cache(maxsize=64)
def thresholds(level: float) -> Array:
    """Return the largest excess of the misfit, by the degrees of freedom that are lost.

    Examples
    --------
    >>> thresholds(0.95)[:3].round(2).tolist()
    [4.99, 7.79, 10.16]
    """
    lost = np.arange(_MOST_LOST + 1)
    result = np.asarray(FACTOR * chi2.ppf(level, 1 + lost), np.float64)
    result.flags.writeable = False
    return result

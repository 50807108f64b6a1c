r"""Threshold of the misfit: how much worse than the best fit a population may fit.

Notes
-----
Let G be the gain of the best fit over the truth, and :math:`G_0` the gain of the best fit among
the populations that have the true value of the statistic. If nothing but the total mass bounded
the mixtures, the difference :math:`G - G_0` would have a :math:`\chi^2` distribution with one
degree of freedom (Wilks). Masses that cannot be negative change that. Given its support, the gain
of a fit over the truth is about :math:`\chi^2` with one degree per atom beyond the first
(Bartholomew; Wollan and Dykstra). Where the fit with the value has lost r atoms and got a others,
the difference is like that of :math:`1 + d` degrees, with d between 0 and r - a: r where it only
lost some, near 0 where it replaced them. We take :math:`d = (r - a)_+^2 / r`, and the last place
on the path at which the misfit is below its threshold counts. That matters where
all people have one number, or sit at the ends: there a threshold of 3.84 covers the largest
possible value of a statistic in as little as 15% of campaigns (Batlle et al. show other cases). The
threshold is the quantile of :math:`\chi^2` with 1 + d degrees times a factor that was chosen on
a family of populations for that; `docs/estimation.md` has the coverage on others.

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

FACTOR = 1.25
_MOST_LOST = 64


@lru_cache(maxsize=64)
def thresholds(level: float) -> Array:
    """Return the largest excess of the misfit, by the number of atoms that the support lost.

    Examples
    --------
    >>> thresholds(0.95)[:3].round(2).tolist()
    [4.8, 7.49, 9.77]
    """
    lost = np.arange(_MOST_LOST + 1)
    result = np.asarray(FACTOR * chi2.ppf(level, 1 + lost), np.float64)
    result.flags.writeable = False
    return result

"""The estimator of the variance of people's numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.choices import DEFAULT_METHOD
from noutput.estimate.distribution import DistributionEstimate, estimate_distribution
from noutput.interval import UNIT, IntervalLike

if TYPE_CHECKING:
    from noutput.estimate.counts import CellModel
    from noutput.estimate.evidence import Evidence
    from noutput.estimate.intervals import AssumptionLike
    from noutput.estimate.methods import Tolerance
    from noutput.tally import Tally

__all__ = ["VarianceEstimate", "estimate_variance"]


@dataclass(frozen=True, slots=True)
class VarianceEstimate:
    """An estimate of a variance, in the square of the units of the bounds.

    Parameters
    ----------
    value : float
    distribution : DistributionEstimate
        What it was computed from.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> found = no.estimate_variance(m, no.Tally(m.fingerprint, (4_000, 6_000)))
    >>> bool(abs(found.standard_deviation**2 - found.value) < 1e-12), found.n_reports
    (True, 10000)
    >>> low, high = found.interval(0.9)
    >>> 0 <= low < found.value < high <= 1
    True
    """

    value: float
    distribution: DistributionEstimate = field(repr=False)

    @property
    def standard_deviation(self) -> float:
        """The square root of the variance, in the units of the bounds."""
        return float(np.sqrt(self.value))

    @property
    def n_reports(self) -> int:
        """How many reports were counted."""
        return self.distribution.n_reports

    def interval(
        self,
        level: float = 0.95,
        *,
        kind: str = "slack",
        assume: AssumptionLike = None,
    ) -> tuple[float, float]:
        """Return an interval for the variance; see `DistributionEstimate.interval`.

        It holds for every population. The value is that of the estimated histogram, and can lie
        outside where people's numbers are not spread smoothly.
        """
        return self.distribution.interval("variance", level=level, kind=kind, assume=assume)


def estimate_variance(
    mechanism: CellModel | Evidence,
    tally: Tally | None = None,
    bounds: IntervalLike = UNIT,
    *,
    bins: int = 64,
    method: str = DEFAULT_METHOD,
    tolerance: Tolerance = "auto",
) -> VarianceEstimate:
    r"""Estimate the variance of the people's numbers from their reports.

    Parameters
    ----------
    mechanism : TableMechanism, or any mechanism with a transition matrix; or Evidence
        What made the reports. Evidence takes the place of the tally and the bounds, too.
    tally : Tally
        Reports of this mechanism.
    bounds : Interval or pair of numbers
        The user's units; [-1, 1] by default.
    bins, method, tolerance
        How the distribution is estimated; see `estimate_distribution`. The default method, gp,
        had an error no larger than that of em in our trials. ``method="em"`` with
        ``tolerance=1e-5`` is the paper's estimate but for the spread inside the bins. The
        interval does not depend on them.

    Notes
    -----
    The variance of the estimated histogram :math:`\pi` with centers :math:`x_i` and bins of
    width w, numbers being uniform inside the bins as the estimate of the histogram takes them:

    .. math:: \sum_i \pi_i \Big(x_i - \sum_k \pi_k x_k\Big)^2 + \frac{w^2}{12} .

    The paper leaves out the last term, which is 0.008% of the largest possible variance with 64
    bins. It is also the smallest variance that can be found: take more bins where people's
    numbers lie within one of them. All methods start from or prefer
    flat histograms, so with few reports or a small epsilon the variance of a narrow
    distribution is overestimated.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> estimate = no.estimate_variance(m, no.Tally(m.fingerprint, (400, 600)))
    >>> low, high = estimate.interval()
    >>> low < estimate.value < high
    True
    """
    found = estimate_distribution(
        mechanism, tally, bins, method, tolerance=tolerance, bounds=bounds
    )
    return VarianceEstimate(found.variance, found)

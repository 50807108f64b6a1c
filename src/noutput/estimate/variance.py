"""The estimator of the variance of people's numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.choices import DEFAULT_METHOD
from noutput.estimate.distribution import DistributionEstimate, estimate_distribution
from noutput.estimate.evidence import Evidence
from noutput.estimate.stacked import StackedChannel
from noutput.estimate.stacked_scores import lead
from noutput.interval import UNIT, Interval, IntervalLike

if TYPE_CHECKING:
    from noutput.estimate.counts import CellModel
    from noutput.estimate.methods import Tolerance
    from noutput.tally import Tally

__all__ = ["VarianceEstimate", "estimate_variance", "lead_bounds", "variance_within"]


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
    ) -> tuple[float, float]:
        """Return an interval for the variance; see `DistributionEstimate.interval`.

        It holds for every population. The value is that of the estimated histogram, and can lie
        outside where people's numbers are not spread smoothly.
        """
        return self.distribution.interval("variance", level=level, kind=kind)


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
    bins. Of evidence whose best part has narrow bounds, numbers are clipped to these, as in the
    combined mean: the few people whom a smooth histogram puts far beyond them would make most of
    the variance, and the reports hardly tell of them. The interval allows for them.

    The term is also the smallest variance that can be found: take more bins where people's
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
    inner = lead_bounds(mechanism, found.bounds)
    return VarianceEstimate(
        found.variance if inner is None else variance_within(found, inner), found
    )


def lead_bounds(mechanism: CellModel | Evidence, bounds: Interval) -> Interval | None:
    """Return the bounds of the part that knows its clipped mean best; None if it clips nothing.

    Parameters
    ----------
    mechanism : CellModel or Evidence
    bounds : Interval
        Of all parts.
    """
    stack = mechanism.channel if isinstance(mechanism, Evidence) else mechanism
    if not isinstance(stack, StackedChannel):
        return None
    if not all(hasattr(layer.channel, "average_variance") for layer in stack.layers):
        return None
    first = lead(stack)
    if first.is_whole:
        return None
    return Interval(bounds.from_unit(first.lower), bounds.from_unit(first.upper))


def variance_within(found: DistributionEstimate, bounds: Interval) -> float:
    """Return the variance of a histogram whose numbers are clipped to bounds.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> found = no.estimate_distribution(m, no.Tally(m.fingerprint, (500, 500)), bins=8)
    >>> bool(abs(variance_within(found, no.Interval(-1, 1)) - found.variance) < 1e-12)
    True
    >>> variance_within(found, no.Interval(-0.5, 1)) < found.variance
    True
    """
    inside = (found.edges > bounds.lower) & (found.edges < bounds.upper)
    edges = np.array([bounds.lower, *found.edges[inside], bounds.upper])
    sums = np.asarray(found.cdf(edges))
    x = np.array([edges[0], *(edges[1:] + edges[:-1]) / 2.0, edges[-1]])
    shares = np.diff(sums, prepend=0.0, append=1.0)
    mean = float(shares @ x)
    within = float(shares[1:-1] @ np.diff(edges) ** 2) / 12.0
    return float(shares @ (x - mean) ** 2) + within

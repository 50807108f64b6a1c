"""Shares and mean scores of answers as estimates of means, which groups are compared by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.mean_estimate import MeanEstimate
from noutput.interval import UNIT, Interval

if TYPE_CHECKING:
    from noutput.estimate.answers.linear import Linear

__all__ = ["linear_mean"]


def linear_mean(found: Linear, units: Interval = UNIT) -> MeanEstimate:
    """Return the estimate of one linear function of the shares as that of a mean.

    Parameters
    ----------
    found : Linear
        Of one function.
    units : Interval
        What -1 and 1 stand for in the values of the function.

    Notes
    -----
    The function with weights :math:`a_x` is the mean of the numbers :math:`a_x` over the people.
    The value and its standard error are those of the best scores. The guaranteed interval is
    that of fixed scores, which do not depend on the reports.
    """
    observed, weights = found.observed, found.weights[:, 0]
    scale, ends = units.half_width, (float(weights.min()), float(weights.max()))
    bounds = Interval(*map(units.from_unit, ends))
    fixed, n = observed.fixed @ weights, int(observed.reports)
    mean = float(observed.shares @ fixed)
    spread = float(observed.shares @ (fixed - mean) ** 2) * n / (n - 1)
    error, span = scale * math.sqrt(spread / n), scale * float(np.ptp(fixed))
    by_fixed = MeanEstimate(units.from_unit(mean), error, error, n, span, bounds)
    value, best = float(found.values[0]), scale * float(found.standard_errors[0])
    return MeanEstimate(units.from_unit(value), best, best, n, span, bounds, by_scores=by_fixed)

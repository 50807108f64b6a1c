"""The methods that fit histograms, by name, and when each of them stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate import em, gaussian, maximum

if TYPE_CHECKING:
    from noutput.estimate.counts import Array, Counts
    from noutput.estimate.fit import Fit

__all__ = ["Tolerance", "check_tolerance", "fit", "limits"]

Tolerance: TypeAlias = float | str

_NOISE_SHARE = 0.01  # of one unit of the log-likelihood of all reports
_MAXIMUM_GAP = 1e-9


def check_tolerance(method: str, tolerance: object) -> Tolerance:
    """Return "auto" or a positive number; gp has a rule of its own."""
    if tolerance == "auto":
        return "auto"
    if method == "gp":
        raise InvalidArgumentError("tolerance", "be 'auto' where method is 'gp'", tolerance)
    if isinstance(tolerance, str):
        raise InvalidArgumentError("tolerance", "be 'auto' or a positive number", tolerance)
    return _checks.positive("tolerance", tolerance)


def limits(tolerance: Tolerance, totals: Array) -> Array:
    """Return the change of the mean log-likelihood at which em stops, by the number of reports.

    Examples
    --------
    >>> import numpy as np
    >>> limits("auto", np.array([100.0, 1000.0])).tolist()
    [0.0001, 1e-05]
    >>> limits(1e-5, np.array([100.0, 1000.0])).tolist()
    [1e-05, 1e-05]
    """
    if isinstance(tolerance, str):
        return _NOISE_SHARE / totals
    return np.full(len(totals), tolerance)


def fit(counts: Counts, theta: Array, method: str, tolerance: Tolerance = "auto") -> Fit:
    r"""Fit a histogram to every row of counts.

    Parameters
    ----------
    counts : Counts
        B rows over J outputs.
    theta : array of shape (d, J)
        No column is zero everywhere.
    method : {"em", "ems", "mle", "gp"}
    tolerance : float or "auto"
        For em and ems, the change of the mean log-likelihood at which a row stops; "auto" is
        :math:`0.01 / m` for m reports. For mle, how far below its maximum the mean
        log-likelihood may end.
    """
    if method == "gp":
        return gaussian.average(counts.shares, counts.totals, theta)
    if method == "mle":
        gap = _MAXIMUM_GAP if isinstance(tolerance, str) else tolerance
        return maximum.maximize(counts.shares, theta, np.full(len(counts), gap))
    limit = limits(tolerance, counts.totals)
    return em.maximize(counts.shares, theta, limit, smooth=method == "ems")

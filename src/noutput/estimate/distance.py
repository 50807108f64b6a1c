"""The Wasserstein distance of histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.interval import UNIT, IntervalLike, as_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["wasserstein"]


def wasserstein(
    p: ArrayLike, q: ArrayLike, bounds: IntervalLike = UNIT
) -> NDArray[np.float64] | float:
    r"""Return the Wasserstein distance of histograms over the same equal bins.

    Parameters
    ----------
    p, q : arrays of shape (..., d)
        Probabilities of equal bins; leading axes are broadcast.
    bounds : Interval or pair of numbers
        What the bins divide; the distance is in its units.

    Returns
    -------
    float, or an array of the leading shape

    Notes
    -----
    The area between the two cumulative distributions, taken at the ends of the bins:
    :math:`w \sum_i |P_i - Q_i|` for bins of width w. Where two cumulative distributions cross
    inside a bin, the area between the lines is a little smaller.

    Examples
    --------
    >>> wasserstein([1.0, 0.0], [0.0, 1.0])
    1.0
    """
    first = _checks.numbers("p", "be numbers", p).astype(np.float64)
    second = _checks.numbers("q", "be numbers", q).astype(np.float64)
    if first.ndim < 1 or second.ndim < 1 or first.shape[-1] != second.shape[-1]:
        rule = f"have as many bins as p, {first.shape[-1:]}"
        raise InvalidArgumentError("q", rule, second.shape)
    width = 2.0 * as_interval(bounds).half_width / first.shape[-1]
    sums = np.cumsum(first - second, axis=-1)
    result: NDArray[np.float64] = np.asarray(np.abs(sums).sum(axis=-1) * width)
    return result if result.ndim else float(result)

"""Equal bins of [-1, 1], and histograms over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["average", "bin_of", "middles", "norm_sub", "overlaps"]


def bin_of(x: NDArray[np.float64], bins: int) -> NDArray[np.intp]:
    """Return the index of the bin that holds each number of [-1, 1]; 1 is in the last."""
    return np.minimum(((x + 1.0) * (bins / 2.0)).astype(np.intp), bins - 1)


def middles(bins: int) -> NDArray[np.float64]:
    """Return the middle of every bin."""
    result: NDArray[np.float64] = (2.0 * np.arange(bins) + 1.0 - bins) / bins
    return result


def overlaps(bins: int, others: int) -> NDArray[np.float64]:
    """Return which share of each of `bins` bins lies in each of `others` bins."""
    edges = np.arange(bins + 1)[:, None] / bins
    inside = np.clip(edges * others - np.arange(others), 0.0, 1.0)
    result: NDArray[np.float64] = np.diff(inside, axis=0) * (bins / others)
    return result


def average(values: NDArray[np.float64], prior: ArrayLike | None) -> float:
    """Average what is constant on equal bins over a histogram; uniform if not given."""
    weights = _checks.histogram("prior", [1.0] if prior is None else prior)
    return float(weights @ overlaps(len(weights), len(values)) @ values)


def norm_sub(shares: ArrayLike) -> NDArray[np.float64]:
    r"""Return the distribution that is closest to estimated shares (least squares).

    Notes
    -----
    One number is subtracted from all shares so that those above 0 add up to 1, and the others
    become 0: the Euclidean projection onto the simplex. Sorted in falling order
    :math:`s_1 \ge s_2 \ge \dots`, the number is :math:`(s_1 + \dots + s_k - 1) / k` for the
    largest k at which :math:`s_k` exceeds it.

    References
    ----------
    Wang et al., "Locally differentially private frequency estimation with consistency", 2020,
    doi:10.48550/arXiv.1905.08320.

    Examples
    --------
    >>> norm_sub([0.7, 0.5, -0.2])
    array([0.6, 0.4, 0. ])
    """
    values = _checks.vector("shares", shares)
    if not values.size:
        raise InvalidArgumentError("shares", "have at least one entry", shares)
    falling = np.sort(values)[::-1]
    levels = (np.cumsum(falling) - 1.0) / np.arange(1, len(values) + 1)
    level = levels[np.flatnonzero(falling >= levels)[-1]]
    result: NDArray[np.float64] = np.maximum(values - level, 0.0)
    return result

"""The lowest set bit of numbers: what floating-point samplers leak first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NO_BIT", "lowest_bit"]

NO_BIT = 1 << 12  # above the exponent of every float
_FRACTION = (1 << 52) - 1
_EXPONENT = 2047
_OFFSET = 1075


def lowest_bit(values: NDArray[Any]) -> NDArray[np.int64]:
    r"""Return the exponent k of the lowest set bit :math:`2^k` of each number.

    Parameters
    ----------
    values : array of float64, int64 or uint64
        `NO_BIT` stands for the bit of 0, infinities and NaN.

    Notes
    -----
    A sum of floats is a multiple of the smaller of both units in the last place, and so are
    rounded products. Which multiples can come out depends on the binary digits of what is added:
    a sampler that adds noise to x, or moves a window to x, shows it here (Mironov 2012,
    doi:10.1145/2382196.2382264).

    Examples
    --------
    >>> lowest_bit(np.array([1.0, -0.75, 6.0, 0.1, 0.0])).tolist()
    [0, -2, 1, -55, 4096]
    >>> lowest_bit(np.array([12, -1, 0])).tolist()
    [2, 0, 4096]
    """
    if values.dtype.kind != "f":
        whole = values.view(np.uint64)
        offset: NDArray[np.int64] = np.zeros(values.shape, np.int64)
        known = whole != 0
    else:
        bits = values.view(np.int64)
        exponent = (bits >> 52) & _EXPONENT
        normal = exponent > 0
        whole = ((bits & _FRACTION) | (normal.astype(np.int64) << 52)).view(np.uint64)
        offset = np.maximum(exponent, 1) - _OFFSET
        known = (whole != 0) & (exponent < _EXPONENT)
    lowest = whole & (~whole + np.uint64(1))
    place = np.frexp(lowest.astype(np.float64))[1].astype(np.int64) - 1
    return np.where(known, place + offset, NO_BIT)

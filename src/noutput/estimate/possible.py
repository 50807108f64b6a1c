r"""Intervals of what has bounds: cut there, and never shorter for an estimate that lies outside.

Notes
-----
Unbiased estimates may lie beyond what is possible: a share that is 0 is estimated below 0 in half
of all campaigns. Just cut at 0, the interval of such an estimate gets the shorter the luckier the
noise was, down to "from 0 to 0": certainty that no report gave. So the estimate is moved to the
nearest possible value first, with its interval, which is then cut. The result holds all that the
interval held of what is possible, so that it covers at least as often, and it is never shorter than
that of an estimate at the bound.

References
----------
Mandelkern (2002), "Setting confidence intervals for bounded parameters", 10.1214/ss/1030550859,
has the alternatives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noutput.estimate.counts import Array

__all__ = ["possible_ends"]


def possible_ends(
    values: ArrayLike, low: ArrayLike, high: ArrayLike, least: ArrayLike, most: ArrayLike
) -> tuple[Array, Array]:
    """Return the ends of intervals around estimates of what lies between two limits.

    Ends that are not around their estimate count as if they reached to it.

    Examples
    --------
    >>> [float(end) for end in possible_ends(0.25, 0.125, 0.375, 0.0, 1.0)]
    [0.125, 0.375]
    >>> [float(end) for end in possible_ends(-0.25, -0.375, -0.125, 0.0, 1.0)]
    [0.0, 0.125]
    """
    moved = np.clip(values, least, most) - np.asarray(values)
    ends = np.minimum(low, values), np.maximum(high, values)
    return np.clip(ends[0] + moved, least, most), np.clip(ends[1] + moved, least, most)

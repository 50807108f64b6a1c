r"""Knot removal: which knots of a table are needed.

Notes
-----
Between knots the second moment s is linear, so the variance :math:`s(x) - x^2` is a parabola. A
knot may go when the chord across it keeps the objective within the allowed value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.mechanisms.moments import average_variance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.designs.optimal.density import Density
    from noutput.designs.solution import Array

__all__ = ["needed_knots"]


def needed_knots(
    knots: Array, second_moments: Array, allowed: float, density: Density | None, symmetric: bool
) -> NDArray[np.int64]:
    """Return the indexes of knots to keep so that the value stays at most ``allowed``.

    ``density`` is ``None`` for the worst case. Knots of a symmetric table go in pairs.
    """
    if density is None:
        return _needed_worst(knots, second_moments, allowed, symmetric)
    return _needed_average(knots, second_moments, allowed, density, symmetric)


def _peaks(left: Array, right: Array, left_moment: Array, right_moment: Array) -> Array:
    slope = (right_moment - left_moment) / (right - left)
    at = np.clip(slope / 2, left, right)
    return np.asarray(left_moment + slope * (at - left) - at * at)


def _needed_worst(
    knots: Array, moments: Array, allowed: float, symmetric: bool
) -> NDArray[np.int64]:
    last = knots.size - 1
    kept = []
    if symmetric:
        first = (knots.size + 1) // 2
        flat = [k for k in range(first, last + 1) if moments[k] <= allowed]
        current = flat[-1] if flat else knots.size // 2
    else:
        current = 0
    kept.append(current)
    while current < last:
        ends = np.arange(current + 1, last + 1)
        peaks = _peaks(
            np.broadcast_to(knots[current], ends.shape),
            knots[ends],
            np.broadcast_to(moments[current], ends.shape),
            moments[ends],
        )
        fits = ends[peaks <= allowed]
        current = int(fits[-1]) if fits.size else current + 1
        kept.append(current)
    if symmetric:
        kept = sorted({last - k for k in kept} | set(kept))
    return np.array(kept, dtype=np.int64)


def _needed_average(
    knots: Array, moments: Array, allowed: float, density: Density, symmetric: bool
) -> NDArray[np.int64]:
    kept = np.arange(knots.size)
    last = knots.size - 1
    while kept.size > 2:
        candidates = []
        inner = kept[1:-1]
        for k in inner[inner >= last / 2] if symmetric else inner:
            gone = (k, last - k) if symmetric else (k,)
            rest = kept[~np.isin(kept, gone)]
            candidates.append((average_variance(knots[rest], moments[rest], density.masses), rest))
        value, rest = min(candidates, key=lambda pair: pair[0])
        if value > allowed:
            break
        kept = rest
    return np.asarray(kept, dtype=np.int64)

r"""Cheap upper bounds of delta for all pairs of rows at once, by products of matrices.

Notes
-----
A pair of rows may be left out only where a proven upper bound of its delta is below the value that
counts, so leaving out is always safe. With :math:`\rho = r_j/m_j` and :math:`\rho' = s_j/m_j`,
:math:`e^{\lambda Z} = e^{\lambda\rho}\,e^{-\lambda(1+c)\rho'}` is a part of r times a part of s, so
:math:`M(\lambda)` of all pairs is one product of two matrices, and the tilted mean and variance are
five more. One lambda serves all pairs, that of the worst pair so far: any lambda gives an upper
bound, and at the same lambda M grows with the variance of the pair.

The bounds are those of `noutput.amplification.normal` with two simplifications that make them
larger: the third moment is at most the largest deviation, :math:`2(1+c)\max\rho`, times the
variance, and :math:`1 - bR(b) \le 1/(1+b^2)` for b > 0. Where that does not help, the Chernoff
bound :math:`M^n/(e\lambda)` is used.

Rounding: a sum of N positive products is off by a factor of at most :math:`1 + (4N + 32 +
4\lambda(1 + c)\max\rho)u =: 1 + w`; n w is added to the exponent. The mean is off by at most
:math:`2(1+c)\max\rho\,w`; the variance is used only where it exceeds :math:`10^6` times its own
error, and the central part is taken 0.1% larger.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from noutput.amplification.law import UNIT_ROUNDOFF, Blanket

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noutput.amplification.law import Floats

__all__ = ["screen"]

_ROWS = 256  # per block


def screen(
    blanket: Blanket, reports: int, c: float, tilting: float, log_delta: float
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield blocks of pairs of different rows that may have a delta above the given one."""
    ratios = blanket.rows / blanket.minima
    probabilities = blanket.probabilities
    rest = max(0.0, 1.0 - float(probabilities.sum()))
    largest = (1.0 + c) * float(ratios.max())
    error = (4.0 * ratios.shape[1] + 32.0 + 4.0 * tilting * largest) * UNIT_ROUNDOFF
    # centered, so that no factor overflows; the centers cancel in the products
    center = float(ratios.mean())
    with np.errstate(all="ignore"):
        others = _powers(np.exp(-tilting * ((1.0 + c) * ratios - center)), -(1.0 + c) * ratios)
    wanted = log_delta + math.log(reports * blanket.share)
    for start in range(0, len(ratios), _ROWS):
        part = ratios[start : start + _ROWS]
        with np.errstate(all="ignore"):  # what is no number is no bound, and leaves nothing out
            own = _powers(np.exp(tilting * (part - center)) * probabilities, part)
            bounds = _bounds(own, others, rest, reports, tilting, largest, error)
        first, second = np.nonzero(~(bounds <= wanted))
        apart = first + start != second
        yield first[apart] + start, second[apart]


def _bounds(
    own: tuple[Floats, Floats, Floats],
    others: tuple[Floats, Floats, Floats],
    rest: float,
    reports: int,
    tilting: float,
    largest: float,
    error: float,
) -> Floats:
    """Return upper bounds of ln E[S_+], one per pair of rows."""
    moment = rest + own[0] @ others[0].T
    mean = (own[1] @ others[0].T + own[0] @ others[1].T) / moment
    second = own[2] @ others[0].T + 2.0 * (own[1] @ others[1].T) + own[0] @ others[2].T
    variance = second / moment - mean**2
    known = variance > 1e6 * error * (2.0 * largest) ** 2
    chernoff = 1.0 / (math.e * tilting)
    central = _central(reports, tilting, mean, variance, 2.0 * largest, error)
    factor = np.where(known, np.minimum(central, chernoff), chernoff)
    result: Floats = reports * (np.log(moment) + error) + np.log(factor)
    return result


def _powers(factor: Floats, values: Floats) -> tuple[Floats, Floats, Floats]:
    return factor, factor * values, factor * values**2


def _central(
    reports: int, tilting: float, mean: Floats, variance: Floats, reach: float, error: float
) -> Floats:
    """Return an upper bound of the tilted expectation of g."""
    spread = np.sqrt(reports * variance)
    off = reports * mean / spread
    beyond = tilting * spread - off
    moved = reports * error * reach / spread  # of the mean, in standard deviations
    above = np.where(beyond > 0.0, 1.0 / (1.0 + beyond**2), np.inf)
    grown = np.exp(moved * (2.0 + np.abs(beyond) + np.abs(off)))
    central = 1.001 * spread / math.sqrt(2.0 * math.pi) * np.exp(-(off**2) / 2.0) * above * grown
    distance = np.minimum(0.4748 * reach / spread, 1.0)
    result: Floats = central + 2.0 * distance / (math.e * tilting)
    return result

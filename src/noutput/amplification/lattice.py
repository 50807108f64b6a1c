r"""Upper bound of delta by one FFT on a lattice, with a bound for every numerical step.

Notes
-----
*Lattice.* Each value z between two points kh and (k+1)h of the lattice is split between them with
the mean kept. A split is a mean-preserving spread, so the sum becomes larger in convex order, and
:math:`E[(\cdot)_+]` of a convex function can only grow. The share of the upper point is rounded
up, which moves mass upward: the sum becomes larger in the increasing convex order, and the bound
stays one. Rounding every value up instead would shift the mean by up to nh, which is more than the
whole standard deviation for large n.

*Tilt.* The lattice law is tilted (`noutput.amplification.tilt`), so all errors below are relative.

*Wrap-around.* The FFT computes the law of the sum modulo the size G. Mass inside a window of G
points around the mean is counted at least fully; mass outside contributes at most its probability
times :math:`\max g = 1/(e\lambda)`. By Bernstein's inequality, applied to the tilted lattice law,
that probability is at most :math:`2\exp(-x^2 / (2(n\sigma^2 + bx/3)))` for a distance x from the
mean to the nearer end of the window; it is 0
where n times the range fits into the window.

*Rounding.* The forward FFT errs by at most :math:`\eta\sqrt G\,\|p\|_2` per frequency, with
:math:`\eta = 32\,u \log_2 G` (Higham, "Accuracy and Stability of Numerical Algorithms", theorem
24.2, has 6.7 u per level for radix 2 with rounded weights; the constant here leaves a factor of
four for mixed radices). Rounded probabilities add at most :math:`u\,(2N + 24 + 2\max|\lambda
z|)`. The n-th power, computed from modulus and angle, multiplies an error f of a number within
the unit disk by at most :math:`n e^{nf}` and adds at most 16 n u (and :math:`e^{-79}` where it is
set to 0, far below the next term); the inverse FFT adds :math:`\eta`. By Parseval the computed
law of the sum is off by at most :math:`\tau = n f e^{nf} + 16 n u + \eta` in the 2-norm, and the
expectation of g by at most :math:`\tau \|g\|_2` (Cauchy and Schwarz). Negative probabilities are
set to 0, which only adds. The final sum has a relative slack of 1e-9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput.amplification.law import UNDERFLOW, UNIT_ROUNDOFF, Laws
from noutput.amplification.tilt import Tilted, tilt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.amplification.law import Floats

__all__ = ["LatticeBounds", "lattice_bounds", "split"]

_NOTHING = 80.0
_TAIL = 23.0  # ln of 1e10: what the window leaves out, relative to delta


@dataclass(frozen=True, eq=False)
class LatticeBounds:
    """Upper bounds of ln(delta), one per pair, and the parts of delta that bound errors."""

    log_delta: Floats
    size: int
    step: float
    wrap_around: Floats
    rounding: Floats


def split(values: Floats, step: float) -> tuple[NDArray[np.int64], Floats]:
    """Return the lattice point below each value, and the share that goes to the next one.

    The share keeps the mean, and is rounded up.
    """
    scaled = values / step
    below = np.floor(scaled)
    share = scaled - below + 8.0 * UNIT_ROUNDOFF * (np.abs(scaled) + 1.0)
    return below.astype(np.int64), np.minimum(share, 1.0)


def lattice_bounds(laws: Laws, reports: int, tilting: float, size: int) -> LatticeBounds:
    """Return the bounds of some pairs of rows, on one lattice of `size` points, at one lambda.

    Where numbers overflow, the bounds are infinite.
    """
    with np.errstate(all="ignore"):
        return _bounds(laws, reports, tilting, size)


def _bounds(laws: Laws, reports: int, tilting: float, size: int) -> LatticeBounds:
    tilts = np.full(len(laws.values), tilting)
    places, on_lattice, step = _on_lattice(laws, reports, tilts, size)
    tilted = tilt(on_lattice, tilts)
    if not (np.isfinite(tilted.log_moment).all() and np.isfinite(tilted.variance).all()):
        nothing = np.full(len(tilts), np.inf)
        return LatticeBounds(nothing, size, step, nothing, nothing)
    law = _unrolled(places % size, tilted.weights, size)
    law[:, 0] += tilted.rest
    sums = np.fft.irfft(_power(np.fft.rfft(law), reports), size)

    start, outside = _window(places, step, reports, size, tilted)
    points = np.arange(max(start, 1), start + size)
    gains = np.zeros(size)
    gains[points % size] = points * step * np.exp(-tilting * step * points)
    central = np.maximum(sums, 0.0) @ gains * (1.0 + 1e-9)

    spread = np.sqrt((law**2).sum(axis=1))
    rounding = _rounding(reports, size, spread, on_lattice, tilting) * np.linalg.norm(gains)
    largest = 1.0 / (math.e * tilting)
    wrapped = outside * largest
    whole = np.minimum(central + rounding + wrapped + UNDERFLOW * largest, largest)
    scale = reports * tilted.log_moment - math.log(reports * laws.share)
    unit = np.exp(np.minimum(scale, 700.0))
    found = scale + np.log(whole)
    log_delta = np.where(np.isnan(found), np.inf, found)
    return LatticeBounds(log_delta, size, step, wrapped * unit, rounding * unit)


def _on_lattice(
    laws: Laws, reports: int, tilts: Floats, size: int
) -> tuple[NDArray[np.int64], Laws, float]:
    """Choose the step, and split the laws: places, laws and step."""
    values = laws.values
    variance = float(tilt(laws, tilts).variance.max())
    reach = max(float(values.max()), 0.0) - min(float(values.min()), 0.0)
    linear = reach * _TAIL / 3.0
    wide = linear + math.sqrt(linear**2 + 2.0 * _TAIL * reports * variance)
    if reports * reach <= 2.0 * wide and 2 * reports + 2 < size // 2:
        step = reports * reach / (size - 2 * reports - 2)  # the whole range fits
    else:
        step = 2.0 * wide / size
    below, share = split(values, step)
    places = np.concatenate([below, below + 1], axis=1)
    chances = laws.probabilities
    both = np.concatenate([chances * (1.0 - share), chances * share], axis=1)
    return places, Laws(step * places, both, laws.share), step


def _unrolled(places: NDArray[np.int64], weights: Floats, size: int) -> Floats:
    """Return one law per row, as an array of `size` probabilities."""
    count = len(places)
    flat = (places + size * np.arange(count)[:, None]).reshape(-1)
    sums: Floats = np.bincount(flat, weights.reshape(-1), count * size).astype(np.float64)
    return sums.reshape(count, size)


def _power(transform: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """Return the n-th power by modulus and angle; what is below e^-80 becomes 0."""
    squared = transform.real**2 + transform.imag**2
    large = squared > math.exp(-2.0 * _NOTHING / exponent)
    size = exponent * (0.5 * np.log(squared[large]))
    result = np.zeros_like(transform)
    result[large] = np.exp(size + 1j * (exponent * np.angle(transform[large])))
    return result


def _rounding(reports: int, size: int, spread: Floats, laws: Laws, tilting: float) -> Floats:
    """Return bounds of the 2-norm of the error of the law of the sum."""
    levels = 32.0 * UNIT_ROUNDOFF * math.log2(size)
    exponents = float(np.abs(laws.values).max()) * tilting
    atoms = UNIT_ROUNDOFF * (2.0 * laws.values.shape[1] + 24.0 + 2.0 * exponents)
    once = levels * math.sqrt(size) * spread + atoms
    grown = reports * once * np.exp(np.minimum(reports * once, 300.0))  # then Chernoff is smaller
    result: Floats = grown + 16.0 * reports * UNIT_ROUNDOFF + levels + math.exp(1.0 - _NOTHING)
    return result


def _window(
    places: NDArray[np.int64], step: float, reports: int, size: int, tilted: Tilted
) -> tuple[int, Floats]:
    """Return the first point of the window, and bounds of the probability of being outside."""
    low, high = min(int(places.min()), 0), max(int(places.max()), 0)
    if reports * (high - low) < size:
        return reports * low, np.zeros(len(places))
    centers = reports * tilted.mean / step
    start = round(0.5 * float(centers.min() + centers.max())) - size // 2
    nearest = np.minimum(centers - start, start + size - centers) - 2.0
    half = step * np.maximum(nearest, 0.0)
    reach = np.maximum(high * step - tilted.mean, tilted.mean - low * step)
    exponents = half**2 / (2.0 * (reports * tilted.variance + reach * half / 3.0))
    return start, np.minimum(2.0 * np.exp(-exponents), 1.0)

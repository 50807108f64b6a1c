r"""Exponential tilting: a tail expectation as a moment generating function times a central one.

Notes
-----
For every :math:`\lambda > 0`, with :math:`M(\lambda) = E\,e^{\lambda Z}` and the tilted law
:math:`dP_\lambda = e^{\lambda Z}/M\,dP` of each term,

.. math:: E[S_+] = M(\lambda)^n\,E_\lambda[g(S)],\qquad g(x) = x_+ e^{-\lambda x} .

This is an identity for any lambda, so lambda needs no proof: it is chosen where M is smallest,
which puts the tilted sum around 0. Errors of :math:`E_\lambda[g]`, of whatever origin, are then
relative to delta and not to 1; g is at most :math:`1/(e\lambda)`, which alone gives the Chernoff
bound :math:`E[S_+] \le M^n/(e\lambda)`.

:math:`\ln M` is computed as ``log1p(sum q expm1(lambda z))``. With N + 2 terms, each within a few
units of rounding u, its error is at most :math:`2(N + 8)\,u\,\sum q\,|e^{\lambda z} - 1| / M`, plus
:math:`2u\,|\lambda z|\,q e^{\lambda z}/M` per term for the rounding of the exponents; n times that
is added to the exponent. P(Z = 0) is what the other probabilities leave, so probabilities that are
rounded themselves (by a share, or by the split on a lattice) are covered by the same terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput.amplification.law import UNIT_ROUNDOFF, Laws

if TYPE_CHECKING:
    from noutput.amplification.law import Floats

__all__ = ["Tilted", "best_tilts", "tilt"]

_STEPS = 40
_LARGEST_EXPONENT = 300.0


@dataclass(frozen=True, eq=False)
class Tilted:
    """Tilted laws: one entry per pair of rows."""

    tilts: Floats
    log_moment: Floats  # an upper bound of ln M
    weights: Floats  # tilted probabilities of the outputs, (P, N)
    rest: Floats  # tilted probability of 0
    mean: Floats
    variance: Floats


def best_tilts(laws: Laws, reports: int) -> Floats:
    """Return a lambda per law: about where M is smallest, and not below 1 / sd of the sum."""
    values, probabilities = laws.values, laws.probabilities
    second = values**2 @ probabilities
    lowest = 1.0 / np.sqrt(reports * second)
    # no exponent beyond 300, also where every value is negative
    highest = _LARGEST_EXPONENT / np.maximum(np.abs(values).max(axis=1), 1e-300)
    lowest = np.minimum(lowest, highest)
    tilts = np.clip(-(values @ probabilities) / second, lowest, highest)
    for _ in range(_STEPS):
        grown = np.exp(tilts[:, None] * values) * probabilities * values
        step = grown.sum(axis=1) / (grown * values).sum(axis=1)
        moved = np.clip(
            tilts - step, np.maximum(tilts / 4.0, lowest), np.minimum(4.0 * tilts, highest)
        )
        done = np.abs(moved - tilts) <= 1e-4 * tilts
        tilts = moved
        if done.all():
            break
    return tilts


def tilt(laws: Laws, tilts: Floats) -> Tilted:
    """Tilt every law by its own lambda."""
    values, probabilities = laws.values, laws.probabilities
    exponents = tilts[:, None] * values
    excess = probabilities * np.expm1(exponents)
    moment = 1.0 + excess.sum(axis=1)
    grown = probabilities * np.exp(exponents)
    rounding = 2.0 * (values.shape[1] + 8) * np.abs(excess).sum(axis=1)
    rounding = UNIT_ROUNDOFF * (rounding + 2.0 * (np.abs(exponents) * grown).sum(axis=1)) / moment
    weights = grown / moment[:, None]
    rest = laws.rest / moment
    mean = (weights * values).sum(axis=1)
    variance = (weights * (values - mean[:, None]) ** 2).sum(axis=1) + rest * mean**2
    log_moment = np.log1p(excess.sum(axis=1))
    log_moment += rounding + 4.0 * UNIT_ROUNDOFF * np.abs(log_moment)
    return Tilted(tilts, log_moment, weights, rest, mean, variance)

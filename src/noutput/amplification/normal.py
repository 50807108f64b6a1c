r"""Upper bound of delta by a normal approximation of the tilted sum, with its proven error.

Notes
-----
The tilted sum has n independent terms with mean :math:`\mu`, variance :math:`\sigma^2` and third
absolute central moment :math:`\rho`. By the theorem of Berry and Esseen its distribution function
differs from that of the normal law with the same moments by at most :math:`D = 0.4748\,\rho /
(\sigma^3 \sqrt n)` (constant of Shevtsova, 2011, for equal terms). Integration by parts gives
:math:`E_\lambda[g(S)] \le \int g\,d\Phi + D\,V(g)`, and g rises from 0 to :math:`1/(e\lambda)` and
falls back, so its total variation V is :math:`2/(e\lambda)`. With :math:`b = \lambda\sigma_n -
\mu_n/\sigma_n` and Mills' ratio R,

.. math:: \int g\,d\Phi = \frac{\sigma_n}{\sqrt{2\pi}}\,e^{-\mu_n^2/2\sigma_n^2}\,(1 - b\,R(b)),

where :math:`1 - bR(b) \le 1/b^2` is used for b above 20. Because of the tilt, the error D is
relative to delta: about :math:`11 D` of it at delta = 1e-8, which is 0.3 D of epsilon. It shrinks
with :math:`\sqrt n`, and there is no lattice, so a billion reports cost as much as a thousand.

Rounding: :math:`1 - bR(b)` loses a factor of about :math:`b^2`, and the mean of the sum has an
error of at most :math:`(N + 8)\sqrt n\,u` standard deviations per unit of b. Both stay below the
relative slack :math:`10^{-9} + 32\,(N + 8)\,u\,\sqrt n\,(1 + |b|)`, which is added.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from noutput.amplification.law import UNDERFLOW, UNIT_ROUNDOFF, Laws
from noutput.amplification.tilt import tilt

if TYPE_CHECKING:
    from noutput.amplification.law import Floats

__all__ = ["chernoff_factor", "normal_bound"]

_BERRY_ESSEEN = 0.4748
_FAR = 20.0


def chernoff_factor(tilts: Floats) -> Floats:
    """Return the largest value of g: 1 / (e lambda)."""
    result: Floats = 1.0 / (math.e * tilts)
    return result


def normal_bound(laws: Laws, reports: int, tilts: Floats) -> tuple[Floats, Floats]:
    """Return ln(delta) per pair as an upper bound, and the share of it that bounds errors.

    Where numbers overflow, at a lambda that suits other pairs, the bound is infinite.
    """
    with np.errstate(all="ignore"):
        log_delta, share = _bound(laws, reports, tilts)
    known = ~(np.isnan(log_delta) | np.isnan(share))
    return np.where(known, log_delta, np.inf), np.where(known, share, 1.0)


def _bound(laws: Laws, reports: int, tilts: Floats) -> tuple[Floats, Floats]:
    tilted = tilt(laws, tilts)
    spread = np.sqrt(reports * tilted.variance)
    shift = reports * tilted.mean
    beyond = tilts * spread - shift / spread
    share_above = np.array([_one_minus_mills(b) for b in np.maximum(beyond, -_FAR).tolist()])
    central = spread / math.sqrt(2.0 * math.pi) * np.exp(-((shift / spread) ** 2) / 2.0)
    largest = chernoff_factor(tilts)
    # far below, Chernoff's bound is the smaller one
    central = np.where(beyond < -_FAR, largest, central * share_above)
    apart = np.abs(laws.values - tilted.mean[:, None]) ** 3
    third = (tilted.weights * apart).sum(axis=1) + tilted.rest * np.abs(tilted.mean) ** 3
    distance = _BERRY_ESSEEN * third / (tilted.variance**1.5 * math.sqrt(reports))
    error = 2.0 * np.minimum(np.nan_to_num(distance, nan=1.0), 1.0) * largest
    slack = 32.0 * (laws.values.shape[1] + 8) * UNIT_ROUNDOFF * math.sqrt(reports)
    error += (1e-9 + slack * (1.0 + np.abs(beyond))) * central
    whole = np.minimum(central + error + UNDERFLOW * largest, largest)
    log_delta = reports * tilted.log_moment + np.log(whole) - math.log(reports * laws.share)
    return log_delta, np.minimum(error / whole, 1.0)


def _one_minus_mills(b: float) -> float:
    """Return an upper bound of 1 - b R(b), R being Mills' ratio."""
    if b > _FAR:
        return 1.0 / (b * b)
    mills = math.sqrt(math.pi / 2.0) * math.exp(b * b / 2.0) * math.erfc(b / math.sqrt(2.0))
    return 1.0 - b * mills

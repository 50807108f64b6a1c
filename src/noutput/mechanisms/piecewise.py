r"""The Piecewise mechanism and its variants: reports close to x, whose mean is x.

Notes
-----
With :math:`c = e^\epsilon` a member of the family is given by the ratio t of slope to half width,
and scaled so that the model's gain is 1 (that of the grid differs by the rounding of its window,
which `decode` undoes): slope :math:`(c + t) / (c - 1)`, half width
:math:`(c + t) / (t (c - 1))`. Its worst-case variance is

.. math:: \frac{t + 1}{c - 1} + \frac{(t + c)\left((t + 1)^3 + c - 1\right)}{3 t^2 (c - 1)^2} .

References
----------
Wang et al., "Collecting and analyzing multidimensional data with local differential privacy",
2019, doi:10.1109/ICDE.2019.00063.
Zhao et al., "Local differential privacy-based federated learning for Internet of Things", 2020,
doi:10.1109/JIOT.2020.3037194.
"""

from __future__ import annotations

import math

from noutput import _checks
from noutput.mechanisms.exact import LARGEST_EXPONENT
from noutput.mechanisms.window import WindowMechanism

__all__ = ["pm", "pm_opt", "pm_sub"]


def pm(epsilon: float) -> WindowMechanism:
    r"""Return the Piecewise mechanism of Wang et al. 2019: :math:`t = e^{\epsilon / 2}`.

    Examples
    --------
    >>> round(pm(1.0).worst_variance(), 4)
    5.2236
    """
    epsilon = _checks.positive("epsilon", epsilon)
    return _member(epsilon, math.exp(min(epsilon, LARGEST_EXPONENT) / 2.0))


def pm_sub(epsilon: float) -> WindowMechanism:
    r"""Return PM-sub of Zhao et al. 2020: :math:`t = e^{\epsilon / 3}`.

    Examples
    --------
    >>> round(pm_sub(1.0).worst_variance(), 4)
    5.0823
    """
    epsilon = _checks.positive("epsilon", epsilon)
    return _member(epsilon, math.exp(min(epsilon, LARGEST_EXPONENT) / 3.0))


def pm_opt(epsilon: float) -> WindowMechanism:
    r"""Return PM-opt of Zhao et al. 2020: the t with the smallest worst-case variance.

    Notes
    -----
    The derivative of the worst-case variance vanishes where :math:`t^4 + 2 c t^3 - 2 c t - c^2`
    does. Its signs change once, so it has one positive root; it is negative at 1, positive at
    :math:`\sqrt c` and convex, so Newton's method falls to the root from there.

    Examples
    --------
    >>> round(pm_opt(1.0).worst_variance(), 4)
    5.0657
    """
    epsilon = _checks.positive("epsilon", epsilon)
    c = math.exp(min(epsilon, LARGEST_EXPONENT))
    t, previous = math.sqrt(c), math.inf
    while t < previous:
        value = (t * t - c) * (t * t + c) + 2.0 * c * t * (t * t - 1.0)
        slope = 4.0 * t**3 + 6.0 * c * t * t - 2.0 * c
        previous, t = t, t - value / slope
    return _member(epsilon, previous)


def _member(epsilon: float, ratio: float) -> WindowMechanism:
    excess = math.expm1(min(epsilon, LARGEST_EXPONENT))
    slope = (1.0 + excess + ratio) / excess
    return WindowMechanism(epsilon, slope, slope / ratio)

r"""Square Wave: reports close to x, made for the distribution of the inputs."""

from __future__ import annotations

import math

from noutput import _checks
from noutput.mechanisms.exact import LARGEST_EXPONENT
from noutput.mechanisms.window import WindowMechanism

__all__ = ["half_width", "square_wave"]

_TERMS = 20


def square_wave(epsilon: float) -> WindowMechanism:
    r"""Return Square Wave of Li et al. 2020, moved from [0, 1] to [-1, 1].

    Notes
    -----
    On [0, 1] the report lies in :math:`[-b, 1 + b]`, with density :math:`p = e^\epsilon q` within
    b of the input and :math:`q = 1 / (2 b e^\epsilon + 1)` elsewhere; the mass of the window is
    :math:`2 b p`. Both axes are stretched by 2 here, so that slope is 1 and half width 2b. The
    reports themselves are biased towards 0; `decode` undoes that.

    References
    ----------
    Li et al., "Estimating numerical distributions under local differential privacy", 2020,
    doi:10.1145/3318464.3389700.

    Examples
    --------
    >>> round(square_wave(1.0).half_width / 2.0, 6)
    0.256083
    """
    epsilon = _checks.positive("epsilon", epsilon)
    return WindowMechanism(epsilon, 1.0, 2.0 * half_width(epsilon))


def half_width(epsilon: float) -> float:
    r"""Return b, which maximizes the mutual information of a uniform input and its report.

    Notes
    -----
    With :math:`c = e^\epsilon`,

    .. math:: b = \frac{\epsilon c - c + 1}{2 c (c - 1 - \epsilon)}
                = \frac{\sum_{k \ge 2} (k - 1)\, \epsilon^k / k!}
                       {2 c \sum_{k \ge 2} \epsilon^k / k!} .

    The first form cancels to nothing for small epsilon; the terms of the second are all positive.

    Examples
    --------
    >>> round(half_width(1e-9), 6)
    0.5
    """
    epsilon = min(_checks.positive("epsilon", epsilon), LARGEST_EXPONENT)
    c = math.exp(epsilon)
    if epsilon > 1.0:
        return (epsilon - 1.0 + 1.0 / c) / (2.0 * (c - 1.0 - epsilon))
    above = below = 0.0
    term = 0.5  # epsilon^(k - 2) / k!
    for k in range(2, _TERMS):
        above += (k - 1) * term
        below += term
        term *= epsilon / (k + 1)
    return above / (2.0 * c * below)

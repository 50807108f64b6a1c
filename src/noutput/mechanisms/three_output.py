r"""The Three-output mechanism: Duchi's with a third report, zero."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from noutput import _checks
from noutput.mechanisms.duchi import duchi
from noutput.mechanisms.exact import LARGEST_EXPONENT
from noutput.mechanisms.quantize import quantize

if TYPE_CHECKING:
    from noutput.mechanisms.table import TableMechanism

__all__ = ["three_output", "zero_probability"]

_TWO_OUTPUTS_UP_TO = math.log(2.0)
_FORMULA_UP_TO = math.log((3.0 + math.sqrt(65.0)) / 2.0)


def three_output(epsilon: float) -> TableMechanism:
    r"""Return the Three-output mechanism as a certified table with knots -1, 0 and 1.

    Notes
    -----
    With :math:`c = e^\epsilon` and :math:`a = P(0 \mid 0)` (see `zero_probability`) the outputs
    are 0 and :math:`\pm C`, :math:`C = c (c + 1) / ((c - 1)(c - a))`. Given :math:`|x| = 1`, the
    output on the side of x has probability :math:`(c - a) / (c + 1)`, zero :math:`a / c`, and the
    other :math:`(c - a) / (c (c + 1))`; so the ratios to :math:`(1 - a) / 2` and a at x = 0, and
    to each other, are at most c. Where a = 0 the mechanism is Duchi's.

    Guarantees
    ----------
    Those of `TableMechanism`: the whole-number table is certified for epsilon.

    References
    ----------
    Zhao et al., "Local differential privacy-based federated learning for Internet of Things",
    2020, doi:10.1109/JIOT.2020.3037194.

    Examples
    --------
    >>> m = three_output(1.0)
    >>> m.n_outputs, round(m.worst_variance(), 4)
    (3, 4.4555)
    """
    epsilon = _checks.positive("epsilon", epsilon)
    zero = zero_probability(epsilon)
    if zero == 0.0:
        return duchi(epsilon)
    c = math.exp(min(epsilon, LARGEST_EXPONENT))
    edge = c * (c + 1.0) / ((c - 1.0) * (c - zero))
    near = (c - zero) / (c + 1.0)
    half = max((1.0 - zero) / 2.0, near / c)  # equal for large c, where 1 - a cancels
    rows = [[near, zero / c, near / c], [half, zero, half], [near / c, zero / c, near]]
    return quantize(epsilon, [-edge, 0.0, edge], rows)


def zero_probability(epsilon: float) -> float:
    r"""Return :math:`P(0 \mid 0)`, the a with the smallest worst-case variance.

    Notes
    -----
    It is 0 up to :math:`\epsilon = \ln 2` and :math:`c / (c + 2)`, the most that the ratio c
    allows, from :math:`\ln((3 + \sqrt{65}) / 2)` on. Between, it is a root of a cubic:

    .. math:: a = \frac{1}{6} \left[c^2 + 4 c + 5 - 2 \sqrt{D_0}
                  \cos\left(\frac{\pi}{3} + \frac{1}{3}
                  \arccos\frac{-D_1}{2 D_0^{3/2}}\right)\right]

    with :math:`D_0 = c^4 + 14 c^3 + 50 c^2 - 2 c + 25` and :math:`D_1 = -2 c^6 - 42 c^5 - 270 c^4
    - 404 c^3 - 918 c^2 + 30 c - 250`.

    Examples
    --------
    >>> round(zero_probability(1.0), 6)
    0.286077
    """
    epsilon = _checks.positive("epsilon", epsilon)
    if epsilon <= _TWO_OUTPUTS_UP_TO:
        return 0.0
    c = math.exp(min(epsilon, LARGEST_EXPONENT))
    if epsilon >= _FORMULA_UP_TO:
        return c / (c + 2.0)
    first = c**4 + 14.0 * c**3 + 50.0 * c**2 - 2.0 * c + 25.0
    second = (
        -2.0 * c**6 - 42.0 * c**5 - 270.0 * c**4 - 404.0 * c**3 - 918.0 * c**2 + 30.0 * c - 250.0
    )
    angle = math.pi / 3.0 + math.acos(max(-1.0, -second / (2.0 * first**1.5))) / 3.0
    root = (c**2 + 4.0 * c + 5.0 - 2.0 * math.sqrt(first) * math.cos(angle)) / 6.0
    return min(max(root, 0.0), c / (c + 2.0))

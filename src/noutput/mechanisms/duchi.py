r"""Duchi's mechanism: one bit per report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from noutput import _checks
from noutput.mechanisms.exact import LARGEST_EXPONENT
from noutput.mechanisms.quantize import quantize

if TYPE_CHECKING:
    from noutput.mechanisms.table import TableMechanism

__all__ = ["duchi"]


def duchi(epsilon: float) -> TableMechanism:
    r"""Return Duchi's mechanism as a certified table with two outputs.

    Notes
    -----
    With :math:`c = e^\epsilon` the outputs are :math:`\pm (c + 1) / (c - 1)`, and the larger one
    has probability :math:`1/2 + x (c - 1) / (2 (c + 1))`, linear in x between the knots -1 and 1.
    The variance is :math:`((c + 1) / (c - 1))^2 - x^2`, largest at x = 0.

    Guarantees
    ----------
    Those of `TableMechanism`: the whole-number table is certified for epsilon.

    References
    ----------
    Duchi et al., "Minimax optimal procedures for locally private estimation", 2018,
    doi:10.1080/01621459.2017.1389735.

    Examples
    --------
    >>> m = duchi(1.0)
    >>> m.n_outputs, round(m.worst_variance(), 4)
    (2, 4.6827)
    """
    epsilon = _checks.positive("epsilon", epsilon)
    excess = math.expm1(min(epsilon, LARGEST_EXPONENT))
    edge = (excess + 2.0) / excess
    unlikely = 1.0 / (excess + 2.0)
    rows = [[1.0 - unlikely, unlikely], [unlikely, 1.0 - unlikely]]
    return quantize(epsilon, [-edge, edge], rows)

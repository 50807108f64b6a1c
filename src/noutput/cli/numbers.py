"""Numbers as people write them: no more digits than their error allows."""

from __future__ import annotations

import math

__all__ = ["show"]

_MOST_DECIMALS = 12


def show(value: float, error: float | None = None, digits: int = 2) -> str:
    """Return a number with as many decimals as give `error` a few significant digits.

    Parameters
    ----------
    value : float
    error : float, optional
        What the digits are counted in; the value itself if not given.
    digits : int

    Examples
    --------
    >>> show(1234.5678, 0.42), show(0.0123456), show(98765.4, 300.0), show(0.0)
    ('1,234.57', '0.012', '98,765', '0')
    """
    scale = abs(value if error is None else error)
    if not 0.0 < scale < math.inf:
        return f"{value:,g}"
    decimals = digits - 1 - math.floor(math.log10(scale))
    return f"{value:,.{min(max(decimals, 0), _MOST_DECIMALS)}f}"

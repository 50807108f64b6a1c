"""Numbers as people write them: no more digits than their error allows."""

from __future__ import annotations

import math

__all__ = ["bits", "show"]

_MOST_DECIMALS = 8  # zeros beyond them are not read, but counted
_SMALL = 1e-4


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
    >>> show(1234.5678, 0.42), show(0.0123456), show(98765.4, 300.0), show(0.0), show(3.21e-7)
    ('1,234.57', '0.012', '98,765', '0', '3.2e-07')
    >>> show(1.8765e-10, 4.5e-11)
    '1.88e-10'
    """
    value += 0.0  # no negative zero
    scale = abs(value if error is None else error)
    if not 0.0 < scale < math.inf:
        return f"{value:,g}"
    if error is None and scale < _SMALL:
        return f"{value:.{digits}g}"
    decimals = digits - 1 - math.floor(math.log10(scale))
    if decimals > _MOST_DECIMALS:
        rounded = round(value, decimals) + 0.0
        return f"{rounded:.{_significant(rounded, decimals)}g}"
    return f"{round(value, max(decimals, 0)) + 0.0:,.{max(decimals, 0)}f}"


def _significant(value: float, decimals: int) -> int:
    """Return how many digits a number has down to a decimal."""
    return max(1, math.floor(math.log10(abs(value))) + decimals + 1) if value else 1


def bits(count: int) -> str:
    """Return a number of bits in words.

    Examples
    --------
    >>> bits(1), bits(4)
    ('1 bit', '4 bits')
    """
    return f"{count} bit" if count == 1 else f"{count} bits"

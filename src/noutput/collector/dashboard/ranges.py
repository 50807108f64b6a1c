"""Round numbers for bins and ticks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["round_bins", "tick_labels", "ticks"]

_FEWEST, _WANTED, _MOST = 12, 18, 24
_ROUND = (1.0, 2.0, 5.0, 2.5, 4.0, 3.0, 1.5, 6.0, 8.0)
_EXACT = 1e-9


def round_bins(lower: float, upper: float) -> int:
    """Return into how many bins to divide a range, so that their width is a round number.

    Examples
    --------
    >>> round_bins(0, 180), round_bins(0, 100), round_bins(-40, 50), round_bins(0, 7.77)
    (18, 20, 18, 18)
    """
    best = (len(_ROUND), 0, _WANTED)
    for count in range(_FEWEST, _MOST + 1):
        width = (upper - lower) / count
        digits = width / 10.0 ** math.floor(math.log10(width))
        for place, wanted in enumerate(_ROUND):
            if abs(digits - wanted) < _EXACT or abs(digits - 10.0 * wanted) < _EXACT:
                best = min(best, (place, abs(count - _WANTED), count))
    return best[2]


def ticks(low: float, high: float, steps: int) -> list[float]:
    """Return round numbers between two ends, about so many.

    Examples
    --------
    >>> ticks(0.0, 180.0, 4)
    [0.0, 50.0, 100.0, 150.0]
    >>> ticks(0.0, 0.043, 4)
    [0.0, 0.01, 0.02, 0.03, 0.04]
    """
    rough = (high - low) / steps
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * min((1.0, 2.0, 2.5, 5.0, 10.0), key=lambda each: abs(each - rough / power))
    first, last = math.ceil(low / step - _EXACT), math.floor(high / step + _EXACT)
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


def tick_labels(values: Sequence[float]) -> list[str]:
    """Write numbers with six digits, or as many as tell them apart, and without an exponent.

    Examples
    --------
    >>> tick_labels([0.0, 1_500_000.0]), tick_labels([1e6, 1e6 + 0.2]), tick_labels([1e12])
    (['0', '1,500,000'], ['1,000,000', '1,000,000.2'], ['1e+12'])
    """
    largest = max(map(abs, values))
    for digits in range(10 if 1e6 <= largest < 1e9 else 6, 18):
        texts = [f"{value:,.{digits}g}" for value in values]
        if len(set(texts)) == len(texts):
            break
    return texts

"""Numbers as people write them: digits that the error allows, round bins and ticks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "MOST_BARS",
    "bits",
    "exactly",
    "round_bins",
    "round_edges",
    "show",
    "tick_labels",
    "ticks",
]

MOST_BARS = 20  # of a histogram in the terminal

_MOST_DECIMALS = 8  # zeros beyond them are not read, but counted
_SMALL = 1e-4
_FEWEST, _WANTED, _MOST = 12, 18, 24  # bins
_ROUND = (1.0, 2.0, 5.0, 2.5, 4.0, 3.0, 1.5, 6.0, 8.0)
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_EXACT = 1e-9


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


def exactly(value: float) -> str:
    """Return a number with all of its digits, and none besides.

    Examples
    --------
    >>> exactly(45.0), exactly(0.1), exactly(179.9999999), exactly(1e-7)
    ('45', '0.1', '179.9999999', '1e-07')
    """
    return repr(float(value)).removesuffix(".0")


def bits(count: int) -> str:
    """Return a number of bits in words.

    Examples
    --------
    >>> bits(1), bits(4)
    ('1 bit', '4 bits')
    """
    return f"{count} bit" if count == 1 else f"{count} bits"


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
    step = power * min(_STEPS, key=lambda each: abs(each - rough / power))
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


def round_edges(lower: float, upper: float, most: int = MOST_BARS) -> list[float]:
    """Return ends of at most 20 bins, or as many as wanted, that are easy to say.

    Examples
    --------
    >>> round_edges(0, 180)[:4], len(round_edges(0, 180)) - 1
    ([0.0, 10.0, 20.0, 30.0], 18)
    >>> round_edges(-0.5, 4)[:3]
    [-0.5, -0.25, 0.0]
    >>> round_edges(0, 600, 100)[:3], len(round_edges(0, 600, 100)) - 1
    ([0.0, 10.0, 20.0], 60)
    """
    width = (upper - lower) / most
    power = 10.0 ** math.floor(math.log10(width))
    step = power * next(s for s in _STEPS if s * power >= width * (1.0 - _EXACT))
    first = math.floor(lower / step) + 1
    inner = [k * step for k in range(first, math.ceil(upper / step))]
    near = _EXACT * step
    kept = [round(x, 12) for x in inner if lower + near < x < upper - near]
    return [float(lower), *kept, float(upper)]

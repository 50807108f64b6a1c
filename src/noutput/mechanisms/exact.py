r"""The privacy certificate and the drawing of one report, in plain Python.

This module is all that a device has to trust. It imports the standard library only, and no
floating-point operation takes part in the decision whether a table is private.

Notes
-----
A table has rows of whole-number weights that add up to :math:`S = 2^{32}`. An input selects one of
the rows, perhaps at random, so for every input :math:`x` the distribution of the output is a
mixture of rows, and

.. math:: \frac{P(i \mid x)}{P(i \mid x')}
          \le \frac{\max_k w_{k,i}}{\min_k w_{k,i}} .

The mechanism is :math:`\epsilon`-locally differentially private as soon as each of these
:math:`N` ratios is at most :math:`e^\epsilon`. The check replaces :math:`e^\epsilon` by a
rational number that is provably not larger.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

__all__ = [
    "LARGEST_EXPONENT",
    "SCALE",
    "SCALE_BITS",
    "UNIT",
    "certify",
    "draw",
    "exponential_floor",
    "privacy_loss",
]

SCALE_BITS = 32
SCALE = 1 << SCALE_BITS
_FRACTION_BITS = 64
UNIT = 1 << _FRACTION_BITS  # what `exponential_floor` counts in: 1 is this many
_GUARD_BITS = 64
LARGEST_EXPONENT = 32.0  # no ratio of two weights reaches e^32


def exponential_floor(epsilon: float) -> int:
    r"""Return a whole number that is not above :math:`2^{64} e^\epsilon`.

    Parameters
    ----------
    epsilon : float
        A number that is not negative; everything above 32 counts as 32.

    Notes
    -----
    `epsilon` is taken as the exact fraction that the float stands for. The terms of the Taylor
    series are positive and each is rounded down, so the sum never exceeds the true value; 64
    guard bits keep it within one part in :math:`2^{64}`.

    Examples
    --------
    >>> exponential_floor(0.0) == 1 << 64
    True
    >>> exponential_floor(1.0) / (1 << 64)
    2.718281828459045
    """
    numerator, denominator = min(float(epsilon), LARGEST_EXPONENT).as_integer_ratio()
    total = term = 1 << (_FRACTION_BITS + _GUARD_BITS)
    n = 0
    while term:
        n += 1
        term = term * numerator // (denominator * n)
        total += term
    return total >> _GUARD_BITS


def _allows(floor: int, largest: int, smallest: int) -> bool:
    return largest << _FRACTION_BITS <= floor * smallest


def certify(largest: Sequence[int], smallest: Sequence[int], epsilon: float) -> int | None:
    r"""Return the first output whose weights differ by more than :math:`e^\epsilon`, or None.

    Parameters
    ----------
    largest, smallest : sequence of int
        The largest and the smallest weight of every column of the table.
    epsilon : float
        The loss that the table claims.

    Guarantees
    ----------
    None is returned only where ``largest[i] <= e**epsilon * smallest[i]`` holds for every
    output as a statement about real numbers, not about floats.

    Examples
    --------
    >>> certify([3, 3], [1, 1], 1.0986122886681098), certify([3, 3], [1, 1], 1.09)
    (None, 0)
    """
    floor = exponential_floor(epsilon)
    for output, (high, low) in enumerate(zip(largest, smallest, strict=True)):
        if not _allows(floor, high, low):
            return output
    return None


def privacy_loss(largest: Sequence[int], smallest: Sequence[int]) -> float:
    r"""Return the smallest float that `certify` accepts for these columns.

    The exact loss is the logarithm of a fraction; the result is that logarithm rounded up.

    Examples
    --------
    >>> privacy_loss([3, 3], [1, 1])
    1.0986122886681098
    """
    high, low = 1, 1
    for a, b in zip(largest, smallest, strict=True):
        if a * low > high * b:
            high, low = a, b
    loss = math.log1p((high - low) / low) * (1.0 - 2.0**-50)
    while not _allows(exponential_floor(loss), high, low):
        loss = math.nextafter(loss, math.inf)
    return loss


def draw(
    axes: Sequence[int | Sequence[float]],
    thresholds: Sequence[Sequence[int]],
    values: Sequence[float],
    words: Sequence[int],
) -> int:
    r"""Turn values and 64-bit words, one of each per axis, into an output.

    Parameters
    ----------
    axes : sequence
        Per coordinate, the number of answers of a list, or the knots of a number.
    thresholds : sequence of sequences of int
        Running sums of every row of weights.
    values : sequence
        The private values: the index of an answer, or a number between the outer knots.
    words : sequence of int
        Random numbers below 2^64 that are used for nothing else.

    Notes
    -----
    An answer has a row of its own. A number belongs to the cell that begins at the last knot not
    above it; the upper 32 bits of its word round it to one end of its cell so that the mean is
    right. The lower 32 bits of the first word select an output of that row. Whatever row the first
    step selects, the report is a draw from a certified row: only these lower bits matter for
    privacy, and rounding errors of the position cost accuracy alone.

    Examples
    --------
    >>> draw([[0.0, 9.0]], [[3 << 30, 1 << 32], [1 << 30, 1 << 32]], [9.0], [0xFFFF_FFFF])
    1
    """
    row = 0
    for axis, value, word in zip(axes, values, words, strict=True):
        if isinstance(axis, int):
            row = row * axis + int(value)
            continue
        cell = min(bisect_right(axis, value) - 1, len(axis) - 2)
        position = (value - axis[cell]) * (SCALE / (axis[cell + 1] - axis[cell]))
        row = row * len(axis) + cell + ((word >> SCALE_BITS) < position)
    return bisect_right(thresholds[row], words[0] & (SCALE - 1))

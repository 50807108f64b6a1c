"""Argument checks: each returns the checked value, or raises with name, rule and found value."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "LARGEST",
    "apart",
    "bounded",
    "choice",
    "finite",
    "histogram",
    "increasing",
    "inner_share",
    "numbers",
    "positive",
    "span",
    "vector",
    "whole",
]


LARGEST = 1e100  # of numbers whose squares, and sums of them, must be finite
_ANY = 1 << 64  # limits beyond it are no news to anybody


def _real(value: object) -> float:
    """Return a real number as a float, and NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):  # numpy's time spans count as real numbers
        return math.nan


def finite(name: str, value: object) -> float:
    """Return a finite real number as a float."""
    number = _real(value)
    if math.isfinite(number):
        return number
    raise InvalidArgumentError(name, "be a finite number", value)


def increasing(name: str, values: object) -> tuple[float, ...]:
    """Return a sequence of finite numbers that increase, as floats without negative zeros."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise InvalidArgumentError(name, "be a sequence of numbers", values)
    result = tuple(finite(f"{name}[{index}]", value) + 0.0 for index, value in enumerate(values))
    for pair in pairwise(result):
        if not pair[0] < pair[1]:
            raise InvalidArgumentError(name, "increase from entry to entry", pair)
    return result


def positive(name: str, value: object) -> float:
    """Return a positive finite real number as a float."""
    number = _real(value)
    if 0.0 < number < math.inf:
        return number
    raise InvalidArgumentError(name, "be a positive finite number", value)


def apart(name: str, lower: float, upper: float) -> None:
    """Refuse ends of an interval whose half width is infinite, or rounds to 0."""
    if not 0.0 < (upper - lower) / 2.0 < math.inf:
        rule = "be a finite distance apart, and not too close to halve it"
        raise InvalidArgumentError(name, rule, (lower, upper))


def inner_share(name: str, value: object) -> float:
    """Return a number strictly between 0 and 1 as a float."""
    number = _real(value)
    if 0.0 < number < 1.0:
        return number
    raise InvalidArgumentError(name, "lie strictly between 0 and 1", value)


def whole(name: str, value: object, low: int, high: int) -> int:
    """Return a whole number between `low` and `high`, both included."""
    if not isinstance(value, bool) and isinstance(value, Integral) and low <= int(value) <= high:
        return int(value)
    range_ = f"from {low} to {high}" if high < _ANY else f"not below {low}"
    raise InvalidArgumentError(name, f"be a whole number {range_}", value)


def choice(name: str, value: object, options: Collection[str]) -> str:
    """Return `value` where it is one of `options`."""
    if isinstance(value, str) and value in options:
        return value
    wanted = ", ".join(repr(option) for option in options)
    raise InvalidArgumentError(name, f"be one of {wanted}", value)


def bounded(
    name: str, value: object, bounds: tuple[float, float] = (-1.0, 1.0), *, clip: bool = False
) -> float:
    """Return a number between two bounds; `clip` moves others to the nearer one, not NaN."""
    number = _real(value)
    if clip and not math.isnan(number):
        number = min(max(number, bounds[0]), bounds[1])
    if bounds[0] <= number <= bounds[1]:
        return number
    raise InvalidArgumentError(name, f"be a number in {span(bounds)}", value)


def span(bounds: tuple[float, float]) -> str:
    """Return the text of a closed interval, such as "[-1, 1]"."""
    lower, upper = (repr(float(bound)).removesuffix(".0") for bound in bounds)
    return f"[{lower}, {upper}]"


def numbers(name: str, rule: str, values: ArrayLike) -> NDArray[np.generic]:
    """Return an array of numbers; texts, ragged rows and hidden (masked) entries are refused."""
    import numpy as np

    try:
        array: NDArray[np.generic] = np.asarray(values)
    except (ValueError, OverflowError):
        raise InvalidArgumentError(name, rule, values) from None
    if array.dtype.kind == "b" and array.size:
        rule += ", 0 and 1 for truth values"
    hidden = isinstance(values, np.ma.MaskedArray) and bool(np.ma.getmaskarray(values).any())
    if hidden or (array.dtype.kind not in "fiu" and array.size):
        raise InvalidArgumentError(name, rule, values)
    return array


def vector(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return a one-dimensional array of finite floats (a copy)."""
    import numpy as np

    rule = "be a one-dimensional sequence of numbers"
    array = numbers(name, rule, values)
    if array.ndim != 1:
        raise InvalidArgumentError(name, rule, values)
    result = array.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(result))
    if bad.size:
        raise InvalidArgumentError(f"{name}[{bad[0]}]", "be a finite number", result[bad[0]])
    return result


def histogram(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return probabilities of equal bins of [-1, 1] from nonnegative weights."""
    weights = vector(name, values)
    if not weights.size or weights.min() < 0.0 or not 0.0 < weights.sum() < math.inf:
        raise InvalidArgumentError(name, "be nonnegative numbers with a positive sum", values)
    result: NDArray[np.float64] = weights / weights.sum()
    return result

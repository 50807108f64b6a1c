"""Bounds in the user's own units, and the map from there to [-1, 1] and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["UNIT", "Interval", "IntervalLike", "as_interval", "scale_to_unit"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval of the user's units, such as minutes from 0 to 180.

    Parameters
    ----------
    lower, upper : float
        The ends; `lower` is smaller than `upper`.

    Examples
    --------
    >>> minutes = Interval(0, 180)
    >>> minutes.to_unit([0, 45, 180])
    array([-1. , -0.5,  1. ])
    >>> minutes.from_unit(0.5)
    135.0
    >>> minutes.half_width
    90.0
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        lower = _checks.finite("lower", self.lower)
        upper = _checks.finite("upper", self.upper)
        if not lower < upper:
            raise InvalidArgumentError("upper", f"be larger than lower ({lower})", upper)
        _checks.apart("bounds", lower, upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def half_width(self) -> float:
        """What one unit of [-1, 1] stands for."""
        return (self.upper - self.lower) / 2.0

    def to_unit(self, values: ArrayLike, *, clip: bool = False) -> NDArray[np.float64]:
        """Map values of this interval to [-1, 1].

        Values outside are refused, or moved to the nearer end where `clip` is true. NaN is
        always refused.
        """
        array = _checks.numbers("values", "be numbers", values)
        numbers = array.astype(np.float64)
        within = (numbers >= self.lower) & (numbers <= self.upper)
        if not np.all(within):
            bad = np.flatnonzero(np.isnan(numbers) if clip else ~within)
            if bad.size:
                raise InvalidArgumentError(
                    f"values[{bad[0]}]",
                    f"lie in [{self.lower}, {self.upper}]",
                    float(numbers.flat[bad[0]]),
                )
            numbers = np.clip(numbers, self.lower, self.upper)
        return scale_to_unit(numbers, self)

    def from_unit(self, value: float) -> float:
        """Map a number of [-1, 1] to this interval (numbers outside go beyond its ends)."""
        return self.lower + (value + 1.0) * self.half_width


def scale_to_unit(numbers: NDArray[np.float64], interval: Interval) -> NDArray[np.float64]:
    """Map floats that are known to lie in the interval to [-1, 1]."""
    unit = (numbers - interval.lower) / interval.half_width - 1.0
    result: NDArray[np.float64] = np.clip(unit, -1.0, 1.0)
    return result


UNIT = Interval(-1.0, 1.0)

IntervalLike: TypeAlias = Interval | Sequence[float]


def as_interval(bounds: object, name: str = "bounds") -> Interval:
    """Return bounds as an Interval: one that is given, or a pair of numbers.

    Examples
    --------
    >>> as_interval((0, 180)) == as_interval(Interval(0, 180)) == Interval(0, 180)
    True
    """
    if isinstance(bounds, Interval):
        return bounds
    if isinstance(bounds, Sequence | np.ndarray) and not isinstance(bounds, str | bytes):
        ends = list(np.atleast_1d(bounds)) if isinstance(bounds, np.ndarray) else list(bounds)
        if len(ends) == 2:
            lower = _checks.finite(f"{name}[0]", ends[0])
            upper = _checks.finite(f"{name}[1]", ends[1])
            if not lower < upper:
                raise InvalidArgumentError(name, "start with the smaller of two numbers", bounds)
            _checks.apart(name, lower, upper)
            return Interval(lower, upper)
    rule = "be a pair of numbers such as (0, 100), or an Interval"
    raise InvalidArgumentError(name, rule, bounds)

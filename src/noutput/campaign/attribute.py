"""Attribute: a number that a campaign asks for, and its map to [-1, 1]."""

from __future__ import annotations

import math
from dataclasses import dataclass

from noutput import _checks
from noutput._text import check_name, check_text
from noutput.errors import InvalidArgumentError

__all__ = ["Attribute"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """One number that a campaign asks for.

    Parameters
    ----------
    name : str
        From 1 to 64 of the characters a-z, 0-9 and _, the first a letter.
    unit : str
        What the number counts, such as "minutes"; may be empty.
    lower, upper : float
        The bounds. Values outside are moved to the nearer bound, on the device only.

    Examples
    --------
    >>> commute = Attribute("commute", "minutes", 0, 180)
    >>> commute.to_unit(45), commute.to_unit(1000), commute.from_unit(0.5)
    (-0.5, 1.0, 135.0)
    """

    name: str
    unit: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        check_name("name", self.name)
        check_text("unit", self.unit, 0, 64)
        lower = _checks.finite("lower", self.lower) + 0.0
        upper = _checks.finite("upper", self.upper) + 0.0
        if not lower < upper:
            raise InvalidArgumentError("upper", f"be larger than lower ({lower})", upper)
        _checks.apart("bounds", lower, upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    def to_unit(self, value: float) -> float:
        """Map a number to [-1, 1]; one outside the bounds is moved to the nearer bound.

        An error never repeats the value, because it is private.
        """
        try:
            number = _checks.finite("value", value)
        except InvalidArgumentError:
            number = math.nan  # raising here would keep the value as the error's context
        kind = type(value).__name__
        del value
        if math.isnan(number):
            name = f"values[{self.name!r}]"
            raise InvalidArgumentError(name, "be a finite number", kind)
        number = min(max(number, self.lower), self.upper)
        unit = (number - self.lower) / ((self.upper - self.lower) / 2.0) - 1.0
        return min(max(unit, -1.0), 1.0)

    def from_unit(self, value: float) -> float:
        """Map a number of [-1, 1] back to the attribute's own unit."""
        return self.lower + (value + 1.0) * ((self.upper - self.lower) / 2.0)

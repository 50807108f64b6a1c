"""Parts of a summary: numbers with their intervals."""

from __future__ import annotations

from dataclasses import dataclass

from noutput._numbers import show

__all__ = ["Bar", "Estimate", "Histogram"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Number with its interval.

    Examples
    --------
    >>> Estimate(31.41592, 30.9, 32.1).texts
    ('31.42', '30.90', '32.10')
    >>> Estimate(1.58, 0.97, 1.0).inside
    Estimate(value=1.0, low=0.97, high=1.0)
    """

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2.0

    @property
    def inside(self) -> Estimate:
        """The same with the number moved into its interval."""
        return Estimate(min(max(self.value, self.low), self.high), self.low, self.high)

    @property
    def texts(self) -> tuple[str, str, str]:
        """The number and the ends of its interval, with two digits of its uncertainty."""
        half = self.half or None
        return show(self.value, half), show(self.low, half), show(self.high, half)

    def to_dict(self) -> dict[str, object]:
        """Return the number and its interval as plain JSON."""
        return {"value": self.value, "interval": [self.low, self.high]}


@dataclass(frozen=True, slots=True)
class Histogram:
    """Shares of equal bins between the bounds, with an interval for each.

    Parameters
    ----------
    edges : list of n + 1 floats
    probabilities, lower, upper : list of n floats
    """

    edges: list[float]
    probabilities: list[float]
    lower: list[float]
    upper: list[float]


@dataclass(frozen=True, slots=True)
class Bar:
    """Bar of a picture: the share of people with an answer, or in a bin.

    Parameters
    ----------
    label : str
    share : float
        What is drawn: from 0 to 1.
    low, high : float
        The ends of its interval.
    """

    label: str
    share: float
    low: float
    high: float

    @property
    def texts(self) -> tuple[str, str, str]:
        """The share and the ends of its interval in percent.

        Examples
        --------
        >>> Bar("yes", 0.12345, 0.1, 0.15).texts, Bar("yes", 0.123456, 0.1233, 0.1236).texts
        (('12.3%', '10.0%', '15.0%'), ('12.35%', '12.33%', '12.36%'))
        """
        decimals = 1 if self.high - self.low > 0.002 else 2
        share, low, high = (f"{100.0 * x:.{decimals}f}%" for x in (self.share, self.low, self.high))
        return share, low, high

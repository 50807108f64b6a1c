"""How a statistic is read: what it is called, and in which unit it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from noutput.estimate.statistics import Statistic
from noutput.estimate.summary import Estimate
from noutput.questions import Number, YesNo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.questions import Question

__all__ = ["Reading", "reading"]

_HALF = 0.5
_PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class Reading:
    """A statistic as people read it.

    Parameters
    ----------
    noun : str
    unit : str
    factor : float
        How many of these units 1 is.
    """

    noun: str
    unit: str
    factor: float

    def figure(self, value: float, interval: Sequence[float]) -> Estimate:
        """Return a figure in the unit that people read."""
        low, high = interval
        return Estimate(self.factor * value, self.factor * low, self.factor * high)

    def write(self, figure: Estimate) -> str:
        """Write a figure with its unit and its interval."""
        value, low, high = figure.texts
        return f"{value}{self.after} ({low} to {high})"

    @property
    def after(self) -> str:
        """The unit as it stands after a number."""
        return f" {self.unit}" if self.unit not in ("", "%") else self.unit


def reading(question: Question, statistic: str) -> Reading:
    """Return how a statistic of a question is read.

    Examples
    --------
    >>> import noutput as no
    >>> reading(no.Number(0, 5, "min"), "mean").noun, reading(no.YesNo(), "mean").noun
    ('average', 'share of yes')
    >>> told = reading(no.Choice("train", "car"), "car")
    >>> told.noun, told.write(told.figure(0.25, (0.2, 0.3)))
    ('share of “car”', '25.0% (20.0 to 30.0)')
    >>> reading(no.Number(0, 5, "min"), "below 2.5").noun
    'share below 2.5 min'
    >>> reading(no.Number(0, 5), "quantile 0.5").noun, reading(no.Number(0, 5), "quantile 0.9").noun
    ('median', '90% quantile')
    >>> reading(no.Number(0, 90, "min", edges=[15, 30]), "share 15 to 30").noun
    'share from 15 to 30 min'
    """
    parsed = Statistic.parse(statistic, question)
    unit = parsed.unit(question)
    if parsed.kind == "mean" and isinstance(question, YesNo):
        return Reading("share of yes", "%", _PERCENT)
    if parsed.kind == "mean":
        return Reading("average" if isinstance(question, Number) else "average score", unit, 1.0)
    if parsed.kind == "quantile":
        (at,) = parsed.at
        return Reading("median" if at == _HALF else f"{_PERCENT * at:g}% quantile", unit, 1.0)
    if isinstance(question, Number):
        name = parsed.name.replace("share", "from")
        return Reading(f"share {name} {question.unit}".rstrip(), "%", _PERCENT)
    return Reading(f"share of “{parsed.label}”", "%", _PERCENT)

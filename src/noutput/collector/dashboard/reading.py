"""How a statistic is read: what it is called, and in which unit it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from noutput._numbers import exactly
from noutput.collector.measured import MEAN, of_numbers
from noutput.estimate.summary import Figure
from noutput.questions import Number, YesNo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.questions import Question

__all__ = ["Reading", "reading"]

_HALF = 0.5


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

    def figure(self, value: float, interval: Sequence[float]) -> Figure:
        """Return a figure in the unit that people read."""
        low, high = interval
        return Figure(self.factor * value, self.factor * low, self.factor * high)

    def write(self, figure: Figure) -> str:
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
    """
    if isinstance(question, Number):
        return _of_number(question, statistic)
    if isinstance(question, YesNo):
        return Reading("share of yes", "%", 100.0)
    if statistic == MEAN:
        return Reading("average score", "", 1.0)
    return Reading(f"share of “{statistic}”", "%", 100.0)


def _of_number(question: Number, statistic: str) -> Reading:
    asked = of_numbers(question, statistic)
    if asked is None:
        return Reading("average", question.unit, 1.0)
    kind, at = asked
    if kind == "below":
        return Reading(f"share below {exactly(at)} {question.unit}".rstrip(), "%", 100.0)
    return Reading("median" if at == _HALF else f"{100.0 * at:g}% quantile", question.unit, 1.0)

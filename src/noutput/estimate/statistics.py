r"""Statistics of a question: parsed and named, with a unit, as vectors over places.

Notes
-----
A place is where an answer can be: an answer of a list, or an end of a cell between two neighboring
knots of a table for numbers, so that an inner knot has two places, one per side. A number inside a
cell acts as a mixture of its two ends, by its distance from them. So people act as shares
:math:`\pi` of the places, and many statistics are :math:`\pi c` for a vector c: the mean has the
number at every place, the share below an edge 1 at all places below it.

The two places of a knot share a row of the table, except at the question's edges. What differs
between places of one row is not told by any number of reports: the share below a knot that is no
edge, or below a number inside a cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput import _checks
from noutput._numbers import exactly
from noutput.errors import InvalidArgumentError
from noutput.questions import Answers, Number, Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array

__all__ = ["Places", "Statistic"]

_NUMBER_RULE = "be 'mean', 'below 45', 'share 15 to 30' or 'quantile 0.5', with other numbers"


@dataclass(frozen=True)
class Places:
    """Places of a table for numbers: both ends of every cell between neighboring knots.

    Parameters
    ----------
    knots : tuple of nondecreasing floats
        One per row of the table; a jump is listed twice.

    Examples
    --------
    >>> places = Places((0.0, 15.0, 15.0, 30.0, 60.0))
    >>> places.numbers.tolist(), places.rows.tolist()
    ([0.0, 15.0, 15.0, 30.0, 30.0, 60.0], [0, 1, 2, 3, 3, 4])
    >>> places.edges, places.widths.tolist()
    ((15.0,), [15.0, 15.0, 15.0, 30.0, 30.0])
    >>> places.by_row(places.numbers).tolist(), places.by_row(places.between(0.0, 30.0))
    ([0.0, 15.0, 15.0, 30.0, 60.0], None)
    """

    knots: tuple[float, ...]

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The row of the table of every place."""
        lower = np.flatnonzero(np.diff(self.knots) > 0.0)
        return np.column_stack([lower, lower + 1]).ravel()

    @cached_property
    def numbers(self) -> Array:
        """The number at every place."""
        return np.array(self.knots)[self.rows]

    @property
    def edges(self) -> tuple[float, ...]:
        """The numbers at which the table jumps."""
        return tuple(low for low, high in zip(self.knots, self.knots[1:], strict=False)
                     if low == high)  # fmt: skip

    @cached_property
    def widths(self) -> Array:
        """The width of the wider of the spans at every row."""
        result = np.zeros(len(self.knots))
        np.maximum.at(result, self.rows, np.repeat(np.diff(self.numbers)[::2], 2))
        return result

    def between(self, low: float, high: float) -> Array:
        """The share of numbers from `low` up to, and without, `high`: a vector over places."""
        middles = np.repeat((self.numbers[::2] + self.numbers[1::2]) / 2.0, 2)
        return np.asarray((low < middles) & (middles < high), np.float64)

    def by_row(self, vector: Array) -> Array | None:
        """A vector over places as one over rows; None where places of one row differ."""
        result = np.zeros(len(self.knots))
        result[self.rows] = vector
        return result if np.array_equal(result[self.rows], vector) else None


@dataclass(frozen=True)
class Statistic:
    """A statistic of one question.

    Parameters
    ----------
    kind : {"mean", "below", "share", "quantile", "answer"}
    at : tuple
        Numbers, or the index of an answer.
    label : str
        Of an answer.

    Examples
    --------
    >>> import noutput as no
    >>> minutes = no.Number(0, 180, "minutes")
    >>> names = ("mean", "below 45.0", "share 15 to 30", "quantile 0.5")
    >>> [Statistic.parse(name, minutes).name for name in names]
    ['mean', 'below 45', 'share 15 to 30', 'quantile 0.5']
    >>> Statistic.parse("mean", minutes).unit(minutes)
    'minutes'
    >>> Statistic.parse("car", no.Choice("train", "car"))
    Statistic(kind='answer', at=(1,), label='car')
    >>> Statistic.parse("below 15", minutes).vector(Places((0.0, 15.0, 15.0, 180.0))).tolist()
    [1.0, 1.0, 0.0, 0.0]
    >>> Statistic.parse("below 20", minutes).vector(Places((0.0, 15.0, 15.0, 180.0)))
    Traceback (most recent call last):
        ...
    noutput.errors.InvalidArgumentError: statistic must be at an edge of the question, one of 15: \
ask with an edge at 20 to learn it; found 'below 20'
    """

    kind: str
    at: tuple[Any, ...] = ()
    label: str = ""

    @classmethod
    def parse(cls, statistic: object, question: Question) -> Statistic:
        """Read a statistic by its name; of a question with answers, "mean" or an answer.

        Raises
        ------
        InvalidArgumentError
            If the question has no such statistic.
        """
        if isinstance(statistic, cls):
            return statistic
        if isinstance(question, Answers):
            return cls._of_answers(statistic, question)
        kind, _, text = str(statistic).partition(" ")
        parts = text.split(" to ") if kind == "share" else [text][: bool(text)]
        wanted = {"mean": 0, "below": 1, "share": 2, "quantile": 1}.get(kind)
        try:
            numbers = tuple(float(part) for part in parts)
        except ValueError:
            wanted = None
        if wanted is None or len(numbers) != wanted or not isinstance(question, Number):
            raise InvalidArgumentError("statistic", _NUMBER_RULE, statistic)
        if kind == "quantile":
            _checks.inner_share("statistic", numbers[0])
        elif numbers:
            lower, upper = question.lower, question.upper
            ends = (lower, *numbers, upper) if kind == "below" else numbers
            if not (lower <= numbers[0] and numbers[-1] <= upper and _rises(ends)):
                rule = f"lie between the bounds, {exactly(lower)} and {exactly(upper)}, and rise"
                raise InvalidArgumentError("statistic", rule, statistic)
        return cls(kind, numbers)

    @classmethod
    def _of_answers(cls, statistic: object, question: Answers) -> Statistic:
        if statistic == "mean" and question.scores is not None:
            return cls("mean")
        index = question.find(statistic)
        if index is None:
            known = [*(["mean"] if question.scores is not None else []), *question.labels]
            raise InvalidArgumentError("statistic", f"be one of {known}", statistic)
        return cls("answer", (index,), question.labels[index])

    @property
    def name(self) -> str:
        """What `parse` reads."""
        if self.kind == "answer":
            return self.label
        return " ".join([self.kind, *([" to ".join(map(exactly, self.at))] if self.at else [])])

    def unit(self, question: Question) -> str:
        """The unit of values: that of the question, or none for shares and scores."""
        if isinstance(question, Number) and self.kind in ("mean", "quantile"):
            return question.unit
        return ""

    def vector(self, places: Places | Answers) -> Array:
        """The vector over the places of a table for numbers, or over answers.

        Raises
        ------
        InvalidArgumentError
            If it is a quantile, or a share up to a number that is no edge.
        """
        if isinstance(places, Answers):
            if self.kind == "mean":
                return np.array(places.scores, np.float64)
            return np.asarray(np.arange(places.n_answers) == self.at[0], np.float64)
        if self.kind == "mean":
            return places.numbers
        if self.kind not in ("below", "share"):
            rule = "be a mean or a share: others are no vector over places"
            raise InvalidArgumentError("statistic", rule, self.name)
        bounds = (places.knots[0], *places.edges, places.knots[-1])
        missing = [exactly(number) for number in self.at if number not in bounds]
        if missing:
            edges = ", ".join(map(exactly, places.edges))
            rule = f"at an edge of the question, {f'one of {edges}' if edges else 'which has none'}"
            ask = f"an edge at {missing[0]}" if len(missing) == 1 else f"edges at {missing}"
            raise InvalidArgumentError(
                "statistic", f"be {rule}: ask with {ask} to learn it", self.name
            )
        low, high = (places.knots[0], self.at[0]) if self.kind == "below" else self.at
        return places.between(low, high)


def _rises(numbers: tuple[float, ...]) -> bool:
    return all(low < high for low, high in pairwise(numbers))

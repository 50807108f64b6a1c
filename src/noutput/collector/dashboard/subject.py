"""The subject of a page: what is shown at a glance and drawn, by the kind of question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from noutput.estimate.summary import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Followed", "Glance", "Subject", "Table"]


@dataclass(frozen=True, slots=True)
class Glance:
    """The figure at the top of a page.

    Parameters
    ----------
    title : str
        What it is.
    value, unit : str
    low, high : str
        The ends of its interval.
    lead : str
        What stands before the interval.
    is_words : bool
        Whether the value is an answer, and not a number.
    notes : sequence of str
        What to know about it.
    facts : sequence of pairs of str
        Further figures beside it.
    """

    title: str
    value: str
    low: str
    high: str
    unit: str = ""
    lead: str = ""
    is_words: bool = False
    notes: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Followed:
    """What is followed over time, in the units that people read.

    Parameters
    ----------
    noun : str
        What it is: "average", "share of yes", ...
    known : str
        The start of a sentence on how well it is known.
    caption : str
        What the chart shows.
    column : str
        The heading of its column.
    unit : str
    figure : Estimate
        As it is now.
    half : float
        Half the width of its interval, which need not lie within what is possible.
    most : float
        Half the width of all that is possible.
    needed : function of float
        How many reports a half width takes in all.
    factor : float
        How many of these units the figures of milestones are.
    is_uncertainty : bool
        Whether the figure is an uncertainty, and has none itself.
    """

    noun: str
    known: str
    caption: str
    column: str
    unit: str
    figure: Estimate
    half: float
    most: float
    needed: Callable[[float], float]
    factor: float = 1.0
    is_uncertainty: bool = False

    def scaled(self, value: float, low: float, high: float) -> Estimate:
        """Return the figure of a milestone in the units that people read."""
        return Estimate(*(self.factor * each for each in (value, low, high)))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts with their headings; the first cell of a row is its name."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Subject:
    """All that a page shows about the reports on one question, but for time.

    Parameters
    ----------
    glance : Glance
    followed : Followed
    chart_title, readout : str
        Above and below the picture.
    keys : sequence of pairs of str
        The legend: style and name.
    wide, narrow : str
        The picture as SVG, for wide and for narrow screens.
    histogram : dict
        What the picture of a number shows, as columns.
    table : Table or None
        The same in words.
    figures : sequence of tuples of str
        All other figures: name, value and the ends of the interval.
    fit : tuple of str
        State, heading and explanation of the test for forged reports.
    basis : str
        What the intervals of the picture are.
    """

    glance: Glance
    followed: Followed
    chart_title: str
    readout: str
    keys: Sequence[tuple[str, str]]
    wide: str
    narrow: str
    figures: Sequence[tuple[str, ...]]
    fit: tuple[str, str, str]
    table: Table | None = None
    histogram: dict[str, Any] = field(default_factory=dict)
    basis: str = ""

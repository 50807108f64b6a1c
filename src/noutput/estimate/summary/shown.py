"""What all summaries can do: print, draw and export what they hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from noutput.estimate.answers.normal import FEWEST
from noutput.estimate.summary import drawing, frame, page, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from noutput.estimate.summary.figure import Bar
    from noutput.questions import Question

__all__ = ["CERTAIN", "SUSPICIOUS", "Shown", "forged_words", "kind_notes", "without_intervals"]

SUSPICIOUS = 0.05  # a p-value below it is told to people; one honest question in 20 has one
CERTAIN = 0.001  # a p-value below it is called likely forgery, and no interval is claimed then

_CLAIMS = frozenset(
    {"interval", "intervals", "joint_interval", "guaranteed_interval", "respondents_interval",
     "standard_error", "low", "high", "cdf_low", "cdf_high"}
)  # fmt: skip


def forged_words(p_value: float) -> str:
    """Return what a p-value of the test for forged reports says.

    Examples
    --------
    >>> forged_words(0.4)
    'no sign of them (p = 0.4)'
    >>> forged_words(0.02)
    'unusual: one honest question in 20 looks like this (p = 0.02)'
    >>> forged_words(0.0008)
    'LIKELY: no honest people would send these counts (p = 0.0008)'
    """
    words = "no sign of them"
    if p_value < CERTAIN:
        words = "LIKELY: no honest people would send these counts"
    elif p_value < SUSPICIOUS:
        words = "unusual: one honest question in 20 looks like this"
    return f"{words} (p = {p_value:.2g})"


def kind_notes(kind: str, reports: int) -> list[str]:
    """Return the note on guaranteed intervals; none where intervals are normal.

    Examples
    --------
    >>> kind_notes("guaranteed", 80), kind_notes("normal", 8_000)
    (['Intervals are guaranteed: fewer than 100 reports.'], [])
    """
    few = f": fewer than {FEWEST} reports" if reports < FEWEST else ""
    return [f"Intervals are guaranteed{few}."] if kind == "guaranteed" else []


def without_intervals(document: Any) -> Any:
    """Return plain JSON with null for everything that claims how sure a value is.

    Examples
    --------
    >>> without_intervals({"mean": {"value": 3.0, "interval": [2.0, 4.0]}, "lower": 0.0})
    {'mean': {'value': 3.0, 'interval': None}, 'lower': 0.0}
    """
    if isinstance(document, list):
        return [without_intervals(each) for each in document]
    if not isinstance(document, dict):
        return document
    return {
        # The bounds of a question are numbers; of a histogram, these are the ends of intervals.
        name: None
        if name in _CLAIMS or (name in ("lower", "upper") and isinstance(value, list))
        else without_intervals(value)
        for name, value in document.items()
    }


class Shown(ABC):
    """A summary of the reports on one question.

    Its `lines`, `bars` and `notes` are all that text, pages and pictures are made of.
    """

    question: Question
    epsilon: float
    level: float

    @property
    @abstractmethod
    def reports(self) -> int:
        """How many reports were counted."""

    @property
    @abstractmethod
    def goodness(self) -> float:
        """How plausible the counts are if nobody forged a report: a p-value."""

    @property
    def warning(self) -> str:
        """The headline where no honest people would send these counts; empty elsewhere.

        An interval allows for chance and for what privacy adds, not for forgery: so where there is
        a warning, neither texts nor pictures nor `to_dict` have one.
        """
        if self.goodness >= CERTAIN:
            return ""
        return (
            "Some reports are probably forged. Honest people would practically never send these "
            f"counts, whatever they answer (p = {self.goodness:.2g}). Raw answers that were passed "
            "as reports look like this, too. Do not trust the figures before you know why; no "
            "interval is claimed for them."
        )

    @property
    @abstractmethod
    def lines(self) -> Mapping[str, tuple[str, str, str]]:
        """Statistics by the names that people know: value and ends of the interval, as texts.

        The ends are empty where there is a `warning`.
        """

    @property
    @abstractmethod
    def bars(self) -> Sequence[Bar]:
        """What is drawn: one bar per answer, or per bin."""

    @property
    @abstractmethod
    def notes(self) -> Sequence[str]:
        """Sentences for the reader, the one on forged reports first."""

    @property
    def full_scale(self) -> float | None:
        """The share that fills a picture; the largest that there is if None."""
        return None

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON; where there is a `warning`, intervals are null."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Return the rows of `to_frame`."""

    @property
    def heading(self) -> str:
        """The question's title, and how many people answered under which epsilon."""
        title = self.question.title
        if title:
            title += " " if title[-1] in ".:?!" else ": "
        count = f"{self.reports:,} report{'s' if self.reports != 1 else ''}"
        return f"{title}{count}, epsilon = {self.epsilon:g}"

    def __str__(self) -> str:
        return text.summary_text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return the summary as notebooks show it: a picture and a small table."""
        return page.summary_page(self)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the bars with their intervals by matplotlib, and return the axes.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Where to draw; a new figure if not given.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        return drawing.draw(self, axes)

    def to_frame(self, package: str | None = None) -> Any:
        """Return one row per answer, or per statistic of a number, as a data frame.

        Parameters
        ----------
        package : {"pandas", "polars"}, optional
            By default pandas if it is installed, otherwise Polars.

        Raises
        ------
        MissingExtraError
            If it is not installed.
        """
        return frame.data_frame(self.records(), package)

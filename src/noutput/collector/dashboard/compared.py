"""The comparison of segments on a page: a picture, its table, and the differences of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noutput._numbers import show
from noutput.collector.comparing import BETWEEN, MAX_PAIRED_GROUPS
from noutput.collector.dashboard import words
from noutput.collector.dashboard.dots import NARROW, WIDE, Dot, dots_svg
from noutput.collector.dashboard.reading import Reading, reading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from noutput.questions import Question

__all__ = ["ComparisonView", "comparison_view"]


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """What the page says about groups.

    Parameters
    ----------
    title : str
    wide, narrow : str
        The picture as SVG; empty where no group is shown.
    rows : sequence of tuples of str
        Name, reports, estimate and interval, as in the picture.
    pairs : sequence of tuples of str
        The difference of two groups, its interval, and whether it is clear; clear ones first.
    hidden : str
        What is too small to be shown, and whether there are too many pairs, in words.
    unit : str
    """

    title: str
    wide: str
    narrow: str
    rows: Sequence[tuple[str, str, str, str]]
    pairs: Sequence[tuple[str, str, str, str]]
    hidden: str
    unit: str


def comparison_view(question: Question, statistic: str, found: Mapping[str, Any]) -> ComparisonView:
    """Prepare what `noutput.collector.comparing.comparison` found about one statistic."""
    told = reading(question, statistic)
    reports = {row["group"]: row["reports"] for row in found["groups"]}
    (chosen,) = (each for each in found["statistics"] if each["name"] == statistic)
    figures = {
        row["group"]: told.figure(row["value"], row["interval"]) for row in chosen["estimates"]
    }
    order = sorted(figures, key=lambda group: -figures[group].value)
    dots = [Dot(each, figures[each], told.write(figures[each])) for each in order]
    by = BETWEEN.join(found["by"])
    title = f"{words.capital(told.noun)} by {by}"
    said = f"{title}: " + "; ".join(f"{dot.name} {dot.text}" for dot in dots)
    pairs = sorted(chosen["differences"] or (), key=_clearness, reverse=True)
    many = f" Pairs are compared of {MAX_PAIRED_GROUPS} groups at most."
    return ComparisonView(
        title=title,
        wide=dots_svg(dots, WIDE, label=said) if dots else "",
        narrow=dots_svg(dots, NARROW, label=said) if dots else "",
        rows=[
            (dot.name, words.count(reports[group]), *_texts(dot))
            for group, dot in zip(order, dots, strict=True)
        ],
        pairs=[_pair(told, each) for each in pairs],
        hidden=found["text"] + (many if chosen["differences"] is None else ""),
        unit=told.unit,
    )


def _texts(dot: Dot) -> tuple[str, str]:
    value, low, high = dot.figure.texts
    return value, f"{low} to {high}"


def _clearness(pair: Mapping[str, Any]) -> float:
    error: float = pair["standard_error"]
    return abs(pair["value"]) / error if error else 0.0


def _pair(told: Reading, pair: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Write a difference so that it is not negative: the larger group first."""
    first, second = pair["first"], pair["second"]
    value, low, high = (told.factor * pair[name] for name in ("value", "low", "high"))
    if value < 0.0:
        first, second, value, low, high = second, first, -value, -high, -low
    half = (high - low) / 2.0 or None
    ends = f"{show(low, half)} to {show(high, half)}"
    names = f"{first} over {second}"
    return names, show(value, half), ends, "yes" if pair["is_clear"] else "may be chance"

"""Estimates of groups in the terminal: a table with dots, and the differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from noutput.cli.histogram import encodable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.cli.estimate_groups import FoundGroups
    from noutput.frames import GroupedTally, Recipe

__all__ = ["show_groups"]

_SHOWN_PAIRS = 45
_DOTS = 33  # columns of the picture beside the table


def show_groups(found: FoundGroups, recipe: Recipe, reference: str | None) -> None:
    """Print the table of one column's groups, and what was asked for besides."""
    groups = "1 group" if len(found.means) == 1 else f"{len(found.means):,} groups"
    click.echo(
        f"{found.column} by {', '.join(found.tally.by)}: {groups}, "
        f"epsilon = {recipe.mechanism.epsilon:g}\n"
    )
    if not recipe.secure:
        click.echo("These reports were drawn with a seed: a simulation that protects nobody.\n")
    parts = [_table(found), _notes(found)]
    if found.differences:
        parts.append(_pairs(found, reference))
    click.echo(encodable("\n\n".join("\n".join(part) for part in parts)) + "\n")


def _notes(found: FoundGroups) -> list[str]:
    """Return what is said under the table."""
    level = f"{100.0 * found.level:g}%"
    notes = [
        f"From and to: {level} intervals. Labels are public: reports protect values, not them."
    ]
    if found.tally.hidden:
        notes.append(_hidden_words(found.tally))
    if found.standardized is not None:
        ends = found.standardized.interval(found.level)
        value, low, high = _texts(found.standardized.value, *ends)
        notes.append(f"Standardized {found.statistic}: {value} ({low} to {high})")
    return notes


def _hidden_words(tally: GroupedTally) -> str:
    many = tally.hidden != 1
    groups = f"{tally.hidden:,} groups have" if many else "1 group has"
    shown = "shown together" if tally.rest is not None else "not shown"
    verb = "are" if many else "is"
    return f"{groups} fewer than {tally.minimum:,} reports and {verb} {shown} (--minimum)."


def _texts(value: float, low: float, high: float) -> tuple[str, str, str]:
    from noutput.estimate.summary.figure import Estimate

    return Estimate(value, low, high).texts


def _table(found: FoundGroups) -> list[str]:
    rows = [(text, each) for text, each in found.means.items()]
    if found.rest is not None:
        rows.append((f"all {found.tally.hidden:,} small groups", found.rest))
    ends = [found.interval(each) for _, each in rows]
    lowest, highest = min(low for low, _ in ends), max(high for _, high in ends)
    lines = [(", ".join(found.tally.by), "reports", found.statistic, "from", "to", "")]
    for (text, each), (low, high) in zip(rows, ends, strict=True):
        value = min(max(each.value, low), high)
        texts = _texts(value, low, high)
        picture = _dots(value, low, high, lowest, highest)
        lines.append((text, f"{each.n_reports:,}", *texts, picture))
    return _aligned(lines)


def _dots(value: float, low: float, high: float, lowest: float, highest: float) -> str:
    unit = (_DOTS - 1) / ((highest - lowest) or 1.0)
    first, dot, last = (round((each - lowest) * unit) for each in (low, value, high))
    marks = ["-" if first <= place <= last else " " for place in range(_DOTS)]
    marks[dot] = "o"
    return "".join(marks).rstrip()


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return lines of columns: the first one to the left, numbers to the right."""
    from noutput.estimate.summary.text import columns

    widths = [max(columns(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for first, *numbers, last in rows:
        cells = [first + " " * (widths[0] - columns(first))]
        cells += [f"{text:>{width}}" for text, width in zip(numbers, widths[1:-1], strict=True)]
        lines.append("  ".join([*cells, last]).rstrip())
    return lines


def _pairs(found: FoundGroups, reference: str | None) -> list[str]:
    """Return the differences; of very many, those that are clear, the largest first."""
    pairs, clear = found.differences, [each for each in found.differences if each.is_clear]
    shown = list(pairs)
    if len(pairs) > _SHOWN_PAIRS:
        shown = sorted(clear, key=lambda each: -abs(each.value))[:_SHOWN_PAIRS]
    what = "all pairs" if reference is None else f"all groups with {reference}"
    told = f"{len(clear):,} of {len(pairs):,} differ"
    lines = [f"Comparison of {what}: {told}. The intervals hold together."]
    if len(shown) < len(pairs):
        lines.append(f"Shown are {len(shown):,}; --json prints all.")
    rows = [("difference", "", "from", "to", "")]
    for each in shown:
        texts = _texts(each.value, each.low, each.high)
        verdict = "differ" if each.is_clear else "cannot be told apart"
        rows.append((f"{each.first} - {each.second}", *texts, verdict))
    return [*lines, *_aligned(rows)]

"""`noutput estimate --by`: estimates of groups of people, compared and standardized."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noutput._numbers import exactly
from noutput.cli.failures import plain_failures
from noutput.cli.groups_text import show_groups
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.estimate.groups import GroupDifference, StandardizedMean
    from noutput.estimate.mean_estimate import MeanEstimate
    from noutput.frames import GroupedTally, Recipe
    from noutput.questions import Question

__all__ = ["FoundGroups", "Grouping", "estimate_groups"]


@dataclass(frozen=True, slots=True)
class Grouping:
    """How people are grouped, and what is shown about the groups.

    Parameters
    ----------
    by : str
        Names of columns with commas between them.
    minimum : int
    compare : bool
    reference : str, optional
        The group that others are compared with.
    weights : Path, optional
        CSV with the shares of the groups in a population.
    answer : str, optional
        Of answers: whose share is estimated.
    below : float, optional
        Of numbers: below which the share is estimated.
    """

    by: str
    minimum: int
    compare: bool
    reference: str | None
    weights: Path | None
    answer: str | None
    below: float | None


@dataclass(frozen=True, slots=True)
class FoundGroups:
    """Estimates of the groups of one column, the largest first."""

    column: str
    statistic: str
    level: float
    tally: GroupedTally
    means: Mapping[str, MeanEstimate]
    rest: MeanEstimate | None
    differences: Sequence[GroupDifference]
    standardized: StandardizedMean | None

    def interval(self, estimate: MeanEstimate) -> tuple[float, float]:
        """Return the interval of one group."""
        return estimate.interval(self.level)


def estimate_groups(
    source: str,
    columns: Sequence[str],
    grouping: Grouping,
    *,
    level: float,
    plot_path: Path | None,
    as_json: bool,
    engine: str,
    master: str | None,
) -> None:
    """Count the reports of every group in one pass, and print what they tell."""
    from noutput import frames

    by = [name.strip() for name in grouping.by.split(",")]
    with plain_failures(source):
        recipe, tallies = frames.read_counts(
            source, columns or None, by=by, minimum=grouping.minimum, engine=engine, master=master
        )
    found = [
        _found(name, recipe.by_column[name], tally, grouping, level)
        for name, tally in tallies.items()
    ]
    if plot_path:
        from noutput.cli.groups_figure import draw_groups

        draw_groups(found, plot_path)
    if as_json:
        click.echo(json.dumps(_document(recipe, found), indent=2))
        return
    for each in found:
        show_groups(each, recipe, grouping.reference)
    if plot_path:
        click.echo(f"Figure saved in {plot_path}")


def _found(
    column: str, question: Question, tally: GroupedTally, grouping: Grouping, level: float
) -> FoundGroups:
    from noutput.estimate.groups import compare_groups, standardize
    from noutput.questions import YesNo

    answer = grouping.answer
    if answer is None and isinstance(question, YesNo):
        answer = question.labels[-1]
    if not tally:
        rule = f"have a group with at least {grouping.minimum:,} (--minimum)"
        raise InvalidArgumentError(f"reports of column {column!r}", rule, "none")
    below, name = grouping.below, "mean"
    if below is not None:
        name = f"share below {exactly(below)}"
    elif answer is not None:
        name = f"share of {answer}"
    means = tally.means(question=question, answer=answer, below=below, level=level)
    ordered = dict(sorted(means.items(), key=lambda pair: -pair[1].value))
    wanted = grouping.compare or grouping.reference is not None
    return FoundGroups(
        column,
        name,
        level,
        tally,
        ordered,
        tally.rest_mean(question=question, answer=answer, below=below, level=level),
        compare_groups(ordered, level=level, reference=grouping.reference) if wanted else (),
        standardize(means, _weights(grouping.weights, tally)) if grouping.weights else None,
    )


def _weights(path: Path, tally: GroupedTally) -> dict[str, float]:
    """Read the share of every group: the columns of the labels, and one with numbers."""
    import csv

    from noutput.frames.groups import label_text

    name = f"weights {str(path)!r}"
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    header = rows[0] if rows else []
    others = [column for column in header if column not in tally.by]
    if not set(tally.by) <= set(header) or len(others) != 1 or len(header) != len(tally.by) + 1:
        rule = f"have the columns {list(tally.by)} and one with the shares"
        raise InvalidArgumentError(name, rule, header)
    known = {tuple(map(label_text, labels)): text for labels, text in tally.names.items()}
    found: dict[str, float] = {}
    for number, row in enumerate((row for row in rows[1:] if row), start=1):
        cells = dict(zip(header, row, strict=False))
        labels = tuple(cells.get(label) or label_text(None) for label in tally.by)
        group = known.get(labels)
        if group is None or group in found:
            rule = "name every group once that is shown, and no other (see --minimum)"
            raise InvalidArgumentError(f"{name} at row {number}", rule, ", ".join(labels))
        try:
            found[group] = float(cells.get(others[0], ""))
        except ValueError:
            rule = f"have a number in {others[0]!r}"
            raise InvalidArgumentError(f"{name} at row {number}", rule, row) from None
    return found


def _document(recipe: Recipe, found: Sequence[FoundGroups]) -> dict[str, object]:
    return {
        "epsilon": recipe.mechanism.epsilon,
        "n_outputs": recipe.mechanism.n_outputs,
        "fingerprint": recipe.mechanism.fingerprint,
        "secure": recipe.secure,
        "columns": {each.column: _entry(each) for each in found},
    }


def _entry(found: FoundGroups) -> dict[str, object]:
    labels = {text: key for key, text in found.tally.names.items()}
    return {
        "by": list(found.tally.by),
        "statistic": found.statistic,
        "level": found.level,
        "minimum": found.tally.minimum,
        "groups": [
            {
                "group": text,
                "labels": dict(zip(found.tally.by, map(_plain, labels[text]), strict=True)),
                **_numbers(each, found.level),
            }
            for text, each in found.means.items()
        ],
        "hidden_groups": found.tally.hidden,
        "rest": None if found.rest is None else _numbers(found.rest, found.level),
        "differences": [
            {
                "first": each.first,
                "second": each.second,
                "value": each.value,
                "standard_error": each.standard_error,
                "interval": [each.low, each.high],
                "clear": each.is_clear,
            }
            for each in found.differences
        ],
        "standardized": None
        if found.standardized is None
        else {
            "value": found.standardized.value,
            "standard_error": found.standardized.standard_error,
            "interval": list(found.standardized.interval(found.level)),
        },
    }


def _plain(label: Any) -> Any:
    return label if isinstance(label, str | int | float | None) else str(label)


def _numbers(estimate: MeanEstimate, level: float) -> dict[str, object]:
    return {
        "reports": estimate.n_reports,
        "value": estimate.value,
        "standard_error": estimate.standard_error,
        "interval": list(estimate.interval(level)),
    }

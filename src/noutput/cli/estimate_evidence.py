"""`noutput estimate` on several files about one population, and on the passes of a pilot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noutput.cli import options
from noutput.cli.failures import plain_failures
from noutput.cli.histogram import encodable
from noutput.errors import InvalidArgumentError, NoutputError

if TYPE_CHECKING:
    from noutput.estimate.evidence import Evidence
    from noutput.estimate.summary import AnswerSummary, Summary
    from noutput.questions import Question

__all__ = ["estimate_evidence", "is_piloted"]


def is_piloted(source: str) -> bool:
    """Return whether a file holds the passes of a pilot."""
    from noutput import frames
    from noutput.frames.piloted import pass_bounds

    try:
        recipe = frames.read_recipe(source)
    except (NoutputError, OSError):  # archives, addresses, and what is refused later with reasons
        return False
    return all(pass_bounds(name) is not None for name in recipe.columns)


def estimate_evidence(
    sources: Sequence[str],
    columns: Sequence[str],
    numbers: dict[str, Any],
    *,
    level: float,
    plot_path: Path | None,
    as_json: bool,
    engine: str,
    master: str | None,
) -> None:
    """Count the reports of all files, and print what they tell together."""
    from noutput.cli.answer_figure import draw_answers
    from noutput.frames.counted_files import read_files

    with plain_failures(sources[0]):
        asked, secure = read_files(sources, columns or None, engine=engine, master=master)
    if any(evidence.has_answers for _, evidence in asked.values()):
        options.refuse_given("is for numbers, not for answers.", *options.OF_NUMBERS)
    found = {name: _summary(name, *each, numbers, level) for name, each in asked.items()}
    if plot_path:
        draw_answers(found, plot_path)
    if as_json:
        told = {name: each.to_dict() for name, each in found.items()}
        click.echo(json.dumps({"files": len(sources), "secure": secure, "columns": told}, indent=2))
        return
    if not secure:
        click.echo("Reports were drawn with a seed: a simulation that protects nobody.\n")
    for name, summary in found.items():
        heading, _, rest = str(summary).partition("\n")
        heading = heading.removeprefix(f"{summary.question.title}: ")
        click.echo(encodable(f"{name}: {heading}\n{rest}") + "\n")
    if plot_path:
        click.echo(f"Figure saved in {plot_path}")


def _summary(
    name: str, question: Question, evidence: Evidence, numbers: dict[str, Any], level: float
) -> Summary | AnswerSummary:
    from noutput.estimate.summary import summarize

    if evidence.total < 2:
        raise InvalidArgumentError(f"reports of column {name!r}", "be at least two", evidence.total)
    given = {} if evidence.has_answers else numbers
    found: Summary | AnswerSummary = summarize(evidence, None, question, level=level, **given)
    return found

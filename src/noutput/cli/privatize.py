"""`noutput privatize`: turn columns of private values into columns of reports."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noutput._numbers import bits
from noutput._progress import shown_progress
from noutput.cli import asked, options
from noutput.cli.failures import plain_failures

if TYPE_CHECKING:
    from typing import BinaryIO

    from noutput.designs.solution import Progress
    from noutput.frames import Recipe
    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.mechanisms.table import TableMechanism
    from noutput.questions import Answers, Question

__all__ = ["command"]


@click.command(name="privatize")
@click.argument("source")
@click.option(
    "--column", "columns", multiple=True, required=True, metavar="NAME",
    help="Column with the private values; repeat for more.",
)  # fmt: skip
@click.option(
    "--lower", "lowers", type=float, multiple=True,
    help="Smallest possible number, once for all columns or once per column.",
)  # fmt: skip
@click.option(
    "--upper", "uppers", type=float, multiple=True,
    help="Largest possible number, once for all columns or once per column.",
)  # fmt: skip
@asked.question
@asked.OTHER
@click.option("--epsilon", type=float, help="Privacy loss of one report.")
@options.outputs
@options.objective
@click.option(
    "--table", "table_path", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A table or design in JSON, in place of --epsilon; a design for answers knows them.",
)  # fmt: skip
@click.option(
    "-o", "--output", "target", required=True, metavar="TARGET",
    help="Target: NAME.parquet, NAME.csv or a folder.",
)  # fmt: skip
@click.option(
    "--keep", multiple=True, metavar="NAME",
    help="Column to keep unchanged; all others are left out.",
)  # fmt: skip
@click.option("--clip", is_flag=True, help="Move values outside the bounds to the nearer bound.")
@click.option("--skip-missing", is_flag=True, help="Make no report for a missing value.")
@click.option("--one-per-row", is_flag=True, help="Report one column per row, drawn at random.")
@click.option(
    "--pilot", type=float, metavar="SHARE",
    help="Of one column of numbers: the share of rows that find the range for all others.",
)  # fmt: skip
@click.option(
    "--engine", type=click.Choice(["arrow", "duckdb", "spark"]), default="arrow",
    show_default=True, help="Engine that reads and writes.",
)  # fmt: skip
@click.option("--master", help="Spark's master, such as local[2] or spark://host:7077.")
def command(
    source: str,
    columns: tuple[str, ...],
    lowers: tuple[float, ...],
    uppers: tuple[float, ...],
    answers: tuple[str, ...] | None,
    scores: tuple[str, ...] | None,
    choice: tuple[str, ...] | None,
    yes_no: bool,
    other: str | None,
    epsilon: float | None,
    outputs: int | None,
    objective: str | None,
    table_path: Path | None,
    target: str,
    keep: tuple[str, ...],
    clip: bool,
    skip_missing: bool,
    one_per_row: bool,
    pilot: float | None,
    engine: str,
    master: str | None,
) -> None:
    """Turn columns of SOURCE into reports that reveal little about any row.

    SOURCE is a CSV file with a header, a Parquet file, a folder of Parquet files, or - for CSV
    from standard input. Say what its columns hold: numbers between --lower and --upper, or answers
    (--answers, --choice or --yes-no). A missing value, a number out of bounds or what is no answer
    is an error, which names one such row (counted from 0, without the header) and how many there
    are; nothing is written then. The mechanism and the question are stored with the reports:
    `noutput estimate` needs nothing else.
    """
    from noutput import frames

    question = asked.answers_of(answers, scores, choice, yes_no)
    with plain_failures(source):
        with shown_progress("Designing") as progress:
            mechanism, known = _mechanism(
                epsilon, outputs, objective, table_path, question, progress
            )
        asks = _questions(columns, lowers, uppers, question, known)
        with shown_progress("Privatizing") as progress:
            recipe = frames.privatize_files(
                _standard_input() if source == "-" else source,
                target,
                columns,
                mechanism=mechanism,
                question=asks,
                other=other,
                keep=keep,
                clip=clip,
                skip_missing=skip_missing,
                one_per_row=one_per_row,
                pilot=pilot,
                engine=engine,
                master=master,
                progress=progress,
            )
    _show(recipe, target, len(columns), skip_missing=skip_missing)
    if pilot is not None:
        _show_passes(recipe)


def _questions(
    columns: tuple[str, ...],
    lowers: tuple[float, ...],
    uppers: tuple[float, ...],
    question: Answers | None,
    known: Question | None,
) -> dict[str, Question]:
    """Return what every column answers, by the options or by the design."""
    given: Question | None = known if question is None else question
    if given is not None:
        if lowers or uppers:
            raise click.UsageError("--lower and --upper are for numbers: what is asked is known.")
        if question is not None and known not in (None, question):
            raise click.UsageError("The design has other answers: leave yours out.")
        return dict.fromkeys(columns, given)
    from noutput.questions import Number

    if not lowers or not uppers:
        raise click.UsageError(
            "Give --lower and --upper for numbers, or --answers, --choice or --yes-no."
        )
    bounds = _bounds(columns, lowers, uppers)
    return {column: Number(*ends) for column, ends in bounds.items()}


def _bounds(
    columns: tuple[str, ...], lowers: tuple[float, ...], uppers: tuple[float, ...]
) -> dict[str, tuple[float, float]]:
    for name, values in (("--lower", lowers), ("--upper", uppers)):
        if len(values) not in (1, len(columns)):
            rule = f"Give it once, or {len(columns)} times for {len(columns)} columns"
            raise click.BadParameter(f"{rule}; found {len(values)}.", param_hint=name)
    size = len(columns)
    ends = zip(lowers * (size // len(lowers)), uppers * (size // len(uppers)), strict=True)
    return dict(zip(columns, ends, strict=True))


def _mechanism(
    epsilon: float | None,
    outputs: int | None,
    objective: str | None,
    table_path: Path | None,
    question: Any,
    progress: Progress,
) -> tuple[TableMechanism | AnswerMechanism, Question | None]:
    import noutput as no
    from noutput.cli.tables import read_table

    if table_path is not None and epsilon is None:
        mechanism, design = read_table(table_path)
        return mechanism, None if design is None else design.question
    if epsilon is not None and table_path is None:
        found = no.design(epsilon, outputs, objective, question=question, progress=progress)
        return found.mechanism, None
    raise click.UsageError("Give either --epsilon or --table.")


def _standard_input() -> BinaryIO:
    stream = sys.stdin.buffer
    if stream.isatty():
        raise click.UsageError("Standard input is a terminal: pipe CSV into it.")
    if isinstance(stream, io.BufferedReader) and stream.peek(4).startswith(b"PAR1"):
        raise click.UsageError("Standard input is read as CSV; give Parquet by its path.")
    return stream


def _show_passes(recipe: Recipe) -> None:
    """Print what the pilot found; every row is in one of the passes."""
    *_, last = recipe.bounds.values()
    if len(recipe.columns) > 1:
        click.echo(f"The pilot found the range {last.lower:g} to {last.upper:g} for all others.")
    else:
        click.echo("The pilot left the range as it is.")


def _show(recipe: Recipe, target: str, columns: int, *, skip_missing: bool) -> None:
    mechanism = recipe.mechanism
    loss = mechanism.epsilon * (1 if recipe.one_per_row else columns)
    several = loss > mechanism.epsilon
    parts = f" ({columns} reports of {mechanism.epsilon:g})" if several else ""
    click.echo(
        f"Reports saved in {target}: noutput estimate {target}\n"
        f"Privacy loss of a row: {loss:g}{parts}. "
        f"Each report is one of {mechanism.n_outputs} ({bits(mechanism.bits)})."
    )
    if skip_missing:
        click.echo("Whoever sees the reports learns which values were missing.")

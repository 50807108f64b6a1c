"""`noutput privatize`: turn columns of private numbers into columns of reports."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noutput._numbers import bits
from noutput.cli import options
from noutput.cli.failures import plain_failures
from noutput.cli.progress import delayed_progress

if TYPE_CHECKING:
    from typing import BinaryIO

    from noutput.designs.solution import Progress
    from noutput.frames import Recipe
    from noutput.mechanisms.table import TableMechanism

__all__ = ["command"]


@click.command(name="privatize")
@click.argument("source")
@click.option(
    "--column", "columns", multiple=True, required=True, metavar="NAME",
    help="Column with the private numbers; repeat for more.",
)  # fmt: skip
@click.option(
    "--lower", "lowers", type=float, multiple=True, required=True,
    help="Smallest possible value, once for all columns or once per column.",
)  # fmt: skip
@click.option(
    "--upper", "uppers", type=float, multiple=True, required=True,
    help="Largest possible value, once for all columns or once per column.",
)  # fmt: skip
@click.option("--epsilon", type=float, help="Privacy loss of one report.")
@options.outputs
@options.objective
@click.option(
    "--table", "table_path", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A table or design in JSON, in place of --epsilon.",
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
    "--engine", type=click.Choice(["arrow", "duckdb", "spark"]), default="arrow",
    show_default=True, help="Engine that reads and writes.",
)  # fmt: skip
@click.option("--master", help="Spark's master, such as local[2] or spark://host:7077.")
def command(
    source: str,
    columns: tuple[str, ...],
    lowers: tuple[float, ...],
    uppers: tuple[float, ...],
    epsilon: float | None,
    outputs: int | None,
    objective: str,
    table_path: Path | None,
    target: str,
    keep: tuple[str, ...],
    clip: bool,
    skip_missing: bool,
    one_per_row: bool,
    engine: str,
    master: str | None,
) -> None:
    """Turn columns of SOURCE into reports that reveal little about any row.

    SOURCE is a CSV file with a header, a Parquet file, a folder of Parquet files, or - for CSV
    from standard input. A missing or out-of-bounds value is an error, which names one such row
    (counted from 0, without the header) and how many there are; nothing is written then. The
    mechanism and the bounds are stored with the reports: `noutput estimate` needs nothing else.
    """
    from noutput import frames

    bounds = _bounds(columns, lowers, uppers)
    with plain_failures(source):
        with delayed_progress("Designing") as progress:
            mechanism = _mechanism(epsilon, outputs, objective, table_path, progress)
        with delayed_progress("Privatizing") as progress:
            recipe = frames.privatize_files(
                _standard_input() if source == "-" else source,
                target,
                columns,
                mechanism=mechanism,
                bounds=bounds,
                keep=keep,
                clip=clip,
                skip_missing=skip_missing,
                one_per_row=one_per_row,
                engine=engine,
                master=master,
                progress=progress,
            )
    _show(recipe, target)


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
    objective: str,
    table_path: Path | None,
    progress: Progress,
) -> TableMechanism:
    import noutput as no
    from noutput.cli.tables import read_table

    if table_path is not None and epsilon is None:
        return read_table(table_path)[0]
    if epsilon is not None and table_path is None:
        return no.design(epsilon, outputs, objective, progress=progress).mechanism
    raise click.UsageError("Give either --epsilon or --table.")


def _standard_input() -> BinaryIO:
    stream = sys.stdin.buffer
    if stream.isatty():
        raise click.UsageError("Standard input is a terminal: pipe CSV into it.")
    if isinstance(stream, io.BufferedReader) and stream.peek(4).startswith(b"PAR1"):
        raise click.UsageError("Standard input is read as CSV; give Parquet by its path.")
    return stream


def _show(recipe: Recipe, target: str) -> None:
    mechanism = recipe.mechanism
    loss = mechanism.epsilon * (1 if recipe.one_per_row else len(recipe.columns))
    several = loss > mechanism.epsilon
    parts = f" ({len(recipe.columns)} reports of {mechanism.epsilon:g})" if several else ""
    click.echo(
        f"Reports saved in {target}: noutput estimate {target}\n"
        f"Privacy loss of a row: {loss:g}{parts}. "
        f"Each report is one of {mechanism.n_outputs} ({bits(mechanism.bits)})."
    )
    if recipe.skip_missing:
        click.echo("Whoever sees the reports learns which values were missing.")

"""`noutput estimate`: what the reports tell, in the units of the values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from noutput.cli import options
from noutput.cli.estimate_reports import Wanted, estimate_reports
from noutput.cli.failures import plain_failures
from noutput.cli.histogram import encodable
from noutput.cli.targets import PLOT_ENDINGS, check_target
from noutput.estimate.choices import DEFAULT_METHOD, METHODS

if TYPE_CHECKING:
    from noutput.estimate.summary import AnswerSummary, Summary
    from noutput.frames import Recipe
    from noutput.tally import Tally

__all__ = ["command"]


@click.command(name="estimate")
@click.argument("source")
@click.option(
    "--column", "columns", multiple=True, metavar="NAME",
    help="Column or question to estimate; repeat for more [default: all].",
)  # fmt: skip
@click.option(
    "--campaign", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Campaign document, where SOURCE holds the reports of a campaign; an archive of one "
    "campaign needs none.",
)  # fmt: skip
@click.option(
    "--method", type=click.Choice(METHODS), default=DEFAULT_METHOD, show_default=True,
    help="Method that estimates the distribution of numbers.",
)  # fmt: skip
@click.option(
    "--bins", type=click.IntRange(2, 4096), default=64, show_default=True,
    help="Bins of the estimated distribution of numbers. Printed are fewer: as many bars as the "
    "reports can tell apart.",
)  # fmt: skip
@click.option(
    "--level", type=float, default=0.95, show_default=True, help="Level of all intervals."
)
@click.option(
    "--kind", type=click.Choice(["slack", "guaranteed"]), default="slack", show_default=True,
    help="Kind of the intervals of numbers but the mean's; guaranteed ones are proven for every "
    "number of reports, and wider.",
)  # fmt: skip
@click.option(
    "--assume", type=click.Choice(["smooth"]),
    help="What these intervals may assume of the distribution [default: nothing].",
)  # fmt: skip
@options.plot("the distribution")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--engine", type=click.Choice(["arrow", "duckdb", "spark"]), default="arrow",
    show_default=True, help="Engine that counts the reports.",
)  # fmt: skip
@click.option("--master", help="Spark's master, such as local[2] or spark://host:7077.")
def command(
    source: str,
    columns: tuple[str, ...],
    campaign: Path | None,
    method: str,
    bins: int,
    level: float,
    kind: str,
    assume: str | None,
    plot_path: Path | None,
    as_json: bool,
    engine: str,
    master: str | None,
) -> None:
    """Estimate mean, variance, quartiles and distribution from the reports in SOURCE.

    Of answers: their shares, the mean score and the quartiles. SOURCE is a file or folder that
    `noutput privatize` made; the mechanism and the question are stored in it or beside it, so
    standard input (-) is not read. SOURCE may also be the archive of a collector (`noutput serve
    --archive`), or other Parquet with the columns campaign, question, output and id: then every
    id is counted once.
    """
    from noutput import frames
    from noutput.errors import InvalidArgumentError
    from noutput.estimate.summary import AnswerSummary

    check_target(plot_path, PLOT_ENDINGS)
    if source == "-":
        rule = "be a file or a folder (standard input is not read: the recipe of the reports lies "
        raise InvalidArgumentError("source", rule + "in or beside a file)", source)
    if campaign is not None or frames.is_archive(source):
        numbers = {"method": method, "bins": bins}
        wanted = Wanted(columns, level, numbers, plot_path, as_json)
        estimate_reports(source, campaign, wanted, engine, master)
        return
    with plain_failures(source):
        recipe, tallies = frames.read_counts(source, columns or None, engine=engine, master=master)
        everyone = tallies
        if recipe.one_per_row and len(tallies) < len(recipe.columns):
            _, everyone = frames.read_counts(source, None, engine=engine, master=master)
    if recipe.answers:
        _refuse_options_for_numbers()
    # who was drawn for another column is one of the people all the same
    people = sum(tally.total for tally in everyone.values()) if recipe.one_per_row else None
    numbers = {"people": people, "method": method, "bins": bins, "kind": kind, "assume": assume}
    found = _summaries(recipe, tallies, numbers, level)
    if plot_path:
        _draw(found, plot_path)
    if as_json:
        click.echo(json.dumps(_document(recipe, found), indent=2))
        return
    for name, summary in found.items():
        if isinstance(summary, AnswerSummary):
            _show_answers(name, recipe, summary)
        else:
            _show(name, recipe, summary)
    if plot_path:
        click.echo(f"Figure saved in {plot_path}")


def _refuse_options_for_numbers() -> None:
    """Refuse options that were given and would do nothing."""
    given = click.get_current_context().get_parameter_source
    for name in ("method", "bins", "kind", "assume"):
        if given(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name} is for numbers, not for answers.")


def _summaries(
    recipe: Recipe,
    tallies: dict[str, Tally],
    numbers: dict[str, Any],
    level: float,
) -> dict[str, Summary | AnswerSummary]:
    from noutput.errors import InvalidArgumentError
    from noutput.estimate.summary import summarize
    from noutput.questions import Number

    found: dict[str, Summary | AnswerSummary] = {}
    for name, tally in tallies.items():
        if tally.total < 2:
            rule = "be at least two"
            raise InvalidArgumentError(f"reports of column {name!r}", rule, tally.total)
        question = recipe.by_column[name]
        options = numbers if isinstance(question, Number) else {}
        found[name] = summarize(recipe.mechanism, tally, question, level=level, **options)
    return found


def _document(recipe: Recipe, found: dict[str, Summary | AnswerSummary]) -> dict[str, object]:
    mechanism = recipe.mechanism
    return {
        "epsilon": mechanism.epsilon,
        "n_outputs": mechanism.n_outputs,
        "fingerprint": mechanism.fingerprint,
        "secure": recipe.secure,
        "columns": {name: summary.to_dict() for name, summary in found.items()},
    }


def _draw(found: dict[str, Summary | AnswerSummary], path: Path) -> None:
    from noutput.cli.distribution_figure import draw_distributions
    from noutput.estimate.summary import AnswerSummary

    answers = {name: each for name, each in found.items() if isinstance(each, AnswerSummary)}
    if answers:
        from noutput.cli.answer_figure import draw_answers

        draw_answers(answers, path)
        return
    numbers = {name: each for name, each in found.items() if not isinstance(each, AnswerSummary)}
    draw_distributions(numbers, path)


def _show_answers(name: str, recipe: Recipe, summary: AnswerSummary) -> None:
    """Print a summary as it prints itself, under the name of its column."""
    heading, _, rest = str(summary).partition("\n")
    click.echo(f"{name}: {heading.removeprefix(f'{summary.question.title}: ')}")
    if not recipe.secure:
        click.echo("\nThese reports were drawn with a seed: a simulation that protects nobody.")
    click.echo(encodable(rest) + "\n")


def _show(name: str, recipe: Recipe, summary: Summary) -> None:
    from noutput.estimate.summary.text import bar_lines

    bounds = recipe.bounds[name]
    reports = summary.distribution.n_reports
    click.echo(
        f"{name}: {reports:,} reports, epsilon = {recipe.mechanism.epsilon:g}, "
        f"values from {bounds.lower:g} to {bounds.upper:g}\n"
    )
    if not recipe.secure:
        click.echo("These reports were drawn with a seed: a simulation that protects nobody.\n")
    for label, figure in summary.figures.items():
        value, low, high = figure.texts
        click.echo(f"{label:20} {value}  ({low} to {high})")
    click.echo(f"{'Forged reports':20} {summary.forged_text}")
    if not summary.distribution.converged:
        click.echo(
            f"Warning: the fit of the distribution ({summary.distribution.method}) did not "
            f"converge in {summary.distribution.iterations:,} steps; all but the mean is rough."
        )
    for note in filter(None, (summary.bias_text, summary.outside_text, summary.unknown_text)):
        click.echo(note)
    level = f"{100.0 * summary.level:g}%"
    click.echo(f"In brackets: {level} intervals. {summary.assumption_text}\n")
    if summary.bars:
        click.echo(encodable("\n".join(bar_lines(summary.bars))) + "\n")

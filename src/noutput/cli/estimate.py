"""`noutput estimate`: what the reports tell, in the units of the values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noutput.cli import options
from noutput.cli.estimate_evidence import estimate_evidence, is_piloted
from noutput.cli.estimate_groups import Grouping, estimate_groups
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

_OF_GROUPS = ("minimum", "compare", "reference", "weights", "answer", "below")


@click.command(name="estimate")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
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
    "--by", metavar="NAME[,NAME]",
    help="Kept columns with public labels, such as country: one estimate per group.",
)  # fmt: skip
@click.option(
    "--minimum", type=click.IntRange(2), default=500, show_default=True,
    help="With --by: hide groups with fewer reports, and what would tell them by subtraction.",
)  # fmt: skip
@click.option(
    "--compare", is_flag=True,
    help="With --by: print the differences of all pairs of groups, with intervals that hold "
    "together.",
)  # fmt: skip
@click.option(
    "--reference", metavar="GROUP", help="With --by: compare all groups with this one instead."
)
@click.option(
    "--weights", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE.csv",
    help="With --by: shares of the groups in the population, for a standardized mean. Its columns "
    "are those of --by and one with numbers.",
)  # fmt: skip
@click.option(
    "--answer", metavar="ANSWER",
    help="With --by: estimate the share of this answer, in place of the mean score.",
)  # fmt: skip
@click.option(
    "--below", type=float, metavar="NUMBER",
    help="With --by: estimate the share of people below this number, in place of the mean.",
)  # fmt: skip
@options.plot("the distribution, or with --by the groups")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--engine", type=click.Choice(["arrow", "duckdb", "spark"]), default="arrow",
    show_default=True, help="Engine that counts the reports.",
)  # fmt: skip
@click.option("--master", help="Spark's master, such as local[2] or spark://host:7077.")
def command(
    sources: tuple[str, ...],
    columns: tuple[str, ...],
    campaign: Path | None,
    method: str,
    bins: int,
    level: float,
    kind: str,
    by: str | None,
    minimum: int,
    compare: bool,
    reference: str | None,
    weights: Path | None,
    answer: str | None,
    below: float | None,
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

    Several SOURCEs are reports of one population, each person in one of them: tables, bounds and
    epsilon may differ, and all reports count together.

    With --by, the mean of every group, or the share of its people --below a number (of answers: the
    mean score, or the share of --answer), the largest first. All groups are counted in one pass.
    """
    from noutput import frames
    from noutput.errors import InvalidArgumentError

    check_target(plot_path, PLOT_ENDINGS)
    source = sources[0]
    if "-" in sources:
        rule = "be a file or a folder (standard input is not read: the recipe of the reports lies "
        raise InvalidArgumentError("source", rule + "in or beside a file)", "-")
    several = len(sources) > 1 or is_piloted(source)
    if several and (by is not None or campaign is not None):
        raise click.UsageError("--by and --campaign are for one SOURCE, made without a pilot.")
    of_campaign = campaign is not None or frames.is_archive(source)
    shown: dict[str, Any] = {"level": level, "plot_path": plot_path, "as_json": as_json}
    if by is not None:
        options.refuse_given("is for everybody together, without --by.", *options.OF_NUMBERS)
        if of_campaign:
            raise click.UsageError("--by is for files that `noutput privatize` made.")
        grouping = Grouping(by, minimum, compare, reference, weights, answer, below)
        estimate_groups(source, columns, grouping, engine=engine, master=master, **shown)
        return
    options.refuse_given("is for groups: it needs --by.", *_OF_GROUPS)
    numbers: dict[str, Any] = {"method": method, "bins": bins}
    if of_campaign:
        wanted = Wanted(columns, level, numbers, plot_path, as_json)
        estimate_reports(source, campaign, wanted, engine, master)
        return
    numbers |= {"kind": kind}
    if several:
        estimate_evidence(sources, columns, numbers, engine=engine, master=master, **shown)
        return
    _estimate_files(source, columns, numbers, engine=engine, master=master, **shown)


def _estimate_files(
    source: str,
    columns: tuple[str, ...],
    numbers: dict[str, Any],
    *,
    level: float,
    plot_path: Path | None,
    as_json: bool,
    engine: str,
    master: str | None,
) -> None:
    """Print what all reports together tell."""
    from noutput import frames
    from noutput.estimate.summary import AnswerSummary

    with plain_failures(source):
        recipe, tallies = frames.read_counts(source, columns or None, engine=engine, master=master)
        everyone = tallies
        if recipe.one_per_row and len(tallies) < len(recipe.columns):
            _, everyone = frames.read_counts(source, None, engine=engine, master=master)
    if recipe.answers:
        options.refuse_given("is for numbers, not for answers.", *options.OF_NUMBERS)
    # who was drawn for another column is one of the people all the same
    people = sum(tally.total for tally in everyone.values()) if recipe.one_per_row else None
    found = _summaries(recipe, tallies, {"people": people, **numbers}, level)
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
    if summary.warning:
        click.echo(f"WARNING: {summary.warning}\n")
    if not recipe.secure:
        click.echo("These reports were drawn with a seed: a simulation that protects nobody.\n")
    for label, figure in summary.figures.items():
        value, low, high = figure.texts
        click.echo(f"{label:20} {value}" + ("" if summary.warning else f"  ({low} to {high})"))
    click.echo(f"{'Forged reports':20} {summary.forged_text}")
    if not summary.distribution.converged:
        click.echo(
            f"Warning: the fit of the distribution ({summary.distribution.method}) did not "
            f"converge in {summary.distribution.iterations:,} steps; all but the mean is rough."
        )
    for note in filter(None, (summary.bias_text, summary.outside_text, summary.unknown_text)):
        click.echo(note)
    if not summary.warning:
        level = f"{100.0 * summary.level:g}%"
        click.echo(f"In brackets: {level} intervals. {summary.assumption_text}")
    click.echo()
    if summary.bars:
        lines = bar_lines(summary.bars, intervals=not summary.warning)
        click.echo(encodable("\n".join(lines)) + "\n")

"""`noutput design`: make a mechanism, show it, and save it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noutput._progress import shown_progress
from noutput.cli import asked, options
from noutput.cli.quality import limited_variance, times_limit
from noutput.cli.targets import PLOT_ENDINGS, check_target

if TYPE_CHECKING:
    from noutput.designs.answers.result import AnswerDesign
    from noutput.designs.design import Method
    from noutput.designs.result import Design

__all__ = ["command"]

_RARE = 1e-6
_MOST_ROWS = 32  # of a table that is printed whole
_OBJECTIVES = ("balanced", "worst", "average", "distribution", "cdf", "shares", "mean")
_SHOWN_INPUTS = (-1.0, -0.5, 0.0, 0.5, 1.0)


class _Objective(click.ParamType[str | float]):
    name = "balanced|worst|average|distribution|cdf|shares|mean|R"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | float:
        if value in _OBJECTIVES:
            return str(value)
        try:
            return float(str(value))
        except ValueError:
            names = ", ".join(map(repr, _OBJECTIVES))
            self.fail(f"{value!r} is not {names} or a number.", param, ctx)


@click.command(name="design")
@click.option("--epsilon", type=float, required=True, help="Privacy loss of one report.")
@asked.question
@options.outputs
@click.option(
    "--objective", type=_Objective(),
    help="What to minimize: the variance's maximum, its average or its R-norm, the error of the "
    "distribution, or that error within 10% of the least maximum [default: balanced; worst for "
    "the methods of the paper]. Of answers: the error of the shares at or below each (cdf), of the "
    "shares, of the mean score, or of mean and cdf (balanced) [default: cdf where the answers are "
    "ordered, else shares].",
)  # fmt: skip
@click.option(
    "--method", type=click.Choice(["optimal", "numerical", "analytical"]), default="optimal",
    show_default=True, help="How to search.",
)  # fmt: skip
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Save the certified table and the proof of its lower bound.",
)  # fmt: skip
@options.plot("the mechanism")
def command(
    epsilon: float,
    answers: tuple[str, ...] | None,
    scores: tuple[str, ...] | None,
    choice: tuple[str, ...] | None,
    yes_no: bool,
    outputs: int | None,
    objective: str | float | None,
    method: Method,
    json_path: Path | None,
    plot_path: Path | None,
) -> None:
    """Design a mechanism and print its table, error, bits and certified loss.

    For numbers of [-1, 1] unless --answers, --choice or --yes-no says what is asked.

    A design for the variance is found for any epsilon from 0.05 to 12. It comes with a lower bound
    that no mechanism can beat, and with the proof, which --json saves and `noutput verify` checks;
    a design for the distribution has no such bound. Balanced designs and those for the distribution
    are ready for many epsilons from 0.25 to 6; others take minutes.
    """
    import noutput

    for path, endings in ((json_path, None), (plot_path, PLOT_ENDINGS)):
        check_target(path, endings)
    question: Any = asked.answers_of(answers, scores, choice, yes_no)
    if question is not None and plot_path:
        raise click.UsageError("--plot draws mechanisms for numbers.")
    with shown_progress("Searching") as progress:
        found: Design | AnswerDesign = noutput.design(
            epsilon, outputs, objective, method, question=question, progress=progress
        )
    if isinstance(found, noutput.Design):
        _show(found)
        for note in _notes(found, outputs):
            click.echo(f"\n{note}")
    else:
        from noutput.cli.answer_design import show_answer_design

        show_answer_design(found)
    if json_path:
        json_path.write_text(found.to_json(), encoding="utf-8")
        click.echo(f"Design saved in {json_path}: noutput verify {json_path}")
    if plot_path and isinstance(found, noutput.Design):
        from noutput.cli.figures import draw_design

        draw_design(found, plot_path)
        click.echo(f"Figure saved in {plot_path}")


def _show(found: Design) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    mechanism = found.mechanism
    console = Console()
    table = Table(box=box.SIMPLE_HEAD, title="Probability of each report")
    table.add_column("report", justify="right")
    table.add_column("stands for", justify="right")
    for x in _SHOWN_INPUTS:
        table.add_column(f"x = {x:g}", justify="right")
    columns = mechanism.probabilities(_SHOWN_INPUTS).T
    for index in _shown_reports(mechanism.n_outputs):
        if index is None:
            table.add_row(*["..."] * len(table.columns))
            continue
        value, row = mechanism.outputs[index], columns[index]
        shown = round(float(value), 4) + 0.0  # no -0.0000
        table.add_row(str(index), f"{shown:.4f}", *(f"{p:.4f}" for p in row))
    console.print(table)
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_row("reports", f"{mechanism.n_outputs}, {mechanism.bits} bits each")
    facts.add_row("knots", f"{len(mechanism.knots)}")
    facts.add_row("worst-case variance", f"{mechanism.worst_variance():.6f}")
    facts.add_row("average variance", f"{mechanism.average_variance():.6f} (uniform inputs)")
    if found.objective.name in ("balanced", "distribution"):
        error = found.wasserstein_error
        facts.add_row("Wasserstein error", f"{error:.5f} (5,000 people, simulated)")
    elif found.objective.name not in ("worst", "average"):
        facts.add_row(f"variance, {found.objective.name}", f"{found.value:.6f}")
    bound = found.lower_bound
    if bound is not None:
        facts.add_row("lower bound", f"{bound:.6f}, gap {found.value / bound - 1.0:.3%}")
    facts.add_row("certified privacy loss", repr(mechanism.privacy_loss()))
    facts.add_row("fingerprint", mechanism.fingerprint)
    how = f"{found.method}, {found.iterations} iterations" if found.iterations else found.method
    facts.add_row("found by", how if found.converged else f"{how}, not converged")
    console.print(facts)
    if bound is not None:
        console.print(f"\n{_meaning(found, bound)}", soft_wrap=True)


def _shown_reports(size: int) -> list[int | None]:
    """Return the reports that are printed; None stands for those that are left out."""
    if size <= _MOST_ROWS:
        return list(range(size))
    ends = _MOST_ROWS // 4
    return [*range(ends), None, *range(size - ends, size)]


def _notes(found: Design, asked: int | None) -> list[str]:
    """Say what about the number of outputs would surprise."""
    import numpy as np

    size = found.mechanism.n_outputs
    notes = [
        f"Reports {first} and {second} tell the same: they stand for the same number, and for "
        "every x their chances have the same ratio. One output less is as good."
        for first, second in found.twins
    ]
    rare = np.flatnonzero(found.mechanism.weights.max(axis=0) < _RARE * found.mechanism.scale)
    notes += [
        f"Report {index} hardly ever occurs: less than once in {1 / _RARE:,.0f} reports, whatever "
        "x is. One output less is as good."
        for index in rare.tolist()
    ]
    if asked is not None and size < asked:
        notes.append(
            f"Of the {asked} outputs asked for, the one in the middle would never be reported at "
            f"this epsilon: the table has {size}."
        )
    if asked is None and found.method == "numerical":
        notes.append(
            f"{size} outputs, as the optimal design for the worst case has them at the nearest "
            "epsilon of the catalog. --outputs chooses another number."
        )
    return notes


def _meaning(found: Design, bound: float) -> str:
    """Say in one sentence what value, lower bound and gap mean."""
    limit = (
        "No unbiased mechanism with this epsilon, whatever it reports, has "
        f"{limited_variance(found)} below {bound:.6g} (proven); this one, with "
        f"{found.mechanism.bits}-bit reports, has {found.value:.6g}: "
    )
    if found.objective.name == "balanced":
        how = times_limit(found.value, bound)
        return f"{limit}{how}, so that one table serves the mean and the distribution."
    return f"{limit}{found.value / bound - 1.0:.2%} above the limit."

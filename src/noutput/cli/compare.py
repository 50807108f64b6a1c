"""`noutput compare`: all mechanisms side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from noutput._progress import shown_progress
from noutput.cli import asked, options
from noutput.cli.targets import PLOT_ENDINGS, check_target

if TYPE_CHECKING:
    from noutput.mechanisms.base import Mechanism

__all__ = ["command"]

_LARGEST = 20.0  # epsilon of a figure: there is nothing to compare beyond
_STEP = 0.25  # of epsilon in figures: catalogs of designs have the same
# drawn at many epsilons: designs that search for seconds and oracles are left to --only
_DRAWN = (
    "n-output", "n-output-analytical", "duchi", "three-output", "pm", "pm-sub", "pm-opt",
    "hybrid", "square-wave",
)  # fmt: skip
_NOT_FOR_MEANS = "n-output-distribution"
_TRAINED = "n-output-balanced"  # for minutes, where no table is ready


@click.command(name="compare")
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="Privacy loss.")
@click.option(
    "--only", "names", multiple=True, metavar="NAME",
    help="A mechanism to compare; repeat for more [default: all that are made for means].",
)  # fmt: skip
@click.option(
    "--with", "own", multiple=True, metavar="MODULE:OBJECT",
    help="A mechanism of your own, or what makes one for an epsilon; repeat for more.",
)  # fmt: skip
@asked.question
@click.option("--outputs", type=int, help="Number of reports of the designs [default: the best].")
@options.plot("the worst-case variance over epsilon")
@click.option(
    "--range", "ends", type=float, nargs=2, default=(0.5, 5.0), show_default=True,
    help="Smallest and largest epsilon of the figure.",
)  # fmt: skip
def command(
    epsilon: float,
    names: tuple[str, ...],
    own: tuple[str, ...],
    answers: tuple[str, ...] | None,
    scores: tuple[str, ...] | None,
    choice: tuple[str, ...] | None,
    yes_no: bool,
    outputs: int | None,
    plot_path: Path | None,
    ends: tuple[float, float],
) -> None:
    """Print the variance, the size and the exactness of every mechanism.

    With --answers, --choice or --yes-no: the squared error of mechanisms for answers.

    Mechanisms made for categories report the bin of a number, not the number: their variance is
    that of an estimate of the middle of the bin.
    """
    from noutput.cli.own import check_form

    check_target(plot_path, PLOT_ENDINGS)
    for name in own:
        check_form(name)
    question = asked.answers_of(answers, scores, choice, yes_no)
    if question is not None:
        from noutput.cli.answer_compare import compare_answers

        if plot_path:
            raise click.UsageError("--plot draws mechanisms for numbers.")
        if own:
            raise click.UsageError("--with compares mechanisms for numbers.")
        compare_answers(epsilon, question, names, outputs)
    elif plot_path:
        _draw((*(names or _DRAWN), *own), outputs, ends, plot_path)
        click.echo(f"Figure saved in {plot_path}")
    else:
        _show(epsilon, names, own, outputs)


def _make(name: str, epsilon: float, outputs: int | None) -> Mechanism | None:
    """Return a mechanism; None where there is none of this size."""
    import noutput as no
    from noutput.cli.own import is_own, make
    from noutput.errors import DesignError

    if is_own(name):
        return make(name, epsilon)
    sized = outputs is not None and name.startswith("n-output")
    try:
        return no.mechanism(name, epsilon, **({"n_outputs": outputs} if sized else {}))
    except DesignError:
        return None


def _is_ready(epsilon: float, outputs: int | None) -> bool:
    """Say whether a balanced table need not be trained first."""
    from noutput.designs import catalog
    from noutput.designs.objective import Objective

    goal = Objective.parse("balanced")
    return catalog.find(epsilon, outputs, goal, catalog.method_for(goal)) is not None


def _unbiased(mechanism: Mechanism) -> bool:
    """Tell reports of numbers from reports of bins, whose mean is the middle of the bin."""
    return abs(float(mechanism.mean(0.3)) - 0.3) < 1e-9


def _show(
    epsilon: float, names: tuple[str, ...], own: tuple[str, ...], outputs: int | None
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    import noutput as no
    from noutput.cli.own import label
    from noutput.designs.catalog import lower_bound

    bound = lower_bound(epsilon)
    wanted = names or tuple(
        name
        for name in no.MECHANISMS
        if name != _NOT_FOR_MEANS and (name != _TRAINED or _is_ready(epsilon, outputs))
    )
    wanted = (*wanted, *own)
    with shown_progress("Comparing") as progress:
        made: dict[str, Mechanism | None] = {}
        for place, name in enumerate(wanted):
            made[name] = _make(name, epsilon, outputs)
            progress((place + 1) / len(wanted))
    table = Table(box=box.SIMPLE_HEAD, title=f"Mechanisms at epsilon = {epsilon:g}")
    table.add_column("mechanism", no_wrap=True)
    for heading in ("worst variance", "average variance", "x lower bound", "bits", "exact"):
        table.add_column(heading, justify="right")
    for name, mechanism in made.items():
        title = label(name) or name
        if mechanism is None:
            table.add_row(title, *["-"] * 5)
            continue
        worst = mechanism.worst_variance()
        table.add_row(
            title,
            f"{worst:.5g}",
            f"{mechanism.average_variance():.5g}",
            f"{worst / bound:.4f}" if bound and _unbiased(mechanism) else "-",
            str(mechanism.bits),
            "yes" if mechanism.exact else "no",
        )
    Console().print(table)
    if bound:
        click.echo(f"No unbiased mechanism has a worst-case variance below {bound:.5g}.")


def _draw(
    names: tuple[str, ...], outputs: int | None, ends: tuple[float, float], path: Path
) -> None:
    import numpy as np

    import noutput as no
    from noutput import _checks
    from noutput.cli.figures import draw_variances
    from noutput.cli.own import label
    from noutput.errors import InvalidArgumentError

    low, high = (_checks.positive("range", end) for end in ends)
    if not low < high:
        raise InvalidArgumentError("range", "go from a smaller to a larger epsilon", ends)
    if high > _LARGEST:
        raise InvalidArgumentError("range", f"end at {_LARGEST:g} at most", high)
    epsilons = np.arange(low, high + _STEP / 2.0, _STEP)
    curves = {}
    for name in names:
        made = [_make(name, epsilon, outputs) for epsilon in epsilons.tolist()]
        values = [np.nan if mechanism is None else mechanism.worst_variance() for mechanism in made]
        curves[label(name) or no.MECHANISMS[name].label] = values
    draw_variances(epsilons, curves, path)

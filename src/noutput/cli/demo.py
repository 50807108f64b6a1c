"""`noutput demo`: a small campaign on this machine, start to end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from noutput.cli.histogram import MARK, draw_bars, encodable, round_edges
from noutput.cli.numbers import bits, show
from noutput.cli.progress import delayed_progress
from noutput.cli.targets import PLOT_ENDINGS, check_target

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from noutput.cli.summary import Summary
    from noutput.mechanisms.table import TableMechanism

__all__ = ["command"]

_PEOPLE = 20_000
_LONGEST = 180.0


@click.command(name="demo")
@click.option("--people", type=click.IntRange(2, 10_000_000), default=_PEOPLE, show_default=True)
@click.option("--epsilon", type=float, default=1.0, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the simulated people.")
@click.option(
    "--plot", "plot_path", type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Draw the distribution (PNG, SVG or PDF).",
)  # fmt: skip
def command(people: int, epsilon: float, seed: int, plot_path: Path | None) -> None:
    """Ask simulated people for their commute, without seeing an answer.

    The people are simulated from a seed, their reports are drawn with secure randomness.
    """
    import numpy as np

    import noutput as no
    from noutput.cli.summary import summarize

    check_target(plot_path, PLOT_ENDINGS)
    rng = np.random.default_rng(seed)
    minutes = no.Interval(0, _LONGEST)
    truth = np.clip(rng.lognormal(3.3, 0.65, people), minutes.lower, minutes.upper)
    with delayed_progress("Designing") as progress:
        mechanism = no.design(epsilon, 16, progress=progress).mechanism
    reports = mechanism.privatize(minutes.to_unit(truth))
    found = summarize(mechanism, no.Tally.of(mechanism, reports), minutes)

    click.echo(
        f"{people:,} simulated people were asked how many minutes they commute (0 to 180).\n"
        f"Each report satisfies {epsilon:g}-local differential privacy: "
        f"{mechanism.n_outputs} possible reports, {bits(mechanism.bits)} each.\n"
    )
    _show_report(mechanism, int(reports[0]), float(truth[0]))
    _show_figures(found, truth)
    _show_distribution(found, truth)
    if plot_path:
        from noutput.cli.distribution_figure import draw_distributions

        draw_distributions({"minutes": found.distribution}, plot_path, {"minutes": truth})
        click.echo(f"\nFigure saved in {plot_path}")


def _show_report(mechanism: TableMechanism, report: int, truth: float) -> None:
    chances = mechanism.probabilities([-1.0, 0.0, 1.0])[:, report]
    click.echo(
        f"One report           {report} of 0..{mechanism.n_outputs - 1}. "
        f"Its sender commutes {truth:.1f} minutes; with 0, 90\n"
        "                     or 180 minutes the chances of the same report are\n"
        f"                     {chances[0]:.1%}, {chances[1]:.1%} and {chances[2]:.1%}.\n"
    )


def _show_figures(found: Summary, truth: NDArray[np.float64]) -> None:
    import numpy as np

    from noutput.cli.summary import QUARTILES

    true = {"Mean": truth.mean(), "Variance": truth.var(), "Standard deviation": truth.std()}
    quartiles = np.quantile(truth, list(QUARTILES.values())).tolist()
    true |= dict(zip(QUARTILES, quartiles, strict=True))
    click.echo(f"{'Minutes':20} {'truth':>7}  {'estimate':>9}   95% interval")
    for name, figure in found.figures.items():
        half = (figure.high - figure.low) / 2.0
        value, estimate, low, high = (
            show(number, half) for number in (true[name], figure.value, figure.low, figure.high)
        )
        click.echo(f"{name:20} {value:>7}  {estimate:>9}   {low} to {high}")
    click.echo(f"{'Forged reports':20} {found.honesty}\n")


def _show_distribution(found: Summary, truth: NDArray[np.float64]) -> None:
    import numpy as np

    import noutput as no

    edges = round_edges(0.0, _LONGEST)
    shares = np.diff(np.asarray(found.distribution.cdf(edges))).tolist()
    true = (np.histogram(truth, edges)[0] / truth.size).tolist()
    click.echo(draw_bars(edges, shares, true))
    bins = found.distribution.bins
    exact = np.histogram(truth, bins, (0.0, _LONGEST))[0] / truth.size
    bounds = found.distribution.bounds
    distance = float(no.wasserstein(found.distribution.probabilities, exact, bounds))
    click.echo(
        encodable(
            f"\nBars are the estimate, {MARK} is the truth. "
            f"The Wasserstein distance of the two is {show(distance)} minutes."
        )
    )

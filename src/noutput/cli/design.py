"""`noutput design`: make a mechanism, show it, and save it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from noutput.designs import Design

__all__ = ["command"]

_SHOWN_INPUTS = (-1.0, -0.5, 0.0, 0.5, 1.0)


class _Objective(click.ParamType[str | float]):
    name = "worst|average|R"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | float:
        if value in ("worst", "average"):
            return str(value)
        try:
            return float(str(value))
        except ValueError:
            self.fail(f"{value!r} is not 'worst', 'average' or a number.", param, ctx)


@click.command(name="design")
@click.option("--epsilon", type=float, required=True, help="Privacy loss of one report.")
@click.option("--outputs", type=int, help="Number of different reports [default: the best].")
@click.option(
    "--objective", type=_Objective(), default="worst", show_default=True,
    help="Variance to minimize: its maximum, its average, or its R-norm.",
)  # fmt: skip
@click.option(
    "--method", type=click.Choice(["analytical", "numerical"]), default="numerical",
    show_default=True, help="How to search.",
)  # fmt: skip
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Save the certified table.",
)  # fmt: skip
@click.option(
    "--plot", "plot_path", type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Draw the mechanism (PNG, SVG or PDF).",
)  # fmt: skip
def command(
    epsilon: float,
    outputs: int | None,
    objective: str | float,
    method: str,
    json_path: Path | None,
    plot_path: Path | None,
) -> None:
    """Design a mechanism and print its table, variance, bits and certified loss."""
    import noutput

    found = noutput.design(epsilon, outputs, objective, method)  # type: ignore[arg-type]
    _show(found)
    if json_path:
        json_path.write_text(found.mechanism.to_json(), encoding="utf-8")
        click.echo(f"Table saved in {json_path}: noutput verify {json_path}")
    if plot_path:
        from noutput.cli.figures import draw_mechanism

        draw_mechanism(found.mechanism, plot_path)
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
    for index, (value, row) in enumerate(zip(mechanism.outputs, columns, strict=True)):
        table.add_row(str(index), f"{value:.4f}", *(f"{p:.4f}" for p in row))
    console.print(table)
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_row("reports", f"{mechanism.n_outputs}, {mechanism.bits} bits each")
    facts.add_row("knots", f"{len(mechanism.knots)}")
    facts.add_row("worst-case variance", f"{mechanism.worst_variance():.6f}")
    facts.add_row("average variance", f"{mechanism.average_variance():.6f} (uniform inputs)")
    if found.objective.name not in ("worst", "average"):
        facts.add_row(f"variance, {found.objective.name}", f"{found.value:.6f}")
    facts.add_row("certified privacy loss", f"{mechanism.privacy_loss():.12g}")
    facts.add_row("fingerprint", mechanism.fingerprint)
    how = f"{found.method}, {found.iterations} iterations" if found.iterations else found.method
    facts.add_row("found by", how if found.converged else f"{how}, not converged")
    console.print(facts)

"""Forecast of an adaptive campaign for `noutput plan --adaptive`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from noutput._numbers import show as number
from noutput._progress import shown_progress

if TYPE_CHECKING:
    from noutput.planner import AnswerPlan, Plan
    from noutput.planner.adaptive_plan import AdaptivePlan

__all__ = ["forecast", "show"]


def forecast(
    found: Plan | AnswerPlan, first: float | None, objective: str | None, *, adaptive: bool
) -> AdaptivePlan | None:
    """Return the forecast, or None where none is wanted."""
    from noutput.campaign.draft_adaptive import SHARE
    from noutput.planner import Plan
    from noutput.planner.adaptive_plan import plan_adaptive

    if not adaptive:
        if first is not None:
            raise click.UsageError("--first needs --adaptive.")
        return None
    if not isinstance(found, Plan):
        raise click.UsageError("--adaptive is for numbers: answers have no range to narrow.")
    share = SHARE if first is None else first
    with shown_progress("Simulating waves"):
        return plan_adaptive(found, share, objective=objective or "balanced")


def show(found: AdaptivePlan) -> None:
    """Print a line per share of the range that values use."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from noutput.campaign.waves import FEWEST_REPORTS

    plan = found.plan
    click.echo(
        f"Two waves      {found.first:,} people answer first, for values from "
        f"{plan.bounds.lower:g} to {plan.bounds.upper:g}. Their reports\n"
        f"               choose the range of the other {plan.people - found.first:,}, "
        "whose devices clip values to it.\n"
        "               Simulated for four shapes of values:"
    )
    if found.too_few:
        click.echo(
            f"               The rule needs {FEWEST_REPORTS} reports: with fewer, nothing is "
            "narrowed. Expect more people,\n"
            "               or let a larger share of them answer first (--first)."
        )
    title = "Errors of two waves, by how much of the range values use"
    table = Table(box=box.SIMPLE_HEAD, title=title)
    for heading in ("values in the\nlowest", "range found", "standard error\nof the mean"):
        table.add_column(heading, justify="right")
    table.add_column("times that of\na single wave", justify="right")
    for each in found.outlooks:
        table.add_row(
            f"{100.0 * each.occupancy:g}%",
            _ranges((each.narrowest.lower, each.narrowest.upper),
                    (each.widest.lower, each.widest.upper)),
            _between(*each.errors),
            _between(*each.ratios),
        )  # fmt: skip
    Console().print(table)


def _ranges(narrowest: tuple[float, float], widest: tuple[float, float]) -> str:
    texts = [f"{low:g}..{high:g}" for low, high in (narrowest, widest)]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def _between(low: float, high: float) -> str:
    texts = number(low), number(high)
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}"

"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

__all__ = ["OF_NUMBERS", "database", "objective", "outputs", "plot", "refuse_given"]

OF_NUMBERS = ("method", "bins", "kind")  # of `noutput estimate`

_Command = TypeVar("_Command", bound=Callable[..., Any])

database = click.option(
    "--database", default="noutput.db", show_default=True, metavar="PATH|URL",
    envvar="NOUTPUT_DATABASE", show_envvar=True,
    help="A SQLite file, or postgresql://user@host/name.",
)  # fmt: skip
outputs = click.option(
    "--outputs", type=int,
    help="Number of different reports [default: 128 or 64 for balanced, 64 for distribution, "
    "else the best up to 16; of answers, the fewest within 1% of the optimum].",
)  # fmt: skip
objective = click.option(
    "--objective",
    type=click.Choice(
        ["balanced", "worst", "average", "distribution", "cdf", "shares", "mean"]
    ),
    help="What the table is for. Of numbers: the mean and the distribution (balanced, the "
    "default), the mean alone (its worst-case or average variance), or the distribution alone. Of "
    "answers: the shares at or below each (cdf, the default where they are ordered), the shares "
    "(the default elsewhere), the mean score, or mean and cdf (balanced).",
)  # fmt: skip


def plot(what: str) -> Callable[[_Command], _Command]:
    """Return the option --plot of a command that draws something."""
    path = click.Path(dir_okay=False, writable=True, path_type=Path)
    return click.option("--plot", "plot_path", type=path, help=f"Draw {what} (PNG, SVG or PDF).")


def refuse_given(why: str, *names: str) -> None:
    """Refuse options that were given and would do nothing."""
    given = click.get_current_context().get_parameter_source
    for name in names:
        if given(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name} {why}")

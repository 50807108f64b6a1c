"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["database", "objective", "outputs", "plot"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

database = click.option(
    "--database", default="noutput.db", show_default=True, metavar="PATH|URL",
    help="A SQLite file, or postgresql://user@host/name.",
)  # fmt: skip
outputs = click.option(
    "--outputs", type=int,
    help="Number of different reports [default: 128 or 64 for balanced, 64 for distribution, "
    "else the best up to 16].",
)  # fmt: skip
objective = click.option(
    "--objective", type=click.Choice(["balanced", "worst", "average", "distribution"]),
    default="balanced", show_default=True,
    help="What the table is for: the mean and the distribution (balanced), the mean alone (its "
    "worst-case or average variance), or the distribution alone.",
)  # fmt: skip


def plot(what: str) -> Callable[[_Command], _Command]:
    """Return the option --plot of a command that draws something."""
    path = click.Path(dir_okay=False, writable=True, path_type=Path)
    return click.option("--plot", "plot_path", type=path, help=f"Draw {what} (PNG, SVG or PDF).")

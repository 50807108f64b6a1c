"""Options and questions of the commands that administer a database or a collector."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from noutput.cli import options

if TYPE_CHECKING:
    from noutput.collector.administration.interface import Administration

__all__ = [
    "administered", "as_json", "confirm", "existing", "open_administration", "show", "show_columns",
    "yes",
]  # fmt: skip

TOKEN = "NOUTPUT_TOKEN"  # noqa: S105 (the name of a variable)
_Command = TypeVar("_Command", bound=Callable[..., Any])

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
yes = click.option("--yes", is_flag=True, help="Do not ask.")
_collector = click.option(
    "--collector", metavar="URL",
    help="The address of a running collector in place of a database. Its admin token is read from "
    f"{TOKEN}, or asked for.",
)  # fmt: skip


def administered(command: _Command) -> _Command:
    """Add the options of a command for a database or a collector."""
    return options.database(_collector(as_json(command)))


def open_administration(database: str, collector: str | None) -> Administration:
    """Open the database, or the collector with a token that is no argument of the command."""
    if collector is None:
        from noutput.collector.administration.local import DatabaseAdministration
        from noutput.collector.store import open_store

        return DatabaseAdministration(open_store(existing(database)))
    from noutput.collector.administration.remote import RemoteAdministration

    source = click.get_current_context().get_parameter_source("database")
    if source is ParameterSource.COMMANDLINE:
        raise click.UsageError("Give either --database or --collector.")
    return RemoteAdministration(collector, _token())


def existing(database: str) -> str:
    """Return the database, or refuse a SQLite file that is not there."""
    if "://" not in database and not Path(database).exists():
        raise click.UsageError(f"there is no database {database}")
    return database


def _token() -> str:
    found = os.environ.get(TOKEN)
    if found:
        return found
    if not _has_terminal():
        raise click.UsageError(f"set {TOKEN} to an admin token: there is no terminal to ask on")
    asked: str = click.prompt("Admin token", hide_input=True, err=True)
    return asked


def _has_terminal() -> bool:
    return sys.stdin.isatty()


def confirm(question: str, *, agreed: bool) -> None:
    """Ask before something that cannot be undone; end where nobody agrees."""
    if agreed:
        return
    if not _has_terminal():
        raise click.UsageError(f"{question} Give --yes: there is no terminal to ask on.")
    click.confirm(question, abort=True, err=True)


def show(content: object) -> None:
    """Print JSON."""
    click.echo(json.dumps(content, indent=2, ensure_ascii=False))


def show_columns(names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows in columns as wide as they need; numbers are at the right, None is a dash."""
    shown = [[_cell(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *shown, strict=True)]
    right = [
        bool(rows) and all(isinstance(row[at], int) for row in rows) for at in range(len(names))
    ]
    for row in ([*names], *shown):
        cells = [
            cell.rjust(width) if end else cell.ljust(width)
            for cell, width, end in zip(row, widths, right, strict=True)
        ]
        click.echo("  ".join(cells).rstrip())


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    return f"{value:,}" if isinstance(value, int) else str(value)

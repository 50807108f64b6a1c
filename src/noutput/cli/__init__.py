"""The command line: one module per verb, each loaded when it is called."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from noutput import __version__
from noutput.cli.failures import with_options
from noutput.errors import InvalidArgumentError, NoutputError

__all__ = ["main", "noutput"]

_VERBS = (
    "design", "verify", "compare", "audit", "plan", "privatize", "estimate", "campaign", "token",
    "log", "restore", "issuer", "serve", "health", "report", "simulate", "reproduce", "demo",
)  # fmt: skip


class _Verbs(click.Group):
    """Commands that live in modules of the same name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (too)
        if cmd_name not in _VERBS:
            return None
        command = import_module(f"noutput.cli.{cmd_name}").command
        return command if isinstance(command, click.Command) else None


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="noutput")
def noutput() -> None:
    """Statistics of numbers that nobody may see."""


def main() -> None:
    """Run the command line; errors that noutput raises on purpose end it with status 2."""
    try:
        noutput.main(prog_name="noutput")
    except NoutputError as found:
        error = with_options(found) if isinstance(found, InvalidArgumentError) else found
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)

"""The directive ``command-line``: the help of every command, as the program prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from docutils import nodes
from docutils.parsers.rst import Directive

from noutput.cli import noutput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

_WIDTH = 80


def command_helps() -> Iterator[tuple[str, str]]:
    """Yield every command with its help, groups before what they hold."""

    def walk(command: click.Command, parent: click.Context | None) -> Iterator[tuple[str, str]]:
        with click.Context(
            command, info_name=command.name, parent=parent, terminal_width=_WIDTH,
            help_option_names=["-h", "--help"],
        ) as context:  # fmt: skip
            yield context.command_path, context.get_help()
            if isinstance(command, click.Group):
                for name in command.list_commands(context):
                    found = command.get_command(context, name)
                    if found is not None:
                        yield from walk(found, context)

    return walk(noutput, None)


class CommandLine(Directive):
    """One section a command."""

    def run(self) -> list[nodes.Node]:
        """Make the sections."""
        result: list[nodes.Node] = []
        for path, text in command_helps():
            section = nodes.section(ids=[nodes.make_id(path)], names=[path])
            section += nodes.title(text=path)
            section += nodes.literal_block(text, text, language="text")
            result.append(section)
        return result


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

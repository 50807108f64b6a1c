"""`noutput log`: who did what to campaigns and tokens."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import click

from noutput.cli.administered import administered, open_administration, show, show_columns

if TYPE_CHECKING:
    from noutput.collector.administration.interface import Answer

__all__ = ["command"]

_KEYS = ("number", "at", "by", "name", "campaign", "token", "detail")
_COLUMNS = ("number", "at", "by", "action", "campaign", "token", "detail")


@click.command(name="log")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True,
              help="How many entries.")  # fmt: skip
@click.option(
    "--before", type=click.IntRange(1, (1 << 63) - 1), help="Only entries with a smaller number."
)
@administered
def command(
    limit: int, before: int | None, database: str, collector: str | None, *, as_json: bool
) -> None:
    """Show the log of administrative actions, the newest first.

    An action was allowed by the token whose id is in the column "by", or by the command line of
    somebody who has the database. No entry has an address, a label or a secret.
    """
    with open_administration(database, collector) as administration:
        found = administration.log(before, limit)
    if as_json:
        show(found)
        return
    entries: list[Answer] = found["entries"]
    show_columns(_COLUMNS, [[each[key] for key in _KEYS] for each in entries])
    for later, earlier in pairwise(entries):
        lost = later["number"] - earlier["number"] - 1
        if lost:
            click.echo(f"Missing: {lost:,} before number {later['number']:,}", err=True)
    if found["next"] is not None:
        click.echo(f"Older entries: --before {found['next']}", err=True)

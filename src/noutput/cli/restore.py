"""`noutput restore`: campaigns from a backup or an export, into any kind of database."""

from __future__ import annotations

from pathlib import Path

import click

from noutput.cli import options
from noutput.cli.administered import as_json, show

__all__ = ["command"]


@click.command(name="restore")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@options.database
@click.option("--checksum", help="Refuse a file without the checksum that was printed with it.")
@as_json
def command(file: Path, database: str, checksum: str | None, *, as_json: bool) -> None:
    """Restore what `campaign backup` or `campaign export` wrote, into SQLite or PostgreSQL.

    A backup has all campaigns, the tokens and the log; the database must be empty. An export has
    one campaign, which must not be in the database. The ids of counted reports are included: a
    report that is sent again is not counted twice, and a one-time token that was spent stays
    spent. Everything is restored, or nothing.
    """
    from noutput.campaign.text import format_instant
    from noutput.collector.clock import system_clock
    from noutput.collector.store import open_store
    from noutput.collector.store.archive import check_file, restore

    check_file(file, checksum)  # before a database is made
    store = open_store(database)
    try:
        rows = restore(store, file, checksum, now=format_instant(system_clock()))
        totals, tokens = store.totals(), len(store.tokens())
    finally:
        store.close()
    reports = {row.id: totals.get(row.key, 0) for row in rows}
    if as_json:
        show({"campaigns": reports, "tokens": tokens})
        return
    for name, count in reports.items():
        click.echo(f"{name} with {_counted(count, 'report')} is in the database")
    click.echo(f"The database has {_counted(tokens, 'token')}.")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

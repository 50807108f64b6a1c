"""`noutput campaign export`, `import` and `backup`: campaigns of a collector as files."""

from __future__ import annotations

from pathlib import Path

import click

from noutput.cli import options
from noutput.cli.targets import check_target

__all__ = ["backup_command", "export_command", "import_command"]


@click.command(name="export")
@click.argument("campaign_id", metavar="ID")
@options.database
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
    help="File to write [default: ID.noutput].",
)  # fmt: skip
def export_command(campaign_id: str, database: str, output: Path | None) -> None:
    """Write a campaign with its counts and the ids of its reports to a file."""
    from noutput.collector.store import open_store
    from noutput.collector.store.archive import export_campaign

    target = output or Path(f"{campaign_id}.noutput")
    check_target(target)
    store = open_store(_existing(database))
    try:
        count = export_campaign(store, campaign_id, target)
    finally:
        store.close()
    click.echo(f"{campaign_id} with {count:,} reports is in {target}")


@click.command(name="import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@options.database
def import_command(file: Path, database: str) -> None:
    """Import a campaign from a file that `export` wrote, into any kind of database.

    The ids of its reports are included: a report that is sent again is not counted twice.
    """
    from noutput.collector.store import open_store
    from noutput.collector.store.archive import check_export, import_campaign

    check_export(file)  # before a database is made
    store = open_store(database)
    try:
        row = import_campaign(store, file)
        total = sum(store.counts(row.key).values())
    finally:
        store.close()
    click.echo(f"{row.id} with {total:,} reports is in the database")


@click.command(name="backup")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@options.database
def backup_command(file: Path, database: str) -> None:
    """Copy a database, in use or not, to a new SQLite file that `noutput serve` can open."""
    from noutput.collector.store.archive import back_up

    check_target(file)
    count = back_up(_existing(database), file)
    click.echo(f"{count} campaign{'' if count == 1 else 's'} copied to {file}")


def _existing(database: str) -> str:
    """Return the database, or refuse a SQLite file that is not there."""
    if "://" not in database and not Path(database).exists():
        raise click.UsageError(f"there is no database {database}")
    return database

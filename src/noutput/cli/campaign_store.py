"""`noutput campaign export`, `backup` and `check`: what a collector keeps, and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from noutput.cli import options
from noutput.cli.administered import as_json, existing, show
from noutput.cli.targets import check_target

if TYPE_CHECKING:
    from noutput.collector.store.check import Checked
    from noutput.collector.store.interface import Store

__all__ = ["backup_command", "check_command", "export_command"]

_DAMAGED = 1


@click.command(name="export")
@click.argument("campaign_id", metavar="ID")
@options.database
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
    help="File to write [default: ID.noutput].",
)  # fmt: skip
@as_json
def export_command(campaign_id: str, database: str, output: Path | None, *, as_json: bool) -> None:
    """Write a campaign with its counts and the ids of its reports to a file."""
    from noutput.collector.store import open_store
    from noutput.collector.store.archive import export_campaign

    target = output or Path(f"{campaign_id}.noutput")
    check_target(target)
    store = open_store(existing(database))
    try:
        count, checksum = export_campaign(store, campaign_id, target)
        _note(store, "campaign.export", campaign_id)
    finally:
        store.close()
    if as_json:
        show({"campaign": campaign_id, "reports": count, "file": str(target), "checksum": checksum})
        return
    click.echo(f"{campaign_id} with {count:,} reports is in {target}")
    click.echo(f"checksum {checksum}")


@click.command(name="backup")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@options.database
@as_json
def backup_command(file: Path, database: str, *, as_json: bool) -> None:
    """Copy a database, in use or not, to a new SQLite file, for `noutput serve` or `restore`."""
    from noutput.collector.store import open_store
    from noutput.collector.store.archive import back_up, file_checksum

    check_target(file)
    count = back_up(existing(database), file)
    store = open_store(database)
    try:
        _note(store, "database.backup")
    finally:
        store.close()
    if as_json:
        show({"file": str(file), "campaigns": count, "sha256": file_checksum(file)})
        return
    click.echo(f"{count} campaign{'' if count == 1 else 's'} copied to {file}")
    click.echo(f"SHA-256 {file_checksum(file)}")


@click.command(name="check")
@options.database
@click.option(
    "--accept", is_flag=True,
    help="Take what the database holds now as right, after its problems were printed.",
)  # fmt: skip
@as_json
@click.pass_context
def check_command(context: click.Context, database: str, *, accept: bool, as_json: bool) -> None:
    """Check whether a database, in use or not, still holds all that was committed to it.

    Counts, ids and documents are compared with checksums that every commit keeps, the number of
    commits with the mark next to a SQLite file, and SQLite checks the form of the file. Ends with
    status 1 where anything is wrong.
    """
    from noutput.campaign.text import format_instant
    from noutput.collector.clock import system_clock
    from noutput.collector.store import open_store
    from noutput.collector.store.check import check_database
    from noutput.collector.store.interface import COMMAND_LINE, Action

    store = open_store(existing(database))
    found: list[Checked] = []
    try:
        for checked in check_database(store):
            found.append(checked)
            if not as_json:
                click.echo("\n".join(_said(checked)))
        wrong = any(each.problems for each in found)
        if wrong and accept:
            store.accept(Action(format_instant(system_clock()), COMMAND_LINE, "database.accept"))
    finally:
        store.close()
    if as_json:
        told = [
            {"campaign": each.campaign, "problems": each.problems,
             "reports": None if each.campaign is None else each.reports}
            for each in found
        ]  # fmt: skip
        show({"ok": not wrong, "accepted": wrong and accept, "checked": told})
    elif wrong and accept:
        click.echo("Accepted: restart the collector.")
    if wrong and not accept:
        context.exit(_DAMAGED)


def _said(checked: Checked) -> list[str]:
    where = "database" if checked.campaign is None else checked.campaign
    detail = "" if checked.campaign is None else f" with {checked.reports:,} reports"
    return [f"{where}: {problem}" for problem in checked.problems] or [f"{where}{detail}: ok"]


def _note(store: Store, name: str, campaign: str | None = None) -> None:
    """Add to the log what was copied; a database that cannot be written to is copied all the same.

    The copy itself does not have the entry.
    """
    from noutput.campaign.text import format_instant
    from noutput.collector.clock import system_clock
    from noutput.collector.store.interface import COMMAND_LINE, Action, UnavailableError

    try:
        store.note(Action(format_instant(system_clock()), COMMAND_LINE, name, campaign))
    except UnavailableError as error:
        click.echo(f"Warning: this is not in the log of the database: {error}", err=True)

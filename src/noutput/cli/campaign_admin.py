"""`noutput campaign list`, `show`, `close` and `delete`: in a database or at a collector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noutput.cli.administered import (
    administered,
    confirm,
    open_administration,
    show,
    show_columns,
    yes,
)

if TYPE_CHECKING:
    from noutput.collector.administration.interface import Administration, Answer

__all__ = ["add_command", "close_command", "delete_command", "list_command", "show_command"]

_COLUMNS = ("id", "state", "received", "published", "closes", "title")


@click.command(name="list")
@administered
def list_command(database: str, collector: str | None, *, as_json: bool) -> None:
    """List the campaigns of a database or of a collector, and how many reports they have."""
    with open_administration(database, collector) as administration:
        found = administration.campaigns()
    if as_json:
        show({"campaigns": found})
        return
    shown = [
        (each["id"], each["state"], each["received"], each["reports"],
         each["closed"] or each["closes"], each["title"])
        for each in found
    ]  # fmt: skip
    show_columns(_COLUMNS, shown)


@click.command(name="show")
@click.argument("campaign_id", metavar="ID")
@administered
def show_command(campaign_id: str, database: str, collector: str | None, *, as_json: bool) -> None:
    """Show a campaign: what it asks, how private it is, its state and its reports."""
    with open_administration(database, collector) as administration:
        found = _summary(administration, campaign_id)
        document = administration.document(campaign_id)
    if as_json:
        show({**found, "document": json.loads(document)})
        return
    from noutput.campaign.campaign import Campaign
    from noutput.cli.strata import strata_lines
    from noutput.cli.wording import asked

    campaign = Campaign.from_json(document)
    lines = [
        f"{found['id']}: {found['title']}",
        f"  asks         {found['text']} ({'; '.join(map(asked, campaign.questions))})",
        f"  state        {found['state']}, {_times(found)}",
        f"  read by      {'everybody' if found['public'] else 'holders of a read token'}",
        f"  admission    {campaign.admission.kind}",
        f"  a person     epsilon {found['epsilon']!r}{' per answer' if campaign.schedule else ''}",
        *(f"  {heading:<12} {text}" for heading, text in strata_lines(campaign)),
        f"  reports      {_reports(found)}",
        f"  fingerprint  {found['fingerprint']}",
    ]
    click.echo("\n".join(lines))


@click.command(name="add")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@administered
def add_command(file: Path, database: str, collector: str | None, *, as_json: bool) -> None:
    """Add a campaign that `create` wrote to a database or a collector, which certifies it."""
    with open_administration(database, collector) as administration:
        added = administration.add_campaign(file.read_bytes())
    if as_json:
        show(added)
    else:
        click.echo(f"{added['id']} is {added['state']}, {_times(added)}")


@click.command(name="close")
@click.argument("campaign_id", metavar="ID")
@administered
@yes
def close_command(
    campaign_id: str, database: str, collector: str | None, *, as_json: bool, yes: bool
) -> None:
    """Close a campaign before its time. It counts no more reports, and never opens again.

    It says before how many reports are too few to show, and never published then. About a database
    it says so for a collector with the default --minimum.
    """
    with open_administration(database, collector) as administration:
        found = _summary(administration, campaign_id)
        closing = administration.closing(campaign_id)
        if found["closed"] is None:
            question = f"Close {campaign_id} for good? It has {_reports(found)}.{_hidden(closing)}"
            confirm(question, agreed=yes)
        closed = administration.close_campaign(campaign_id)
    if as_json:
        show({**closed, "hidden": closing["hidden"]})
    else:
        said = f"{campaign_id} was closed at {closed['closed']} with {_reports(closed)}."
        click.echo(said + _hidden(closing))


@click.command(name="delete")
@click.argument("campaign_id", metavar="ID")
@administered
@yes
def delete_command(
    campaign_id: str, database: str, collector: str | None, *, as_json: bool, yes: bool
) -> None:
    """Delete a campaign with its counts, the ids of its reports, and its tokens.

    Nothing brings them back but a backup. Files of an archive stay.
    """
    with open_administration(database, collector) as administration:
        found = _summary(administration, campaign_id)
        question = f"Delete {campaign_id} with {_reports(found)}, for good?"
        confirm(question, agreed=yes)
        administration.delete_campaign(campaign_id)
    if as_json:
        show({"deleted": found})
    else:
        click.echo(f"{campaign_id} with {_reports(found)} was deleted")


def _summary(administration: Administration, campaign_id: str) -> Answer:
    from noutput.errors import InvalidArgumentError

    known = {each["id"]: each for each in administration.campaigns()}
    if campaign_id not in known:
        raise InvalidArgumentError("campaign", "be the id of a campaign", campaign_id)
    return known[campaign_id]


def _times(found: Answer) -> str:
    if found["closed"] is not None:
        return f"since {found['closed']}"
    return f"from {found['opens']} to {found['closes']}"


def _hidden(closing: Answer) -> str:
    """Say how many reports are never published."""
    if not closing["hidden"]:
        return ""
    some = f"{closing['hidden']:,} of them" if closing["published"] else "They"
    return f" {some} are too few to show, and will never be published."


def _reports(found: Answer) -> str:
    published = f"{found['reports']:,} published"
    if found["received"] is None:  # an admin token knows; one for reading does not
        return f"{published} reports"
    plural = "" if found["received"] == 1 else "s"
    return f"{found['received']:,} report{plural}, {published}"

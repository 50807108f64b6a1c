"""`noutput campaign`: write campaign documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from noutput.cli.campaign_store import (
    backup_command,
    check_command,
    export_command,
    import_command,
)
from noutput.cli.progress import delayed_progress
from noutput.cli.targets import check_target

if TYPE_CHECKING:
    from noutput.campaign import Campaign
    from noutput.designs.result import Design

__all__ = ["command"]


@click.group(name="campaign")
def command() -> None:
    """Create, back up, move and check campaigns."""


@command.command(name="create")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the campaign [default: FILE with the suffix .json].",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite a different campaign in that file.")
def create(file: Path, output: Path | None, *, force: bool) -> None:
    """Design the table of a campaign, certify it, and write the campaign as JSON.

    FILE is a small TOML file with id, title, question, epsilon, opens, closes and
    [[attributes]] (name, unit, lower, upper). The goal "balanced" (the default) has a table for
    the mean and the distribution, "mean" and "distribution" one for either alone; a [table] with
    outputs, objective and method is optional.
    """
    import noutput
    from noutput.campaign.draft import CampaignDraft
    from noutput.errors import DocumentError

    target = output or file.with_suffix(".json")
    check_target(target)
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        wrong = f"byte {error.object[error.start]:#x} at place {error.start}"
        raise DocumentError("file", "be UTF-8", wrong) from None
    draft = CampaignDraft.from_toml(text)
    with delayed_progress("Designing") as progress:
        found = noutput.design(**draft.design, progress=progress)
    campaign = draft.campaign(found.mechanism.plain)
    document = campaign.to_json()
    if target.exists() and not force and target.read_bytes() != document.encode():
        raise click.UsageError(
            f"{target} is there already, and a campaign never changes: "
            "give another --output, or --force."
        )
    target.write_text(document, encoding="utf-8")
    _show(campaign, found, target)


def _show(campaign: Campaign, found: Design, target: Path) -> None:
    from noutput.campaign.text import format_instant
    from noutput.cli.quality import worst_case

    table = campaign.table
    asked = ", ".join(
        f"{each.name} from {each.lower:g} to {each.upper:g} {each.unit}".rstrip()
        for each in campaign.attributes
    )
    click.echo(
        f"Campaign saved in {target}\n"
        f"  asks         {campaign.question} ({asked})\n"
        f"  open         {format_instant(campaign.opens)} to {format_instant(campaign.closes)}\n"
        f"  a report     {table.n_outputs} outputs, {table.bits} bits; epsilon {table.epsilon!r}, "
        f"certified loss {table.privacy_loss()!r}\n"
        f"  table        {campaign.goal}; worst-case variance {worst_case(found.mechanism)}\n"
        f"  fingerprint  {campaign.fingerprint}"
    )


command.add_command(export_command)
command.add_command(import_command)
command.add_command(backup_command)
command.add_command(check_command)

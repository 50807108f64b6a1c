"""`noutput token`: tokens of operators and readers, and one-time tokens of people."""

from __future__ import annotations

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
from noutput.cli.targets import check_target

if TYPE_CHECKING:
    from noutput.collector.administration.interface import Answer

__all__ = ["command"]

_COLUMNS = ("id", "kind", "campaign", "label", "created", "expires", "last used")


_LAST = (
    "It is the last admin token for all campaigns: without another one, only those who have the "
    "database administer a collector, until its next start makes one."
)


@click.group(name="token")
def command() -> None:
    """Make, list and revoke tokens; hand out one-time tokens to people."""


@command.command(name="create")
@click.option(
    "--kind", type=click.Choice(["admin", "read", "metrics"]), required=True,
    help="May do everything, read estimates, or read /metrics.",
)  # fmt: skip
@click.option("--campaign", metavar="ID", help="The only campaign that it is for [default: all].")
@click.option("--label", default="", help="What you call it, up to 100 bytes.")
@click.option("--expires", metavar="INSTANT", help="When it ends, such as 2027-01-01T00:00:00Z.")
@administered
def create(
    kind: str, campaign: str | None, label: str, expires: str | None, database: str,
    collector: str | None, *, as_json: bool,
) -> None:  # fmt: skip
    """Make a token, and print it, once: the database keeps a hash."""
    if kind == "metrics" and campaign is not None:
        raise click.UsageError("A metrics token is for all campaigns: leave --campaign out.")
    with open_administration(database, collector) as administration:
        made = administration.create_token(kind, campaign, label, expires)
    if as_json:
        show(made)
        return
    click.echo(made["token"])
    what = "all campaigns" if campaign is None else campaign
    click.echo(f"A new {kind} token for {what}, shown only now; its id is {made['id']}", err=True)


@command.command(name="list")
@administered
def list_tokens(database: str, collector: str | None, *, as_json: bool) -> None:
    """List the tokens, without their secrets."""
    with open_administration(database, collector) as administration:
        found = administration.tokens()
    if as_json:
        show({"tokens": found})
        return
    keys = ("id", "kind", "campaign", "label", "created", "expires", "last_used")
    show_columns(_COLUMNS, [[each[key] for key in keys] for each in found])


@command.command(name="revoke")
@click.argument("token_id", metavar="ID")
@administered
@yes
def revoke(
    token_id: str, database: str, collector: str | None, *, as_json: bool, yes: bool
) -> None:
    """Make a token invalid for good, by the ID that `list` shows.

    An admin token takes those with it that browsers got in its place.
    """
    from noutput.errors import InvalidArgumentError

    with open_administration(database, collector) as administration:
        known = administration.tokens()
        found = next((each for each in known if each["id"] == token_id), None)
        if found is None:
            raise InvalidArgumentError("token", "be the id of a token", token_id)
        label = f" ({found['label']})" if found["label"] else ""
        last = [each["id"] for each in known if _administers_all(each)] == [token_id]
        warning = f" {_LAST}" if last else ""
        confirm(f"Revoke the {found['kind']} token {token_id}{label}?{warning}", agreed=yes)
        administration.revoke_token(token_id)
        if last and yes:
            click.echo(f"Warning: {_LAST}", err=True)
    if as_json:
        show({"revoked": found})
    else:
        click.echo(f"The {found['kind']} token {token_id}{label} is not valid any more")


def _administers_all(token: Answer) -> bool:
    return token["kind"] == "admin" and token["campaign"] is None


@command.command(name="issue")
@click.argument("campaign_id", metavar="CAMPAIGN")
@click.option(
    "--count", type=click.IntRange(1, 10_000_000), default=1, show_default=True,
    help="How many tokens, one per person.",
)  # fmt: skip
@administered
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
    help="A new file for the tokens, one per line, that only you can read [default: print them].",
)  # fmt: skip
def issue(
    campaign_id: str, count: int, database: str, collector: str | None, output: Path | None, *,
    as_json: bool,
) -> None:  # fmt: skip
    """Make one-time tokens for the campaign with the id CAMPAIGN, which a collector may serve.

    Each admits one person, once. They are shown now and never again: the database keeps a hash.
    Whoever knows who got which token can tell whose report is whose; the answer stays private.
    """
    if output is not None:
        check_target(output)
        if output.exists():
            raise click.UsageError(f"{output} is there already")
    with open_administration(database, collector) as administration:
        tokens = administration.issue_tokens(campaign_id, count)
    if output is not None:
        output.touch(mode=0o600, exist_ok=False)
        output.write_text("".join(f"{token}\n" for token in tokens), encoding="ascii")
        place = f", in {output}"
    else:
        place = ""
    if as_json:
        shown = {"tokens": tokens} if output is None else {"output": str(output)}
        show({"campaign": campaign_id, "count": count, **shown})
        return
    if output is None:
        click.echo("\n".join(tokens))
    click.echo(f"{count:,} new tokens of {campaign_id}{place}", err=True)

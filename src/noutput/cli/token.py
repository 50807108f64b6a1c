"""`noutput token`: one-time tokens, with which people take part in a campaign."""

from __future__ import annotations

from pathlib import Path

import click

from noutput.cli import options
from noutput.cli.targets import check_target

__all__ = ["command"]


@click.group(name="token")
def command() -> None:
    """Hand out one-time tokens for campaigns that ask for them."""


@command.command(name="issue")
@click.argument("campaign_id", metavar="CAMPAIGN")
@click.option(
    "--count", type=click.IntRange(1, 10_000_000), default=1, show_default=True,
    help="How many tokens, one per person.",
)  # fmt: skip
@options.database
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
    help="A new file for the tokens, one per line, that only you can read [default: print them].",
)  # fmt: skip
def issue(campaign_id: str, count: int, database: str, output: Path | None) -> None:
    """Make one-time tokens for the campaign with the id CAMPAIGN, which a collector may serve.

    Each admits one person, once. They are shown now and never again: the database keeps a hash.
    Whoever knows who got which token can tell whose report is whose; the answer stays private.
    """
    from noutput.campaign.campaign import Campaign
    from noutput.collector.issuing import issue_tokens
    from noutput.collector.store import open_store

    if output is not None:
        check_target(output)
        if output.exists():
            raise click.UsageError(f"{output} is there already")
    if "://" not in database and not Path(database).exists():
        raise click.UsageError(f"there is no database {database}")
    store = open_store(database)
    try:
        row = store.campaign(campaign_id)
        if row is None:
            raise click.UsageError(f"there is no campaign {campaign_id!r} in the database")
        tokens = issue_tokens(store, row.key, Campaign.from_json(row.document), count)
        total = store.count_issued(row.key)
    finally:
        store.close()
    text = "".join(f"{token}\n" for token in tokens)
    if output is None:
        click.echo(text, nl=False)
    else:
        output.touch(mode=0o600, exist_ok=False)
        output.write_text(text, encoding="ascii")
    place = "" if output is None else f", in {output}"
    click.echo(f"{count:,} new of {total:,} tokens of {campaign_id}{place}", err=True)

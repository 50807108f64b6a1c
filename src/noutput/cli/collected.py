"""Campaign documents beside what a collector publishes: the same waves, and the counts in them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign

__all__ = ["compare_with_collector"]

_MOST = 1 << 26  # bytes of an answer
_NOT_ALLOWED = (401, 403)


def compare_with_collector(campaign: Campaign, url: str) -> None:
    """Compare a document with that of a collector, and its inputs with the published counts.

    Ends with status 1 where the collector shows other waves, or has published fewer reports of an
    output of the first wave than the second wave was made of. Counts only grow, so no honest
    collector has fewer; whether the inputs were once published exactly so cannot be told later.
    """
    from noutput.campaign import fetch_campaign
    from noutput.campaign.delivery import check_address

    url = check_address("collector", url, "be the address of a collector").rstrip("/")
    address = f"{url}/campaigns/{quote(campaign.id, safe='')}"
    there = fetch_campaign(address)
    mine, theirs = ([wave.fingerprint for wave in each.waves] for each in (campaign, there))
    if any(one != other for one, other in zip(mine, theirs, strict=False)):
        text = f"the collector at {url} shows the fingerprint {there.fingerprint}"
        click.echo(f"NOT THAT OF THE COLLECTOR: {text}", err=True)
        sys.exit(1)
    if len(mine) > len(theirs):
        text = f"the collector at {url} has only {len(theirs)} of its {len(mine)} waves"
        click.echo(f"NOT THAT OF THE COLLECTOR: {text}", err=True)
        sys.exit(1)
    newer = len(theirs) > len(mine)
    said = f"has a newer wave of it: {there.fingerprint}" if newer else "has this document."
    click.echo(f"The collector at {url} {said}")
    if len(mine) > 1:
        _compare_counts(campaign, address)


def _compare_counts(campaign: Campaign, address: str) -> None:
    """Compare the inputs of the second wave with the published counts of the first."""
    from noutput.errors import DeliveryError

    try:
        published = _published(campaign, address)
    except DeliveryError as error:
        if error.status not in _NOT_ALLOWED:
            raise
        click.echo("Its counts were not compared: the campaign's estimates are not public.")
        return
    wrong = []
    for place, (question, parts) in enumerate(
        zip(campaign.questions, campaign.waves[1].inputs, strict=True)
    ):
        for output, (given, shown) in enumerate(zip(parts[0], published[place], strict=True)):
            if given > shown:
                text = f"{given} reports of output {output}, of which {shown} are published"
                wrong.append(f"{question.name}: {text}")
    if wrong:
        click.echo(f"NOT OF PUBLISHED COUNTS: {'; '.join(wrong)}", err=True)
        sys.exit(1)
    click.echo(
        "It has published at least as many reports of every output of the first wave as the second "
        "wave was made of."
    )


def _published(campaign: Campaign, address: str) -> list[list[int]]:
    """Return the published counts of the first wave, per question."""
    from noutput.campaign.delivery import DEFAULT_ROUTE, exchange, read_object
    from noutput.errors import DocumentError

    answer = read_object(exchange(f"{address}/estimates", None, None, _MOST, DEFAULT_ROUTE))
    sizes = [table.n_outputs for table in campaign.waves[0].tables]
    try:
        questions: list[Any] = answer["waves"][0]["questions"]
        found = [[int(count) for count in each["counts"]] for each in questions]
    except (KeyError, IndexError, TypeError, ValueError):
        found = []
    if [len(each) for each in found] != sizes:
        rule = "have the counts of the first wave"
        raise DocumentError("estimates", rule, sorted(answer))
    return found

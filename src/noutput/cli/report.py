"""`noutput report`: one person's one report, from the shell."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from noutput.campaign import Campaign, Report

__all__ = ["command"]


@click.command(name="report")
@click.argument("url")
@click.option(
    "--value", "values", multiple=True, required=True, metavar="NUMBER|NAME=NUMBER",
    help="Your number; NAME=NUMBER, once an attribute, where there are several.",
)  # fmt: skip
@click.option(
    "--epsilon", type=float, default=1.0, show_default=True,
    help="The privacy loss that you allow this report.",
)  # fmt: skip
@click.option(
    "--total", type=float, default=4.0, show_default=True,
    help="The privacy loss that you allow all reports of a period.",
)  # fmt: skip
@click.option("--days", type=float, default=30.0, show_default=True, help="Length of the period.")
@click.option(
    "--ledger", type=click.Path(dir_okay=False, path_type=Path),
    default=lambda: Path(click.get_app_dir("noutput")) / "ledger.sqlite",
    help="Your record of what you answered [default: in your application folder].",
)  # fmt: skip
@click.option("--attempts", type=click.IntRange(1, 100), default=6, show_default=True)
def command(
    url: str,
    values: tuple[str, ...],
    epsilon: float,
    total: float,
    days: float,
    ledger: Path,
    attempts: int,
) -> None:
    """Answer the campaign at URL, so that nobody learns your number.

    The campaign's table is certified here, against the epsilon that you allow. The report is
    kept in your ledger before it is sent: asked again, the same campaign gets the same report.
    """
    from noutput.campaign import Client, Ledger, Policy, Route, fetch_campaign, send_report

    policy = Policy(epsilon, total, days)
    if re.match(r"http://(?!(localhost|127\.0\.0\.1|\[::1\])[:/])", url):
        click.echo("Note: without https, others on the way see that you take part.", err=True)
    route = Route(attempts=attempts)
    campaign = fetch_campaign(url, route)
    numbers = _read_values(values, campaign)
    with Ledger(ledger) as book:
        report = Client(campaign, book, policy).report(numbers)
        receipt = send_report(url, report, route)
        book.mark_sent(report, time.time())
    _show(campaign, report, new=bool(receipt.accepted))


def _read_values(values: tuple[str, ...], campaign: Campaign) -> dict[str, float]:
    """Read `42` or `name=42`; messages never repeat the number."""
    names = [attribute.name for attribute in campaign.attributes]
    result: dict[str, float] = {}
    for text in values:
        name, equals, number = text.rpartition("=")
        if not equals:
            name = names[0]
            if len(names) > 1:
                raise click.UsageError(f"--value must be NAME=NUMBER for each of {names}.")
        if name in result:
            raise click.UsageError(f"--value must be given once for {name!r}.")
        try:
            result[name] = float(number)
        except ValueError:
            raise click.UsageError(f"--value must be a number for {name!r}.") from None
    return result


def _show(campaign: Campaign, report: Report, *, new: bool) -> None:
    attribute = campaign.attributes[campaign.attribute_indexes[report.attribute]]
    stands_for = attribute.from_unit(campaign.table.outputs[report.output])
    click.echo(
        f"{campaign.title}: {campaign.question}\n"
        f"  sent     output {report.output} of 0..{campaign.table.n_outputs - 1} about "
        f"{attribute.name}, standing for {stands_for:.6g} {attribute.unit}".rstrip()
        + f"\n  privacy  epsilon {campaign.epsilon:g}, certified on this device\n"
        f"  answer   {'counted' if new else 'had been counted before'} (id {report.id})"
    )

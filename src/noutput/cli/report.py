"""`noutput report`: one person's one report, from the shell."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from noutput.campaign import Attribute, Campaign, Report

__all__ = ["command"]


@click.command(name="report")
@click.argument("url")
@click.option(
    "--value", "values", multiple=True, metavar="NUMBER|NAME=NUMBER",
    help="Your number; NAME=NUMBER, once per attribute, where there are several. Warning: every "
    "user of this machine can read it in the list of processes, and your shell keeps it in its "
    "history.",
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

    You are asked for your number, and it is not shown as you type. From another program, write
    NUMBER, or one NAME=NUMBER per line, to standard input.
    """
    from noutput.campaign import Client, Ledger, Policy, Route, fetch_campaign, send_report

    policy = Policy(epsilon, total, days)
    if re.match(r"http://(?!(localhost|127\.0\.0\.1|\[::1\])([:/]|$))", url):
        click.echo("Note: without https, others on the way see that you take part.", err=True)
    route = Route(attempts=attempts)
    campaign = fetch_campaign(url, route)
    given = _read_values(values, campaign) if values else None
    with Ledger(ledger) as book:
        client = Client(campaign, book, policy)  # certified before anybody is asked
        report = book.find(campaign.fingerprint)
        if report is None:
            numbers = given or _ask_all(campaign)
            _tell_clipped(numbers, campaign)
            report = client.report(numbers)
        receipt = send_report(url, report, route)
        book.mark_sent(report, time.time())
    _show(campaign, report, new=bool(receipt.accepted))


def _ask_all(campaign: Campaign) -> dict[str, float]:
    """Take the numbers from a person at a terminal, or from another program."""
    if not sys.stdin.isatty():
        lines = sys.stdin.read().splitlines()
        return _read_values(filter(None, map(str.strip, lines)), campaign)
    click.echo(f"{campaign.title}: {campaign.question}", err=True)
    return {each.name: _ask(each) for each in campaign.attributes}


def _ask(attribute: Attribute) -> float:
    def read(text: str) -> float:
        number = _number(text)
        if math.isnan(number):
            raise click.UsageError("It must be a number.")
        return number

    prompt = f"{attribute.name}, {_bounds(attribute)} (not shown as you type)"
    answer: float = click.prompt(prompt, hide_input=True, value_proc=read, err=True)
    return answer


def _read_values(values: Iterable[str], campaign: Campaign) -> dict[str, float]:
    """Read `42` or `name=42`; messages never repeat the number."""
    names = [attribute.name for attribute in campaign.attributes]
    result: dict[str, float] = {}
    for text in values:
        name, equals, number = (part.strip() for part in text.rpartition("="))
        if not equals and len(names) == 1:
            name = names[0]
        if name not in names:
            raise click.UsageError(f"The value must be NAME=NUMBER with one of the names {names}.")
        if name in result:
            raise click.UsageError(f"The value must be given once for {name!r}.")
        result[name] = _number(number)
        if math.isnan(result[name]):
            raise click.UsageError(f"The value must be a number for {name!r}.")
    missing = [name for name in names if name not in result]
    if missing:
        raise click.UsageError(f"The value is missing for {missing}.")
    return result


def _number(text: str) -> float:
    """Read a finite number, or return NaN: an error would keep the text."""
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _bounds(attribute: Attribute) -> str:
    return f"from {attribute.lower:.12g} to {attribute.upper:.12g} {attribute.unit}".rstrip()


def _tell_clipped(numbers: dict[str, float], campaign: Campaign) -> None:
    for each in campaign.attributes:
        if not each.lower <= numbers[each.name] <= each.upper:
            rule = f"Your number for {each.name} does not lie {_bounds(each)}"
            click.echo(f"Note: {rule}; it counts as the nearer bound.", err=True)


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

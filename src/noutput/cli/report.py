"""`noutput report`: one person's answer to a campaign, from the shell."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noutput.cli.strata import read_labels, when

if TYPE_CHECKING:
    from noutput.campaign import Campaign, Number, Report
    from noutput.questions import Question

__all__ = ["command"]


@click.command(name="report")
@click.argument("url")
@click.option(
    "--value", "values", multiple=True, metavar="ANSWER|NAME=ANSWER",
    help="Your answer; NAME=ANSWER, once per question, where there are several. Warning: every "
    "user of this machine can read it in the list of processes, and your shell keeps it in its "
    "history.",
)  # fmt: skip
@click.option(
    "--epsilon", type=float, default=1.0, show_default=True,
    help="The privacy loss that you allow this campaign.",
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
@click.option(
    "--token", default="", envvar="NOUTPUT_TOKEN",
    help="Your one-time token, where the campaign asks for one [or NOUTPUT_TOKEN].",
)  # fmt: skip
@click.option(
    "--code", default="", envvar="NOUTPUT_CODE",
    help="Your enrollment code, where the campaign is anonymous: its issuer signs a token for you "
    "[or NOUTPUT_CODE].",
)  # fmt: skip
@click.option(
    "--enroll", "only_enroll", is_flag=True,
    help="Get the token of an anonymous campaign now, and report later: at one time, whoever sees "
    "issuer and collector could connect both.",
)  # fmt: skip
@click.option(
    "--label", "labels", multiple=True, metavar="NAME=LABEL",
    help="A public label that you let leave with your report, where the campaign has segments. "
    "Labels are not protected.",
)  # fmt: skip
@click.option(
    "--root", metavar="FINGERPRINT",
    help="Refuse any campaign but this one: its fingerprint, or that of its first wave, as known "
    "from elsewhere.",
)  # fmt: skip
@click.option(
    "--new-root", is_flag=True,
    help="Answer although your ledger knows the campaign's id by another fingerprint, because the "
    "campaign was made anew. Whoever hands out several documents can connect your answers.",
)  # fmt: skip
@click.option("--attempts", type=click.IntRange(1, 100), default=6, show_default=True)
def command(
    url: str,
    values: tuple[str, ...],
    epsilon: float,
    total: float,
    days: float,
    ledger: Path,
    token: str,
    code: str,
    only_enroll: bool,
    labels: tuple[str, ...],
    root: str | None,
    new_root: bool,
    attempts: int,
) -> None:
    """Answer the campaign at URL, so that nobody learns your answer.

    The campaign's tables are certified here, against the epsilon that you allow. Reports are
    kept in your ledger before they are sent: asked again, the same campaign gets the same ones.

    You are asked for your answer, and it is not shown as you type. From another program, write
    ANSWER, or one NAME=ANSWER per line, to standard input.

    A campaign with a schedule is answered in the rounds that your ledger has drawn; at any other
    time the command says when the next begins, and asks nothing. At any time it sends what could
    not be sent in its round and is still counted.
    """
    from noutput.campaign import (
        Client,
        Ledger,
        Policy,
        Route,
        enroll,
        fetch_campaign,
        send_report,
    )

    told = read_labels(labels)
    policy = Policy(epsilon, total, days, frozenset(told), new_root)
    if re.match(r"http://(?!(localhost|127\.0\.0\.1|\[::1\])([:/]|$))", url):
        click.echo("Note: without https, others on the way see that you take part.", err=True)
    route = Route(attempts=attempts)
    campaign = fetch_campaign(url, route, root)
    given = _read_values(values, campaign) if values else None
    with Ledger(ledger) as book:
        client = Client(campaign, book, policy)  # certified before anybody is asked
        if only_enroll:
            enroll(campaign, book, code, route)
            click.echo("Enrolled; the token is in your ledger. Report at any later time.")
            return
        shown = client.shown_labels(told)
        if campaign.notice:
            click.echo(f"Note: {campaign.notice}", err=True)
        reports = client.made()
        if not reports and campaign.schedule is not None and not client.due():
            _tell_late(client.resend(url, route))
            coming = client.next_round()
            if coming is not None and coming.start.timestamp() <= time.time():
                client.check_total()
            click.echo(f"{campaign.title}: nothing to answer now; {when(coming)}.")
            return
        if not reports:
            client.check_total()  # before anybody is asked
            answers = given or _ask_all(campaign)
            _tell_clipped(answers, campaign)
            if campaign.admission.kind == "anonymous" and not token:
                token = enroll(campaign, book, code, route)
            reports = client.reports(answers, token, shown)
        counted = []
        for report in reports:  # each on its own, so that no request says that they belong together
            receipt = send_report(url, report, route)
            book.mark_sent(report, time.time())
            counted.append(bool(receipt.accepted))
        _show(campaign, reports, counted)
        if campaign.schedule is not None:
            _tell_late(client.resend(url, route))


def _tell_late(sent: int) -> None:
    if sent:
        click.echo(f"Reports of earlier rounds that could not be sent then: {sent:,}, sent now.")


def _ask_all(campaign: Campaign) -> dict[str, float | str]:
    """Take the answers from a person at a terminal, or from another program."""
    if not sys.stdin.isatty():
        lines = sys.stdin.read().splitlines()
        return _read_values(filter(None, map(str.strip, lines)), campaign)
    click.echo(f"{campaign.title}: {campaign.text}", err=True)
    return {each.name: _ask(each) for each in campaign.questions}


def _ask(question: Question) -> float | str:
    def read(text: str) -> float | str:
        answer = _answer(question, text)
        if answer is None:
            raise click.UsageError(f"It must be {_wanted(question)}.")
        return answer

    if question.text:
        click.echo(question.text, err=True)
    prompt = f"{question.name}, {_range(question)} (not shown as you type)"
    answer: float | str = click.prompt(prompt, hide_input=True, value_proc=read, err=True)
    return answer


def _read_values(values: Iterable[str], campaign: Campaign) -> dict[str, float | str]:
    """Read `42` or `name=42`; messages never repeat the answer."""
    questions = {question.name: question for question in campaign.questions}
    names = list(questions)
    result: dict[str, float | str] = {}
    for text in values:
        name, equals, rest = (part.strip() for part in text.partition("="))
        if len(names) == 1 and not (equals and name in names):
            name, rest = names[0], text.strip()
        if name not in names:
            raise click.UsageError(f"The value must be NAME=ANSWER with one of the names {names}.")
        if name in result:
            raise click.UsageError(f"The value must be given once for {name!r}.")
        answer = _answer(questions[name], rest)
        if answer is None:
            wanted = _wanted(questions[name])
            raise click.UsageError(f"The value must be {wanted} for {name!r}.")
        result[name] = answer
    missing = [name for name in names if name not in result]
    if missing:
        raise click.UsageError(f"The value is missing for {missing}.")
    return result


def _answer(question: Question, text: str) -> float | str | None:
    """Read an answer, or return None: an error would keep the text."""
    from noutput.questions import Answers

    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not isinstance(question, Answers):
        return number if math.isfinite(number) else None
    if question.find(text) is not None:
        return text
    return None if question.find(number) is None else number


def _wanted(question: Question) -> str:
    from noutput.questions import Answers

    return f"one of {list(question.labels)}" if isinstance(question, Answers) else "a number"


def _range(question: Question) -> str:
    from noutput.questions import Number

    return _bounds(question) if isinstance(question, Number) else _wanted(question)


def _bounds(number: Number) -> str:
    return f"from {number.lower:.12g} to {number.upper:.12g} {number.unit}".rstrip()


def _tell_clipped(answers: dict[str, float | str], campaign: Campaign) -> None:
    from noutput.questions import Number

    for each in campaign.questions:
        if isinstance(each, Number) and not each.lower <= float(answers[each.name]) <= each.upper:
            rule = f"Your number for {each.name} does not lie {_bounds(each)}"
            click.echo(f"Note: {rule}; it counts as the nearer bound.", err=True)


def _show(campaign: Campaign, reports: list[Report], counted: list[bool]) -> None:
    click.echo(f"{campaign.title}: {campaign.text}")
    for report in reports:
        place = campaign.question_indexes[report.question]
        last = campaign.tables[place].n_outputs - 1
        about = f"about {report.question}{_stands_for(campaign, place, report.output)}"
        click.echo(f"  sent     output {report.output} of 0..{last} {about}")
    for name, label in reports[0].labels:
        click.echo(f"  label    {name}: {label} (not protected)")
    if reports[0].round is not None:
        click.echo(f"  round    {reports[0].round} of 0..{campaign.n_rounds - 1}")
    click.echo(f"  privacy  {_privacy(campaign, reports[0].question)}")
    for report, new in zip(reports, counted, strict=True):
        click.echo(f"  answer   {'counted' if new else 'had been counted before'} (id {report.id})")


def _privacy(campaign: Campaign, asked: str) -> str:
    """Say the loss of what was sent, and what the ledger counts where that is more."""
    largest = f"{campaign.epsilon:g}"
    if campaign.ask == "all" and len(campaign.questions) > 1:
        return f"epsilon {largest} together, certified on this device"
    own = campaign.tables[campaign.question_indexes[asked]].epsilon
    said = f"epsilon {own:g}, certified on this device"
    if own == campaign.epsilon:
        return said
    return f"{said}; your ledger counts {largest}, the largest of all questions"


def _stands_for(campaign: Campaign, place: int, output: int) -> str:
    from noutput.campaign import Number
    from noutput.mechanisms.table import TableMechanism

    question = campaign.questions[place]
    if not isinstance(question, Number):
        return ""
    value = TableMechanism.of(campaign.tables[place]).outputs[output]
    return f", standing for {value:.6g} {question.unit}".rstrip()

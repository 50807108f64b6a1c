"""`noutput estimate` on the reports of a campaign: the archive of a collector, or any Parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noutput.cli.failures import plain_failures
from noutput.cli.histogram import encodable
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign
    from noutput.estimate.summary import AnswerSummary, Summary
    from noutput.frames import ReportCounts

__all__ = ["Wanted", "estimate_reports"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is estimated, and how it is shown.

    Parameters
    ----------
    questions : sequence of str
        Their names; all if empty.
    level : float
    numbers : dict
        Options for numbers.
    plot_path : Path, optional
    as_json : bool
    """

    questions: Sequence[str]
    level: float
    numbers: dict[str, Any]
    plot_path: Path | None
    as_json: bool


def estimate_reports(
    source: str, document: Path | None, wanted: Wanted, engine: str, master: str | None
) -> None:
    """Count the reports of a campaign, each id once, and print what they tell."""
    from noutput import frames
    from noutput.campaign.campaign import Campaign
    from noutput.cli.answer_figure import draw_answers

    campaign = None if document is None else Campaign.from_json(document.read_bytes())
    with plain_failures(source):
        counts = frames.tally_reports(source, campaign, engine=engine, master=master)
    names = _names(counts.campaign, wanted.questions)
    every = counts.summaries(level=wanted.level, **wanted.numbers)
    found = {name: every.get(name) for name in names}
    known = {name: each for name, each in found.items() if each is not None}
    if not known:
        name = f"reports of the campaign {counts.campaign.id!r} on a question"
        raise InvalidArgumentError(name, "be at least two", counts.reports)
    if wanted.plot_path:
        draw_answers(known, wanted.plot_path)
    if wanted.as_json:
        click.echo(json.dumps(_document(counts, found), indent=2))
        return
    _show(counts, found)
    if wanted.plot_path:
        click.echo(f"Figure saved in {wanted.plot_path}")


def _names(campaign: Campaign, wanted: Sequence[str]) -> list[str]:
    names = [question.name for question in campaign.questions]
    for name in wanted:
        if name not in names:
            raise InvalidArgumentError("--column", f"be a question of {names}", name)
    return list(wanted) or names


def _document(
    counts: ReportCounts, found: dict[str, Summary | AnswerSummary | None]
) -> dict[str, object]:
    return {
        "campaign": counts.campaign.id,
        "fingerprint": counts.campaign.fingerprint,
        "rows": counts.rows,
        "reports": counts.reports,
        "repeated": counts.repeated,
        "conflicting": counts.conflicting,
        "pending": counts.pending,
        "questions": {
            name: None if each is None else each.to_dict() for name, each in found.items()
        },
    }


def _show(counts: ReportCounts, found: dict[str, Summary | AnswerSummary | None]) -> None:
    click.echo(encodable(f"{counts.campaign.title} ({counts.campaign.id})"))
    click.echo(
        f"{counts.rows:,} rows: {counts.reports:,} reports, and {counts.repeated:,} that came again"
    )
    if counts.pending:
        click.echo(f"{counts.pending:,} more are in no file yet: the collector writes them later.")
    if counts.conflicting:
        click.echo(f"Warning: {counts.conflicting:,} ids came with different answers.")
    for name, summary in found.items():
        if summary is None:
            click.echo(f"\n{name}: fewer than two reports")
        else:
            heading, _, rest = str(summary).partition("\n")
            heading = heading.removeprefix(f"{summary.question.title}: ")
            click.echo(encodable(f"\n{name}: {heading}\n{rest}"))

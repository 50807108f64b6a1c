"""`noutput verify`: certify a table or a campaign that came from a stranger."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noutput.cli import published

if TYPE_CHECKING:
    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.mechanisms.table import TableMechanism

__all__ = ["command"]


@click.command(name="verify")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--reports", type=int, help="Say what published counts of so many reports reveal.")
@published.delta
@click.option(
    "--collector", metavar="URL",
    help="Compare a campaign with what the collector at this address publishes.",
)  # fmt: skip
def command(file: Path, reports: int | None, delta: float, collector: str | None) -> None:
    """Check in exact arithmetic that tables are as private as they claim.

    FILE is a table or a design, for numbers or for answers, or a campaign. For a design, the proof
    of its lower bound is checked as well; for an adaptive campaign, the second wave is computed
    again from the counts in the document, with its bounds, tables and reasons. With --collector,
    the collector must show the same document, and have published at least these counts. Exits with
    status 1 if a table is not private, and names the output and the rows that show it, if the rule
    gives other waves, or if the collector shows something else.
    """
    from noutput.cli.tables import read_table
    from noutput.cli.waves import verify_campaign
    from noutput.designs.answers.result import AnswerDesign
    from noutput.errors import PrivacyError

    try:
        text = file.read_bytes()
        if b'"noutput-campaign"' in text:
            verify_campaign(file, text, collector)
            return
        if collector is not None:
            raise click.UsageError("--collector is for campaigns: the file has none")
        mechanism, design = read_table(file)
    except PrivacyError as error:
        click.echo(
            f"NOT PRIVATE: {file}\n"
            f"Output {error.output} has weight {error.weights[0]} in row {error.likely} and "
            f"{error.weights[1]} in row {error.unlikely}: "
            f"the ratio exceeds e^{error.epsilon!r}.",
            err=True,
        )
        sys.exit(1)
    click.echo(
        f"Private: {file}\n"
        f"Claimed epsilon {mechanism.epsilon!r}, certified loss {mechanism.privacy_loss()!r}.\n"
        f"{mechanism.n_outputs} outputs, {_rows(mechanism)}, fingerprint {mechanism.fingerprint}"
    )
    if isinstance(design, AnswerDesign):
        from noutput.cli.answer_design import proof_text

        click.echo(f"Answers: {', '.join(design.question.labels)}.\n{proof_text(design)}")
    elif design is not None and design.bound is not None:
        from noutput.cli.quality import limited_variance

        click.echo(
            f"Proven: no unbiased mechanism with this epsilon has {limited_variance(design)} below "
            f"{design.bound.value!r}; this table has {design.value!r}, {design.gap:.3%} more."
        )
    if reports is not None:
        published.show_published(mechanism, reports, delta)


def _rows(mechanism: TableMechanism | AnswerMechanism) -> str:
    """Return how many rows the table has, and what they stand for."""
    from noutput.mechanisms.answers import AnswerMechanism

    if isinstance(mechanism, AnswerMechanism):
        return f"{mechanism.n_answers} answers"
    return f"{len(mechanism.knots)} knots"

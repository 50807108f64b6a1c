"""`noutput campaign`: write campaign documents, and administer campaigns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noutput._numbers import bits
from noutput._progress import shown_progress
from noutput.cli.administered import as_json, show
from noutput.cli.campaign_admin import (
    add_command,
    close_command,
    delete_command,
    list_command,
    show_command,
)
from noutput.cli.campaign_store import (
    backup_command,
    check_command,
    export_command,
)
from noutput.cli.strata import strata_lines
from noutput.cli.targets import check_target
from noutput.cli.wording import asked

if TYPE_CHECKING:
    from noutput.campaign import Campaign
    from noutput.campaign.waves import NextWave
    from noutput.collector.guarantees import Readers
    from noutput.designs.answers.result import AnswerDesign
    from noutput.designs.result import Design
    from noutput.mechanisms.certified import Table

__all__ = ["command"]

_ADMITS = {
    "token": "people with a one-time token, which `noutput token issue` makes",
    "anonymous": "people with a token that the issuer has signed, which does not say who they are",
}


@click.group(name="campaign")
def command() -> None:
    """Create, list, close, delete, back up, move and check campaigns."""


@command.command(name="create")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the campaign [default: FILE with the suffix .json].",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite a different campaign in that file.")
@as_json
def create(file: Path, output: Path | None, *, force: bool, as_json: bool) -> None:
    """Design the tables of a campaign, certify them, and write the campaign as JSON.

    FILE is a small TOML file with id, title, text, epsilon, opens and closes (instants such as
    2026-03-01T00:00:00Z, not in quotes) and [[questions]]. A question has a name and is a number
    (lower, upper, unit, and perhaps edges or cells), a scale (values, or labels in their order), a
    choice (kind = "choice" and labels) or kind = "yes/no"; label, text, objective and an epsilon of
    its own are optional.
    Numbers share a table for the mean and the distribution; a [table] with outputs, objective and
    method changes it. With ask = "all" a person answers all questions, and their epsilons add up.
    An [admission] with kind ("open", "token" or "anonymous"), reports_per_hour, issuer and key says
    whose reports are counted; without one, everybody's are. With adaptive = true, or an [adaptive]
    table with expected (people), share (of the first wave, 0.1 to 0.2) and until (an instant), the
    first people find the range of every number, and all who follow use it. [segments] has a list of
    public labels per name, which reports may carry, and minimum: how many reports a combination has
    before it is shown. [schedule] with every ("hour", "day" or "week"), rounds_per_period and
    perhaps answers and grace (seconds) asks every device in so many rounds of each period; epsilon
    is then the loss per period.
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
    designs: list[Any] = []
    for place, wanted in enumerate(draft.designs):
        if wanted in draft.designs[:place]:  # equal questions share a table
            designs.append(designs[draft.designs.index(wanted)])
            continue
        with shown_progress("Designing") as progress:
            designs.append(noutput.design(**wanted, progress=progress))
    campaign = draft.campaign([found.mechanism.plain for found in designs])
    document = campaign.to_json()
    if target.exists() and not force and target.read_bytes() != document.encode():
        raise click.UsageError(
            f"{target} is there already, and a campaign never changes: "
            "give another --output, or --force."
        )
    target.write_text(document, encoding="utf-8")
    if as_json:
        show({**_described(campaign, target), "notes": draft.notes})
        return
    _show(campaign, designs, target)
    for note in draft.notes:
        click.echo(f"Note: {note}", err=True)


def _adaptive(following: NextWave, *, public: bool) -> str:
    first = f"the range of numbers is found by the first {following.reports:,} reports"
    seen = "" if public else "; their counts are in the document, which everybody can read"
    return f"{first}, of {following.expected:,} people{seen}"


def _described(campaign: Campaign, target: Path) -> dict[str, Any]:
    """Return what `_show` says for programs; the document has the rest."""
    from noutput.campaign.text import format_instant

    found = _readers(campaign)
    published = found and {"epsilon": found.epsilon, "delta": found.delta, "release": found.release}
    return {
        "file": str(target),
        "id": campaign.id,
        "fingerprint": campaign.fingerprint,
        "opens": format_instant(campaign.opens),
        "closes": format_instant(campaign.closes),
        "epsilon": campaign.epsilon,
        "epsilon_per_period": None if campaign.schedule is None else campaign.epsilon_per_period,
        "published": published,
        "questions": [
            {"name": question.name, "objective": objective, "outputs": table.n_outputs,
             "epsilon": table.epsilon, "privacy_loss": table.privacy_loss()}
            for question, table, objective in zip(
                campaign.questions, campaign.tables, campaign.objectives, strict=True
            )
        ],
    }  # fmt: skip


def _show(campaign: Campaign, designs: list[Any], target: Path) -> None:
    from noutput.campaign.text import format_instant

    questions = "; ".join(map(asked, campaign.questions))
    together = " together" if campaign.ask == "all" else ""
    lines = [
        f"Campaign saved in {target}",
        f"  asks         {campaign.text} ({questions})",
        f"  open         {format_instant(campaign.opens)} to {format_instant(campaign.closes)}",
    ]
    if campaign.next_wave is not None:
        lines.append(f"  adaptive     {_adaptive(campaign.next_wave, public=campaign.public)}")
    lines += [f"  {heading:<12} {text}" for heading, text in strata_lines(campaign)]
    if campaign.admission.kind != "open":
        lines.append(f"  admits       {_ADMITS[campaign.admission.kind]}")
    shown: dict[Table, list[str]] = {}
    for question, table in zip(campaign.questions, campaign.tables, strict=True):
        shown.setdefault(table, []).append(question.name)
    for table, names in shown.items():
        place = campaign.tables.index(table)
        heading = "a report" if len(shown) == 1 else ", ".join(names)
        loss = f"epsilon {table.epsilon!r}, certified loss {table.privacy_loss()!r}"
        lines += [
            f"  {heading:<12} {table.n_outputs} outputs, {bits(table.bits)}; {loss}",
            f"  table        {campaign.objectives[place]}; {_quality(designs[place])}",
        ]
    if len(shown) > 1:
        lines.append(f"  a person     epsilon {campaign.epsilon!r}{together}")
    lines += _published(campaign)
    click.echo("\n".join([*lines, f"  fingerprint  {campaign.fingerprint}"]))


def _published(campaign: Campaign) -> list[str]:
    """Say what a collector with the usual minimum reveals about a person, where that is less."""
    from noutput.amplification.result import round_up

    found = _readers(campaign)
    if found is None:
        return []
    said = f"epsilon {round_up(found.epsilon)} except with probability {round_up(found.delta)}"
    who = "" if campaign.admission.needs_token else ", if nobody invents reports"
    return [f"  published    {said}, in releases of {found.release} reports{who}"]


def _readers(campaign: Campaign) -> Readers | None:
    from noutput.collector.guarantees import planned
    from noutput.collector.publishing import ReleasePolicy

    return planned(campaign.tables, ReleasePolicy().minimum, all_questions=campaign.ask == "all")


def _quality(found: Design | AnswerDesign) -> str:
    from noutput.cli.answer_design import error_name
    from noutput.cli.quality import worst_case
    from noutput.designs.answers.result import AnswerDesign

    if not isinstance(found, AnswerDesign):
        return f"worst-case variance {worst_case(found.mechanism)}"
    return (
        f"squared error {error_name(found)}: {found.value:.4g} per report at worst, "
        f"lower bound {found.lower_bound:.4g}, gap {found.gap:.2%}"
    )


for each in (
    add_command, list_command, show_command, close_command, delete_command, export_command,
    backup_command, check_command,
):  # fmt: skip
    command.add_command(each)

"""A design for answers in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from noutput._numbers import bits

if TYPE_CHECKING:
    from noutput.designs.answers.result import AnswerDesign

__all__ = ["error_name", "proof_text", "show_answer_design"]

_MOST_ROWS = 32  # of a table that is printed whole
_MOST_COLUMNS = 11
_LONGEST = 12  # characters of a label in a heading
_MOST_TIGHT = 16  # answers, up to which all columns are looked at
_LOOSE = 0.05
_ERRORS = {
    "cdf": "of the shares at or below each answer, on average",
    "shares": "of the shares, added up",
    "mean": "of the mean score, in units of half the range",
    "balanced": "of the mean score and of the shares at or below each answer, each over its limit",
}


def show_answer_design(found: AnswerDesign) -> None:
    """Print the table, and how good it is."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    mechanism = found.mechanism
    console = Console()
    table = Table(box=box.SIMPLE_HEAD, title="Probability of each report")
    table.add_column("report", justify="right")
    shown = _ends(mechanism.n_answers, _MOST_COLUMNS)
    for place in shown:
        table.add_column("..." if place is None else _heading(found, place), justify="right")
    rows = mechanism.table().T
    for index in _ends(mechanism.n_outputs, _MOST_ROWS):
        if index is None:
            table.add_row(*["..."] * len(table.columns))
            continue
        entries = ("..." if place is None else f"{rows[index][place]:.4f}" for place in shown)
        table.add_row(str(index), *entries)
    console.print(table)
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_row("question", f"{found.question.kind}, {mechanism.n_answers} answers")
    facts.add_row("reports", f"{mechanism.n_outputs}, {bits(mechanism.bits)} each")
    facts.add_row("objective", f"{found.objective.name}: squared error {error_name(found)}")
    facts.add_row("squared error", f"{found.value:.6g} per report ({found.evaluated})")
    facts.add_row("lower bound", f"{found.lower_bound:.6g}, gap {found.gap:.3%}")
    facts.add_row("certified privacy loss", repr(mechanism.privacy_loss()))
    facts.add_row("fingerprint", mechanism.fingerprint)
    console.print(facts)
    click.echo(f"\n{proof_text(found)}")


def error_name(found: AnswerDesign) -> str:
    """Return of what the squared error is."""
    return _ERRORS[found.objective.name]


def proof_text(found: AnswerDesign) -> str:
    """Say what value, lower bound and gap mean, and where the bound is a loose one."""
    loose = found.question.n_answers > _MOST_TIGHT and found.gap > _LOOSE
    note = f" The bound is loose above {_MOST_TIGHT} answers: the table may be better than that."
    return (
        "Proven: no mechanism with this epsilon, whatever it reports, adds a squared error "
        f"({error_name(found)}) below {found.lower_bound:.6g} per report in the worst case; this "
        f"table adds {found.value:.6g}, {found.gap:.3%} more.{note if loose else ''}"
    )


def _heading(found: AnswerDesign, place: int) -> str:
    label = found.question.labels[place]
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def _ends(size: int, most: int) -> list[int | None]:
    """Return all places, or the first and the last of them; None stands for what is left out."""
    if size <= most:
        return list(range(size))
    ends = most // 2 if most < _MOST_ROWS else most // 4
    return [*range(ends), None, *range(size - ends, size)]

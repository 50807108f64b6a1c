"""Mechanisms for answers side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from noutput._progress import shown_progress
from noutput.cli.answer_design import error_name

if TYPE_CHECKING:
    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.questions import Answers

__all__ = ["compare_answers"]

_OWN = "n-output"


def compare_answers(
    epsilon: float, question: Answers, names: tuple[str, ...], outputs: int | None
) -> None:
    """Print the worst-case squared error and the size of every mechanism for a question."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    import noutput as no
    from noutput import _checks
    from noutput.designs.answers.error import worst_error
    from noutput.designs.answers.saddle import Aim
    from noutput.mechanisms.answer_baselines import ANSWER_MECHANISMS

    wanted = names or (_OWN, *ANSWER_MECHANISMS)
    for name in wanted:
        _checks.choice("only", name, (_OWN, *ANSWER_MECHANISMS))
    with shown_progress("Comparing") as progress:
        found = no.design(epsilon, outputs, question=question, progress=progress)
    table = Table(box=box.SIMPLE_HEAD, title=f"{question.n_answers} answers, epsilon = {epsilon:g}")
    table.add_column("mechanism", no_wrap=True)
    for heading in ("squared error", "x lower bound", "outputs", "bits"):
        table.add_column(heading, justify="right")
    aim = Aim(found.objective.factor)
    for name in wanted:
        made = found.mechanism if name == _OWN else _made(name, epsilon, question)
        if made is None:
            table.add_row(name, *["-"] * 4)
            continue
        error = found.value if name == _OWN else worst_error(made.table(), aim)
        ratio = f"{error / found.lower_bound:.4f}"
        table.add_row(name, f"{error:.5g}", ratio, str(made.n_outputs), str(made.bits))
    Console().print(table)
    click.echo(
        f"Squared error {error_name(found)}, per report, in the worst case over all populations. "
        f"No mechanism has one below {found.lower_bound:.5g} (proven).\n"
        "A dash: more than 256 outputs, or no unbiased estimate of all shares."
    )


def _made(name: str, epsilon: float, question: Answers) -> AnswerMechanism | None:
    """Return a mechanism of the literature; None where it has no table for so many answers."""
    from noutput.errors import InvalidArgumentError
    from noutput.mechanisms.answer_baselines import answer_mechanism

    try:
        return answer_mechanism(name, epsilon, question.n_answers)
    except InvalidArgumentError as error:
        if error.name == "epsilon":
            raise
        return None

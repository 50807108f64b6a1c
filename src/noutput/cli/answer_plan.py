"""A plan for answers in the terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from noutput._numbers import bits, show

if TYPE_CHECKING:
    from noutput.planner import AnswerPlan

__all__ = ["FROM_CATALOG", "facts", "show_answer_plan"]

FROM_CATALOG = "Epsilon        the smallest of the catalog that does it; try others with --epsilon"
_LONGEST = 60  # characters of all labels together


def facts(found: AnswerPlan) -> dict[str, object]:
    """Return everything as plain JSON."""
    return {
        "epsilon": found.epsilon,
        "people": found.people,
        "question": found.question.to_document(),
        "level": found.level,
        "bits": found.bits,
        "prior": list(found.prior),
        "half_widths": list(found.half_widths),
        "half_width": found.half_width,
        "worst_half_width": found.worst_half_width,
        "mean_half_width": found.mean_half_width,
        "worst_mean_half_width": found.worst_mean_half_width,
        "fingerprint": found.mechanism.fingerprint,
    }


def show_answer_plan(found: AnswerPlan, *, assumed: bool, computed: bool) -> None:
    """Print what to expect, for answers as assumed and for the worst ones."""
    question = found.question
    labels = ", ".join(question.labels)
    if len(labels) > _LONGEST:
        labels = f"{question.labels[0]} to {question.labels[-1]}" if question.ordered else "..."
    spread = "as the prior" if assumed else "spread evenly"
    click.echo(
        f"{found.people:,} people, epsilon = {found.epsilon:g}, "
        f"{question.n_answers} answers: {labels}\n"
        "\n"
        f"Any one share  within {_points(found.worst_half_width)} in {100.0 * found.level:g}% of "
        "campaigns, whatever people answer\n"
        f"               (within {_points(found.half_width)} if answers are {spread})"
    )
    worst, expected = found.worst_mean_half_width, found.mean_half_width
    # the mean of yes/no is the share of yes
    if worst is not None and expected is not None and question.kind != "yes/no":
        click.echo(
            f"Mean score     within {show(worst, digits=3)}, whatever people answer\n"
            f"               (within {show(expected, digits=3)} if answers are {spread})"
        )
    click.echo(f"Report         {bits(found.bits)}, one of {found.mechanism.n_outputs}")
    if computed:
        click.echo(FROM_CATALOG)


def _points(share: float) -> str:
    return f"{show(100.0 * share, digits=3)} points"

"""Campaigns whose reports say something: tables that tell all answers apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput import _checks
from noutput.collector.cells import CellLayout
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.estimate.answers.scores import fixed_scores
from noutput.mechanisms.answer_table import AnswerTable
from noutput.mechanisms.answers import AnswerMechanism
from noutput.questions import Number

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign
    from noutput.questions import Question

__all__ = ["check_estimable", "check_question"]


def check_estimable(campaign: Campaign) -> None:
    """Refuse a campaign with a table that is private, and whose reports tell nothing.

    Raises
    ------
    DocumentError
        If the row of an answer is a mixture of the rows of others, bounds of numbers are so large
        that their variance is none, or rounds, labels and outputs make too many counts.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from noutput.campaign import AnswerTable, Campaign, YesNo
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="How was your way to work?",
    ...     questions=(YesNo(name="late"),), tables=(AnswerTable(1.0, ((1 << 31, 1 << 31),) * 2),),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
    ... )
    >>> check_estimable(campaign)
    Traceback (most recent call last):
        ...
    noutput.errors.DocumentError: table of 'late' must have rows of which none is a mixture ...
    """
    CellLayout(campaign)  # refuses too many
    for wave in campaign.waves:
        for question, table in zip(wave.questions, wave.tables, strict=True):
            answers = AnswerMechanism.of(table) if isinstance(table, AnswerTable) else None
            check_question(question, answers)


def check_question(question: Question, mechanism: object) -> None:
    """Refuse what `check_estimable` refuses, for one question and its table's mechanism."""
    if isinstance(question, Number) and max(-question.lower, question.upper) > _checks.LARGEST:
        rule = f"lie between -{_checks.LARGEST:g} and {_checks.LARGEST:g}"
        name = f"bounds of {question.name!r}"
        raise DocumentError(name, rule, (question.lower, question.upper))
    if not isinstance(mechanism, AnswerMechanism):
        return  # the mean of every row is its knot, so they differ
    try:
        fixed_scores(mechanism)
    except InvalidArgumentError as error:
        name = f"table of {question.name!r}"
        raise DocumentError(name, error.rule, error.found) from None

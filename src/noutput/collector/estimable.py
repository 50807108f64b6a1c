"""Campaigns whose reports say something: tables that tell all answers apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput import _checks
from noutput.collector.cells import CellLayout
from noutput.collector.measured import is_told
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.estimate.answers.scores import fixed_scores
from noutput.mechanisms.answers import AnswerMechanism
from noutput.mechanisms.table import TableMechanism, unit_mechanism
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
        If the row of an answer is a mixture of the rows of others, the table of a number does not
        tell its mean or the share below an edge, bounds are so large that their variance is none,
        rounds, labels and outputs make too many counts, or a second wave is to find the range of a
        number with edges.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from noutput.campaign import Campaign, Table, YesNo
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="How was your way to work?",
    ...     questions=(YesNo(name="late"),), tables=(Table(1.0, (2,), ((1 << 31, 1 << 31),) * 2),),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
    ... )
    >>> check_estimable(campaign)
    Traceback (most recent call last):
        ...
    noutput.errors.DocumentError: table of 'late' must have rows of which none is a mixture ...
    """
    CellLayout(campaign)  # refuses too many
    if campaign.next_wave is not None:
        for question in campaign.questions:
            if isinstance(question, Number) and question.edges:
                rule = f"be absent: {question.name!r} has edges, and a second wave would move them"
                raise DocumentError("next_wave", rule, campaign.next_wave)
    for wave in campaign.waves:
        for question, table in zip(wave.questions, wave.tables, strict=True):
            check_question(question, unit_mechanism(table))


def check_question(question: Question, mechanism: object) -> None:
    """Refuse what `check_estimable` refuses, for one question and its table's mechanism."""
    if isinstance(question, Number) and max(-question.lower, question.upper) > _checks.LARGEST:
        rule = f"lie between -{_checks.LARGEST:g} and {_checks.LARGEST:g}"
        name = f"bounds of {question.name!r}"
        raise DocumentError(name, rule, (question.lower, question.upper))
    try:
        if isinstance(mechanism, AnswerMechanism):
            fixed_scores(mechanism)
        elif isinstance(mechanism, TableMechanism):
            if not mechanism.plain.jumps:
                mechanism.outputs  # noqa: B018 (raises where the table does not tell the mean)
            elif not is_told(question, mechanism):
                rule = "tell the mean and the share below every edge"
                raise InvalidArgumentError("table", rule, mechanism.plain.described)
    except InvalidArgumentError as error:
        name = f"table of {question.name!r}"
        raise DocumentError(name, error.rule, error.found) from None

"""A campaign: what is asked, how privately, and when, as one immutable document."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TypeAlias

from noutput import _checks
from noutput._text import check_pattern, check_text
from noutput.campaign import version1, version2
from noutput.campaign.admission import Admission
from noutput.campaign.text import NEWER, check_instant, format_instant
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms import document
from noutput.mechanisms.answer_table import AnswerTable
from noutput.mechanisms.certified import CertifiedTable
from noutput.questions import Answers, Number, Question

__all__ = ["FORMAT", "MAX_QUESTIONS", "OBJECTIVES", "VERSION", "Campaign", "Table"]

FORMAT = "noutput-campaign"
VERSION = 2
MAX_QUESTIONS = 64
Table: TypeAlias = CertifiedTable | AnswerTable
OBJECTIVES = {  # by kind of question; the first is the default
    "number": ("balanced", "mean", "distribution"),
    "scale": ("cdf", "shares", "mean", "balanced"),
    "choice": ("shares", "cdf", "mean", "balanced"),
    "yes/no": ("shares", "cdf", "mean", "balanced"),
}
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)


@dataclass(frozen=True)
class Campaign:
    r"""What is asked, how privately, and when.

    Parameters
    ----------
    id : str
        Its name in addresses: from 1 to 64 of the characters a-z, 0-9 and -.
    title, text : str
        What people read; up to 200 and 1,000 bytes of UTF-8.
    questions : tuple of Number, Scale, Choice and YesNo
        What is asked, from 1 to 64 questions with different names.
    tables : tuple of CertifiedTable and AnswerTable
        One per question, of which its reports are drawn: a `CertifiedTable` for a number, which
        is mapped to [-1, 1] first, an `AnswerTable` with one row per answer otherwise. Its
        epsilon is that of the question, where the question has one of its own. Equal tables
        become one object.
    opens, closes : datetime
        When reports are counted, from `opens` until just before `closes`; whole seconds.
    public : bool
        Whether anyone may read the estimates.
    ask : "one" or "all"
        Whether a person reports on one question, drawn at random, or on all of them.
    objectives : tuple of str, optional
        What each table was designed for, one per question: "balanced" (the mean and the
        distribution), "mean" or "distribution" for numbers; "cdf" (the default of scales),
        "shares" (the default of choices and yes/no), "mean" or "balanced" for answers.
    version : 1 or 2
        Of the document. Version 1 is for devices with older clients: it has numbers only, which
        share one table, and asks one of them.
    admission : Admission
        Whose reports are counted: everybody's, if not given.

    Guarantees
    ----------
    What one person sends satisfies :math:`\epsilon`-local differential privacy with the
    campaign's `epsilon`, which the tables have proven in whole numbers. For ``ask="one"`` it is
    the largest epsilon of all tables, and holds for the report as a whole: which question it is
    about does not depend on any value. For ``ask="all"`` it is the sum over all questions.

    Examples
    --------
    >>> from datetime import UTC
    >>> from noutput.questions import YesNo
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="How was your way to work?",
    ...     questions=(Number(0, 180, "minutes", name="time"), YesNo(name="late")),
    ...     tables=(CertifiedTable(1.1, (-2.0, 2.0), (-1.0, 1.0), rows), AnswerTable(1.2, rows)),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2026, 4, 1, tzinfo=UTC),
    ... )
    >>> Campaign.from_json(campaign.to_json()) == campaign
    True
    >>> campaign.epsilon, campaign.is_open(datetime(2026, 3, 31, tzinfo=UTC))
    (1.2, True)
    >>> campaign.question_indexes, campaign.objectives, len(campaign.fingerprint)
    ({'time': 0, 'late': 1}, ('balanced', 'shares'), 64)
    """

    id: str
    title: str
    text: str
    questions: tuple[Question, ...]
    tables: tuple[Table, ...]
    opens: datetime
    closes: datetime
    public: bool = False
    ask: str = "one"
    objectives: tuple[str, ...] = ()
    version: int = VERSION
    admission: Admission = Admission()  # noqa: RUF009 (frozen)

    def __post_init__(self) -> None:
        rule = "be a letter a-z or a digit and at most 63 more of a-z, 0-9 and -"
        check_pattern("id", self.id, _ID, rule)
        check_text("title", self.title, 1, 200)
        check_text("text", self.text, 1, 1000)
        if not isinstance(self.public, bool):
            raise InvalidArgumentError("public", "be true or false", self.public)
        _checks.choice("ask", self.ask, ("one", "all"))
        for name in ("opens", "closes"):
            object.__setattr__(self, name, check_instant(name, getattr(self, name)))
        if not self.opens < self.closes:
            rule = f"be later than opens ({format_instant(self.opens)})"
            raise InvalidArgumentError("closes", rule, format_instant(self.closes))
        object.__setattr__(self, "questions", _questions(self.questions))
        object.__setattr__(self, "tables", _tables(self.tables, self.questions))
        objectives = _objectives(self.objectives, self.questions)
        object.__setattr__(self, "objectives", objectives)
        _checks.whole("version", self.version, 1, VERSION)
        _check_admission(self.admission)
        if self.version == 1:
            version1.check(self)

    @property
    def epsilon(self) -> float:
        """The privacy loss of what one person sends, proven by the tables."""
        losses = [table.epsilon for table in self.tables]
        return max(losses) if self.ask == "one" else math.fsum(losses)

    @cached_property
    def question_indexes(self) -> dict[str, int]:
        """The place of every question's name."""
        return {question.name: index for index, question in enumerate(self.questions)}

    def is_open(self, now: datetime) -> bool:
        """Say whether reports are counted at this instant."""
        return self.opens <= now < self.closes

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical form of the document's version, as 64 hexadecimal digits."""
        return version1.fingerprint(self) if self.version == 1 else version2.fingerprint(self)

    def to_json(self) -> str:
        """Return the campaign as a JSON document with a format version and its fingerprint."""
        return version1.write(self) if self.version == 1 else version2.write(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Campaign:
        """Read a campaign from JSON, and certify its tables.

        Raises
        ------
        DocumentError
            If the text is no campaign, or needs a newer version of noutput; a part that breaks
            a rule is an InvalidArgumentError.
        PrivacyError
            If a table is not as private as it claims.
        """
        found = document.parse(text)
        if found.get("format") != FORMAT:
            raise DocumentError("format", f"be {FORMAT!r}", found.get("format"))
        version = found.get("version")
        if type(version) is not int or version not in (1, 2):
            raise DocumentError("version", f"be 1 or 2: otherwise {NEWER}", version)
        read = version1.read if version == 1 else version2.read
        campaign = cls(**read(found, MAX_QUESTIONS))
        if found["fingerprint"] != campaign.fingerprint:
            rule = f"be {campaign.fingerprint}"
            raise DocumentError("fingerprint", rule, found["fingerprint"])
        return campaign


def _questions(value: tuple[Question, ...]) -> tuple[Question, ...]:
    questions = tuple(value)
    for index, question in enumerate(questions):
        if not isinstance(question, Number | Answers):
            rule = "be a Number, a Scale, a Choice or a YesNo"
            raise InvalidArgumentError(f"questions[{index}]", rule, type(question).__name__)
        if not question.name:
            raise InvalidArgumentError(f"questions[{index}].name", "be given", question.name)
    names = [question.name for question in questions]
    if not 1 <= len(names) <= MAX_QUESTIONS:
        rule = f"have from 1 to {MAX_QUESTIONS} entries"
        raise InvalidArgumentError("questions", rule, len(names))
    if len(set(names)) < len(names):
        raise InvalidArgumentError("questions", "have different names", names)
    return questions


def _tables(value: tuple[Table, ...], questions: tuple[Question, ...]) -> tuple[Table, ...]:
    tables = tuple(value)
    if len(tables) != len(questions):
        rule = f"have {len(questions)} entries, one per question"
        raise InvalidArgumentError("tables", rule, len(tables))
    different: dict[Table, Table] = {}
    for index, (table, question) in enumerate(zip(tables, questions, strict=True)):
        name = f"tables[{index}]"
        if isinstance(question, Answers):
            if not isinstance(table, AnswerTable) or table.n_answers != question.n_answers:
                rule = f"be an AnswerTable of {question.n_answers} answers"
                raise InvalidArgumentError(name, rule, _described(table))
        elif not isinstance(table, CertifiedTable):
            raise InvalidArgumentError(name, "be a CertifiedTable", _described(table))
        if question.epsilon not in (None, table.epsilon):
            rule = f"have the epsilon of its question, {question.epsilon!r}"
            raise InvalidArgumentError(name, rule, table.epsilon)
        different.setdefault(table, table)
    return tuple(different[table] for table in tables)


def _check_admission(value: object) -> None:
    if not isinstance(value, Admission):
        raise InvalidArgumentError("admission", "be an Admission", type(value).__name__)


def _described(table: object) -> str:
    size = f" of {table.n_answers} answers" if isinstance(table, AnswerTable) else ""
    return type(table).__name__ + size


def _objectives(value: tuple[str, ...], questions: tuple[Question, ...]) -> tuple[str, ...]:
    objectives = tuple(value or ()) or tuple(OBJECTIVES[each.kind][0] for each in questions)
    if len(objectives) != len(questions):
        rule = f"have {len(questions)} entries, one per question"
        raise InvalidArgumentError("objectives", rule, len(objectives))
    for index, (objective, question) in enumerate(zip(objectives, questions, strict=True)):
        _checks.choice(f"objectives[{index}]", objective, OBJECTIVES[question.kind])
    return objectives

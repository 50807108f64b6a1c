"""What is done to which columns: everything a worker or a later reader must know."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from noutput import _checks
from noutput.encoding import place_of_other
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.frames.reports import ATTRIBUTE, REPORT, Certified, report_name
from noutput.interval import Interval, IntervalLike, as_interval
from noutput.mechanisms import document
from noutput.mechanisms.answers import AnswerMechanism
from noutput.mechanisms.certified import Table
from noutput.mechanisms.table import TableMechanism
from noutput.questions import (
    Answers,
    Number,
    Question,
    question_from_answers,
    question_from_document,
)

__all__ = [
    "LAYOUTS",
    "METADATA_KEY",
    "Asked",
    "Bounds",
    "Recipe",
    "Source",
    "column_names",
    "make_recipe",
    "mechanism_of",
]

Bounds: TypeAlias = IntervalLike | Mapping[str, IntervalLike]
Asked: TypeAlias = Question | Mapping[str, Question]

FORMAT = "noutput-reports"
VERSION = 1
METADATA_KEY = "noutput"  # of Arrow schemas and Spark columns
LAYOUTS = ("wide", "long")
_FLAGS = ("clip", "skip_missing", "one_per_row", "secure")
_KEYS = ("mechanism", "columns", "layout", "other", *_FLAGS)


class Source(Protocol):
    """A design: a mechanism, and perhaps the question that it was made for."""

    @property
    def mechanism(self) -> Certified:
        """What draws the reports."""

    @property
    def question(self) -> Question | None:
        """What is asked."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How reports are made from columns, stored with them.

    Parameters
    ----------
    mechanism : TableMechanism or AnswerMechanism
        What draws the reports.
    columns : tuple of str
        The columns that hold the values.
    questions : tuple of Question
        What each column answers: numbers, or one of the mechanism's number of answers.
    other : str, optional
        The label of the answer that stands for values that are none.
    clip, skip_missing, one_per_row : bool
        See `noutput.frames.privatize`.
    layout : str
        "wide" or "long".
    secure : bool
        False where a seed was given: such reports are a simulation and protect nobody. The seed
        itself is never stored.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> recipe = Recipe(m, ("age",), (no.Number(0, 120),), skip_missing=True)
    >>> recipe.bounds["age"].upper, recipe.has_gaps
    (120.0, True)
    >>> recipe.by_column["age"].upper, recipe.answers  # questions with answers, by column
    (120.0, {})
    >>> recipe.report_names == recipe.result_names == ("age__" + m.fingerprint[:12],)
    True
    >>> Recipe.from_json(recipe.to_json()) == recipe
    True
    """

    mechanism: Certified
    columns: tuple[str, ...]
    questions: tuple[Question, ...]
    clip: bool = False
    skip_missing: bool = False
    one_per_row: bool = False
    layout: str = "wide"
    secure: bool = True
    other: str | None = None

    def __post_init__(self) -> None:
        mechanism_of(self.mechanism)
        for column, question in self.by_column.items():
            self._check_question(column, question)
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise InvalidArgumentError(name, "be True or False", getattr(self, name))
        _checks.choice("layout", self.layout, LAYOUTS)

    def _check_question(self, column: str, question: Question) -> None:
        name = f"question of column {column!r}"
        if isinstance(self.mechanism, TableMechanism):
            if not isinstance(question, Number):
                rule = "be a Number, for which the mechanism is made"
                raise InvalidArgumentError(name, rule, _kind(question))
            if self.mechanism.bounds not in ((-1.0, 1.0), (question.lower, question.upper)):
                lower, upper = self.mechanism.bounds
                rule = f"have the bounds of the mechanism, {lower} to {upper}"
                raise InvalidArgumentError(name, rule, (question.lower, question.upper))
            if self.other is not None:
                raise InvalidArgumentError("other", "be given for answers only", self.other)
            return
        size = self.mechanism.n_answers
        if not isinstance(question, Answers) or question.n_answers != size:
            rule = f"have {size} answers, for which the mechanism is made"
            raise InvalidArgumentError(name, rule, _kind(question))
        if self.clip:
            raise InvalidArgumentError("clip", "be False where the question has answers", self.clip)
        place_of_other(question, self.other)

    @property
    def by_column(self) -> dict[str, Question]:
        """The question of every column."""
        return dict(zip(self.columns, self.questions, strict=True))

    @property
    def bounds(self) -> dict[str, Interval]:
        """The bounds of every column of numbers."""
        return {
            column: Interval(question.lower, question.upper)
            for column, question in self.by_column.items()
            if isinstance(question, Number)
        }

    @property
    def answers(self) -> dict[str, Answers]:
        """The question of every column of answers."""
        return {
            column: question
            for column, question in self.by_column.items()
            if isinstance(question, Answers)
        }

    @property
    def has_gaps(self) -> bool:
        """Whether a row may have a column without a report."""
        return self.skip_missing or self.one_per_row

    @property
    def report_names(self) -> tuple[str, ...]:
        """The report columns of the result."""
        if self.layout == "long":
            return (report_name(REPORT, self.mechanism),)
        return tuple(report_name(column, self.mechanism) for column in self.columns)

    @property
    def result_names(self) -> tuple[str, ...]:
        """All columns of the result but those that were kept."""
        return (ATTRIBUTE, *self.report_names) if self.layout == "long" else self.report_names

    def to_json(self) -> str:
        """Return a JSON document with the mechanism in it."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "columns": [
                {"name": name, "question": question.to_document()}
                for name, question in self.by_column.items()
            ],
            "layout": self.layout,
            "other": self.other,
            **{name: getattr(self, name) for name in _FLAGS},
            "mechanism": json.loads(self.mechanism.to_json()),
        }
        return json.dumps(content)

    @classmethod
    def from_json(cls, text: str | bytes) -> Recipe:
        """Read a recipe; its mechanism is certified before anything is returned."""
        found = document.read(text, FORMAT, VERSION, _KEYS)
        mechanism = _read_mechanism(found["mechanism"])
        asked = _read_columns(found["columns"])
        flags = {name: found[name] for name in _FLAGS}
        other = found["other"]
        if not isinstance(other, str | None):
            raise DocumentError("other", "be a text or null", other)
        names, questions = tuple(asked), tuple(asked.values())
        return cls(mechanism, names, questions, layout=found["layout"], other=other, **flags)


def _kind(question: object) -> str:
    if isinstance(question, Answers):
        return f"{question.kind} with {question.n_answers} answers"
    return question.kind if isinstance(question, Number) else type(question).__name__


def mechanism_of(found: object) -> Certified:
    """Return the mechanism, or that of a design."""
    mechanism = getattr(found, "mechanism", found)
    if not isinstance(mechanism, TableMechanism | AnswerMechanism):
        rule = "be a TableMechanism or an AnswerMechanism"
        raise InvalidArgumentError("mechanism", rule, mechanism)
    return mechanism


def _read_mechanism(found: object) -> Certified:
    if not isinstance(found, dict):
        raise DocumentError("mechanism", "be a table", found)
    table = Table.from_document(found)
    return AnswerMechanism.of(table) if isinstance(table.axes[0], int) else TableMechanism.of(table)


def _read_columns(found: object) -> dict[str, Question]:
    rule = "be a list of objects with a name and a question, none twice"
    if not isinstance(found, list) or not found:
        raise DocumentError("columns", rule, found)
    asked: dict[str, Question] = {}
    for entry in found:
        if not isinstance(entry, dict) or set(entry) != {"name", "question"}:
            raise DocumentError("columns", rule, entry)
        if not isinstance(entry["name"], str) or entry["name"] in asked:
            raise DocumentError("columns", rule, entry["name"])
        asked[entry["name"]] = question_from_document(entry["question"], "columns.question")
    return asked


def column_names(name: str, value: str | Sequence[str], *, least: int = 1) -> tuple[str, ...]:
    """Return one or several distinct column names as a tuple."""
    names = (value,) if isinstance(value, str) else tuple(value)
    if any(not isinstance(entry, str) for entry in names) or len(set(names)) < len(names):
        raise InvalidArgumentError(name, "be distinct names of columns", value)
    if len(names) < least:
        raise InvalidArgumentError(name, "name at least one column", value)
    return names


def make_recipe(
    columns: str | Sequence[str],
    mechanism: Certified | None = None,
    bounds: Bounds | None = None,
    *,
    design: Source | None = None,
    question: Asked | None = None,
    answers: object = None,
    **options: Any,
) -> Recipe:
    """Check the arguments of `noutput.frames.privatize` and bring them together."""
    names = column_names("columns", columns)
    if (mechanism is None) == (design is None):
        found = "neither" if mechanism is None else "both"
        raise InvalidArgumentError("mechanism and design", "be given one at a time", found)
    source = ("mechanism", mechanism) if design is None else ("design", design)
    drawn = _one_for_all(*source)
    given = {"bounds": bounds, "question": question, "answers": answers}
    wanted = {name: value for name, value in given.items() if value is not None}
    if design is not None and getattr(design, "question", None) is not None:
        if wanted:
            rule = "be left out: the design has a question"
            raise InvalidArgumentError(next(iter(wanted)), rule, next(iter(wanted.values())))
        wanted = {"question": design.question}
    if len(wanted) != 1:
        rule = "be given one at a time"
        raise InvalidArgumentError("bounds, question and answers", rule, list(wanted))
    [(argument, value)] = wanted.items()
    questions = _questions(names, argument, value)
    return Recipe(drawn, names, questions, **options)


def _one_for_all(name: str, found: object) -> Certified:
    """Return the mechanism of an argument that serves all columns."""
    if isinstance(found, Mapping):
        rule = f"be one {name} for all columns (other columns take another call)"
        raise InvalidArgumentError(name, rule, f"a mapping of {list(found)}")
    return mechanism_of(found)


def _questions(names: Sequence[str], argument: str, given: object) -> tuple[Question, ...]:
    """Return the question of each column; what is no mapping serves all of them."""
    if not isinstance(given, Mapping):
        return (_question(argument, given, argument),) * len(names)
    for name in given:
        if name not in names:
            raise InvalidArgumentError(argument, f"name columns of {list(names)}", name)
    for name in names:
        if name not in given:
            rule = f"have an entry for every column, {name!r} too"
            raise InvalidArgumentError(argument, rule, dict(given))
    return tuple(_question(argument, given[name], f"{argument}[{name!r}]") for name in names)


def _question(argument: str, given: object, name: str) -> Question:
    if argument == "bounds":
        interval = as_interval(given, name)
        return Number(interval.lower, interval.upper)
    if argument == "answers":
        return question_from_answers(given)
    if not isinstance(given, Question):
        raise InvalidArgumentError(name, "be a Number, a Scale, a Choice or a YesNo", given)
    return given

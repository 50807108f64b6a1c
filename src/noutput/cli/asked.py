"""Options that say what is asked: ordered answers, a choice, or yes/no; shared by many verbs."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from noutput.questions import Answers

__all__ = ["OTHER", "answers_of", "question"]

_Command = TypeVar("_Command", bound=Callable[..., Any])
_RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_MOST = 64

OTHER = click.option(
    "--other", metavar="LABEL",
    help="The answer that stands for every value that is none, instead of refusing it.",
)  # fmt: skip


class _Listed(click.ParamType[tuple[str, ...]]):
    """A list as in a line of CSV; a label with a comma stands in quotes."""

    name = "A,B,..."

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        parts = next(csv.reader([str(value)], skipinitialspace=True), [])
        found = tuple(part.strip() for part in parts)
        if not all(found):
            self.fail(f"{value!r} is not a list such as a,b,c.", param, ctx)
        return found


class _Ordered(_Listed):
    """A list of numbers or of texts, or a range such as 0..10."""

    name = "A,B,...|FIRST..LAST"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        match = _RANGE.fullmatch(str(value).strip())
        if match is None:
            return super().convert(value, param, ctx)
        first, last = int(match[1]), int(match[2])
        if last < first:
            self.fail(f"{value!r} must count up, as {last}..{first} does.", param, ctx)
        if not 1 <= last - first < _MOST:
            count = last - first + 1
            self.fail(
                f"{value!r} has {count} answer{'s' * (count > 1)}, not 2 to {_MOST}.", param, ctx
            )
        return tuple(map(str, range(first, last + 1)))


def question(command: _Command) -> _Command:
    """Add the options --answers, --scores, --choice and --yes-no to a verb."""
    for option in (
        click.option("--yes-no", "yes_no", is_flag=True, help="The answers are no and yes."),
        click.option("--choice", type=_Listed(), help="Answers without order, such as car,train."),
        click.option(
            "--scores",
            type=_Listed(),
            help="Numbers that ordered texts stand for in a mean, such as 22,45,70.",
        ),
        click.option(
            "--answers",
            type=_Ordered(),
            help="Ordered answers, such as 1,2,3,4,5 or 0..10 or low,middle,high.",
        ),
    ):
        command = option(command)
    return command


def answers_of(
    answers: tuple[str, ...] | None,
    scores: tuple[str, ...] | None,
    choice: tuple[str, ...] | None,
    yes_no: bool,
) -> Answers | None:
    """Return the question that the options stand for; None where none is given."""
    from noutput.questions import Choice, Scale, YesNo

    if (answers is not None) + (choice is not None) + yes_no > 1:
        raise click.UsageError("Give one of --answers, --choice and --yes-no.")
    if scores is not None and answers is None:
        raise click.UsageError("--scores belong to the texts of --answers.")
    if yes_no:
        return YesNo()
    if choice is not None:
        return Choice(*choice)
    if answers is None:
        return None
    given = None if scores is None else _numbers("--scores", scores)
    if all(_NUMBER.fullmatch(answer) for answer in answers):
        return Scale(*map(float, answers), scores=given)
    return Scale(*answers, scores=given)


def _numbers(option: str, texts: tuple[str, ...]) -> list[float]:
    for text in texts:
        if not _NUMBER.fullmatch(text):
            raise click.BadParameter(f"{text!r} is not a number.", param_hint=option)
    return [float(text) for text in texts]

"""Waves of an adaptive campaign: when the next one begins, and what a successor may change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from noutput import _checks
from noutput._text import check_text
from noutput.campaign.text import NEWER, check_instant, format_instant, parse_instant
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.questions import Number, Question

if TYPE_CHECKING:
    from datetime import datetime

    from noutput.campaign.campaign import Campaign

__all__ = ["FEWEST_REPORTS", "MAX_COUNT", "MAX_WAVES", "RULES", "Bounds", "Inputs", "NextWave",
           "check_chain", "check_wave", "narrowed"]  # fmt: skip

MAX_WAVES = 8
MAX_COUNT = 10**15  # reports; every client can count so far
RULES = ("range 1",)
FEWEST_REPORTS = 500
"""Reports of a number that the rule needs: with fewer it leaves the range as declared."""
_LARGEST = 10**12
_KEYS = ("rule", "reports", "expected", "until")
_SAME = ("id", "title", "text", "questions", "opens", "closes", "public", "ask",
         "admission", "segments", "schedule", "next_wave")  # fmt: skip

Bounds: TypeAlias = tuple[float, float] | None  # of a number; None for other questions
Inputs: TypeAlias = tuple[tuple[tuple[int, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class NextWave:
    """When an adaptive campaign gets its second wave, and by which rule.

    Parameters
    ----------
    reports : int
        How many reports of the first wave, over all questions, are published by then.
    expected : int
        How many people are expected to take part, those of the first wave included.
    until : datetime, optional
        When the second wave begins at the latest, if anything is published by then.
    rule : "range 1"
        Which rule chooses bounds and tables: `noutput.planner.adaptive` has it.

    Examples
    --------
    >>> second = NextWave(4_000, 20_000)
    >>> second.to_document()
    {'rule': 'range 1', 'reports': 4000, 'expected': 20000, 'until': None}
    >>> NextWave.from_document(second.to_document()) == second
    True
    >>> second.beginning
    'once 4,000 reports are published, at least 500 of every number'
    """

    reports: int
    expected: int
    until: datetime | None = None
    rule: str = RULES[0]

    def __post_init__(self) -> None:
        for name in ("reports", "expected"):
            count = _checks.whole(f"next.{name}", getattr(self, name), 1, _LARGEST)
            object.__setattr__(self, name, count)
        if self.until is not None:
            object.__setattr__(self, "until", check_instant("next.until", self.until))
        _checks.choice("next.rule", self.rule, RULES)

    @property
    def beginning(self) -> str:
        """When the second wave begins, in words."""
        until = "" if self.until is None else f", or at {format_instant(self.until)}"
        return (
            f"once {self.reports:,} reports are published, at least {FEWEST_REPORTS} of every "
            f"number{until}"
        )

    def to_document(self) -> dict[str, Any]:
        """Return what the document of the campaign says."""
        until = None if self.until is None else format_instant(self.until)
        return {"rule": self.rule, "reports": self.reports, "expected": self.expected,
                "until": until}  # fmt: skip

    @classmethod
    def from_document(cls, value: object) -> NextWave:
        """Read what `to_document` returns, and nothing else."""
        name = "waves[0].next"
        if not isinstance(value, dict) or set(value) != set(_KEYS):
            raise DocumentError(name, f"have the keys {list(_KEYS)}: else {NEWER}", value)
        if not isinstance(value["rule"], str) or value["rule"] not in RULES:
            raise DocumentError(f"{name}.rule", f"be one of {list(RULES)}: else {NEWER}", value)
        for key in ("reports", "expected"):
            if type(value[key]) is not int:
                raise DocumentError(f"{name}.{key}", "be a whole number", value[key])
        until = value["until"]
        until = None if until is None else parse_instant(f"{name}.until", until)
        return cls(value["reports"], value["expected"], until, value["rule"])


def narrowed(question: Question, bounds: Bounds) -> Question:
    """Return a question as a wave asks it: numbers are moved into its bounds, on the device.

    Of its edges those inside the bounds are left.

    Examples
    --------
    >>> asked = narrowed(Number(0, 600, "minutes", edges=(60, 240)), (0.0, 100.0))
    >>> asked.encode(75), asked.encode(240), asked.edges
    (75.0, 100.0, (60.0,))
    """
    if bounds is None or not isinstance(question, Number):
        return question
    lower, upper = bounds
    edges = question.edges
    if edges is not None:
        edges = tuple(edge for edge in edges if lower < edge < upper)
    return replace(question, lower=lower, upper=upper, edges=edges)


def check_wave(campaign: Campaign) -> tuple[tuple[Bounds, ...], Inputs, tuple[str, ...]]:
    """Return bounds, inputs and reasons of a campaign's newest wave, checked.

    The first wave has none of them: its bounds are those of the questions.
    """
    if campaign.predecessor is None:
        for name in ("bounds", "inputs", "reasons"):
            if getattr(campaign, name):
                rule = "be absent in the first wave"
                raise InvalidArgumentError(name, rule, getattr(campaign, name))
        return (), (), ()
    declared = tuple(_declared(each) for each in campaign.questions)
    bounds = _checked_bounds(campaign.bounds, declared)
    return bounds, _checked_inputs(campaign), _checked_reasons(campaign)


def check_chain(campaign: Campaign) -> None:
    """Refuse a chain that is none: what is not about waves stays the same in all of them."""
    _check_next(campaign)
    before = campaign.predecessor
    if before is None:
        return
    if campaign.next_wave is None:
        raise InvalidArgumentError("predecessor", "be that of an adaptive campaign", before.id)
    if len(before.waves) >= MAX_WAVES:
        raise InvalidArgumentError("waves", f"be at most {MAX_WAVES}", len(before.waves) + 1)
    for name in _SAME:
        if getattr(campaign, name) != getattr(before, name):
            raise InvalidArgumentError(name, "be that of the predecessor", getattr(campaign, name))
    for index, (table, first) in enumerate(zip(campaign.tables, before.tables, strict=True)):
        if table.epsilon != first.epsilon:
            rule = f"have the epsilon of the first wave, {first.epsilon!r}"
            raise InvalidArgumentError(f"tables[{index}]", rule, table.epsilon)


def _check_next(campaign: Campaign) -> None:
    found = campaign.next_wave
    if found is None:
        return
    if not isinstance(found, NextWave):
        raise InvalidArgumentError("next_wave", "be a NextWave", type(found).__name__)
    if not any(isinstance(each, Number) for each in campaign.questions):
        rule = "be absent: no question is a number, and only numbers have a range"
        raise InvalidArgumentError("next_wave", rule, found)
    if found.until is not None and not campaign.opens < found.until <= campaign.closes:
        rule = "be later than opens and not later than closes"
        raise InvalidArgumentError("next.until", rule, format_instant(found.until))


def _declared(question: Question) -> Bounds:
    return (question.lower, question.upper) if isinstance(question, Number) else None


def _checked_bounds(value: object, declared: tuple[Bounds, ...]) -> tuple[Bounds, ...]:
    result: list[Bounds] = []
    for index, (found, most) in enumerate(zip(_each("bounds", value, declared), declared,
                                              strict=True)):  # fmt: skip
        name = f"bounds[{index}]"
        if most is None:
            if found is not None:
                rule = "be absent: the question is no number"
                raise InvalidArgumentError(name, rule, found)
            result.append(None)
            continue
        if not isinstance(found, list | tuple) or len(found) != 2:
            raise InvalidArgumentError(name, "be two numbers", found)
        lower, upper = (_checks.finite(name, each) + 0.0 for each in found)
        if not most[0] <= lower < upper <= most[1]:
            rule = f"increase, and lie between {most[0]} and {most[1]}"
            raise InvalidArgumentError(name, rule, (lower, upper))
        _checks.apart(name, lower, upper)
        result.append((lower, upper))
    return tuple(result)


def _checked_inputs(campaign: Campaign) -> Inputs:
    """Return the published counts of every earlier wave, per question."""
    before = () if campaign.predecessor is None else campaign.predecessor.waves
    result = []
    for index, found in enumerate(_each("inputs", campaign.inputs, campaign.questions)):
        name = f"inputs[{index}]"
        if not isinstance(found, list | tuple) or len(found) != len(before):
            rule = f"have {len(before)} entries, one per earlier wave"
            raise InvalidArgumentError(name, rule, found)
        parts = []
        for wave, (counts, earlier) in enumerate(zip(found, before, strict=True)):
            size = earlier.tables[index].n_outputs
            if not isinstance(counts, list | tuple) or len(counts) != size:
                rule = f"have {size} counts, one per output"
                raise InvalidArgumentError(f"{name}[{wave}]", rule, counts)
            parts.append(tuple(_checks.whole(f"{name}[{wave}]", n, 0, MAX_COUNT) for n in counts))
        result.append(tuple(parts))
    return tuple(result)


def _checked_reasons(campaign: Campaign) -> tuple[str, ...]:
    found = _each("reasons", campaign.reasons, campaign.questions)
    return tuple(check_text(f"reasons[{i}]", each, 0, 1000) for i, each in enumerate(found))


def _each(name: str, value: object, questions: tuple[object, ...]) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple) or len(value) != len(questions):
        rule = f"have {len(questions)} entries, one per question"
        raise InvalidArgumentError(name, rule, value)
    return tuple(value)

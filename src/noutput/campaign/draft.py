"""Campaign draft: a small TOML file, as people write it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from noutput import _checks
from noutput.campaign.admission import Admission
from noutput.campaign.campaign import OBJECTIVES, Campaign, fit_table
from noutput.campaign.draft_adaptive import adaptive_notes, read_adaptive
from noutput.campaign.draft_question import bare, read_question
from noutput.campaign.draft_strata import (
    divided,
    fit_closing,
    per_answer,
    read_schedule,
    read_segments,
)
from noutput.campaign.keys import check_keys
from noutput.errors import DocumentError
from noutput.questions import Number, Question

if TYPE_CHECKING:
    from noutput.campaign.waves import NextWave
    from noutput.mechanisms.certified import Table

__all__ = ["CampaignDraft"]

_NEEDED = ("id", "title", "text", "epsilon", "opens", "closes", "questions")
_OPTIONAL = ("public", "ask", "admission", "table", "adaptive", "segments", "schedule")
_ADMISSION = ("kind", "reports_per_hour", "issuer", "key")
_TABLE = ("outputs", "objective", "method")
_OBJECTIVES = {"balanced": "balanced", "mean": "worst", "distribution": "distribution"}
_PAPER_METHODS = ("numerical", "analytical")


@dataclass(frozen=True, slots=True)
class CampaignDraft:
    """All of a campaign but its tables, and what the tables are to be designed for.

    Parameters
    ----------
    parts : dict
        The arguments of `Campaign`, without its tables.
    designs : tuple of dict
        One per question: the arguments of `noutput.design` for its table. Questions with equal
        arguments share a design. The argument `question` is given for answers and for numbers
        with edges: other tables of numbers do not depend on the bounds, and are moved to them.
    notes : tuple of str
        What was done to fit a rule, for people to read.

    Examples
    --------
    >>> draft = CampaignDraft.from_toml('''
    ... id = "commute"
    ... title = "Commute"
    ... text = "How was your way to work?"
    ... epsilon = 1.0
    ... opens = 2026-03-01T00:00:00Z
    ... closes = 2026-04-01T00:00:00Z
    ...
    ... [[questions]]
    ... name = "minutes"
    ... lower = 0
    ... upper = 180
    ...
    ... [[questions]]
    ... name = "comfort"
    ... text = "How comfortable was it?"
    ... values = "0..10"
    ... epsilon = 0.5
    ... ''')
    >>> draft.designs[0]
    {'epsilon': 1.0, 'objective': 'balanced'}
    >>> draft.designs[1]["epsilon"], draft.designs[1]["objective"], draft.parts["objectives"]
    (0.5, 'cdf', ('balanced', 'cdf'))
    """

    parts: dict[str, Any]
    designs: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def from_toml(cls, text: str) -> CampaignDraft:
        """Read a draft; every error names the key, the rule and what was found."""
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise DocumentError("file", "be TOML", str(error)) from None
        check_keys("", found, _NEEDED, _OPTIONAL)
        for name in ("opens", "closes"):
            if not isinstance(found[name], datetime) or found[name].tzinfo is None:
                rule = "be an instant with a time zone, such as 2026-03-01T00:00:00Z, not in quotes"
                raise DocumentError(name, rule, str(found[name]))
        epsilon = _checks.positive("epsilon", found.pop("epsilon"))
        table = _read_table(found.pop("table", {}))
        return _read(found, epsilon, table)

    def campaign(self, tables: Sequence[Table]) -> Campaign:
        """Return the campaign with these tables, one per question.

        Tables of numbers are moved to the bounds of their questions.
        """
        if len(tables) == len(self.parts["questions"]):  # else the campaign refuses them
            tables = list(map(fit_table, tables, self.parts["questions"]))
        return Campaign(**self.parts, tables=tuple(tables))


def _read(found: dict[str, Any], epsilon: float, table: dict[str, Any]) -> CampaignDraft:
    segments = read_segments(found.pop("segments", None))
    schedule = read_schedule(found.pop("schedule", None))
    notes = fit_closing(found, schedule)
    epsilon = per_answer(epsilon, schedule)
    value = found["questions"]
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise DocumentError("questions", "be tables, each headed [[questions]]", value)
    questions, designs, objectives = [], [], []
    for index, entry in enumerate(value):
        path = f"questions[{index}]"
        question, objective, outputs = read_question(path, divided(dict(entry), path, schedule))
        own = epsilon if question.epsilon is None else question.epsilon
        if isinstance(question, Number):
            objective = objective or _goal(table)
            _checks.choice(f"{path}.objective", objective, OBJECTIVES["number"])
            design = _number_design(own, objective, table)
            if question.edges:
                design["question"] = bare(question)
        else:
            objective = objective or OBJECTIVES[question.kind][0]
            _checks.choice(f"{path}.objective", objective, OBJECTIVES[question.kind])
            design = {"epsilon": own, "objective": objective, "question": bare(question)}
        designs.append(design if outputs is None else {**design, "n_outputs": outputs})
        questions.append(question)
        objectives.append(objective)
    _check_table_used(table, questions)
    admission = _read_admission(found.pop("admission", "open"))
    parts = {**found, "questions": tuple(questions), "objectives": tuple(objectives)}
    parts |= {"admission": admission, "segments": segments, "schedule": schedule}
    notes += adaptive_notes(parts.get("adaptive", False))
    parts["next_wave"] = _next_wave(parts)
    return CampaignDraft(parts, tuple(designs), notes)


def _next_wave(parts: dict[str, Any]) -> NextWave | None:
    """Return when the second wave begins; every question counts where all are asked."""
    questions = len(parts["questions"])
    per_person, one_of = (questions, 1) if parts.get("ask") == "all" else (1, questions)
    return read_adaptive(parts.pop("adaptive", False), per_person, one_of)


def _number_design(epsilon: float, goal: str, table: dict[str, Any]) -> dict[str, Any]:
    objective = _objective(goal, table.get("objective"))
    return {"epsilon": epsilon, **table, "objective": objective}


def _check_table_used(table: dict[str, Any], questions: list[Question]) -> None:
    if table and not any(isinstance(question, Number) for question in questions):
        raise DocumentError("table", "be absent: it is for numbers, and none is asked", table)


def _read_table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DocumentError("table", "be a table, headed [table]", value)
    check_keys("table.", value, (), _TABLE)
    result = dict(value)
    if "outputs" in result:
        result["n_outputs"] = _checks.whole("table.outputs", result.pop("outputs"), 2, 256)
    return result


def _read_admission(value: object) -> Admission:
    """Read a kind alone, or a table of all that an admission has."""
    entry = {"kind": value} if isinstance(value, str) else value
    if not isinstance(entry, dict):
        rule = "be 'open', 'token', or a table headed [admission]"
        raise DocumentError("admission", rule, value)
    check_keys("admission.", entry, (), _ADMISSION)
    return Admission(**entry)


def _goal(table: dict[str, Any]) -> str:
    """Return the goal that a table is for where the draft names none: "balanced" for any other."""
    objective = table.get("objective")
    if objective is None:
        return "mean" if table.get("method") in _PAPER_METHODS else "balanced"
    return objective if objective in ("balanced", "distribution") else "mean"


def _objective(goal: str, objective: object) -> object:
    """Return the objective of a table for a goal; refuse one that serves another goal."""
    if objective is None:
        return _OBJECTIVES[goal]
    if _goal({"objective": objective}) != goal:
        raise DocumentError("table.objective", f"serve the goal {goal!r}", objective)
    return objective

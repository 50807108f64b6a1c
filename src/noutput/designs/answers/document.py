"""Designs for answers as JSON documents."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeAlias

from noutput.designs.answers.certificate import AnswerBound, AnswerCertificate, verify
from noutput.designs.answers.objective import OBJECTIVES, AnswerObjective, unit_scores
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms import document as table_document
from noutput.mechanisms.answers import AnswerMechanism
from noutput.questions import MAX_ANSWERS, Answers, question_from_document

if TYPE_CHECKING:
    from noutput.designs.solution import Array

__all__ = ["FORMAT", "VERSION", "Parts", "read", "write"]

FORMAT = "noutput-design"
VERSION = 1
Parts: TypeAlias = tuple[AnswerMechanism, Answers, AnswerObjective, float, AnswerBound]
"""What an `AnswerDesign` is made of."""

_KEYS = ("question", "objective", "units", "value", "lower_bound", "certificate", "mechanism")
_PROOF_KEYS = ("population", "influence", "multipliers")
_OPTIONAL = "diagonal"
_MOST_COLUMNS = 2 * MAX_ANSWERS
_SAME = 1e-6


def write(
    mechanism: AnswerMechanism,
    question: Answers,
    objective: AnswerObjective,
    value: float,
    proof: AnswerBound,
) -> str:
    """Write a design with its certificate."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "question": question.to_document(),
        "objective": objective.name,
        "units": objective.units,
        "value": value,
        "lower_bound": proof.value,
        "certificate": _numbers(proof.certificate),
    }
    lines = [f" {json.dumps(key)}: {json.dumps(entry)}" for key, entry in head.items()]
    lines.append(f' "mechanism": {mechanism.to_json().rstrip()}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read(text: object, *, trusted: bool = False) -> Parts:
    """Read a design; its table is certified, its value computed, and its lower bound proven.

    Parameters
    ----------
    text : str, bytes or dict
        A document that `write` wrote, or its parsed form.
    trusted : bool
        Skip the value and the proof (never the certificate of the table): for documents that ship
        with the package.

    Raises
    ------
    DocumentError
        If the document is malformed, or claims a value or a bound that does not hold.
    PrivacyError
        If the table is not private.
    """
    found = table_document.read(text, FORMAT, VERSION, _KEYS)
    question = question_from_document(found["question"])
    if not isinstance(question, Answers):
        raise DocumentError("question.kind", "be that of a question with answers", question.kind)
    if not isinstance(found["mechanism"], dict):
        raise DocumentError("mechanism", "be a table", found["mechanism"])
    mechanism = AnswerMechanism.from_document(found["mechanism"])
    if mechanism.n_answers != question.n_answers:
        rule = f"have one row per answer, {question.n_answers}"
        raise DocumentError("mechanism", rule, mechanism.n_answers)
    objective = _objective(found, question)
    value = table_document.number("value", found["value"])
    proof = AnswerBound(_positive(found, "lower_bound"), _certificate(found["certificate"]))
    if not trusted:
        _check(mechanism, objective.factor, value, proof)
    return mechanism, question, objective, value, proof


def _numbers(certificate: AnswerCertificate) -> dict[str, Any]:
    found = {key: getattr(certificate, key) for key in (*_PROOF_KEYS, _OPTIONAL)}
    return {key: numbers for key, numbers in found.items() if numbers}


def _check(mechanism: AnswerMechanism, factor: Array, claimed: float, proof: AnswerBound) -> None:
    from noutput.designs.answers.error import worst_error
    from noutput.designs.answers.saddle import Aim  # both need scipy, which takes long to load

    value = worst_error(mechanism.table(), Aim(factor))
    if not abs(claimed - value) <= _SAME * value:
        raise DocumentError("value", f"be that of the table, {value}", claimed)
    try:
        verify(mechanism.epsilon, factor, proof.certificate, proof.value)
    except InvalidArgumentError as error:
        raise DocumentError("certificate", "prove the lower bound", str(error)) from None


def _objective(found: dict[str, Any], question: Answers) -> AnswerObjective:
    name, units = found["objective"], found["units"]
    if not isinstance(name, str) or name not in OBJECTIVES:
        raise DocumentError("objective", f"be one of {OBJECTIVES}", name)
    if (units is not None) != (name == "balanced"):
        raise DocumentError("units", "be two numbers for 'balanced', else null", units)
    pair = None
    if units is not None:
        both = table_document.numbers("units", units, 2)
        if len(both) != 2 or not all(0.0 < unit < math.inf for unit in both):
            raise DocumentError("units", "be two positive numbers", units)
        pair = (both[0], both[1])
    try:
        scores = unit_scores(question) if name in ("mean", "balanced") else None
    except InvalidArgumentError as error:
        raise DocumentError("question", error.rule, error.found) from None
    return AnswerObjective(name, question.n_answers, scores, pair)


def _certificate(found: object) -> AnswerCertificate:
    if not isinstance(found, dict) or set(found) - {_OPTIONAL} != set(_PROOF_KEYS):
        raise DocumentError("certificate", f"have the keys {list(_PROOF_KEYS)}", found)
    numbers = table_document.numbers
    rows = table_document.entries("certificate.influence", found["influence"], MAX_ANSWERS)
    return AnswerCertificate(
        tuple(numbers("certificate.population", found["population"], MAX_ANSWERS)),
        tuple(
            tuple(numbers(f"certificate.influence[{k}]", row, _MOST_COLUMNS))
            for k, row in enumerate(rows)
        ),
        tuple(numbers("certificate.multipliers", found["multipliers"], MAX_ANSWERS)),
        tuple(numbers("certificate.diagonal", found.get(_OPTIONAL, []), MAX_ANSWERS + 1)),
    )


def _positive(found: dict[str, Any], key: str) -> float:
    value = table_document.number(key, found[key])
    if not 0.0 < value < math.inf:
        raise DocumentError(key, "be a positive finite number", value)
    return value

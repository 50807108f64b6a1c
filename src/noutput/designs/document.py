"""Designs as JSON documents: the table, how it was found, and the proof of its lower bound."""

from __future__ import annotations

import json
import math
from typing import Any, TypeAlias

from noutput.designs.certificate import Bound, Certificate, verify
from noutput.designs.objective import MOST_BINS, Objective
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms import document as table_document
from noutput.mechanisms.certified import MAX_OUTPUTS, Table
from noutput.mechanisms.table import TableMechanism
from noutput.questions import Number, question_from_document

__all__ = ["FORMAT", "VERSION", "Contents", "read", "read_shipped", "write", "write_proof"]

Contents: TypeAlias = dict[str, Any]
"""What a document holds, by the names of the fields of a `Design`."""

FORMAT = "noutput-design"
VERSION = 1
_KEYS = (
    "method", "objective", "prior", "iterations", "converged", "value", "lower_bound",
    "certificate", "outputs", "mechanism",
)  # fmt: skip
_PROOF_KEYS = ("inputs", "lambdas", "nus", "mus")
_MOST_INPUTS = 4096
_METHODS = ("optimal", "numerical", "analytical", "trained", "balanced")
_SAME = 1e-9
_SAME_ERROR = 0.02  # of a simulation: another release of numpy may draw other numbers


def write_proof(bound: Bound | None) -> str:
    """Write a proof apart: many designs of the catalog share one."""
    return json.dumps(_proof(bound))


def read_shipped(design: bytes, proof: bytes) -> Contents:
    """Read a design and its proof, written apart; trust the proof but not the table."""
    found = table_document.parse(design)
    found.update(table_document.parse(proof))
    return read(found, trusted=True)


def _proof(bound: Bound | None) -> dict[str, Any]:
    if bound is None:
        return {"lower_bound": None, "certificate": None}
    numbers = {key: getattr(bound.certificate, key) for key in _PROOF_KEYS}
    return {"lower_bound": bound.value, "certificate": numbers}


def write(contents: Contents) -> str:
    """Write a design, with its certificate where it has one."""
    objective = contents["objective"]
    head = {
        "format": FORMAT,
        "version": VERSION,
        "method": contents["method"],
        "objective": objective.spelling,
        "prior": objective.prior,
        "iterations": contents["iterations"],
        "converged": contents["converged"],
        "value": contents["value"],
        **_proof(contents["bound"]),
    }
    if contents["question"] is not None:
        head["question"] = contents["question"].to_document()
    given = contents["mechanism"].given_outputs
    head["outputs"] = None if given is None else given.tolist()
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    lines.append(f' "mechanism": {contents["mechanism"].to_json().rstrip()}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read(text: object, *, trusted: bool = False) -> Contents:
    """Read a design; its table is certified, its value computed, and its lower bound proven.

    Parameters
    ----------
    text : str, bytes or dict
        A document that `write` wrote, or its parsed form.
    trusted : bool
        Skip the proof of the lower bound and the simulation of an error (never the certificate
        of the table): for documents that ship with the package.

    Raises
    ------
    DocumentError
        If the document is malformed, or claims a value or a bound that does not hold.
    PrivacyError
        If the table is not private.
    """
    found = text if isinstance(text, dict) else table_document.parse(text)
    asked = ("question",) if "question" in found else ()
    table_document.read(found, FORMAT, VERSION, (*_KEYS, *asked))
    if not isinstance(found["mechanism"], dict):
        raise DocumentError("mechanism", "be a table", found["mechanism"])
    table = Table.from_document(found["mechanism"])
    outputs = found["outputs"]
    if outputs is not None:
        outputs = table_document.numbers("outputs", outputs, MAX_OUTPUTS)
    mechanism = TableMechanism.of(table, outputs)
    objective = Objective.parse(found["objective"], _prior(found["prior"]))
    claimed = table_document.number("value", found["value"])
    bound = _bound(found, mechanism.epsilon, objective)
    if bound is not None and not trusted:
        try:
            verify(bound.certificate, bound.value)
        except InvalidArgumentError as error:
            raise DocumentError("certificate", "prove the lower bound", str(error)) from None
    return Contents(
        mechanism=mechanism,
        objective=objective,
        method=_choice("method", found["method"], _METHODS),
        value=_value(objective, mechanism, claimed, trusted=trusted),
        iterations=_count(found["iterations"]),
        converged=_choice("converged", found["converged"], (True, False)),
        bound=bound,
        question=_question(found["question"]) if asked else None,
    )


def _question(found: object) -> Number:
    question = question_from_document(found)
    if not isinstance(question, Number):
        raise DocumentError("question.kind", "be 'number'", question.kind)
    return question


def _value(
    objective: Objective, mechanism: TableMechanism, claimed: float, *, trusted: bool
) -> float:
    simulated = objective.name == "distribution"
    if simulated and trusted:
        return claimed
    value = objective.value(mechanism)
    if not abs(claimed - value) <= (_SAME_ERROR if simulated else _SAME) * value:
        raise DocumentError("value", f"be that of the table, {value}", claimed)
    return value


def _bound(found: dict[str, Any], epsilon: float, objective: Objective) -> Bound | None:
    value, proof = found["lower_bound"], found["certificate"]
    if value is None and proof is None:
        return None
    norm = objective.variance_norm
    if norm is None:
        rule = f"be null where the objective is {objective.spelling!r}"
        raise DocumentError("lower_bound", rule, value)
    if not isinstance(proof, dict) or set(proof) != set(_PROOF_KEYS):
        raise DocumentError("certificate", f"have the keys {list(_PROOF_KEYS)}", proof)
    parts = {
        key: tuple(table_document.numbers(f"certificate.{key}", proof[key], _MOST_INPUTS))
        for key in _PROOF_KEYS
    }
    certificate = Certificate(
        epsilon=epsilon,
        objective=norm,
        prior=objective.prior,
        **parts,
    )
    bound = table_document.number("lower_bound", value)
    if not 0.0 < bound < math.inf:
        raise DocumentError("lower_bound", "be a positive finite number", bound)
    return Bound(bound, certificate)


def _prior(value: object) -> list[float] | None:
    return None if value is None else table_document.numbers("prior", value, MOST_BINS)


def _choice(name: str, value: object, options: tuple[Any, ...]) -> Any:
    if not any(value is option or (type(value) is str and value == option) for option in options):
        raise DocumentError(name, f"be one of {options}", value)
    return value


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise DocumentError("iterations", "be a whole number", value)
    return value

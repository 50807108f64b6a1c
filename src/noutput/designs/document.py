"""Designs as JSON documents: the table, how it was found, and the proof of its lower bound."""

from __future__ import annotations

import json
from typing import Any

from noutput.designs.certificate import Certificate, check
from noutput.designs.design import Design
from noutput.designs.objective import Objective
from noutput.errors import DocumentError
from noutput.mechanisms import document as table_document
from noutput.mechanisms.table import TableMechanism

__all__ = ["FORMAT", "VERSION", "dump", "load"]

FORMAT = "noutput-design"
VERSION = 1
_KEYS = {
    "format", "version", "method", "objective", "prior", "iterations", "converged", "value",
    "lower_bound", "certificate", "mechanism",
}  # fmt: skip
_PROOF_KEYS = ("inputs", "lambdas", "nus", "mus")
_MOST_INPUTS = 4096
_SAME = 1e-9


def dump(design: Design) -> str:
    """Write a design with its certificate, where it has one."""
    proof = design.certificate
    head = {
        "format": FORMAT,
        "version": VERSION,
        "method": design.method,
        "objective": design.objective.spelling,
        "prior": design.objective.prior,
        "iterations": design.iterations,
        "converged": design.converged,
        "value": design.value,
        "lower_bound": design.lower_bound,
        "certificate": None if proof is None else {key: getattr(proof, key) for key in _PROOF_KEYS},
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    lines.append(f' "mechanism": {design.mechanism.to_json().rstrip()}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def load(text: str | bytes | dict[str, Any], *, trusted: bool = False) -> Design:
    """Read a design; its table is certified, its value computed, and its lower bound proven.

    Parameters
    ----------
    text : str, bytes or dict
        A document that `dump` wrote, or its parsed form.
    trusted : bool
        Skip the proof of the lower bound (never the certificate of the table): for documents
        that ship with the package.

    Raises
    ------
    DocumentError
        If the document is malformed, or claims a value or a bound that does not hold.
    PrivacyError
        If the table is not private.
    """
    found = text if isinstance(text, dict) else table_document.parse(text)
    if found.get("format") != FORMAT:
        raise DocumentError("format", f"be {FORMAT!r}", found.get("format"))
    if type(found.get("version")) is not int or found["version"] != VERSION:
        raise DocumentError("version", f"be {VERSION}", found.get("version"))
    if set(found) != _KEYS:
        raise DocumentError("document", f"have the keys {sorted(_KEYS)}", sorted(found))
    if not isinstance(found["mechanism"], dict):
        raise DocumentError("mechanism", "be a table", found["mechanism"])
    mechanism = TableMechanism.from_document(found["mechanism"])
    objective = Objective.parse(found["objective"], found["prior"])
    design = Design(
        mechanism=mechanism,
        objective=objective,
        method=_text("method", found["method"]),
        value=objective.value(mechanism),
        iterations=_count(found["iterations"]),
        converged=found["converged"] is True,
        certificate=_certificate(found["certificate"], mechanism.epsilon, objective),
        proven=_number_or_none("lower_bound", found["lower_bound"]),
    )
    claimed = table_document.number("value", found["value"])
    if abs(claimed - design.value) > _SAME * design.value:
        raise DocumentError("value", f"be that of the table, {design.value}", claimed)
    if not trusted:
        _prove(design)
    return design


def _prove(design: Design) -> None:
    if design.proven is None and design.certificate is None:
        return
    if design.proven is None or design.certificate is None:
        raise DocumentError("certificate", "come with a lower bound", design.proven)
    proven = check(design.certificate)
    if design.proven > proven:
        raise DocumentError("lower_bound", f"be at most the proven {proven}", design.proven)


def _certificate(value: object, epsilon: float, objective: Objective) -> Certificate | None:
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) != set(_PROOF_KEYS):
        raise DocumentError("certificate", f"have the keys {list(_PROOF_KEYS)}", value)
    parts = {
        key: tuple(table_document.numbers(f"certificate.{key}", value[key], _MOST_INPUTS))
        for key in _PROOF_KEYS
    }
    return Certificate(
        epsilon=epsilon,
        objective="worst" if objective.name == "worst" else "average",
        prior=objective.prior,
        **parts,
    )


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise DocumentError(name, "be a string", value)
    return value


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise DocumentError("iterations", "be a whole number", value)
    return value


def _number_or_none(name: str, value: object) -> float | None:
    return None if value is None else table_document.number(name, value)

"""Designs as JSON documents: the table, how it was found, and the proof of its lower bound."""

from __future__ import annotations

import json
from typing import Any

from noutput.designs.certificate import Bound, Certificate, verify
from noutput.designs.objective import Objective
from noutput.designs.result import Design
from noutput.errors import DocumentError
from noutput.mechanisms import document as table_document
from noutput.mechanisms.table import TableMechanism

__all__ = ["FORMAT", "VERSION", "dump", "dump_parts", "load", "load_shipped"]

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
    return _compose(design, design.proof)


def dump_parts(design: Design) -> tuple[str, str]:
    """Write a design without its proof, and the proof apart: many designs share one."""
    return _compose(design, None), json.dumps(_proof(design.proof))


def load_shipped(design: bytes, proof: bytes) -> Design:
    """Read what `dump_parts` wrote, trusting the proof but not the table."""
    found = table_document.parse(design)
    found.update(table_document.parse(proof))
    return load(found, trusted=True)


def _proof(bound: Bound | None) -> dict[str, Any]:
    if bound is None:
        return {"lower_bound": None, "certificate": None}
    numbers = {key: getattr(bound.certificate, key) for key in _PROOF_KEYS}
    return {"lower_bound": bound.value, "certificate": numbers}


def _compose(design: Design, bound: Bound | None) -> str:
    head = {
        "format": FORMAT,
        "version": VERSION,
        "method": design.method,
        "objective": design.objective.spelling,
        "prior": design.objective.prior,
        "iterations": design.iterations,
        "converged": design.converged,
        "value": design.value,
        **_proof(bound),
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
        bound=_bound(found, mechanism.epsilon, objective),
    )
    claimed = table_document.number("value", found["value"])
    if abs(claimed - design.value) > _SAME * design.value:
        raise DocumentError("value", f"be that of the table, {design.value}", claimed)
    if design.bound is not None and not trusted:
        verify(design.bound.certificate, design.bound.value)
    return design


def _bound(found: dict[str, Any], epsilon: float, objective: Objective) -> Bound | None:
    value, proof = found["lower_bound"], found["certificate"]
    if value is None and proof is None:
        return None
    if not isinstance(proof, dict) or set(proof) != set(_PROOF_KEYS):
        raise DocumentError("certificate", f"have the keys {list(_PROOF_KEYS)}", proof)
    parts = {
        key: tuple(table_document.numbers(f"certificate.{key}", proof[key], _MOST_INPUTS))
        for key in _PROOF_KEYS
    }
    certificate = Certificate(
        epsilon=epsilon,
        objective="worst" if objective.name == "worst" else "average",
        prior=objective.prior,
        **parts,
    )
    return Bound(table_document.number("lower_bound", value), certificate)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise DocumentError(name, "be a string", value)
    return value


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise DocumentError("iterations", "be a whole number", value)
    return value

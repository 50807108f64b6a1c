"""Designs as JSON documents: the table, how it was found, and the proof of its lower bound."""

from __future__ import annotations

import json
import math
from typing import Any

from noutput.designs.certificate import Bound, Certificate, verify
from noutput.designs.objective import MOST_BINS, Objective
from noutput.designs.result import Design
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms import document as table_document
from noutput.mechanisms.table import TableMechanism

__all__ = ["FORMAT", "VERSION", "dump", "dump_parts", "load", "load_shipped"]

FORMAT = "noutput-design"
VERSION = 1
_KEYS = (
    "method", "objective", "prior", "iterations", "converged", "value", "lower_bound",
    "certificate", "mechanism",
)  # fmt: skip
_PROOF_KEYS = ("inputs", "lambdas", "nus", "mus")
_MOST_INPUTS = 4096
_METHODS = ("optimal", "numerical", "analytical", "trained")
_SAME = 1e-9
_SAME_ERROR = 0.02  # of a simulation: another release of numpy may draw other numbers


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


def load(text: object, *, trusted: bool = False) -> Design:
    """Read a design; its table is certified, its value computed, and its lower bound proven.

    Parameters
    ----------
    text : str, bytes or dict
        A document that `dump` wrote, or its parsed form.
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
    found = table_document.read(text, FORMAT, VERSION, _KEYS)
    if not isinstance(found["mechanism"], dict):
        raise DocumentError("mechanism", "be a table", found["mechanism"])
    mechanism = TableMechanism.from_document(found["mechanism"])
    objective = Objective.parse(found["objective"], _prior(found["prior"]))
    claimed = table_document.number("value", found["value"])
    design = Design(
        mechanism=mechanism,
        objective=objective,
        method=_choice("method", found["method"], _METHODS),
        value=_value(objective, mechanism, claimed, trusted=trusted),
        iterations=_count(found["iterations"]),
        converged=_choice("converged", found["converged"], (True, False)),
        bound=_bound(found, mechanism.epsilon, objective),
    )
    if design.bound is not None and not trusted:
        try:
            verify(design.bound.certificate, design.bound.value)
        except InvalidArgumentError as error:
            raise DocumentError("certificate", "prove the lower bound", str(error)) from None
    return design


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
    if objective.name not in ("worst", "average"):
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
        objective="worst" if objective.name == "worst" else "average",
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

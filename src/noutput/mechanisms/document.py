"""Tables as JSON documents, read with suspicion: a document may come from a stranger."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from noutput.errors import DocumentError
from noutput.mechanisms.exact import SCALE

__all__ = [
    "FORMAT",
    "MAX_KNOTS",
    "MAX_OUTPUTS",
    "VERSION",
    "TableParts",
    "check_fingerprint",
    "dump",
    "fingerprint_of",
    "load",
    "number",
    "numbers",
    "parse",
]

FORMAT = "noutput-table"
VERSION = 1
MAX_OUTPUTS = 256
MAX_KNOTS = 4096
MAX_LENGTH = 1 << 24  # characters; the largest table takes less
_KEYS = {"format", "version", "epsilon", "scale", "outputs", "knots", "weights", "fingerprint"}


@dataclass(frozen=True, slots=True)
class TableParts:
    """What a document says, with the right types; nothing is certified yet."""

    epsilon: float
    outputs: list[float]
    knots: list[float]
    weights: list[list[int]]
    fingerprint: str


def dump(
    *,
    epsilon: float,
    outputs: list[float],
    knots: list[float],
    weights: list[list[int]],
    fingerprint: str,
) -> str:
    """Write a table, one row of weights a line."""
    rows = ",\n  ".join(json.dumps(row) for row in weights)
    return (
        "{\n"
        f' "format": "{FORMAT}",\n'
        f' "version": {VERSION},\n'
        f' "epsilon": {json.dumps(epsilon)},\n'
        f' "scale": {SCALE},\n'
        f' "outputs": {json.dumps(outputs)},\n'
        f' "knots": {json.dumps(knots)},\n'
        f' "weights": [\n  {rows}\n ],\n'
        f' "fingerprint": "{fingerprint}"\n'
        "}\n"
    )


def fingerprint_of(
    epsilon: float,
    outputs: Sequence[float],
    knots: Sequence[float],
    weights: Sequence[Sequence[int]],
) -> str:
    """Return the SHA-256 of the canonical form of a table, as 64 hexadecimal digits.

    Notes
    -----
    The canonical form is the ASCII text ``noutput-table 1`` and a line feed, then in
    little-endian order: epsilon (float64), N and K (uint32), outputs and knots (float64),
    weights row by row (uint32).
    """
    size = len(outputs)
    parts = [
        b"noutput-table 1\n",
        struct.pack("<dII", epsilon, size, len(weights)),
        struct.pack(f"<{size}d", *outputs),
        struct.pack(f"<{len(knots)}d", *knots),
    ]
    parts += [struct.pack(f"<{size}I", *row) for row in weights]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _refuse_constant(name: str) -> NoReturn:
    raise DocumentError("document", "have finite numbers only", name)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise DocumentError("document", "have no key twice", sorted(key for key, _ in pairs))
    return result


def parse(text: object) -> dict[str, Any]:
    """Parse a JSON object strictly: bounded size, UTF-8, no NaN, no repeated keys."""
    if not isinstance(text, str | bytes):
        raise DocumentError("document", "be JSON text", text)
    if len(text) > MAX_LENGTH:
        raise DocumentError("document", f"have at most {MAX_LENGTH} characters", len(text))
    try:
        if isinstance(text, bytes):  # left to itself, json also reads UTF-16 and UTF-32
            text = text.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except DocumentError:
        raise
    except UnicodeDecodeError as error:
        rule = f"be JSON in UTF-8 (byte {error.start} is not)"
        raise DocumentError("document", rule, text[:12]) from None
    except json.JSONDecodeError as error:
        rule = f"be JSON ({error.msg} at line {error.lineno}, column {error.colno})"
        raise DocumentError("document", rule, text[:12]) from None
    except (ValueError, RecursionError) as error:
        raise DocumentError("document", f"be JSON ({error})", text[:12]) from None
    if not isinstance(value, dict):
        raise DocumentError("document", "be a JSON object", type(value).__name__)
    return value


def load(found: dict[str, Any], max_outputs: int, max_knots: int) -> TableParts:
    """Read the parts of a table; every entry has the right type and a sane size."""
    if found.get("format") != FORMAT:
        raise DocumentError("format", f"be {FORMAT!r}", found.get("format"))
    if type(found.get("version")) is not int or found["version"] != VERSION:
        raise DocumentError("version", f"be {VERSION}", found.get("version"))
    if set(found) != _KEYS:
        raise DocumentError("document", f"have the keys {sorted(_KEYS)}", sorted(found))
    if type(found["scale"]) is not int or found["scale"] != SCALE:
        raise DocumentError("scale", f"be {SCALE}", found["scale"])
    if not isinstance(found["fingerprint"], str):
        raise DocumentError("fingerprint", "be a string", found["fingerprint"])
    rows = _list("weights", found["weights"], max_knots)
    return TableParts(
        epsilon=number("epsilon", found["epsilon"]),
        outputs=numbers("outputs", found["outputs"], max_outputs),
        knots=numbers("knots", found["knots"], max_knots),
        weights=[_wholes(f"weights[{k}]", row, max_outputs) for k, row in enumerate(rows)],
        fingerprint=found["fingerprint"],
    )


def check_fingerprint(parts: TableParts, fingerprint: str) -> None:
    """Refuse a document whose fingerprint is not that of its content."""
    if parts.fingerprint != fingerprint:
        raise DocumentError("fingerprint", f"be {fingerprint}", parts.fingerprint)


def _list(name: str, value: object, most: int) -> list[Any]:
    if not isinstance(value, list):
        raise DocumentError(name, "be a list", value)
    if len(value) > most:
        raise DocumentError(name, f"have at most {most} entries", len(value))
    return value


def number(name: str, value: object) -> float:
    """Return a number of the document as a float."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise DocumentError(name, "be a number", value)


def numbers(name: str, value: object, most: int) -> list[float]:
    """Return a list of at most `most` numbers of the document."""
    entries = _list(name, value, most)
    return [number(f"{name}[{index}]", entry) for index, entry in enumerate(entries)]


def _wholes(name: str, value: object, most: int) -> list[int]:
    row = _list(name, value, most)
    for index, entry in enumerate(row):
        if type(entry) is not int or not 0 <= entry <= SCALE:
            raise DocumentError(f"{name}[{index}]", f"be a whole number up to {SCALE}", entry)
    return row

"""Right fingerprints for campaign documents, whatever their content."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

Document = dict[str, Any]


def signed(found: Document) -> Document:
    """Return a document with the fingerprints of its content, without the package's own code.

    Every wave but the first names the fingerprint of the document up to the wave before.
    """
    waves = found.get("waves")
    if isinstance(waves, list) and len(waves) > 1 and isinstance(waves[-1], dict):
        before = signed({**found, "waves": waves[:-1], "tables": found["tables"][: _used(waves)]})
        named = {"predecessor": before["fingerprint"]} if "predecessor" in waves[-1] else {}
        last = {**waves[-1], **named}
        found = {**found, "waves": [*before["waves"], last]}
    tables = [
        {**each, "fingerprint": table_print(each)} if _is_table(each) else each
        for each in found["tables"]
    ]
    content = {key: value for key, value in found.items() if key != "fingerprint"}
    content["tables"] = [each["fingerprint"] if _is_table(each) else each for each in tables]
    digest = hashlib.sha256(b"noutput-campaign 1\n" + packed(content)).hexdigest()
    return {**found, "tables": tables, "fingerprint": digest}


def table_print(table: Document) -> str:
    rows, axes = table["weights"], table["axes"]
    data = struct.pack("<dII", table["epsilon"], len(rows[0]), len(axes))
    for axis in axes:
        knots = axis if isinstance(axis, list) else []
        size = len(knots) if knots else axis
        data += struct.pack(f"<II{len(knots)}d", size, bool(knots), *(x + 0.0 for x in knots))
    data += b"".join(struct.pack(f"<{len(row)}I", *row) for row in rows)
    return hashlib.sha256(b"noutput-table %d\n" % table["version"] + data).hexdigest()


def packed(value: Any) -> bytes:
    """Return the canonical form of a JSON value."""
    match value:
        case None | True | False:
            return {None: b"n", True: b"t", False: b"f"}[value]
        case int() | float():
            return struct.pack("<cd", b"d", value or 0.0)
        case str():
            data = value.encode("utf-8", "surrogatepass")
            return struct.pack("<cI", b"s", len(data)) + data
        case list():
            return struct.pack("<cI", b"l", len(value)) + b"".join(map(packed, value))
    items = sorted((key.encode(), key) for key in value)
    pairs = (packed(key) + packed(value[key]) for _, key in items)
    return struct.pack("<cI", b"o", len(value)) + b"".join(pairs)


def _used(waves: list[Any]) -> int:
    """Return how many tables all waves but the last use."""
    return 1 + max(int(place) for wave in waves[:-1] for place in wave["tables"])


def _is_table(found: Any) -> bool:
    return isinstance(found, dict) and type(found.get("version")) is int and "weights" in found

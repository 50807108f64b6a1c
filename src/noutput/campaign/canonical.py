"""Canonical form of a JSON value: the bytes that fingerprints are taken of."""

from __future__ import annotations

import struct

__all__ = ["canonical"]


def canonical(value: object) -> bytes:
    """Return the same bytes for the same JSON value, however it is spelled.

    Parameters
    ----------
    value : None, bool, int, float, str, list, tuple or dict
        As `json` reads it. Numbers are those of float64.

    Notes
    -----
    One letter says what follows: ``n``, ``t`` and ``f`` are null, true and false; ``d`` is a
    number (float64; a negative zero as zero); ``s`` a text (its number of bytes, its UTF-8); ``l``
    a list (its number of entries, the entries); ``o`` an object (its number of entries, then each
    key as a text and its value, in the order of the keys' UTF-8). Counts are uint32. All numbers
    are little-endian.

    Examples
    --------
    >>> canonical({"b": [1, None], "a": "é"}).hex(" ", 1)
    '6f 02 00 00 00 73 01 00 00 00 61 73 02 00 00 00 c3 a9 73 01 00 00 00 62 6c 02 00 00 00 ...'
    """
    if value is None:
        return b"n"
    if isinstance(value, bool):
        return b"t" if value else b"f"
    if isinstance(value, int | float):
        return b"d" + struct.pack("<d", value + 0.0)
    if isinstance(value, str):
        data = value.encode()
        return b"s" + struct.pack("<I", len(data)) + data
    if isinstance(value, list | tuple):
        return b"l" + struct.pack("<I", len(value)) + b"".join(map(canonical, value))
    if isinstance(value, dict):
        keys = sorted(value, key=str.encode)
        entries = (canonical(key) + canonical(value[key]) for key in keys)
        return b"o" + struct.pack("<I", len(value)) + b"".join(entries)
    raise TypeError(f"{type(value).__name__} is no JSON value")

"""Keys of a table in a TOML file: which must be there, and which may."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from noutput.errors import DocumentError

__all__ = ["check_keys"]


def check_keys(
    prefix: str, found: dict[str, Any], needed: Iterable[str], optional: Iterable[str]
) -> None:
    """Refuse unknown keys, with the nearest known one, and missing keys.

    Examples
    --------
    >>> check_keys("table.", {"output": 3}, (), ("outputs", "method"))
    Traceback (most recent call last):
        ...
    noutput.errors.DocumentError: key table.output must be 'outputs'; found 'output'
    """
    known = [*needed, *optional]
    for key in found:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            rule = f"be {near[0]!r}" if near else f"be one of {known}"
            raise DocumentError(f"key {prefix}{key}", rule, key)
    for key in needed:
        if key not in found:
            raise DocumentError(f"{prefix}{key}", "be given", None)

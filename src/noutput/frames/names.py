"""Names of report columns: the one piece of metadata that every engine and format keeps.

Arrow, pandas and Spark can attach notes to a column, Polars and DuckDB cannot, and all of them
lose the notes in a union, a join or a CSV file. The name survives everywhere, and frames made by
different mechanisms cannot be stacked by accident: their columns do not match.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.mechanisms.table import TableMechanism

__all__ = ["ATTRIBUTE", "REPORT", "find_report_column", "report_name", "split_name"]

ATTRIBUTE = "attribute"
REPORT = "report"
_DIGITS = 12
_MARKED = re.compile(rf"(.+)__([0-9a-f]{{{_DIGITS}}})", re.DOTALL)


def report_name(column: str, mechanism: TableMechanism) -> str:
    """Return the name of the column that holds the reports about `column`.

    It is the column's own name, two underscores, and the first twelve digits of the mechanism's
    fingerprint.
    """
    return f"{column}__{mechanism.fingerprint[:_DIGITS]}"


def split_name(name: str) -> tuple[str, str] | None:
    """Split a report column's name into column and fingerprint; None for other names.

    Examples
    --------
    >>> split_name("minutes__0123456789ab"), split_name("minutes")
    (('minutes', '0123456789ab'), None)
    """
    match = _MARKED.fullmatch(name)
    return (match[1], match[2]) if match else None


def find_report_column(names: Sequence[str], column: str, mechanism: TableMechanism) -> str:
    """Return the report column about `column`, or say what was found in its place."""
    wanted = report_name(column, mechanism)
    if wanted in names:
        return wanted
    rule = f"hold reports of the mechanism {mechanism.fingerprint[:_DIGITS]}"
    others = [parts[1] for parts in map(split_name, names) if parts and parts[0] == column]
    if others:
        raise InvalidArgumentError(f"column {column!r}", rule, f"reports of {others[0]}")
    if column in names:
        raise InvalidArgumentError(f"column {column!r}", rule, "values")
    raise InvalidArgumentError("columns", f"name reports of the frame {list(names)}", column)

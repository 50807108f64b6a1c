"""Names of report columns: the one note on a column that every engine and format keeps.

Arrow, pandas and Spark can attach metadata to a column, Polars and DuckDB cannot, and all of them
lose it in a union, a join or a CSV file. A name survives all of these but unions by position;
there the reports themselves tell (`noutput.frames.marks`).
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

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> report_name("minutes", m) == "minutes__" + m.fingerprint[:12]
    True
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
    """Return the report column about `column`, or say what was found in its place.

    Columns of two mechanisms are what a union by name makes of two frames. Each of them has gaps
    where the other has reports, and to count one would leave out people without a word.
    """
    wanted = report_name(column, mechanism)
    others = [parts[1] for parts in map(split_name, names) if parts and parts[0] == column]
    rule = f"hold reports of the mechanism {mechanism.fingerprint[:_DIGITS]}"
    if wanted in names:
        others.remove(mechanism.fingerprint[:_DIGITS])
        if not others:
            return wanted
        rule += f" alone (select {wanted!r} to count just these)"
    if others:
        raise InvalidArgumentError(f"column {column!r}", rule, f"reports of {others[0]}")
    if column in names:
        raise InvalidArgumentError(f"column {column!r}", rule, "values")
    raise InvalidArgumentError("columns", f"name reports of the frame {list(names)}", column)

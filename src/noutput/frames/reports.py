"""Reports in frames: the names of their columns, and the marks in the reports themselves.

A name is the one note on a column that every engine and format keeps. Arrow, pandas and Spark can
attach metadata to a column, Polars and DuckDB cannot, and all of them lose it in a union, a join or
a CSV file.

A name can be lost, too: SQL's ``UNION ALL``, Spark's ``union`` and DuckDB's ``relation.union`` go
by the position of columns and keep the names of the first frame alone. So a report is a whole
number of ten digits. The last three are the index of the output, the first seven are a digest of
the mechanism's fingerprint and the name of the column. Two of them agree by chance once in a
million. The largest one fits into 31 bits, and is exact as a float, which pandas makes of columns
with gaps. A mark says nothing about the value: all reports of a column have the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from noutput.errors import InvalidArgumentError
from noutput.tally import Tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.mechanisms.table import TableMechanism

__all__ = [
    "ATTRIBUTE",
    "REPORT",
    "Certified",
    "count_marked",
    "find_report_column",
    "mark_reports",
    "report_name",
    "split_name",
]

Certified: TypeAlias = "TableMechanism | AnswerMechanism"

ATTRIBUTE = "attribute"
REPORT = "report"
_DIGITS = 12
_MARKED = re.compile(rf"(.+)__([0-9a-f]{{{_DIGITS}}})", re.DOTALL)
_PLACES = 1_000  # of the index: there are at most 256 outputs
_MARKS = 1_000_000


def report_name(column: str, mechanism: Certified) -> str:
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


def find_report_column(names: Sequence[str], column: str, mechanism: Certified) -> str:
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


def _mark(column: str, mechanism: Certified) -> int:
    """Return the first seven digits of all reports of a mechanism about a column, and zeros."""
    digest = hashlib.sha256(f"{mechanism.fingerprint} {column}".encode()).digest()
    return (_MARKS + int.from_bytes(digest) % _MARKS) * _PLACES


def mark_reports(
    indexes: NDArray[np.uint8], column: str, mechanism: Certified
) -> NDArray[np.int32]:
    """Return the reports of outputs about a column, as frames hold them.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> mark_reports(np.array([0, 1], np.uint8), "minutes", m) % 1000
    array([0, 1], dtype=int32)
    """
    result: NDArray[np.int32] = indexes + np.int32(_mark(column, mechanism))
    return result


def count_marked(pairs: Iterable[tuple[Any, ...]], column: str, mechanism: Certified) -> Tally:
    """Return the tally of reports that come with their counts; those of others are refused."""
    counts = [0] * mechanism.n_outputs
    mark = _mark(column, mechanism)
    for report, count in pairs:
        index = report - mark
        if index not in range(len(counts)):
            raise _refused(report, count, column, mechanism)
        counts[int(index)] += int(count)
    return Tally(mechanism.fingerprint, tuple(counts))


def _refused(report: Any, count: int, column: str, mechanism: Certified) -> InvalidArgumentError:
    """Say what a report is that this mechanism did not make about this column."""
    name = f"reports of {column!r}"
    if _MARKS <= report // _PLACES < 2 * _MARKS and report == int(report):
        if report // _PLACES * _PLACES == _mark(column, mechanism):
            rule = f"end in 000 to {mechanism.n_outputs - 1:03}"
            return InvalidArgumentError(name, rule, report)
        rule = (
            f"all be made by the mechanism {mechanism.fingerprint[:12]} about this column "
            "(were frames stacked by position, as UNION ALL does?)"
        )
        return InvalidArgumentError(name, rule, f"{count:,} times {report:.0f}, another's")
    return InvalidArgumentError(name, "be whole numbers of ten digits, as privatize makes", report)

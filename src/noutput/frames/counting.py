"""Count reports inside the engine that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from noutput import _checks
from noutput._progress import shown_progress
from noutput.errors import InvalidArgumentError
from noutput.frames.groups import GroupedTally, Labels, grouped_tally, plain_label
from noutput.frames.packages import nw
from noutput.frames.privatizing import Opened, open_frame, unpivot
from noutput.frames.recipe import LAYOUTS, Source, column_names, mechanism_of
from noutput.frames.reports import ATTRIBUTE, REPORT, count_marked, find_report_column
from noutput.tally import Tally

if TYPE_CHECKING:
    from noutput.frames.reports import Certified

__all__ = ["check_minimum", "count_groups", "empty_tally", "tally"]

_COUNT = "noutput_count"
_LABEL = "noutput_label_"
_MOST_ROWS = 1_000_000
_Counts: TypeAlias = dict[str, list[tuple[Any, ...]]]  # per column


@overload
def tally(  # type: ignore[overload-overlap]  # a str is a sequence of str, and comes first here
    frame: object,
    columns: str,
    mechanism: Certified | Source,
    *,
    layout: str = "wide",
    by: None = None,
    minimum: int = 1,
) -> Tally: ...
@overload
def tally(
    frame: object,
    columns: Sequence[str],
    mechanism: Certified | Source,
    *,
    layout: str = "wide",
    by: None = None,
    minimum: int = 1,
) -> dict[str, Tally]: ...
@overload
def tally(  # type: ignore[overload-overlap]  # as above
    frame: object,
    columns: str,
    mechanism: Certified | Source,
    *,
    layout: str = "wide",
    by: str | Sequence[str],
    minimum: int = 1,
) -> GroupedTally: ...
@overload
def tally(
    frame: object,
    columns: Sequence[str],
    mechanism: Certified | Source,
    *,
    layout: str = "wide",
    by: str | Sequence[str],
    minimum: int = 1,
) -> dict[str, GroupedTally]: ...
def tally(
    frame: object,
    columns: str | Sequence[str],
    mechanism: Certified | Source,
    *,
    layout: str = "wide",
    by: str | Sequence[str] | None = None,
    minimum: int = 1,
) -> Tally | GroupedTally | dict[str, Tally] | dict[str, GroupedTally]:
    """Count the reports of columns; no row leaves the engine.

    Parameters
    ----------
    frame : pandas, Polars, PyArrow, DuckDB or PySpark frame
        What `privatize` returned, or the same columns read back from storage.
    columns : str or sequence of str
        The columns that were privatized, by their original names.
    mechanism : TableMechanism, AnswerMechanism, or a design
        What made the reports.
    layout : {"wide", "long"}
        As given to `privatize`.
    by : str or sequence of str, optional
        Columns with public labels, such as countries: the reports of every combination are
        counted on their own. A missing label is a label, too.
    minimum : int
        With `by`: groups with fewer reports are hidden, and counted together as the rest.

    Returns
    -------
    Tally, or GroupedTally with `by`; a dict of them by name where several columns are named

    Raises
    ------
    InvalidArgumentError
        If the frame has no reports of this mechanism about a column, or any that this mechanism
        did not make about this column: frames of two mechanisms were stacked.

    Notes
    -----
    This is one ``group_by().len()`` of the engine. A lazy frame is run once, however many
    columns and groups are counted.

    Examples
    --------
    >>> import noutput as no, pyarrow as pa
    >>> from noutput import frames
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> people = pa.table({"age": [20, 50, 120]})
    >>> reports = frames.privatize(people, "age", mechanism=m, bounds=(0, 120))
    >>> tally(reports, "age", m).total
    3
    """
    with shown_progress("Counting"):
        return _tally(frame, columns, mechanism, layout, by, minimum)


def _tally(
    frame: object,
    columns: str | Sequence[str],
    mechanism: Certified | Source,
    layout: str,
    by: str | Sequence[str] | None,
    minimum: int,
) -> Tally | GroupedTally | dict[str, Tally] | dict[str, GroupedTally]:
    maker = mechanism_of(mechanism)
    _checks.choice("layout", layout, LAYOUTS)
    names = column_names("columns", columns)
    if by is None:
        if minimum != 1:
            raise InvalidArgumentError("minimum", "be given with `by`", minimum)
        counted = count_groups(frame, names, maker, layout=layout)
        tallies = {name: groups.get((), empty_tally(maker)) for name, groups in counted.items()}
        return tallies[columns] if isinstance(columns, str) else tallies
    labels, least = column_names("by", by), check_minimum(minimum)
    grouped = {
        name: grouped_tally(labels, maker, groups, least)
        for name, groups in count_groups(frame, names, maker, labels, layout=layout).items()
    }
    return grouped[columns] if isinstance(columns, str) else grouped


def check_minimum(minimum: int) -> int:
    """Return how many reports a group has at least."""
    return _checks.whole("minimum", minimum, 1, 1 << 62)


def empty_tally(mechanism: Certified) -> Tally:
    """Return the tally of no reports."""
    return Tally(mechanism.fingerprint, (0,) * mechanism.n_outputs)


def count_groups(
    frame: object,
    columns: Sequence[str],
    mechanism: Certified,
    by: Sequence[str] = (),
    *,
    layout: str = "wide",
) -> dict[str, dict[Labels, Tally]]:
    """Return the tally of every group for each column; without labels all are one group, ()."""
    opened = open_frame(frame)
    schema = opened.collect_schema()
    for label in by:
        if label not in schema:
            raise InvalidArgumentError("by", f"name columns of {list(schema)}", label)
        if isinstance(schema[label], nw.List | nw.Struct | nw.Array):
            raise InvalidArgumentError(f"by: column {label!r}", "hold labels", str(schema[label]))
    count = _count_long if layout == "long" else _count_wide
    rows = count(opened, columns, mechanism, by)
    return {name: _tallies(found, name, mechanism) for name, found in rows.items()}


def _count_wide(
    opened: Opened, columns: Sequence[str], mechanism: Certified, by: Sequence[str]
) -> _Counts:
    schema = opened.collect_schema()
    found = {name: find_report_column(list(schema), name, mechanism) for name in columns}
    for column, name in found.items():
        _check_kind(column, schema[name])
    if len(found) > 1 and isinstance(opened, nw.LazyFrame):
        labels = [f"{_LABEL}{place}" for place in range(len(by))]
        named = opened.select(
            *found.values(), *(nw.col(old).alias(new) for old, new in zip(by, labels, strict=True))
        )
        long = unpivot(named, list(found.values()), labels, REPORT)
        rows = _count(long, REPORT, [ATTRIBUTE, *labels])
        return {column: _pick(rows, name) for column, name in found.items()}
    return {column: _count(opened, name, by) for column, name in found.items()}


def _count_long(
    opened: Opened, columns: Sequence[str], mechanism: Certified, by: Sequence[str]
) -> _Counts:
    schema = opened.collect_schema()
    value = find_report_column(list(schema), REPORT, mechanism)
    if ATTRIBUTE not in schema:
        raise InvalidArgumentError("frame", f"have a column {ATTRIBUTE!r}", list(schema))
    if ATTRIBUTE in by:
        raise InvalidArgumentError("by", f"leave out {ATTRIBUTE!r}, which names the columns", by)
    _check_kind(REPORT, schema[value])
    rows = _count(opened, value, [ATTRIBUTE, *by])
    return {column: _pick(rows, column) for column in columns}


def _check_kind(column: str, kind: nw.dtypes.DType) -> None:
    """Refuse what holds no numbers; whole numbers may come as floats, as in pandas with gaps."""
    if not (kind.is_numeric() or isinstance(kind, nw.Unknown)):
        raise InvalidArgumentError(f"reports of {column!r}", "be whole numbers", str(kind))


def _count(opened: Opened, report: str, by: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the reports, the labels and how many rows have them; others have no report."""
    if report in by:
        raise InvalidArgumentError("by", "leave out the reports", report)
    keys = [report, *by]
    given = opened.select(*keys).filter(~nw.col(report).is_null())
    groups = given.group_by(*keys).agg(nw.len().alias(_COUNT)).select(*keys, _COUNT)
    if by:
        groups = groups.head(_MOST_ROWS + 1)
    if isinstance(groups, nw.LazyFrame):
        groups = groups.collect()
    if len(groups) > _MOST_ROWS:
        rule = f"make at most {_MOST_ROWS:,} counts (groups times outputs)"
        raise InvalidArgumentError("by", rule, list(by))
    return list(groups.iter_rows())


def _pick(rows: list[tuple[Any, ...]], attribute: str) -> list[tuple[Any, ...]]:
    """Return the rows of a column, without its name."""
    return [(report, *rest) for report, name, *rest in rows if name == attribute]


def _tallies(rows: list[tuple[Any, ...]], column: str, mechanism: Certified) -> dict[Labels, Tally]:
    pairs: dict[Labels, list[tuple[Any, int]]] = {}
    for report, *labels, count in rows:
        pairs.setdefault(tuple(map(plain_label, labels)), []).append((report, count))
    return {key: count_marked(found, column, mechanism) for key, found in pairs.items()}

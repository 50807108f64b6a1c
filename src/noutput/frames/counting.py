"""Count reports inside the engine that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.frames.engines.errors import plain_errors
from noutput.frames.packages import nw
from noutput.frames.privatizing import Opened, open_frame, unpivot
from noutput.frames.recipe import LAYOUTS, Source, column_names, mechanism_of
from noutput.frames.reports import ATTRIBUTE, REPORT, count_marked, find_report_column

if TYPE_CHECKING:
    from noutput.frames.reports import Certified
    from noutput.tally import Tally

__all__ = ["tally"]

_COUNT = "noutput_count"


@overload
def tally(  # type: ignore[overload-overlap]  # a str is a sequence of str, and comes first here
    frame: object, columns: str, mechanism: Certified | Source, *, layout: str = "wide"
) -> Tally: ...
@overload
def tally(
    frame: object, columns: Sequence[str], mechanism: Certified | Source, *, layout: str = "wide"
) -> dict[str, Tally]: ...
def tally(
    frame: object,
    columns: str | Sequence[str],
    mechanism: Certified | Source,
    *,
    layout: str = "wide",
) -> Tally | dict[str, Tally]:
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

    Returns
    -------
    Tally, or dict of str to Tally where several columns are named

    Raises
    ------
    InvalidArgumentError
        If the frame has no reports of this mechanism about a column, or any that this mechanism
        did not make about this column: frames of two mechanisms were stacked.

    Notes
    -----
    This is one ``group_by().len()`` of the engine. A lazy frame is run once, however many
    columns are counted.

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
    maker = mechanism_of(mechanism)
    _checks.choice("layout", layout, LAYOUTS)
    names = column_names("columns", columns)
    opened = open_frame(frame)
    with plain_errors():
        if layout == "long":
            tallies = _tally_long(opened, names, maker)
        else:
            tallies = _tally_wide(opened, names, maker)
    return tallies[columns] if isinstance(columns, str) else tallies


def _tally_wide(opened: Opened, columns: Sequence[str], mechanism: Certified) -> dict[str, Tally]:
    schema = opened.collect_schema()
    found = {name: find_report_column(list(schema), name, mechanism) for name in columns}
    for column, name in found.items():
        _check_kind(column, schema[name])
    if len(found) > 1 and isinstance(opened, nw.LazyFrame):
        rows = _count(unpivot(opened, list(found.values()), (), REPORT), [ATTRIBUTE, REPORT])
        counts = {column: _pick(rows, name) for column, name in found.items()}
    else:
        counts = {column: _count(opened, [name]) for column, name in found.items()}
    return {column: count_marked(pairs, column, mechanism) for column, pairs in counts.items()}


def _tally_long(opened: Opened, columns: Sequence[str], mechanism: Certified) -> dict[str, Tally]:
    schema = opened.collect_schema()
    value = find_report_column(list(schema), REPORT, mechanism)
    if ATTRIBUTE not in schema:
        raise InvalidArgumentError("frame", f"have a column {ATTRIBUTE!r}", list(schema))
    _check_kind(REPORT, schema[value])
    rows = _count(opened, [ATTRIBUTE, value])
    return {column: count_marked(_pick(rows, column), column, mechanism) for column in columns}


def _check_kind(column: str, kind: nw.dtypes.DType) -> None:
    """Refuse what holds no numbers; whole numbers may come as floats, as in pandas with gaps."""
    if not (kind.is_numeric() or isinstance(kind, nw.Unknown)):
        raise InvalidArgumentError(f"reports of {column!r}", "be whole numbers", str(kind))


def _count(opened: Opened, keys: list[str]) -> list[tuple[Any, ...]]:
    """Return the groups and their sizes; rows without a report are left out."""
    groups = opened.select(*keys).group_by(*keys, drop_null_keys=True).agg(nw.len().alias(_COUNT))
    if isinstance(groups, nw.LazyFrame):
        groups = groups.collect()
    return list(groups.select(*keys, _COUNT).iter_rows())


def _pick(rows: list[tuple[Any, ...]], attribute: str) -> list[tuple[Any, ...]]:
    return [(report, count) for name, report, count in rows if name == attribute]

"""The engine "duckdb": a vectorized function inside the engine."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from noutput.errors import InvalidArgumentError
from noutput.frames.drawing import draw_pilot, draw_reports
from noutput.frames.engines.errors import carry_errors
from noutput.frames.packages import duckdb, pa
from noutput.frames.recipe import METADATA_KEY
from noutput.frames.values import Place

if TYPE_CHECKING:
    from noutput.frames.recipe import Recipe

__all__ = ["hold", "privatize", "read_batches", "split", "unpivot", "write"]

_PILOT = "noutput_pilot"
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_EXACT = {"BOOLEAN", "DOUBLE", *_WHOLE, *(f"U{kind}" for kind in _WHOLE)}


def privatize(
    relation: duckdb.DuckDBPyRelation,
    recipe: Recipe,
    names: Sequence[str],
    keep: Sequence[str],
    seed: int | None,
    connection: duckdb.DuckDBPyConnection | None = None,
) -> duckdb.DuckDBPyRelation:
    """Privatize a duckdb relation of the given (or else the default) connection.

    The function is volatile, so DuckDB neither folds nor repeats its calls. All columns of a row
    come from one call, as a struct.
    """
    found = dict(zip(relation.columns, map(str, relation.types), strict=True))
    kinds = [_kind(found[name]) if name in recipe.answers else "DOUBLE" for name in recipe.columns]
    function = _register(connection or duckdb.default_connection(), recipe, kinds, seed)
    # quoted names of columns are all that enters the query
    fields = [
        f"c{i} := CAST({_quote(name)} AS {kind})"
        for i, (name, kind) in enumerate(zip(recipe.columns, kinds, strict=True))
    ]
    rows = "noutput_rows"
    if seed is not None:
        fields.append("row := noutput_row")
        rows = "(SELECT *, row_number() OVER () - 1 AS noutput_row FROM noutput_rows)"
    kept = [_quote(name) for name in keep]
    drawn = f"{function}(struct_pack({', '.join(fields)})) AS noutput_drawn"
    reports = [f"noutput_drawn.c{i} AS {_quote(name)}" for i, name in enumerate(names)]
    query = (
        f"SELECT {', '.join([*kept, *reports])} "  # noqa: S608
        f"FROM (SELECT {', '.join([*kept, drawn])} FROM {rows})"
    )
    with _own_connection(function, connection):
        return _select(relation, "noutput_rows", query)


def split(
    relation: duckdb.DuckDBPyRelation,
    recipe: Recipe,
    keep: Sequence[str],
    share: float,
    seed: int | None,
    connection: duckdb.DuckDBPyConnection | None = None,
) -> tuple[duckdb.DuckDBPyRelation, duckdb.DuckDBPyRelation, Callable[[], object]]:
    """Return the rows of the pilot, the others, and what drops the table that both are of.

    The coins are drawn once, when the temporary table is made.
    """
    owner = connection or duckdb.default_connection()
    function = f"noutput_{secrets.token_hex(12)}"
    how: dict[str, Any] = {"type": "arrow", "null_handling": "special", "side_effects": True}
    coins = _coins(recipe, share, seed)
    owner.create_function(function, coins, ["DOUBLE", "BIGINT"], "BOOLEAN", **how)
    names = ", ".join(_quote(name) for name in (*keep, *recipe.columns))
    value = f"CAST({_quote(recipe.columns[0])} AS DOUBLE)"
    query = (
        f"SELECT {names}, {function}({value}, noutput_row) AS {_PILOT} "  # noqa: S608
        "FROM (SELECT *, row_number() OVER () - 1 AS noutput_row FROM noutput_rows)"
    )
    try:
        with _own_connection(function, connection):
            table = hold(_select(relation, "noutput_rows", query), owner)
    finally:
        owner.remove_function(function)
    drop = f"DROP TABLE {table.alias}"
    pilot, others = table.filter(_PILOT), table.filter(f"NOT {_PILOT}")
    return pilot.project(names), others.project(names), lambda: owner.execute(drop)


def hold(
    relation: duckdb.DuckDBPyRelation, connection: duckdb.DuckDBPyConnection | None = None
) -> duckdb.DuckDBPyRelation:
    """Run a relation once, and return its rows as a temporary table of the connection."""
    name = f"noutput_{secrets.token_hex(12)}"
    rows = f"{name}_rows"  # a table or view of the same name would be read in place of the relation
    relation.query(rows, f"CREATE TEMP TABLE {name} AS SELECT * FROM {rows}")  # noqa: S608
    with _own_connection(name, connection):
        return (connection or duckdb.default_connection()).table(name)


@contextmanager
def _own_connection(name: str, connection: duckdb.DuckDBPyConnection | None) -> Iterator[None]:
    """Say what is wrong where relation and connection do not share a function or a table."""
    try:
        yield
    except duckdb.CatalogException as error:
        if name not in str(error):
            raise
        rule = "be the connection that the relation belongs to"
        raise InvalidArgumentError("connection", rule, connection) from None


def unpivot(
    relation: duckdb.DuckDBPyRelation,
    on: Sequence[str],
    keep: Sequence[str],
    name: str,
    value: str,
) -> duckdb.DuckDBPyRelation:
    """Turn columns into rows of a name and a value; rows without a value are left out.

    narwhals can do this on DuckDB's default connection only.
    """
    wanted = ", ".join(_quote(column) for column in (*keep, name, value))
    columns = ", ".join(_quote(column) for column in on)
    query = (
        f"SELECT {wanted} FROM (UNPIVOT noutput_wide ON {columns} "  # noqa: S608
        f"INTO NAME {_quote(name)} VALUE {_quote(value)})"
    )
    return _select(relation, "noutput_wide", query)


def read_batches(
    connection: duckdb.DuckDBPyConnection, batches: Iterator[pa.RecordBatch]
) -> duckdb.DuckDBPyRelation:
    """Return a relation of batches that are read, once, as DuckDB asks for them."""
    first = next(batches)
    reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
    return connection.from_arrow(reader)


def write(reports: duckdb.DuckDBPyRelation, place: Path, recipe: Recipe, *, as_csv: bool) -> None:
    """Write reports to a new file, Parquet with its recipe."""
    path, text = (value.replace("'", "''") for value in (str(place), recipe.to_json()))
    options = f"FORMAT parquet, KV_METADATA {{{METADATA_KEY}: '{text}'}}"
    if as_csv:
        options = "FORMAT csv, HEADER"
    reports.query("noutput_reports", f"COPY noutput_reports TO '{path}' ({options})")


def _select(relation: duckdb.DuckDBPyRelation, name: str, query: str) -> duckdb.DuckDBPyRelation:
    return cast(duckdb.DuckDBPyRelation, relation.query(name, query))  # None for other statements


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _kind(found: str) -> str:
    """Return the type in which answers are handed over: texts where Arrow has no exact one."""
    if found == "FLOAT":
        return "DOUBLE"
    return found if found in _EXACT else "VARCHAR"


def _register(
    connection: duckdb.DuckDBPyConnection, recipe: Recipe, kinds: list[str], seed: int | None
) -> str:
    """Make the recipe a function of the connection, once, and return its name."""
    digest = hashlib.sha256(f"{seed} {kinds} {recipe.to_json()}".encode()).hexdigest()
    name = f"noutput_{digest[:24]}"
    fields = [f"c{i}" for i in range(len(recipe.columns))]
    values = dict(zip(fields, kinds, strict=True)) | ({} if seed is None else {"row": "BIGINT"})
    reports = connection.struct_type(dict.fromkeys(fields, "INTEGER"))
    how: dict[str, Any] = {"type": "arrow", "null_handling": "special", "side_effects": True}
    # a function of this name that exists is the same one: its name is a digest of what it does
    with suppress(duckdb.NotImplementedException, duckdb.CatalogException):
        draw = _function(recipe, seed, fields)
        connection.create_function(name, draw, [connection.struct_type(values)], reports, **how)
    return name


def _function(
    recipe: Recipe, seed: int | None, fields: list[str]
) -> Callable[[pa.Array | pa.ChunkedArray], pa.StructArray]:
    @carry_errors()
    def draw(rows: pa.Array | pa.ChunkedArray) -> pa.StructArray:
        batch = rows.combine_chunks() if isinstance(rows, pa.ChunkedArray) else rows
        arrays = [batch.field(name) for name in fields]
        if seed is None:
            reports = draw_reports(recipe, arrays, Place(None))
        else:
            reports = draw_reports(recipe, arrays, _place(batch.field("row")), seed)
        return pa.StructArray.from_arrays(reports, fields)

    return draw


def _coins(
    recipe: Recipe, share: float, seed: int | None
) -> Callable[[pa.Array | pa.ChunkedArray, pa.Array | pa.ChunkedArray], pa.Array]:
    @carry_errors()
    def draw(values: pa.Array | pa.ChunkedArray, rows: pa.Array | pa.ChunkedArray) -> pa.Array:
        array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        return draw_pilot(recipe, array, _place(rows), share, seed)

    return draw


def _place(rows: pa.Array | pa.ChunkedArray) -> Place:
    """Return where a batch starts: DuckDB numbers the rows just before it draws, without gaps."""
    return Place(rows[0].as_py() if len(rows) else 0)

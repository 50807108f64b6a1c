"""Reports of two mechanisms in one frame are noticed, however the frames were stacked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noutput import InvalidArgumentError, TableMechanism, design, frames
from tests.frames.conftest import Backend
from tests.tables import window_table

Stack = Callable[[Any, Any], Any]

ORDERS = (["x", "y"], ["y", "x"])
PEOPLE = pa.table({"x": np.linspace(-1.0, 1.0, 50), "y": np.linspace(1.0, -1.0, 50)})


def _polars_sql(first: Any, second: Any) -> Any:
    tables = pl.SQLContext(a=first, b=second)
    return tables.execute("SELECT * FROM a UNION ALL SELECT * FROM b")


def _duckdb_sql(kind: str) -> Stack:
    def stack(first: Any, second: Any) -> Any:
        first.create("stacked_first")
        second.create("stacked_second")
        query = f"SELECT * FROM stacked_first {kind} SELECT * FROM stacked_second"  # noqa: S608
        return first.query("unused", query)

    return stack


def _duckdb_insert(first: Any, second: Any) -> Any:
    first.create("stacked_both")
    second.insert_into("stacked_both")
    return first.query("unused", "SELECT * FROM stacked_both")


def _spark_sql(first: Any, second: Any) -> Any:
    first.createOrReplaceTempView("stacked_first")
    second.createOrReplaceTempView("stacked_second")
    query = "SELECT * FROM stacked_first UNION ALL SELECT * FROM stacked_second"
    return first.sparkSession.sql(query)


BY_POSITION: dict[tuple[str, str], Stack] = {
    ("pandas", "rename"): lambda a, b: pd.concat([a, b.set_axis(a.columns, axis=1)]),
    ("polars", "sql"): _polars_sql,
    ("polars-lazy", "sql"): _polars_sql,
    ("pyarrow", "rename"): lambda a, b: pa.concat_tables([a, b.rename_columns(a.column_names)]),
    ("duckdb", "union"): lambda a, b: a.union(b),
    ("duckdb", "union-all"): _duckdb_sql("UNION ALL"),
    ("duckdb", "insert"): _duckdb_insert,
    ("spark", "union"): lambda a, b: a.union(b),
    ("spark", "sql"): _spark_sql,
}
BY_NAME: dict[tuple[str, str], Stack] = {
    ("pandas", "concat"): lambda a, b: pd.concat([a, b]),
    ("polars", "diagonal"): lambda a, b: pl.concat([a, b], how="diagonal"),
    ("polars-lazy", "diagonal"): lambda a, b: pl.concat([a, b], how="diagonal"),
    ("pyarrow", "promote"): lambda a, b: pa.concat_tables([a, b], promote_options="default"),
    ("duckdb", "by-name"): _duckdb_sql("UNION ALL BY NAME"),
    ("spark", "by-name"): lambda a, b: a.unionByName(b, allowMissingColumns=True),
}


def cases(stacks: dict[tuple[str, str], Stack]) -> pytest.MarkDecorator:
    values = [(engine, stack) for (engine, _), stack in stacks.items()]
    ids = [f"{engine}-{how}" for engine, how in stacks]
    return pytest.mark.parametrize(("backend", "stack"), values, indirect=["backend"], ids=ids)


@pytest.fixture
def other() -> TableMechanism:
    """A mechanism of as many outputs as `five_outputs`: its indexes look alike."""
    return window_table(1.0, 5, 5, 0.4)


@pytest.mark.parametrize("layout", ["wide", "long"])
@cases(BY_POSITION)
def test_unions_by_position(
    backend: Backend, stack: Stack, layout: str, five_outputs: TableMechanism, other: TableMechanism
) -> None:
    parts = [
        backend.privatize(PEOPLE, "x", mechanism=mechanism, layout=layout)
        for mechanism in (five_outputs, other)
    ]
    stacked = stack(*parts)
    with pytest.raises(InvalidArgumentError, match="reports of 'x' must all be made by"):
        frames.tally(stacked, "x", five_outputs, layout=layout)


@cases(BY_POSITION)
def test_unions_of_one_mechanism_are_counted(
    backend: Backend, stack: Stack, five_outputs: TableMechanism
) -> None:
    parts = [backend.privatize(PEOPLE, "x", mechanism=five_outputs) for _ in range(2)]
    assert frames.tally(stack(*parts), "x", five_outputs).total == 100


@cases(BY_POSITION)
def test_columns_in_another_order(
    backend: Backend, stack: Stack, five_outputs: TableMechanism
) -> None:
    parts = [backend.privatize(PEOPLE, order, mechanism=five_outputs) for order in ORDERS]
    stacked = stack(*parts)
    with pytest.raises(InvalidArgumentError, match="reports of 'x' must all be made by"):
        frames.tally(stacked, ["x", "y"], five_outputs)


@pytest.mark.parametrize("layout", ["wide", "long"])
@cases(BY_NAME)
def test_unions_by_name(
    backend: Backend, stack: Stack, layout: str, five_outputs: TableMechanism, other: TableMechanism
) -> None:
    parts = [
        backend.privatize(PEOPLE, "x", mechanism=mechanism, layout=layout)
        for mechanism in (five_outputs, other)
    ]
    stacked = stack(*parts)
    for mechanism in (five_outputs, other):
        wanted = mechanism.fingerprint[:12]
        message = rf"must hold reports of the mechanism {wanted} alone \(select '\w+__{wanted}' to"
        with pytest.raises(InvalidArgumentError, match=message):
            frames.tally(stacked, "x", mechanism, layout=layout)


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_strict_unions_by_name_are_refused_by_the_library(
    layout: str, five_outputs: TableMechanism, other: TableMechanism
) -> None:
    parts = [
        frames.privatize(PEOPLE, "x", mechanism=mechanism, bounds=(-1, 1), layout=layout)
        for mechanism in (five_outputs, other)
    ]
    with pytest.raises(pa.ArrowInvalid):
        pa.concat_tables(parts)
    with pytest.raises(pl.exceptions.PolarsError):
        pl.concat([pl.DataFrame(part) for part in parts])


def test_marks_take_no_room_in_storage(tmp_path: Path) -> None:
    table = pa.table({"x": np.random.default_rng(3).uniform(-1.0, 1.0, 200_000)})
    mechanism = design(1.0, 16, "worst").mechanism
    reports = frames.privatize(table, "x", mechanism=mechanism, bounds=(-1, 1))
    pq.write_table(reports.replace_schema_metadata(None), tmp_path / "reports.parquet")
    assert (tmp_path / "reports.parquet").stat().st_size < 0.51 * 200_000


def test_a_selected_column_is_counted(five_outputs: TableMechanism, other: TableMechanism) -> None:
    """What the error proposes works: gaps are no reports."""
    parts = [
        frames.privatize(PEOPLE.to_pandas(), "x", mechanism=mechanism, bounds=(-1, 1))
        for mechanism in (five_outputs, other)
    ]
    chosen = pd.concat(parts)[[frames.report_name("x", other)]]
    assert frames.tally(chosen, "x", other).total == 50


def test_all_reports_of_a_column_have_one_mark(five_outputs: TableMechanism) -> None:
    """The mark tells nothing about a value."""
    reports = frames.privatize(PEOPLE, "x", mechanism=five_outputs, bounds=(-1, 1)).column(0)
    assert len({report // 1000 for report in reports.to_pylist()}) == 1

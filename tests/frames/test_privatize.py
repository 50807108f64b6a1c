from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from noutput import Interval, InvalidArgumentError, TableMechanism, frames
from noutput.frames.reports import split_name
from tests.frames.conftest import BOUNDS, Backend

NAN = float("nan")


def run(backend: Backend, table: Any, columns: Any, **options: Any) -> Any:
    """Privatize and bring the result to Arrow."""
    return backend.rows(backend.privatize(table, columns, **options))


def test_reports_replace_the_values(
    backend: Backend, people: Any, five_outputs: TableMechanism
) -> None:
    frame = backend.privatize(
        people, ["minutes", "rating"], mechanism=five_outputs, bounds=BOUNDS, keep="id"
    )
    assert type(frame) is type(backend.make(people))
    result = backend.rows(frame)
    names = [frames.report_name(name, five_outputs) for name in ("minutes", "rating")]
    assert result.column_names == ["id", *names]
    assert sorted(result["id"].to_pylist()) == list(range(1000))
    for name in names:
        assert pa.types.is_integer(result[name].type)
        assert {report % 1000 for report in result[name].to_pylist()} == set(range(5))
        assert split_name(name) == (name[:-14], five_outputs.fingerprint[:12])


def test_equal_seeds_give_equal_reports_in_every_engine(
    ordered: Backend, people: Any, five_outputs: TableMechanism
) -> None:
    options: dict[str, Any] = {"mechanism": five_outputs, "bounds": BOUNDS, "keep": ["id"]}
    expected = frames.privatize(people, ["minutes", "rating"], seed=7, **options)
    found = ordered.rows(ordered.privatize(people, ["minutes", "rating"], seed=7, **options))
    assert found.to_pydict() == expected.to_pydict()
    other = ordered.rows(ordered.privatize(people, ["minutes", "rating"], seed=8, **options))
    assert other.to_pydict() != expected.to_pydict()


def test_seeds_do_not_depend_on_the_size_of_batches(
    ordered: Backend, five_outputs: TableMechanism
) -> None:
    """More rows than any engine puts into one batch."""
    table = pa.table({"x": np.linspace(-1.0, 1.0, 300_001)})
    expected = frames.privatize(table, "x", mechanism=five_outputs, bounds=(-1, 1), seed=1)
    found = ordered.rows(ordered.privatize(table, "x", mechanism=five_outputs, seed=1))
    assert np.array_equal(found.column(0).to_numpy(), expected.column(0).to_numpy())
    part = frames.privatize(
        table.slice(0, 1001), "x", mechanism=five_outputs, bounds=(-1, 1), seed=1
    )
    assert part.column(0).to_pylist() == expected.column(0).to_pylist()[:1001]


def test_spark_refuses_a_seed(spark: Any, five_outputs: TableMechanism) -> None:
    frame = spark.createDataFrame(pa.table({"x": [0.0]}))
    with pytest.raises(InvalidArgumentError, match=r"seed must be None.*found 3"):
        frames.privatize(frame, "x", mechanism=five_outputs, bounds=(-1, 1), seed=3)


def test_every_draw_is_new(backend: Backend, five_outputs: TableMechanism) -> None:
    table = pa.table({"x": np.zeros(500)})
    first, second = (run(backend, table, "x", mechanism=five_outputs) for _ in range(2))
    assert first.column(0).to_pylist() != second.column(0).to_pylist()


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_every_execution_has_the_same_reports(
    backend: Backend, layout: str, people: Any, five_outputs: TableMechanism
) -> None:
    """Also of rows whose order changes, as that of joins, and whatever is done to the result."""
    towns = {"id": np.arange(1000), "town": ["A", "B"] * 500}
    left, right = (nw.from_native(backend.make(rows)) for rows in (people, pa.table(towns)))
    joined = left.join(right, on="id").filter(nw.col("rating") > 1)
    reports = frames.privatize(
        joined.to_native(),
        ["minutes", "rating"],
        mechanism=five_outputs,
        bounds=BOUNDS,
        keep=["id", "town"],
        layout=layout,
        **backend.options,
    )
    opened = nw.from_native(reports)
    some = opened.filter(nw.col("id") >= 500, nw.col("town") == "B")
    plans = [opened, some, some.join(right.select("id"), on="id")]
    for plan in plans:
        first, *others = (_sorted(backend.rows(plan.to_native())) for _ in range(3))
        assert first.num_rows > 150
        assert others == [first, first]
    whole = _sorted(backend.rows(reports))
    part = [row for row in whole.to_pylist() if row["id"] >= 500 and row["town"] == "B"]
    assert _sorted(backend.rows(some.to_native())).to_pylist() == part
    counts = [
        frames.tally(reports, ["minutes", "rating"], five_outputs, layout=layout) for _ in range(2)
    ]
    assert counts[0] == counts[1]
    assert sum(tally.total for tally in counts[0].values()) == (
        whole.num_rows * (2 if layout == "wide" else 1)
    )


def _sorted(rows: Any) -> Any:
    plain = pa.Table.from_pylist(rows.to_pylist())
    return plain.sort_by([(name, "ascending") for name in plain.column_names[:3]])


def test_the_source_is_run_once(five_outputs: TableMechanism) -> None:
    """Values that change from run to run, in lazy Polars and DuckDB, are reported once."""
    seen: list[int] = []

    def note(rows: Any) -> Any:
        seen.append(len(rows))
        return rows

    options: dict[str, Any] = {"mechanism": five_outputs, "bounds": (-1, 1)}
    lazy = pl.DataFrame({"x": np.zeros(500)}).lazy().map_batches(note)
    reports: Any = frames.privatize(lazy, "x", **options)
    for _ in range(3):
        assert frames.tally(reports, "x", five_outputs).total == 500
    assert sum(seen) == 500
    connection = duckdb.connect()
    random = connection.sql("SELECT random() AS x FROM range(500)")
    reports = frames.privatize(random, "x", connection=connection, **options)
    assert len({tuple(reports.fetchall()) for _ in range(3)}) == 1
    stream = pa.RecordBatchReader.from_batches(
        pa.schema([("x", pa.float64())]), pa.table({"x": np.zeros(500)}).to_batches()
    )
    read_once = connection.from_arrow(stream)
    reports = frames.privatize(read_once, "x", connection=connection, **options)
    for _ in range(3):
        assert frames.tally(reports, "x", five_outputs).total == 500


def test_all_kinds_of_numbers(backend: Backend, five_outputs: TableMechanism) -> None:
    decimals = [Decimal("1.00"), Decimal("2.50"), Decimal("5.00")]
    table = pa.table(
        {
            "small": pa.array([1, 2, 5], pa.int8()),
            "large": pa.array([1, 2, 5], pa.int64()),
            "single": pa.array([1.0, 2.5, 5.0], pa.float32()),
            "decimal": pa.array(decimals, pa.decimal128(10, 2)),
        }
    )
    bounds = dict.fromkeys(table.column_names, Interval(1, 5))
    result = run(backend, table, table.column_names, mechanism=five_outputs, bounds=bounds)
    assert result.shape == (3, 4)


def test_missing_values(backend: Backend, five_outputs: TableMechanism) -> None:
    table = pa.table({"x": pa.array([0.5, None, 0.25, NAN]), "id": [0, 1, 2, 3]})
    with pytest.raises(InvalidArgumentError, match=r"column 'x' .*must be a number.*found None"):
        run(backend, table, "x", mechanism=five_outputs)
    options: dict[str, Any] = {"mechanism": five_outputs, "skip_missing": True}
    result = run(backend, table, "x", keep="id", **options)
    reports = dict(zip(result["id"].to_pylist(), result.column(1).to_pylist(), strict=True))
    assert [reports[row] is None for row in range(4)] == [False, True, False, True]
    assert frames.tally(backend.make(result), "x", five_outputs).total == 2


def test_values_outside_the_bounds(backend: Backend, five_outputs: TableMechanism) -> None:
    several = (1.5, -1.25, float("inf"), float("-inf"))
    for wrong in several[:1] if backend.name == "spark" else several:
        table = pa.table({"x": [0.5, wrong, 0.25]})
        message = rf"column 'x' .*\[-1.0, 1.0\].*found {wrong}"
        with pytest.raises(InvalidArgumentError, match=message):
            run(backend, table, "x", mechanism=five_outputs)
    table = pa.table({"x": several})
    assert run(backend, table, "x", mechanism=five_outputs, clip=True).num_rows == 4


def test_clipping_does_not_hide_missing_values(
    ordered: Backend, five_outputs: TableMechanism
) -> None:
    with pytest.raises(InvalidArgumentError, match="found None"):
        run(ordered, pa.table({"x": [NAN, 3.0]}), "x", mechanism=five_outputs, clip=True)


def test_errors_name_the_row(ordered: Backend, five_outputs: TableMechanism) -> None:
    values = np.zeros(20_000)
    values[12_345] = 2.0
    with pytest.raises(InvalidArgumentError) as caught:
        run(ordered, pa.table({"x": values}), "x", mechanism=five_outputs, seed=1)
    assert "at row 12345" in str(caught.value)


def test_spark_errors_name_row_and_partition(spark: Any, five_outputs: TableMechanism) -> None:
    frame = spark.createDataFrame(pa.table({"x": [0.0, 0.0, 2.0]})).coalesce(1)
    with pytest.raises(InvalidArgumentError, match="at row 2 of partition 0 must lie in"):
        frames.tally(
            frames.privatize(frame, "x", mechanism=five_outputs, bounds=(-1, 1)), "x", five_outputs
        )


def test_empty_frames(backend: Backend, five_outputs: TableMechanism) -> None:
    table = pa.table({"x": pa.array([], pa.float64()), "id": pa.array([], pa.int64())})
    frame = backend.privatize(table, "x", mechanism=five_outputs, keep="id")
    assert backend.rows(frame).num_rows == 0
    assert frames.tally(frame, "x", five_outputs).counts == (0,) * 5


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b"], "hold numbers; found 'String'"),
        ([True, False], "hold numbers, 0 and 1 for truth values; found 'Boolean'"),
        ([date(2026, 1, 1)], "hold numbers; found 'Date'"),
    ],
    ids=["text", "bools", "dates"],
)
def test_wrong_types(
    backend: Backend, values: Any, message: str, five_outputs: TableMechanism
) -> None:
    table = pa.table({"x": values})
    if backend.name == "pandas":  # it has no type for dates alone
        message = message.replace("'Date'", "'date32")
    with pytest.raises(InvalidArgumentError, match=f"column 'x' must {message}"):
        backend.privatize(table, "x", mechanism=five_outputs)


def test_dictionary_columns_are_what_they_hold(
    ordered: Backend, five_outputs: TableMechanism
) -> None:
    """Polars and DuckDB read such a column of Arrow as plain floats."""
    values = [0.5, -0.25, 0.5, 1.0]
    for kind in (pa.float64(), pa.int8(), pa.decimal128(5, 2)):
        plain = pa.table({"x": pa.array([1, 0, 1, 1], kind)})
        if kind == pa.float64():
            plain = pa.table({"x": values})
        coded = pa.table({"x": plain["x"].dictionary_encode()})
        expected = run(ordered, plain, "x", mechanism=five_outputs, seed=1)
        found = run(ordered, coded, "x", mechanism=five_outputs, seed=1)
        assert found.column(0).to_pylist() == expected.column(0).to_pylist()
    gaps = pa.table({"x": pa.array([0.5, None]).dictionary_encode()})
    with pytest.raises(InvalidArgumentError, match=r"must be a number.*found None"):
        run(ordered, gaps, "x", mechanism=five_outputs)
    wrong = pa.table({"x": pa.array([0.5, 7.0]).dictionary_encode()})
    with pytest.raises(InvalidArgumentError, match=r"column 'x' .*\[-1.0, 1.0\].*found 7.0"):
        run(ordered, wrong, "x", mechanism=five_outputs)


@pytest.mark.parametrize("values", [["a", "b"], [True, False]], ids=["text", "bools"])
def test_dictionary_columns_without_numbers_are_refused(
    ordered: Backend, values: Any, five_outputs: TableMechanism
) -> None:
    table = pa.table({"x": pa.array(values).dictionary_encode()})
    with pytest.raises(InvalidArgumentError, match="column 'x' must hold numbers"):
        ordered.privatize(table, "x", mechanism=five_outputs)


def test_missing_columns(backend: Backend, people: Any, five_outputs: TableMechanism) -> None:
    with pytest.raises(InvalidArgumentError, match=r"columns must name columns of .*found 'age'"):
        backend.privatize(people, ["minutes", "age"], mechanism=five_outputs)
    with pytest.raises(InvalidArgumentError, match=r"keep must name columns of .*found 'age'"):
        backend.privatize(people, "minutes", mechanism=five_outputs, keep="age")


def test_private_columns_cannot_be_kept(
    backend: Backend, people: Any, five_outputs: TableMechanism
) -> None:
    with pytest.raises(InvalidArgumentError, match="keep must leave out the private columns"):
        backend.privatize(people, "minutes", mechanism=five_outputs, keep=["id", "minutes"])


def test_awkward_names(backend: Backend, five_outputs: TableMechanism) -> None:
    names = ['a "b"', "c`d", "e.f", "select", "ü"]
    if backend.name == "spark":
        with pytest.raises(InvalidArgumentError, match="no dots and backticks"):
            backend.privatize(pa.table({"e.f": [0.0]}), "e.f", mechanism=five_outputs)
        names = [name.replace("`", "-").replace(".", ":") for name in names]
    table = pa.table({name: [0.0, 0.5] for name in names})
    frame = backend.privatize(table, names[:4], mechanism=five_outputs, keep=names[4])
    counts = frames.tally(frame, names[:4], five_outputs)
    assert {name: tally.total for name, tally in counts.items()} == dict.fromkeys(names[:4], 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": []}, "columns must name at least one column"),
        ({"columns": ["x", "x"]}, "columns must be distinct"),
        ({"columns": [1]}, "columns must be distinct names"),
        ({"bounds": {"y": (0, 1)}}, "bounds must name columns of"),
        ({"bounds": {}}, "bounds must have an entry for every column, 'x' too; found {}"),
        ({"bounds": 3}, r"bounds must be a pair of numbers such as \(0, 100\), or an Interval"),
        ({"bounds": None}, r"bounds, question and answers must be given one at a time; found \[\]"),
        ({"bounds": {"x": 3}}, r"bounds\['x'\] must be a pair of numbers"),
        ({"bounds": {"x": (1, 0)}}, r"bounds\['x'\] must start with the smaller"),
        ({"clip": 1}, "clip must be True or False"),
        ({"layout": "tall"}, "layout must be one of"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"mechanism": "duchi"}, "mechanism must be a TableMechanism"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str, five_outputs: TableMechanism) -> None:
    arguments: dict[str, Any] = {"columns": "x", "mechanism": five_outputs, "bounds": (-1, 1)}
    arguments |= options
    with pytest.raises(InvalidArgumentError, match=message):
        frames.privatize(pa.table({"x": [0.0]}), arguments.pop("columns"), **arguments)


def test_one_pair_serves_all_columns(backend: Backend, five_outputs: TableMechanism) -> None:
    table = pa.table({"x": [0.0, 100.0], "y": [50.0, 25.0]})
    for bounds in ((0, 100), [0, 100], Interval(0, 100)):
        frame = backend.privatize(table, ["x", "y"], mechanism=five_outputs, bounds=bounds)
        assert backend.rows(frame).shape == (2, 2)


def test_bounds_are_required(backend: Backend, five_outputs: TableMechanism) -> None:
    """No default would fit: it would clip salaries to 1, and spend their budget on it."""
    salaries: Any = backend.make(pa.table({"salary": [52_000.0]}))
    with pytest.raises(InvalidArgumentError, match="bounds, question and answers must be given"):
        frames.privatize(salaries, "salary", mechanism=five_outputs, clip=True)
    with pytest.raises(InvalidArgumentError, match="bounds must have an entry for every column"):
        frames.privatize(salaries, "salary", mechanism=five_outputs, bounds={})


def test_unknown_frames_are_refused(five_outputs: TableMechanism) -> None:
    with pytest.raises(InvalidArgumentError, match=r"frame must be a pandas.*found 'dict'"):
        frames.privatize({"x": [0.0]}, "x", mechanism=five_outputs, bounds=(-1, 1))


def test_a_relation_of_another_connection_is_explained(five_outputs: TableMechanism) -> None:
    options: dict[str, Any] = {"mechanism": five_outputs, "bounds": (-1, 1)}
    own, other = duckdb.connect(), duckdb.connect()
    cursor = own.cursor()  # shares the functions of its database, and no temporary tables
    relations = {each: each.sql("SELECT 0.5 AS x") for each in (own, cursor)}
    for owner, relation in relations.items():
        reports = frames.privatize(relation, "x", connection=owner, **options)
        assert frames.tally(reports, "x", five_outputs).total == 1
    for wrong in (other, cursor):
        with pytest.raises(InvalidArgumentError, match="connection must be the connection that"):
            frames.privatize(relations[own], "x", connection=wrong, **options)


@pytest.mark.parametrize("kind", ["TABLE", "VIEW", "TEMP TABLE", "TEMP VIEW"])
@pytest.mark.parametrize("name", ["noutput_held", "noutput_rows", "noutput_wide"])
def test_tables_of_the_database_are_not_taken_for_the_relation(
    name: str, kind: str, five_outputs: TableMechanism
) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE {kind} {name} AS SELECT 0.25 AS x")
    values = connection.sql("SELECT 0.5 AS x FROM range(7)")
    options: dict[str, Any] = {"mechanism": five_outputs, "bounds": (-1, 1)}
    for layout in ("wide", "long"):
        reports: Any = frames.privatize(
            values, "x", connection=connection, layout=layout, **options
        )
        assert len(reports.fetchall()) == 7
        assert split_name(reports.columns[-1]) is not None


def test_pandas_leaves_out_index_and_attrs(five_outputs: TableMechanism) -> None:
    """Only what is named in `keep` leaves, and an index is often a name or a number of people."""
    import pandas as pd

    frame = pd.DataFrame({"x": [0.0, 1.0], "y": [1, 2]}, index=["ada", "bob"])
    frame.attrs["source"] = "ada and bob"
    for keep in ((), ("y",)):
        result = frames.privatize(frame, "x", mechanism=five_outputs, bounds=(-1, 1), keep=keep)
        assert list(result.index) == [0, 1]
        assert result.attrs == {}
        assert result.dtypes.iloc[-1] == np.int32
    assert list(frame.index) == ["ada", "bob"]
    assert frame.attrs


def test_long_results_need_the_name_attribute(
    backend: Backend, five_outputs: TableMechanism
) -> None:
    table = pa.table({"attribute": [0.0], "x": [0.5]})
    options: dict[str, Any] = {"mechanism": five_outputs, "layout": "long"}
    for columns in (["attribute"], ["x", "attribute"]):
        with pytest.raises(
            InvalidArgumentError, match=r"columns must leave out names.*'attribute'"
        ):
            backend.privatize(table, columns, **options)
    with pytest.raises(InvalidArgumentError, match=r"keep must leave out names.*'attribute'"):
        backend.privatize(table, "x", keep="attribute", **options)


def test_pandas_objects(five_outputs: TableMechanism) -> None:
    import pandas as pd

    decimals = pd.DataFrame({"x": [Decimal("0.5"), None]}, dtype=object)
    result = frames.privatize(
        decimals, "x", mechanism=five_outputs, bounds=(-1, 1), skip_missing=True
    )
    assert result.iloc[:, 0].isna().tolist() == [False, True]
    mixed = pd.DataFrame({"x": [0.5, "a"]}, dtype=object)
    with pytest.raises(InvalidArgumentError, match="column 'x' must hold numbers"):
        frames.privatize(mixed, "x", mechanism=five_outputs, bounds=(-1, 1))


def test_arrow_results_carry_the_recipe(people: Any, five_outputs: TableMechanism) -> None:
    for layout in ("wide", "long"):
        table = frames.privatize(
            people, "minutes", mechanism=five_outputs, bounds={"minutes": (0, 180)}, layout=layout
        )
        recipe = frames.Recipe.from_json(table.schema.metadata[b"noutput"])
        assert recipe.mechanism == five_outputs
        assert recipe.bounds == {"minutes": Interval(0, 180)}

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import noutput as no
from noutput import frames
from noutput.frames.drawing import draw_pilot
from noutput.frames.recipe import make_recipe
from noutput.frames.values import Place
from tests.frames.conftest import Backend
from tests.frames.test_retries import failing_once
from tests.pilots import find_ranges_always

SIZE = 8_000


@pytest.fixture(autouse=True)
def lucky(monkeypatch: pytest.MonkeyPatch) -> None:
    find_ranges_always(monkeypatch)


@pytest.fixture(scope="module")
def mechanism() -> no.TableMechanism:
    return no.design(3.0, 16, "worst").mechanism


@pytest.fixture(scope="module")
def people() -> Any:
    rng = np.random.default_rng(1)
    minutes = rng.gamma(4.0, 10.0, SIZE).clip(0, 600)
    return pa.table({"minutes": minutes, "id": np.arange(SIZE)})


def check(table: Any) -> None:
    """Every id is in one pass, and has one report."""
    assert sorted(table["id"].to_pylist()) == list(range(SIZE))
    names = [name for name in table.column_names if name != "id"]
    assert names[0].startswith("minutes in 0 to 600__")
    given = [np.asarray(table[name].is_valid()) for name in names]
    if table.schema.field(names[0]).type == pa.float64():  # pandas, with gaps
        given = [~np.isnan(table[name].to_numpy(zero_copy_only=False)) for name in names]
    assert len(names) == 2
    assert np.array_equal(given[0], ~given[1])
    assert 0.2 * SIZE < given[0].sum() < 0.3 * SIZE


def test_every_row_is_reported_once_and_most_with_the_bounds_that_the_pilot_found(
    backend: Backend, people: Any, mechanism: no.TableMechanism
) -> None:
    frame = backend.make(people)
    options: dict[str, Any] = {
        "mechanism": mechanism,
        "bounds": (0, 600),
        "keep": "id",
        "pilot": 0.25,
    }
    made = frames.privatize(frame, "minutes", **options, **backend.options)
    assert type(made) is type(frame)
    # whatever reads the result again finds the same reports
    first, second = backend.rows(made), backend.rows(made)
    check(first)
    key = [("id", "ascending")]
    assert first.sort_by(key).equals(second.sort_by(key))
    found = frames.tally_evidence(made, "minutes", mechanism)
    assert found.total == SIZE
    assert found.bounds == no.Interval(0, 600)
    assert found.parts[1].bounds.upper < 600
    assert found.choices > 1_000
    low, high = no.estimate_mean(found).interval(0.999999999)
    assert low < float(np.mean(people["minutes"].to_numpy())) < high


def test_the_same_seed_gives_the_same_reports(
    ordered: Backend, people: Any, mechanism: no.TableMechanism
) -> None:
    options: dict[str, Any] = {"mechanism": mechanism, "bounds": (0, 600), "pilot": 0.25, "seed": 7}
    expected = frames.privatize(people, "minutes", **options)
    made = frames.privatize(ordered.make(people), "minutes", **options, **ordered.options)
    assert frames.tally_evidence(made, "minutes", mechanism) == frames.tally_evidence(
        expected, "minutes", mechanism
    )


def test_a_pilot_that_finds_nothing_leaves_one_column(
    backend: Backend, mechanism: no.TableMechanism
) -> None:
    frame = backend.make(pa.table({"x": np.linspace(-1.0, 1.0, 100)}))
    options: dict[str, Any] = {
        "mechanism": mechanism,
        "bounds": (-1, 1.5),
        "pilot": 0.5,
        **backend.options,
    }
    made = backend.rows(frames.privatize(frame, "x", **options))
    assert made.shape == (100, 1)
    assert made.column_names[0].startswith("x in -1 to 1,5__")
    assert frames.tally_evidence(made, "x", mechanism).bounds == no.Interval(-1, 1.5)


def test_the_source_is_run_once(people: Any, mechanism: no.TableMechanism) -> None:
    """However often the result is read: by lazy Polars and by DuckDB."""
    options: dict[str, Any] = {"mechanism": mechanism, "bounds": (0, 600), "pilot": 0.25}
    seen: list[int] = []

    def note(rows: Any) -> Any:
        seen.append(len(rows))
        return rows

    lazy = frames.privatize(pl.DataFrame(people).lazy().map_batches(note), "minutes", **options)
    for _ in range(2):
        assert lazy.collect().height == SIZE
    assert sum(seen) == SIZE
    seen.clear()
    connection = duckdb.connect()
    how: dict[str, Any] = {"type": "arrow", "side_effects": True}
    connection.create_function("note", note, ["DOUBLE"], "DOUBLE", **how)
    rows: Any = connection.from_arrow(people)
    source = rows.query("p", "SELECT note(minutes) AS minutes FROM p")
    held = frames.privatize(source, "minutes", **options, connection=connection)
    for _ in range(2):
        assert held.shape[0] == SIZE
        assert frames.tally_evidence(held, "minutes", mechanism).total == SIZE
    assert sum(seen) == SIZE
    tables = connection.sql("SELECT column_name FROM duckdb_columns()").fetchall()
    assert ("minutes",) not in tables  # the values are gone


def test_spark_runs_the_source_once(spark: Any, people: Any, mechanism: no.TableMechanism) -> None:
    options: dict[str, Any] = {"mechanism": mechanism, "bounds": (0, 600), "pilot": 0.25}
    count = spark.sparkContext.accumulator(0)

    def watch(batches: Any) -> Any:
        for batch in batches:
            count.add(batch.num_rows)
            yield batch

    frame = spark.createDataFrame(people)
    made = frames.privatize(frame.mapInArrow(watch, frame.schema), "minutes", **options)
    for _ in range(2):
        assert made.count() == SIZE
    assert count.value == SIZE


def test_tasks_that_are_tried_again_report_nobody_twice(
    spark: Any, people: Any, mechanism: no.TableMechanism, tmp_path: Path
) -> None:
    frame = spark.createDataFrame(people).repartition(2)
    flaky = frame.mapInArrow(failing_once(str(tmp_path)), frame.schema)
    options: dict[str, Any] = {"mechanism": mechanism, "bounds": (0, 600), "pilot": 0.25}
    made = frames.privatize(flaky, "minutes", keep="id", **options)
    assert len(list(tmp_path.iterdir())) == 4  # two attempts of two tasks, and no more later
    check(made.toArrow())
    assert len(list(tmp_path.iterdir())) == 4


def test_rows_that_spark_lost_are_not_drawn_again(
    spark: Any, people: Any, mechanism: no.TableMechanism
) -> None:
    options: dict[str, Any] = {"mechanism": mechanism, "bounds": (0, 600), "pilot": 0.25}
    made = frames.privatize(spark.createDataFrame(people), "minutes", **options)
    assert made.count() == SIZE
    context = spark.sparkContext
    for held in context._jsc.getPersistentRDDs().values():
        held.unpersist()
    with pytest.raises(Exception, match=r"(?i)checkpoint block"):
        made.count()


def test_coins_do_not_depend_on_values(mechanism: no.TableMechanism) -> None:
    recipe = make_recipe("x", mechanism, (0, 1))
    zeros, ones = pa.array(np.zeros(9_000)), pa.array(np.ones(9_000))
    coins = [draw_pilot(recipe, each, Place(0), 0.2, 5) for each in (zeros, ones)]
    assert coins[0] == coins[1]
    parts = [draw_pilot(recipe, zeros[:41], Place(0), 0.2, 5)]
    parts.append(draw_pilot(recipe, zeros[41:], Place(41), 0.2, 5))
    assert pa.concat_arrays(parts) == coins[0]
    secure = [draw_pilot(recipe, zeros, Place(0), 0.2) for _ in range(2)]
    assert secure[0] != secure[1]
    for each in (*coins, *secure):
        assert abs(np.mean(each.to_numpy(zero_copy_only=False)) - 0.2) < 0.025


def test_missing_values_have_no_report(ordered: Backend, mechanism: no.TableMechanism) -> None:
    frame = ordered.make(pa.table({"x": [0.1, None, 0.2, None, 0.3, 0.4]}))
    options: dict[str, Any] = {"mechanism": mechanism, "bounds": (-1, 1), "skip_missing": True}
    made = frames.privatize(frame, "x", pilot=0.5, **options, **ordered.options)
    assert frames.tally_evidence(made, "x", mechanism).total == 4


def test_a_value_beyond_the_bounds_is_refused(
    backend: Backend, mechanism: no.TableMechanism
) -> None:
    """Also where a row is in the second pass, which moves values into narrower bounds."""
    frame = backend.make(pa.table({"x": [0.1, 0.2, 7.0]}))
    options: dict[str, Any] = {"mechanism": mechanism, "bounds": (-1, 1), **backend.options}
    with pytest.raises(no.InvalidArgumentError, match=r"column 'x'.*must lie in.*found 7.0"):
        frames.privatize(frame, "x", pilot=0.5, **options)


def test_what_cannot_be_done_in_two_passes_is_refused_before_a_draw(
    people: Any, mechanism: no.TableMechanism
) -> None:
    def run(columns: Any = "minutes", **options: Any) -> Any:
        given: dict[str, Any] = {"mechanism": mechanism, "bounds": (0, 600), "pilot": 0.1}
        return frames.privatize(people, columns, **(given | options))

    wrong = no.InvalidArgumentError
    with pytest.raises(wrong, match="pilot must"):
        run(pilot=1.5)
    with pytest.raises(wrong, match="pilot must be given for one column in the wide layout"):
        run(["minutes", "id"])
    with pytest.raises(wrong, match="pilot must be given for one column in the wide layout"):
        run(layout="long")
    coin = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    with pytest.raises(wrong, match="pilot must be left out: answers have no range"):
        run(mechanism=coin, bounds=None, question=no.YesNo())
    with pytest.raises(wrong, match="name a column that was privatized with a pilot"):
        frames.tally_evidence(people, "minutes", mechanism)
    named = frames.privatize(
        people.rename_columns(["time in bed to sleep", "id"]), "time in bed to sleep",
        mechanism=mechanism, bounds=(0, 600),
    )  # fmt: skip
    with pytest.raises(wrong, match="name a column that was privatized with a pilot"):
        frames.tally_evidence(named, "time", mechanism)
    connection = duckdb.connect()
    relation = connection.from_arrow(people)
    with pytest.raises(wrong, match="connection must be the connection that the relation"):
        frames.privatize(relation, "minutes", mechanism=mechanism, bounds=(0, 600), pilot=0.1)


def test_spark_takes_no_seed(spark: Any, people: Any, mechanism: no.TableMechanism) -> None:
    frame = spark.createDataFrame(people)
    options: dict[str, Any] = {"mechanism": mechanism, "bounds": (0, 600), "pilot": 0.1}
    with pytest.raises(no.InvalidArgumentError, match="seed must be None"):
        frames.privatize(frame, "minutes", seed=1, **options)

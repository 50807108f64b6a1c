from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noutput as no
from noutput import frames
from noutput.frames.files import ENGINES
from noutput.frames.groups import grouped_tally
from tests.frames.conftest import BOUNDS, Backend

TOWNS = ["B", None, "A", "B", "A", "B", None, "C"]
VERSIONS = [1, 1, 2, 2, 2, 1, None, 1]


@pytest.fixture(scope="module")
def reports(five_outputs: no.TableMechanism) -> Any:
    table = pa.table({"x": np.linspace(-1, 1, 8), "town": TOWNS, "version": VERSIONS})
    return frames.privatize(
        table, "x", mechanism=five_outputs, bounds=(-1, 1), keep=["town", "version"], seed=4
    )


def totals(groups: frames.GroupedTally) -> dict[Any, int]:
    return {labels: tally.total for labels, tally in groups.items()}


def test_reports_are_counted_per_label(
    backend: Backend, reports: Any, five_outputs: no.TableMechanism
) -> None:
    groups = frames.tally(backend.make(reports), "x", five_outputs, by="town")
    assert totals(groups) == {("A",): 2, ("B",): 3, ("C",): 1, (None,): 2}
    assert list(groups) == [("A",), ("B",), ("C",), (None,)]
    values = reports[frames.report_name("x", five_outputs)].to_numpy() % 1000
    for (label,), tally in groups.items():
        rows = [town == label for town in TOWNS]
        assert tally == no.Tally.of(five_outputs, values[rows])
    assert groups["A"] == groups["A",] == groups[("A",)]
    assert groups.total == 8


def test_groups_of_two_labels(
    backend: Backend, reports: Any, five_outputs: no.TableMechanism
) -> None:
    groups = frames.tally(backend.make(reports), "x", five_outputs, by=["town", "version"])
    assert totals(groups) == {
        ("A", 2): 2, ("B", 1): 2, ("B", 2): 1, ("C", 1): 1, (None, 1): 1, (None, None): 1,
    }  # fmt: skip
    assert groups.names[(None, 1)] == "(missing), 1"
    assert groups.names[("B", 2)] == "B, 2"
    assert totals(groups.margin("version")) == {(2,): 3, (1,): 4, (None,): 1}


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_groups_of_several_columns(
    backend: Backend, people: Any, layout: str, five_outputs: no.TableMechanism
) -> None:
    """The labels have names that the long form uses itself."""
    table = people.append_column("report", pa.array(["even", "odd"] * 500))
    made = frames.privatize(
        table, ["minutes", "rating"], mechanism=five_outputs, bounds=BOUNDS, keep="report",
        layout=layout,
    )  # fmt: skip
    found = frames.tally(
        backend.make(made), ["rating", "minutes"], five_outputs, layout=layout, by=["report"]
    )
    assert list(found) == ["rating", "minutes"]
    whole = frames.tally(made, ["rating", "minutes"], five_outputs, layout=layout)
    for name, groups in found.items():
        assert totals(groups) == {("even",): 500, ("odd",): 500}
        assert no.Tally.sum(groups.values()) == whole[name]


def test_small_groups_are_hidden(reports: Any, five_outputs: no.TableMechanism) -> None:
    every = frames.tally(reports, "x", five_outputs, by="town")
    some = frames.tally(reports, "x", five_outputs, by="town", minimum=3)
    assert totals(some) == {("B",): 3}
    assert some.hidden == 3
    assert some.rest == no.Tally.sum(every[label] for label in ("A", "C", None))
    assert some.total == 8
    most = frames.tally(reports, "x", five_outputs, by=["town", "version"], minimum=2)
    assert totals(most) == {("A", 2): 2, ("B", 1): 2}
    assert most.rest is not None
    assert most.rest.total == 4


@given(st.dictionaries(st.integers(0, 30), st.integers(0, 40), max_size=12), st.integers(1, 100))
def test_nothing_below_the_minimum_can_be_computed(sizes: dict[int, int], minimum: int) -> None:
    m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    counted = {(label,): no.Tally(m.fingerprint, (size, 0)) for label, size in sizes.items()}
    groups = grouped_tally(("label",), m, counted, minimum)
    small = [size for size in sizes.values() if size < minimum]
    assert all(tally.total >= minimum for tally in groups.values())
    assert groups.hidden == len(small)
    if sum(small) < minimum or 2 * (sum(small) - max(small)) < minimum:  # nearly all of one
        assert groups.rest is None
        assert groups.total == sum(sizes.values()) - sum(small)
    else:
        assert groups.rest is not None
        assert len(small) > 1
        assert groups.rest.total == sum(small)
    margin = groups.margin()
    assert margin.total == groups.total


def test_means_are_compared_and_standardized_in_two_lines(
    five_outputs: no.TableMechanism,
) -> None:
    rng = np.random.default_rng(3)
    people = pa.table(
        {
            "minutes": np.concatenate([rng.normal(40, 5, 20_000), rng.normal(90, 5, 20_000)]),
            "country": ["DE"] * 20_000 + ["FR"] * 20_000,
        }
    )
    made = frames.privatize(
        people, "minutes", mechanism=five_outputs, bounds=(0, 180), keep="country", clip=True,
        seed=8,
    )  # fmt: skip
    means = frames.tally(made, "minutes", five_outputs, by="country").means((0, 180))
    [difference] = no.compare_groups(means)
    assert (difference.first, difference.second) == ("DE", "FR")
    assert difference.low < -50.0 < difference.high < 0.0
    low, high = no.standardize(means, {"DE": 3, "FR": 1}).interval()
    assert low < 0.75 * 40 + 0.25 * 90 < high
    groups = frames.tally(made, "minutes", five_outputs, by="country")
    assert groups.means(question=no.Number(0, 180)) == means
    assert groups.rest_mean((0, 180)) is None
    shares = groups.means((0, 180), below=65.0)
    assert shares["DE"].interval()[0] > 0.5 > shares["FR"].interval()[1]
    [difference] = no.compare_groups(shares)
    assert difference.is_clear


def test_answers_are_compared_by_score_or_by_share() -> None:
    design = no.design(1.0, answers=[1, 2, 3])
    people = pa.table({"stars": [1] * 900 + [3] * 900, "town": ["A"] * 900 + ["B"] * 900})
    made = frames.privatize(people, "stars", design=design, keep="town", seed=2)
    groups = frames.tally(made, "stars", design, by="town")
    scale = no.Scale(1, 2, 3)
    scores, shares = groups.means(question=scale), groups.means(question=scale, answer=3)
    for name, truth in (("A", 1.0), ("B", 3.0)):
        exact = no.estimate_answers(design.mechanism, groups[name], scale)
        assert scores[name].value == pytest.approx(exact.mean)
        assert scores[name].standard_error == pytest.approx(exact.mean_error)
        assert scores[name].interval(kind="guaranteed")[0] <= truth
        assert scores[name].interval(kind="guaranteed")[1] >= truth
        assert shares[name].value == pytest.approx(exact.shares[2])
    assert no.compare_groups(shares)[0].is_clear


def test_arguments_that_do_not_fit_are_refused(
    reports: Any, five_outputs: no.TableMechanism
) -> None:
    def count(**options: Any) -> Any:
        return frames.tally(reports, "x", five_outputs, **options)

    wrong = no.InvalidArgumentError
    with pytest.raises(wrong, match=r"by must name columns of \['town', .*; found 'city'"):
        count(by="city")
    with pytest.raises(wrong, match="by must name at least one column"):
        count(by=[])
    with pytest.raises(wrong, match="minimum must be given with `by`"):
        count(minimum=5)
    with pytest.raises(wrong, match="minimum"):
        count(by="town", minimum=0)
    with pytest.raises(wrong, match="by must leave out the reports"):
        count(by=frames.report_name("x", five_outputs))
    nested = reports.append_column("list", pa.array([[1]] * 8))
    with pytest.raises(wrong, match="column 'list' must hold labels"):
        frames.tally(nested, "x", five_outputs, by="list")
    groups = count(by="town")
    with pytest.raises(wrong, match=r"by must name labels of \['town'\]; found 'version'"):
        groups.margin("version")
    with pytest.raises(wrong, match="reports of the group 'C' must be at least two"):
        groups.means((-1, 1))
    with pytest.raises(wrong, match="bounds and question must be given one at a time"):
        groups.means()
    with pytest.raises(wrong, match="answer must be given for reports of answers"):
        groups.means((-1, 1), answer="yes")
    with pytest.raises(wrong, match="question must be a Number"):
        groups.means(question=no.YesNo())
    design = no.design(1.0, question=no.YesNo())
    yes = frames.privatize(pa.table({"x": [True] * 8, "t": TOWNS}), "x", design=design, keep="t")
    with pytest.raises(wrong, match="question must be the Scale, Choice or YesNo"):
        frames.tally(yes, "x", design, by="t").means((0, 1))


def test_every_kind_of_missing_label_is_one_group(five_outputs: no.TableMechanism) -> None:
    table = pa.table({"x": [0.0] * 4, "label": [1.5, float("nan"), None, 1.5]})
    made = frames.privatize(table, "x", mechanism=five_outputs, bounds=(-1, 1), keep="label")
    name = frames.report_name("x", five_outputs)
    mixed = pd.DataFrame(
        {name: made[name], "label": pd.Series([pd.NA, pd.NaT, None, "a"], dtype=object)}
    )
    for frame, label in ((made, 1.5), (pl.from_arrow(made), 1.5), (mixed, "a")):
        groups = frames.tally(frame, "x", five_outputs, by="label")
        assert sum(totals(groups).values()) == 4
        assert list(groups) == [(label,), (None,)]


def test_labels_of_all_kinds(five_outputs: no.TableMechanism) -> None:
    days = pa.array([1, 1, 2, None], pa.date32())
    table = pa.table({"x": [0.0] * 4, "day": days, "kind": ["a", "b", "a", "a"], "n": [0, 1, 0, 0]})
    made = frames.privatize(
        table, "x", mechanism=five_outputs, bounds=(-1, 1), keep=["day", "kind", "n"]
    )
    groups = frames.tally(made, "x", five_outputs, by=["day"])
    assert list(groups.names.values()) == ["1970-01-02", "1970-01-03", "(missing)"]
    frame = made.to_pandas().astype({"kind": pd.CategoricalDtype(["b", "a", "unused"])})
    assert totals(frames.tally(frame, "x", five_outputs, by="kind")) == {("a",): 3, ("b",): 1}
    frame["mixed"] = ["a", 1, "a", None]
    assert list(frames.tally(frame, "x", five_outputs, by="mixed")) == [(1,), ("a",), (None,)]
    assert frames.tally(frame, "x", five_outputs, by="n").names == {(0,): "0", (1,): "1"}
    assert frames.tally(frame, "x", five_outputs, by="n") == frames.tally(
        made, "x", five_outputs, by="n"
    )


def test_too_many_groups_are_refused(
    reports: Any, five_outputs: no.TableMechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noutput.frames.counting._MOST_ROWS", 3)
    with pytest.raises(no.InvalidArgumentError, match="by must make at most 3 counts"):
        frames.tally(reports, "x", five_outputs, by="town")


@pytest.mark.parametrize("ending", [".parquet", ".csv", ""])
@pytest.mark.parametrize("engine", ENGINES)
def test_files(
    engine: str, ending: str, tmp_path: Path, request: Any, five_outputs: no.TableMechanism
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    table = pa.table({"x": np.linspace(-1, 1, 8), "town": TOWNS})
    source, target = tmp_path / "people.csv", tmp_path / f"reports{ending}"
    pa_csv.write_csv(table, source)
    if ending != ".csv":
        source = tmp_path / "people.parquet"
        pq.write_table(table, source)
    frames.privatize_files(source, target, "x", mechanism=five_outputs, bounds=(-1, 1), keep="town")
    found = frames.tally_files(target, by="town", minimum=2, engine=engine)["x"]
    assert totals(found) == {("A",): 2, ("B",): 3, (None,): 2}
    assert found.hidden == 1
    assert found.rest is None
    with pytest.raises(no.InvalidArgumentError, match=r"by must name columns of .*found 'city'"):
        frames.tally_files(target, by="city", engine=engine)


def test_duckdb_reads_every_row_once(reports: Any, five_outputs: no.TableMechanism) -> None:
    """However many groups and columns there are: one grouped count in the plan."""
    connection, seen = duckdb.connect(), []

    def watch(rows: Any) -> Any:
        seen.append(len(rows))
        return rows

    how: dict[str, Any] = {"type": "arrow", "side_effects": True, "null_handling": "special"}
    connection.create_function("watch", watch, ["BIGINT"], "BIGINT", **how)
    name = frames.report_name("x", five_outputs)
    other = frames.report_name("y", five_outputs)
    rows = connection.from_arrow(reports)
    query = f'SELECT town, watch(version) AS version, "{name}", NULL::INT AS "{other}" FROM r'  # noqa: S608
    watched = rows.query("r", query)
    found = frames.tally(watched, ["x", "y"], five_outputs, by=["town", "version"])
    assert sum(seen) == 8
    assert len(found["x"]) == 6
    assert not found["y"]


def test_lazy_polars_runs_once(reports: Any, five_outputs: no.TableMechanism) -> None:
    seen = []

    def watch(frame: pl.DataFrame) -> pl.DataFrame:
        seen.append(len(frame))
        return frame

    lazy = pl.DataFrame(reports).lazy().map_batches(watch)
    assert len(frames.tally(lazy, "x", five_outputs, by=["town", "version"])) == 6
    assert seen == [8]


def test_spark_reads_every_row_once(
    spark: Any, reports: Any, five_outputs: no.TableMechanism
) -> None:
    seen = spark.sparkContext.accumulator(0)

    def watch(batches: Any) -> Any:
        for batch in batches:
            seen.add(batch.num_rows)
            yield batch

    frame = spark.createDataFrame(reports)
    watched = frame.mapInArrow(watch, frame.schema)
    assert len(frames.tally(watched, "x", five_outputs, by=["town", "version"])) == 6
    assert seen.value == 8


def test_groups_of_raw_answers_are_refused(five_outputs: no.TableMechanism) -> None:
    counts = {("A",): (200,) * 5, ("B",): (0, 0, 0, 0, 1000)}
    tallies = {key: no.Tally(five_outputs.fingerprint, each) for key, each in counts.items()}
    groups = grouped_tally(("town",), five_outputs, tallies, 1)
    with pytest.raises(no.InvalidArgumentError, match="neither be raw answers"):
        groups.means((0, 180))
    hidden = grouped_tally(("town",), five_outputs, {("B",): tallies["B",]}, 2000)
    with pytest.raises(no.InvalidArgumentError, match="neither be raw answers"):
        replace(hidden, rest=tallies["B",]).rest_mean((0, 180))

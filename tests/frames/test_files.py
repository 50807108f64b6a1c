"""`privatize_files` and `tally_files` over all engines."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from noutput import DocumentError, Interval, InvalidArgumentError, Number, TableMechanism, frames
from noutput.frames import storage, streaming
from noutput.frames.engines import arrow
from noutput.frames.files import ENGINES
from tests.frames.conftest import BOUNDS
from tests.tables import window_table

COLUMNS = ["minutes", "rating"]
RATING = {"rating": (1, 5)}
MINUTES = {"minutes": (0.0, 180.0)}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "spark":
        request.getfixturevalue("spark")
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path, people: Any) -> Path:
    """A folder of three Parquet files."""
    path = tmp_path / "people"
    path.mkdir()
    for part, start in enumerate((0, 400, 900)):
        stop = (400, 900, 1000)[part]
        pq.write_table(people.slice(start, stop - start), path / f"part-{part}.parquet")
    return path


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_folders(
    engine: str, layout: str, folder: Path, tmp_path: Path, five_outputs: TableMechanism
) -> None:
    target = tmp_path / "reports"
    options: dict[str, Any] = {"bounds": BOUNDS, "layout": layout, "engine": engine}
    recipe = frames.privatize_files(folder, target, COLUMNS, mechanism=five_outputs, **options)
    assert frames.read_recipe(target) == recipe
    assert recipe.bounds == {"minutes": Interval(0, 180), "rating": Interval(1, 5)}
    assert recipe.secure
    for reader in ENGINES if engine == "spark" else ENGINES[:2]:
        counts = frames.tally_files(target, engine=reader)
        if engine == reader == "spark":
            assert frames.tally_files(target, "rating", five_outputs, engine=reader) == {
                "rating": counts["rating"]
            }
        assert {name: tally.total for name, tally in counts.items()} == dict.fromkeys(COLUMNS, 1000)
    if engine == "spark":
        address = f"file://{target}"  # as on shared storage, without a look at the sidecar
        assert storage.spark_recipe(frames.spark_session().read.parquet(address)) == recipe
        assert frames.tally_files(address, engine=engine) == counts
    with pytest.raises(InvalidArgumentError, match="target must not exist yet"):
        frames.privatize_files(folder, target, COLUMNS, mechanism=five_outputs, **options)


def test_equal_seeds_give_equal_files(
    folder: Path, tmp_path: Path, people: Any, five_outputs: TableMechanism
) -> None:
    options: dict[str, Any] = {"bounds": BOUNDS, "keep": ["id"], "seed": 5}
    expected = frames.privatize(people, COLUMNS, mechanism=five_outputs, **options)
    for engine in ENGINES[:2]:
        target = tmp_path / f"{engine}.parquet"
        recipe = frames.privatize_files(
            folder, target, COLUMNS, mechanism=five_outputs, engine=engine, **options
        )
        assert pq.read_table(target).to_pydict() == expected.to_pydict()
        assert not recipe.secure
        assert frames.read_recipe(target) == recipe


@pytest.mark.parametrize("engine", ENGINES[:2])
def test_csv(engine: str, tmp_path: Path, people: Any, five_outputs: TableMechanism) -> None:
    source, target = tmp_path / "people.csv", tmp_path / "reports.csv"
    pa_csv.write_csv(people, source)
    options: dict[str, Any] = {"bounds": BOUNDS, "keep": "id", "seed": 5}
    frames.privatize_files(
        source, target, COLUMNS, mechanism=five_outputs, engine=engine, **options
    )
    expected = frames.privatize(people, COLUMNS, mechanism=five_outputs, **options)
    assert pa_csv.read_csv(target).to_pydict() == expected.to_pydict()
    assert frames.tally_files(target) == frames.tally(expected, COLUMNS, five_outputs)
    assert (tmp_path / "reports.csv.noutput.json").exists()


# a byte-order mark, a line break and a comma within quotes, spaces, signs of missing values
AWKWARD = '\ufeffx,note\n0.5,"one\n9,two"\n 0.25 ,"say ""hi"""\n\nNA,\n,last\n1e-1,\n'


def test_every_engine_reads_csv_alike(
    engine: str, tmp_path: Path, five_outputs: TableMechanism
) -> None:
    source, target = tmp_path / "people.csv", tmp_path / "reports"
    source.write_text(AWKWARD)
    options: dict[str, Any] = {"mechanism": five_outputs, "bounds": (-1, 1), "engine": engine}
    with pytest.raises(InvalidArgumentError, match=r"at row 2 \(one of 2 refused.*be a number"):
        frames.privatize_files(source, target, "x", **options)
    frames.privatize_files(source, target, "x", keep="note", skip_missing=True, **options)
    found = pq.read_table(target)
    assert found["note"].to_pylist() == ["one\n9,two", 'say "hi"', "", "last", ""]
    reported = [report is not None for report in found.column(1).to_pylist()]
    assert reported == [True, True, False, False, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n0,1\nno,1\n", r"at line 3 must hold numbers in \['x'\]; found 'no'"),
        ("x,y\n0,1\n0\n", r"at line 3 must have 2 columns, as the header; found 1"),
        ("x,y\n0,1\n0,1,2\n", r"at line 3 must have 2 columns, as the header; found 3"),
        ("x,y\n0,1\n7,1\n", r"column 'x' at row 1 \(the only refused row\) must lie in"),
        ("x,x\n0,1\n", "must name every column once; found 'x'"),
        ("z,y\n0,1\n", r"columns must name columns of \['z', 'y'\]; found 'x'"),
    ],
)
def test_every_engine_refuses_the_same_csv(
    engine: str, text: str, message: str, tmp_path: Path, five_outputs: TableMechanism
) -> None:
    source, target = tmp_path / "people.csv", tmp_path / "reports"
    source.write_text(text)
    with pytest.raises(InvalidArgumentError, match=message):
        frames.privatize_files(
            source, target, "x", mechanism=five_outputs, bounds=(-1, 1), engine=engine
        )
    assert not target.exists()


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_every_engine_counts_reports_in_csv(
    engine: str, layout: str, tmp_path: Path, people: Any, five_outputs: TableMechanism
) -> None:
    source, target = tmp_path / "people.csv", tmp_path / "reports.csv"
    pa_csv.write_csv(people, source)
    frames.privatize_files(
        source, target, COLUMNS, mechanism=five_outputs, bounds=BOUNDS, layout=layout
    )
    assert frames.tally_files(target, engine=engine) == frames.tally_files(target)


def test_every_engine_reads_dictionary_columns(
    engine: str, tmp_path: Path, five_outputs: TableMechanism
) -> None:
    coded = pa.table({"x": pa.array([0.5, 0.25, 0.5]).dictionary_encode()})
    pq.write_table(coded, tmp_path / "people.parquet")
    target = tmp_path / "reports"
    frames.privatize_files(
        tmp_path / "people.parquet",
        target,
        "x",
        mechanism=five_outputs,
        bounds=(0, 1),
        engine=engine,
    )
    assert frames.tally_files(target)["x"].total == 3


def test_a_slash_makes_a_folder(tmp_path: Path, five_outputs: TableMechanism) -> None:
    (tmp_path / "people.csv").write_text("x\n0.5\n")
    target = f"{tmp_path}/reports.new/"
    frames.privatize_files(
        tmp_path / "people.csv", target, "x", mechanism=five_outputs, bounds=(-1, 1)
    )
    assert frames.tally_files(target)["x"].total == 1


def test_line_breaks_within_quotes_make_no_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, five_outputs: TableMechanism
) -> None:
    monkeypatch.setattr(arrow, "BLOCK", 100)
    source, target = tmp_path / "people.csv", tmp_path / "reports.parquet"
    note = "one\n0.25,two\n0.25,three\n0.25,four"
    source.write_text("x,note\n" + f'0.5,"{note}"\n' * 200)
    frames.privatize_files(source, target, "x", mechanism=five_outputs, bounds=(-1, 1), keep="note")
    assert pq.read_table(target)["note"].to_pylist() == [note] * 200


def test_csv_long(tmp_path: Path, five_outputs: TableMechanism) -> None:
    source, target = tmp_path / "people.csv", tmp_path / "reports.csv"
    source.write_text("a,b\n0.5,\n,0.25\n")
    frames.privatize_files(
        source,
        target,
        ["a", "b"],
        mechanism=five_outputs,
        bounds=(-1, 1),
        layout="long",
        skip_missing=True,
    )
    assert [tally.total for tally in frames.tally_files(target).values()] == [1, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\n0.5\nabc\n", "hold numbers"),
        ("x\n0.5\n2.5\n", r"column 'x' at row 1 \(the only refused row\) must lie in"),
        ("x,y\n0.5,1\n,1\n", r"column 'x' at row 1 \(the only refused row\) must be a number"),
        ("y\n0.5\n", "columns must name columns of"),
        ("", "must be CSV text with a header; found .no text"),
    ],
)
def test_bad_csv(tmp_path: Path, text: str, message: str, five_outputs: TableMechanism) -> None:
    source, target = tmp_path / "people.csv", tmp_path / "reports"
    source.write_text(text)
    with pytest.raises(InvalidArgumentError, match=message):
        frames.privatize_files(source, target, "x", mechanism=five_outputs, bounds=(-1, 1))
    assert list(tmp_path.iterdir()) == [source]


def test_failures_leave_nothing_behind(
    engine: str, tmp_path: Path, five_outputs: TableMechanism
) -> None:
    source, target = tmp_path / "people.parquet", tmp_path / "reports"
    pq.write_table(pa.table({"x": [0.0, 3.0]}), source)
    with pytest.raises(InvalidArgumentError, match=r"column 'x' .*found 3.0"):
        frames.privatize_files(
            source, target, "x", mechanism=five_outputs, bounds=(-1, 1), engine=engine
        )
    assert list(tmp_path.iterdir()) == [source]


def test_a_failing_second_look_does_not_hide_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, five_outputs: TableMechanism
) -> None:
    def fail(*_: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr(streaming, "check", fail)
    source = tmp_path / "people.parquet"
    pq.write_table(pa.table({"x": [0.0, 3.0]}), source)
    with pytest.raises(InvalidArgumentError, match=r"column 'x' .*found 3.0"):
        frames.privatize_files(
            source,
            tmp_path / "reports",
            "x",
            mechanism=five_outputs,
            bounds=(-1, 1),
            engine="duckdb",
        )


def test_files_of_different_types_are_refused(
    engine: str, folder: Path, tmp_path: Path, five_outputs: TableMechanism
) -> None:
    """DuckDB would round the values to the first file's type, Spark would die."""
    pq.write_table(pa.table({"rating": [1, 5]}), folder / "part-0.parquet")
    pq.write_table(pa.table({"rating": [1.5, 4.5]}), folder / "part-2.parquet")
    options: dict[str, Any] = {"mechanism": five_outputs, "engine": engine, "bounds": RATING}
    with pytest.raises(InvalidArgumentError, match=r"part-2.*hold 'rating' as int64.*'double'"):
        frames.privatize_files(folder, tmp_path / "reports", "rating", **options)
    pq.write_table(pa.table({"other": [1]}), folder / "part-2.parquet")
    with pytest.raises(InvalidArgumentError, match=r"columns must be in every file.*part-2"):
        frames.privatize_files(folder, tmp_path / "reports", "rating", **options)
    assert list(tmp_path.iterdir()) == [folder]


def test_engines_read_the_same_files_of_a_folder(
    engine: str, folder: Path, tmp_path: Path, five_outputs: TableMechanism
) -> None:
    for name in ("_more.parquet", ".more.parquet"):
        pq.write_table(pa.table({"rating": [5]}), folder / name)
    (folder / "_other").mkdir()
    options: dict[str, Any] = {"mechanism": five_outputs, "engine": engine, "bounds": RATING}
    target = tmp_path / "reports"
    frames.privatize_files(folder, target, "rating", **options)
    assert frames.tally_files(target)["rating"].total == 1000
    (target / "_more.parquet").write_bytes(next(target.glob("[!_.]*.parquet")).read_bytes())
    assert frames.tally_files(target, engine=engine)["rating"].total == 1000
    for name in ("part-3.csv", "year=2026"):
        (folder / name).mkdir()
        with pytest.raises(InvalidArgumentError, match=f"neither folders nor other.*{name}"):
            frames.privatize_files(folder, tmp_path / "again", "rating", **options)
        (folder / name).rmdir()


def _write(
    target: Path, recipe: frames.Recipe, text: str, meanwhile: Callable[[], object] = dict
) -> None:
    with storage.new_target(target, recipe) as place:
        place.write_text(text)
        meanwhile()
        assert place.read_text() == text


def _texts(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


@pytest.mark.parametrize("name", ["reports", "reports.parquet", "reports.csv"])
def test_of_two_runs_on_one_target_the_first_to_end_wins(
    name: str, tmp_path: Path, five_outputs: TableMechanism
) -> None:
    target, expected = tmp_path / "run" / name, tmp_path / "expected" / name
    recipe = frames.Recipe(five_outputs, ("x",), (Number(0, 1),))
    other = frames.Recipe(five_outputs, ("x",), (Number(0, 2),))
    for path in (target, expected):
        path.parent.mkdir()
    _write(expected, recipe, "first")
    with pytest.raises(InvalidArgumentError, match="target must not exist yet"):
        _write(target, other, "second", lambda: _write(target, recipe, "first"))
    assert _texts(target.parent) == _texts(expected.parent)


def test_file_systems_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, five_outputs: TableMechanism
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    recipe = frames.Recipe(five_outputs, ("x",), (Number(0, 1),))
    target = tmp_path / "reports.parquet"
    with pytest.raises(InvalidArgumentError, match="target must not exist yet"):
        _write(target, recipe, "second", lambda: _write(target, recipe, "first"))
    assert _texts(tmp_path) == {"reports.parquet": "first"}


def test_empty_files(tmp_path: Path, five_outputs: TableMechanism) -> None:
    source = tmp_path / "people.parquet"
    pq.write_table(pa.table({"x": pa.array([], pa.float64())}), source)
    for engine in ENGINES[:2]:
        target = tmp_path / engine
        frames.privatize_files(
            source, target, "x", mechanism=five_outputs, bounds=(-1, 1), engine=engine
        )
        assert frames.tally_files(target)["x"].total == 0


def test_reports_of_another_mechanism_are_refused(
    folder: Path, tmp_path: Path, five_outputs: TableMechanism
) -> None:
    target = tmp_path / "reports"
    frames.privatize_files(folder, target, "minutes", mechanism=five_outputs, bounds=MINUTES)
    with pytest.raises(InvalidArgumentError, match="column 'minutes' must hold reports of"):
        frames.tally_files(target, mechanism=window_table(1.0, 5, 5, 0.4))
    with pytest.raises(InvalidArgumentError, match=r"columns must be of \['minutes'\]"):
        frames.tally_files(target, "rating")


def test_a_tampered_recipe_is_refused(
    folder: Path, tmp_path: Path, five_outputs: TableMechanism
) -> None:
    target = tmp_path / "reports"
    frames.privatize_files(folder, target, "minutes", mechanism=five_outputs, bounds=MINUTES)
    sidecar = target / "_noutput.json"
    sidecar.write_text(sidecar.read_text().replace('"epsilon": 4.0', '"epsilon": 0.4'))
    with pytest.raises(InvalidArgumentError, match="not private"):
        frames.tally_files(target)
    sidecar.unlink()
    with pytest.raises(InvalidArgumentError, match=r"come with its _noutput\.json"):
        frames.tally_files(target)


def test_parts_of_another_recipe_are_refused(
    engine: str, folder: Path, tmp_path: Path, five_outputs: TableMechanism
) -> None:
    """Their columns have the same names: the mechanism is the same, the bounds are not."""
    options: dict[str, Any] = {"mechanism": five_outputs, "engine": engine}
    for upper in (180.0, 360.0):
        bounds = {"minutes": (0.0, upper)}
        frames.privatize_files(folder, tmp_path / f"{upper}", "minutes", bounds=bounds, **options)
    (part, *_) = sorted((tmp_path / "360.0").glob("[!_.]*.parquet"))
    shutil.copy(part, tmp_path / "180.0" / "part-9.parquet")
    for reader in (engine, "arrow"):
        with pytest.raises(InvalidArgumentError, match=r"file .*part-9.* made by the recipe"):
            frames.tally_files(tmp_path / "180.0", engine=reader)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "dask"}, "engine must be one of"),
        ({"source": "people.csv.gz"}, r"be CSV or Parquet \(unpack it.*found 'a gzip file'"),
        ({"source": "people.xlsx"}, "be Parquet, or CSV .*found 'a ZIP file, as Excel makes'"),
        ({"source": "people.txt"}, r"be Parquet, or CSV with a name that ends in .csv; found 'nei"),
        ({"source": "parquet.csv"}, "parquet.csv' must be CSV text; found 'Parquet'"),
        ({"target": "reports.xlsx"}, r"target must end in .parquet or .csv, or be a folder"),
        pytest.param(
            {"engine": "spark", "source": "nothing"},
            "source must be a file or a folder",
            marks=pytest.mark.spark,
        ),
        pytest.param(
            {"engine": "spark", "target": "reports.parquet"},
            "target must be a folder",
            marks=pytest.mark.spark,
        ),
        ({"source": "nothing"}, "source must be a file or a folder"),
        ({"source": "."}, r"source must hold files \*.parquet"),
        ({"target": "no/where"}, "target must lie in a folder that exists"),
        ({"columns": "age"}, "columns must name columns of"),
    ],
)
def test_bad_arguments(
    options: dict[str, str], message: str, folder: Path, five_outputs: TableMechanism
) -> None:
    base = folder.parent
    (base / "people.csv").write_text("minutes\n1\n")
    (base / "people.csv.gz").write_bytes(gzip.compress(b"minutes\n1\n"))
    (base / "people.xlsx").write_bytes(b"PK\x03\x04...")
    (base / "people.txt").write_text("minutes\n1\n")
    shutil.copy(folder / "part-0.parquet", base / "parquet.csv")
    source, target = options.get("source", "people"), options.get("target", "reports")
    with pytest.raises(InvalidArgumentError, match=message):
        frames.privatize_files(
            base / source,
            base / target,
            options.get("columns", "minutes"),
            mechanism=five_outputs,
            bounds=(-1, 1),
            engine=options.get("engine", "arrow"),
        )


def test_plain_parquet_has_no_recipe(tmp_path: Path) -> None:
    path = tmp_path / "plain.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(InvalidArgumentError, match="hold reports with their recipe"):
        frames.read_recipe(path)


def test_documents_are_read_with_suspicion(five_outputs: TableMechanism) -> None:
    recipe = frames.Recipe(five_outputs, ("x",), (Number(0, 1),))
    good = json.loads(recipe.to_json())
    assert frames.Recipe.from_json(json.dumps(good)) == recipe
    changes: list[dict[str, Any]] = [
        {"format": "noutput-table"},
        {"version": 0},
        {"version": 2},
        {"version": True},
        {"extra": 1},
        {"columns": []},
        {"columns": [3]},
        {"columns": good["columns"] * 2},
        {"columns": [good["columns"][0] | {"name": 1}]},
        {"columns": [{"name": "x", "lower": 0, "upper": 1}]},
        {"columns": [{"name": "x", "question": {"kind": "color"}}]},
        {"other": 1},
        {"mechanism": 3},
    ]
    for change in changes:
        with pytest.raises(DocumentError):
            frames.Recipe.from_json(json.dumps(good | change))
    with pytest.raises(InvalidArgumentError):
        frames.Recipe.from_json(json.dumps(good | {"clip": "yes"}))

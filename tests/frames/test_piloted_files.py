from __future__ import annotations

import io
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import noutput as no
from noutput import frames
from noutput.frames.piloted import choose_bounds
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
    minutes = rng.gamma(4.0, 10.0, SIZE).clip(0, 599.5)
    return pa.table({"minutes": minutes, "id": np.arange(SIZE)})


@pytest.fixture
def source(tmp_path: Path, people: Any) -> Path:
    pq.write_table(people, tmp_path / "people.parquet", row_group_size=1_000)
    return tmp_path / "people.parquet"


@pytest.mark.parametrize(
    ("engine", "ending"),
    [*product(("arrow", "duckdb"), (".parquet", ".csv", "")), ("spark", "")],
)
def test_every_row_of_a_file_is_reported_once(
    engine: str,
    ending: str,
    source: Path,
    people: Any,
    mechanism: no.TableMechanism,
    request: pytest.FixtureRequest,
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    if ending == ".csv":
        source = source.with_suffix(".csv")
        pa_csv.write_csv(people, source)
    target = source.parent / f"reports{ending}"
    recipe = frames.privatize_files(
        source, target, "minutes", mechanism=mechanism, bounds=(0, 599.5), keep="id", pilot=0.25,
        engine=engine, seed=None if engine == "spark" else 3,
    )  # fmt: skip
    assert frames.read_recipe(target) == recipe
    assert recipe.columns[0] == "minutes in 0 to 599,5"
    table = pa_csv.read_csv(target) if ending == ".csv" else pq.read_table(target)
    assert sorted(int(each) for each in table["id"].to_pylist()) == list(range(SIZE))
    given = [np.asarray(table[name].is_valid()) for name in table.column_names[1:]]
    assert len(given) == 2
    assert np.array_equal(given[0], ~given[1])
    found = frames.read_evidence(target, engine=engine)["minutes"]
    assert found.total == SIZE
    assert found.choices > 1_000
    assert found.bounds == no.Interval(0, 599.5)
    assert found.parts[1].bounds.upper < 599.5
    if not ending:
        assert frames.tally_evidence(pq.read_table(target), "minutes", mechanism) == found


def test_a_seed_gives_the_same_file(source: Path, mechanism: no.TableMechanism) -> None:
    options: dict[str, Any] = {"mechanism": mechanism, "bounds": (0, 600), "pilot": 0.2, "seed": 4}
    found = []
    for engine in ("arrow", "duckdb"):
        target = source.parent / f"{engine}.parquet"
        frames.privatize_files(source, target, "minutes", engine=engine, **options)
        found.append(frames.read_evidence(target)["minutes"])
    frame = frames.privatize(pq.read_table(source), "minutes", **options)
    assert found[0] == found[1] == frames.tally_evidence(frame, "minutes", mechanism)


def test_what_a_pilot_does_not_narrow_has_one_column(
    tmp_path: Path, mechanism: no.TableMechanism
) -> None:
    few = tmp_path / "few.csv"
    few.write_text("x\n" + "0.5\n" * 40)
    target = tmp_path / "reports.csv"
    recipe = frames.privatize_files(few, target, "x", mechanism=mechanism, bounds=(0, 1), pilot=0.5)
    assert recipe.columns == ("x in 0 to 1",)
    assert not recipe.skip_missing
    assert frames.read_evidence(target)["x"].total == 40


def test_a_source_that_changes_between_the_passes_is_refused(
    source: Path, mechanism: no.TableMechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = choose_bounds

    def choose(*arguments: Any) -> Any:
        pq.write_table(pq.read_table(source).slice(1), source)
        return real(*arguments)

    monkeypatch.setattr("noutput.frames.piloted_files.choose_bounds", choose)
    target = source.parent / "reports.parquet"
    with pytest.raises(no.InvalidArgumentError, match="source must stay as it is between"):
        frames.privatize_files(
            source, target, "minutes", mechanism=mechanism, bounds=(0, 600), pilot=0.2
        )
    assert not target.exists()


def test_what_cannot_be_read_twice_or_written_is_refused(
    source: Path, mechanism: no.TableMechanism
) -> None:
    options: dict[str, Any] = {"mechanism": mechanism, "pilot": 0.2}
    target, wrong = source.parent / "reports.parquet", no.InvalidArgumentError
    stream = io.BytesIO(b"x\n0\n")
    with pytest.raises(wrong, match="source must be a file or a folder with a pilot"):
        frames.privatize_files(stream, target, "x", bounds=(0, 600), **options)
    with pytest.raises(wrong, match=r"column 'minutes' at row \d+ \(one of [\d,]+ refused rows\)"):
        frames.privatize_files(source, target, "minutes", bounds=(0, 30), **options)
    assert not target.exists()
    target.write_text("taken")
    for engine in ("arrow", "duckdb"):
        with pytest.raises(wrong, match="target must not exist yet"):
            frames.privatize_files(
                source, target, "minutes", bounds=(0, 600), engine=engine, **options
            )
    with pytest.raises(wrong, match="sources must be at least one"):
        frames.read_evidence()


def test_files_of_several_tables_are_one_population(
    source: Path, people: Any, mechanism: no.TableMechanism
) -> None:
    other = no.design(1.0, 8, "worst").mechanism
    targets = [source.parent / name for name in ("first", "second")]
    frames.privatize_files(
        source, targets[0], "minutes", mechanism=mechanism, bounds=(0, 600), pilot=0.2
    )
    frames.privatize_files(
        source, targets[1], "minutes", clip=True, mechanism=other, bounds=(0, 300)
    )
    found = frames.read_evidence(*targets)["minutes"]
    assert found.total == 2 * SIZE
    assert len(found.parts) == 3
    low, high = no.estimate_mean(found).interval(0.999999999)
    assert low < float(np.mean(people["minutes"].to_numpy())) < high
    frames.privatize_files(source, source.parent / "third", "id", mechanism=other, bounds=(0, 9e3))
    with pytest.raises(no.InvalidArgumentError, match=r"same columns, \['minutes'\]; found \['id'"):
        frames.read_evidence(targets[0], source.parent / "third")
    assert list(frames.read_evidence(*targets, columns="minutes")) == ["minutes"]

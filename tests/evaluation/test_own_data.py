"""CSV files of one's own in the evaluation."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noutput.errors import InvalidArgumentError
from noutput.evaluation import scenarios
from noutput.evaluation.own_data import Bounds, OwnFile, own_files, parse_bounds, read

TEXT = "age,hours,town,same\n10,1.5,A,7\n30,2,B,7\n,5,A,7\n20,3.5,C,7\n"
FLOATS = st.floats(-1e6, 1e6)


def write(folder: Path, text: str, name: str = "trips.csv") -> str:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


@pytest.mark.parametrize("name", ["trips.csv", "trips.csv.gz"])
def test_columns_of_numbers_are_scaled_and_the_rest_is_told(tmp_path: Path, name: str) -> None:
    (file,) = own_files([write(tmp_path, TEXT, name)], [])
    found = read(file)
    assert (found.name, found.label, found.people) == ("trips", "trips", 3)
    assert found.columns == ("age", "hours")
    assert found.values.tolist() == [[-1.0, -1.0], [1.0, -0.5], [0.0, 1.0]]
    assert found.notes == (
        "the column town is left out: it does not hold numbers",
        "1 of 4 rows are left out: a value is missing in them",
        "the column same is left out: all its values are equal",
    )
    assert found.difference == ""


def test_given_bounds_scale_and_clip_aloud(tmp_path: Path) -> None:
    bounds = [Bounds("age", 0.0, 20.0), Bounds("same", 0.0, 14.0)]
    (file,) = own_files([write(tmp_path, TEXT)], bounds)
    found = read(file)
    assert found.columns == ("age", "hours", "same")
    assert found.values[:, 0].tolist() == [0.0, 1.0, 1.0]
    assert found.values[:, 2].tolist() == [0.0, 0.0, 0.0]
    assert "1 of 3 numbers of age lie beyond 0 and 20 and count as the nearer one" in found.notes


def test_bounds_belong_to_the_file_that_has_the_column(tmp_path: Path) -> None:
    paths = [write(tmp_path, TEXT), write(tmp_path, "wage\n1\n2\n", "pay.csv")]
    trips, pay = own_files(paths, [Bounds("wage", 0.0, 5.0)])
    assert trips.bounds == ()
    assert pay.bounds == (Bounds("wage", 0.0, 5.0),)
    scenario = scenarios.Scenario(datasets=("trips", "pay"), own=(trips, pay))
    assert scenarios.command(scenario).endswith(
        f"--dataset {paths[0]} --dataset {paths[1]} --bounds wage=0:5"
    )


@pytest.mark.parametrize(
    "text", ["age", "age=1", "age=5:5", "age=6:5", "=0:1", "age=nan:1", "a=0:inf"]
)
def test_bounds_are_two_numbers(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="bounds must be COLUMN=LOWER:UPPER"):
        parse_bounds(text)


@settings(max_examples=50)
@given(
    column=st.text(min_size=1, max_size=9),
    ends=st.tuples(FLOATS, FLOATS).filter(lambda e: e[0] < e[1]),
)
def test_bounds_survive_the_command_line(column: str, ends: tuple[float, float]) -> None:
    assert parse_bounds(str(Bounds(column, *ends))) == Bounds(column, *ends)


@settings(max_examples=25)
@given(numbers=st.lists(FLOATS, min_size=2, max_size=20).filter(lambda each: len(set(each)) > 1))
def test_every_number_lies_in_the_range(
    numbers: list[float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = "".join(f"{number!r}\n" for number in numbers)
    path = write(tmp_path_factory.mktemp("own"), f"x\n{lines}")
    values = read(OwnFile(path)).values
    assert values.min() == -1.0
    assert values.max() == 1.0
    order = np.argsort(numbers, kind="stable")
    assert (np.diff(values[order, 0]) >= 0.0).all()


@pytest.mark.parametrize(
    ("text", "name", "bounds", "words"),
    [
        (None, "trips.csv", [], "dataset must be a file that exists; found"),
        ("", "trips.csv", [], "dataset must be a CSV file with a header (.*)"),
        ("a,a\n1,2\n", "trips.csv", [], "one name per column"),
        ("a\n1\n2\n", "adult.csv", [], "have a name that no other dataset has"),
        ("a\n1\n2\n", "trips.csv", [Bounds("b", 0, 1)], "bounds must name columns of the files"),
        ("a\n1\n2\n", "trips.csv", [Bounds("a", 0, 1)] * 2, "be given once per column"),
        ("a\nx\ny\n", "trips.csv", [], "have a column of numbers"),
        ("a,b\n1,2\n,3\n", "trips.csv", [], "have two rows or more"),
        ("a\n1\n1\n", "trips.csv", [], "have a column with different numbers"),
        ("a\n-1.7e308\n1.7e308\n", "trips.csv", [], "a must have a finite range"),
    ],
)
def test_what_cannot_be_used_is_refused(
    tmp_path: Path, text: str | None, name: str, bounds: list[Bounds], words: str
) -> None:
    path = str(tmp_path / name) if text is None else write(tmp_path, text, name)
    with pytest.raises(InvalidArgumentError, match=words):
        read(*own_files([path], bounds))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "missing.csv")
    with pytest.raises(InvalidArgumentError) as caught:
        own_files([path], [])
    assert str(caught.value) == f"dataset must be a file that exists; found {path!r}"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidArgumentError, match="dataset must be a file that exists; found"):
        own_files([str(tmp_path / "folder.csv")], [])

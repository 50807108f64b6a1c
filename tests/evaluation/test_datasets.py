from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from noutput.errors import InvalidArgumentError
from noutput.evaluation import datasets, synthetic
from noutput.evaluation.sources import MissingDataError, Source


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Neither a named folder nor a cache has anything."""
    monkeypatch.delenv("NOUTPUT_DATA", raising=False)
    monkeypatch.setattr(Source, "cache", staticmethod(lambda: tmp_path / "cache"))
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))


def test_columns_are_scaled_and_rows_with_gaps_are_told(nowhere: Path) -> None:
    write(nowhere, "adult", "age,hours,same\n10,1,7\n30,2,7\n,5,7\n20,3,7\n")
    found = datasets.load("adult", nowhere)
    assert found.columns == ("age", "hours")
    assert found.values.tolist() == [[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]]
    assert found.notes == (
        "1 of 4 rows are left out: a value is missing in them",
        "the column same is left out: all its values are equal",
    )
    assert (found.people, found.n_attributes, found.label) == (3, 2, "Adult")
    assert not found.values.flags.writeable


def test_absurd_columns_of_beijing_are_left_out_aloud(nowhere: Path) -> None:
    write(nowhere, "beijing_housing", "DOM,price,ladderRatio\n,1,0.5\n4,2,10009400\n")
    found = datasets.load("beijing_housing", nowhere)
    assert found.columns == ("price",)
    assert [note.split(":")[0] for note in found.notes] == [
        "the column DOM is left out",
        "the column ladderRatio is left out",
    ]


def test_other_numbers_than_the_known_ones_are_told(nowhere: Path) -> None:
    write(nowhere, "adult", "age,hours\n10,1\n30,2\n20,3\n")
    found = datasets.load("adult", nowhere)
    assert found.difference == (
        f"adult is not the known dataset: it has 3 people, 2 attributes and digest {found.digest}, "
        "not 48,842, 6 and 3ac5af8c430be2e4; results are about other numbers than the published "
        "ones"
    )
    assert set(datasets._KNOWN) == set(datasets.DATASETS)


def test_places_are_looked_at_in_order(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(nowhere / "cache", "adult", "a\n1\n2\n3\n4\n")
    assert datasets.load("adult").people == 4
    write(nowhere / "named", "adult", "a\n1\n2\n3\n")
    monkeypatch.setenv("NOUTPUT_DATA", str(nowhere / "named"))
    assert datasets.load("adult").people == 3
    write(nowhere / "given", "adult", "a\n1\n2\n")
    assert datasets.load("adult", nowhere / "given").people == 2


def test_the_kaggle_set_says_what_to_put_where(nowhere: Path) -> None:
    with pytest.raises(MissingDataError) as caught:
        datasets.load("beijing_housing")
    text = str(caught.value)
    assert "kaggle.com/datasets/ruiqurm/lianjia" in text
    assert str(nowhere / "cache" / "new.csv") in text
    assert "NOUTPUT_DATA" in text


def test_bad_arguments(nowhere: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="name must be one of 'adult'"):
        datasets.load("adults")
    with pytest.raises(InvalidArgumentError, match="folder must be a folder that exists"):
        datasets.load("adult", nowhere / "none")
    write(nowhere, "adult", "a\n1\nx\n")
    with pytest.raises(InvalidArgumentError, match="hold numbers only"):
        datasets.load("adult", nowhere)


@pytest.mark.parametrize("name", list(synthetic.SHAPES))
def test_synthetic_sets_need_no_files(nowhere: Path, name: str) -> None:
    found = datasets.load(name, nowhere)
    assert found.values.shape == (20_000, 4)
    assert -1.0 <= found.values.min() < found.values.max() <= 1.0
    assert np.array_equal(found.values, synthetic.draw(name))
    assert found.label == synthetic.LABELS[name]


def test_histograms_count_everybody() -> None:
    shares = datasets.load("spike").histograms(64)
    assert shares.shape == (4, 64)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert np.all(shares[:, 0] > 0.89)


@pytest.mark.skipif(
    not os.environ.get("NOUTPUT_DATA"),
    reason="NOUTPUT_DATA does not name a folder with the evaluation's datasets",
)
@pytest.mark.parametrize(
    ("name", "shape", "column", "mean", "rows"),
    [
        ("adult", (48_842, 6), 0, 38.5816, 32_561),
        ("credit", (30_000, 24), 0, 167_484.3227, None),
        ("online_news", (39_644, 60), 59, 3395.3802, None),
        ("beijing_housing", (297_701, 19), None, None, None),
    ],
)
def test_the_papers_datasets(
    name: str, shape: tuple[int, int], column: int | None, mean: float | None, rows: int | None
) -> None:
    """Means are known in the original units, so the scaling is undone with the file's range."""
    found = datasets.load(name)
    assert found.values.shape == shape
    assert found.difference == ""
    assert np.all(found.values.min(axis=0) == -1.0)
    assert np.all(found.values.max(axis=0) == 1.0)
    if column is not None:
        path = datasets.find(name)
        assert path is not None
        with gzip.open(path, "rt", encoding="utf-8") as file:
            raw = np.loadtxt(file, delimiter=",", skiprows=1, usecols=column)
        low, high = raw.min(), raw.max()
        unscaled = (found.values[:rows, column] + 1.0) / 2.0 * (high - low) + low
        assert unscaled.mean() == pytest.approx(mean, abs=5.1e-5)

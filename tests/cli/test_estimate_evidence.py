from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import noutput as no
from noutput import frames
from noutput.cli.estimate import command
from noutput.cli.privatize import command as privatize
from tests.pilots import find_ranges_always


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("evidence")
    rng = np.random.default_rng(1)
    minutes, stars = rng.gamma(4.0, 10.0, 8_000).clip(0, 180), rng.integers(1, 4, 8_000)
    pq.write_table(pa.table({"minutes": minutes, "stars": stars}), place / "people.parquet")
    source = place / "people.parquet"
    for epsilon in (1.0, 3.0):
        m = no.design(epsilon, 16, "worst").mechanism
        given: dict[str, Any] = {
            "mechanism": m,
            "bounds": (0, 60 * epsilon),
            "clip": True,
            "seed": 1,
        }
        target = place / f"minutes{epsilon:g}"
        frames.privatize_files(source, target, "minutes", **given)
        d = no.design(epsilon, answers=[1, 2, 3])
        frames.privatize_files(source, place / f"stars{epsilon:g}", "stars", design=d, seed=1)
    other = no.design(1.0, answers=[0, 1, 2])
    pq.write_table(pa.table({"stars": stars - 1}), place / "zero.parquet")
    frames.privatize_files(place / "zero.parquet", place / "zero", "stars", design=other)
    return place


def run(*arguments: object, verb: Any = command) -> Result:
    done = CliRunner().invoke(verb, [str(argument) for argument in arguments])
    if done.exception is not None:
        assert isinstance(done.exception, no.NoutputError | SystemExit)
    return done


def test_files_of_several_tables_count_together(folder: Path) -> None:
    files = [folder / "minutes1", folder / "minutes3"]
    text = run(*files, "--method", "em").output
    assert text.startswith("Reports were drawn with a seed: a simulation that protects nobody.")
    assert "minutes: 16,000 reports, epsilon = 3" in text
    assert "Reports of 2 tables: 8,000 of 0 to 60" in text
    found = json.loads(run(*files, "--method", "em", "--json").output)
    assert found["files"] == 2
    column = found["columns"]["minutes"]
    assert (column["lower"], column["upper"], column["reports"]) == (0.0, 180.0, 16_000)


def test_ratings_of_several_tables(folder: Path, tmp_path: Path) -> None:
    plot = tmp_path / "stars.svg"
    text = run(folder / "stars1", folder / "stars3", "--plot", plot).output
    assert "stars: 16,000 reports, epsilon = 3" in text
    assert f"Figure saved in {plot}" in text
    assert plot.exists()
    done = run(folder / "stars1", folder / "stars3", "--bins", 9)
    assert "--bins is for numbers, not for answers." in done.output


def test_what_is_not_one_population_is_refused(folder: Path) -> None:
    done = run(folder / "minutes1", folder / "stars1")
    assert "must have reports of the same columns, ['minutes']" in str(done.exception)
    done = run(folder / "stars1", folder / "zero")
    assert "column 'stars' must answer Scale(" in str(done.exception)
    done = run(folder / "stars1", folder / "stars3", "--by", "town")
    assert "--by and --campaign are for one SOURCE" in done.output
    done = run(folder / "stars1", "-")
    assert "standard input is not read" in str(done.exception)


def test_a_pilot_from_the_command_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_ranges_always(monkeypatch)
    target = tmp_path / "reports.parquet"
    options = ("--column", "minutes", "--lower", 0, "--upper", 1_800, "--epsilon", 4)
    done = run(
        folder / "people.parquet", *options, "--outputs", 16, "--objective", "worst", "--pilot",
        0.25, "-o", target, verb=privatize,
    )  # fmt: skip
    assert "Privacy loss of a row: 4. Each" in done.output
    assert "missing" not in done.output
    assert "The pilot found the range 0 to " in done.output
    text = run(target, "--method", "em").output
    assert text.startswith("minutes: 8,000 reports, epsilon = 4\n")
    assert "Reports of 2 tables: " in text
    few = tmp_path / "few.csv"
    few.write_text("minutes\n" + "5\n" * 10)
    done = run(few, *options, "--pilot", 0.5, "-o", tmp_path / "few.parquet", verb=privatize)
    assert "The pilot left the range as it is." in done.output
    few.write_text("minutes\n5\n")
    run(few, *options, "--pilot", 0.5, "-o", tmp_path / "one.parquet", verb=privatize)
    done = run(tmp_path / "one.parquet")
    assert "reports of column 'minutes' must be at least two; found 1" in str(done.exception)

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from noutput.cli.reproduce import command
from noutput.evaluation import run
from noutput.evaluation.sources import MissingDataError, Source

SYNTHETIC = ("--dataset", "uniform", "--dataset", "spike")
OPTIONS = ("--quick", "--runs", "2", "--jobs", "1")


def reproduce(out: Path, *arguments: str) -> Result:
    return CliRunner().invoke(command, ["--out", str(out), *OPTIONS, *arguments])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("reproduction")
    done = reproduce(out, "mean", "bits", "example", *SYNTHETIC)
    assert done.exit_code == 0, done.output
    return out, done.output


def test_everything_is_written(made: tuple[Path, str]) -> None:
    out, output = made
    names = {path.name for path in out.iterdir()}
    pictures = {
        f"{name}.{end}" for name in ("mean", "mean-ratio", "example") for end in ("png", "svg")
    }
    assert names == pictures | {
        "mean.csv", "bits.csv", "example.csv", "REPORT.md", "index.html", "metadata.json",
        "units.jsonl",
    }  # fmt: skip
    assert "holds in part  A report of the analytical design" in output
    assert "not tested     On real data the worst-case design" in output
    assert f"Everything is in {out}" in output
    rows = list(csv.DictReader((out / "mean.csv").read_text().splitlines()[2:]))
    assert len(rows) == 2 * 12 * 3
    assert {row["dataset"] for row in rows} == {"uniform", "spike"}
    found = json.loads((out / "metadata.json").read_text())
    assert found["runs"] == 2
    assert found["command"] == (
        "noutput reproduce example mean bits --quick --runs 2 --seed 1 "
        "--dataset uniform --dataset spike"
    )
    assert found["datasets"]["spike"]["people"] == 20_000


def test_the_report_tells_every_claim(made: tuple[Path, str]) -> None:
    text = (made[0] / "REPORT.md").read_text()
    assert "## The claims" in text
    assert "Of 4 claims" in text
    assert "![" in text
    assert "Spike at the edge" in text
    page = (made[0] / "index.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 3


def test_calling_again_only_draws(made: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    out, _ = made
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.suffix != ".json"}

    def nothing(tasks: dict[object, object]) -> list[object]:
        assert not tasks
        return []

    monkeypatch.setattr(run, "_finished", nothing)
    done = reproduce(out, "mean", "bits", "example", *SYNTHETIC)
    assert done.exit_code == 0, done.output
    for name, content in before.items():
        assert (out / name).read_bytes() == content, name


def test_an_interrupt_says_how_to_continue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_arguments: object) -> None:
        raise run.Stopped

    monkeypatch.setattr(run, "execute", stop)
    done = reproduce(tmp_path, "mean", *SYNTHETIC)
    assert done.exit_code == 130
    assert "the same command continues" in done.output


def test_the_commands_of_the_documentation_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_arguments: object) -> None:
        raise run.Stopped

    monkeypatch.setattr(run, "execute", stop)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "trips.csv").write_text("minutes\n1\n2\n", encoding="utf-8")
    page = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("noutput reproduce")]
    assert len(lines) == 5
    for line in lines:
        done = CliRunner().invoke(command, line.removeprefix("noutput reproduce").split())
        assert done.exit_code == 130, done.output


@pytest.mark.slow
def test_a_file_of_ones_own_takes_part(tmp_path: Path) -> None:
    rows = "".join(f"{k % 60},{k % 7},town\n" for k in range(400))
    path = tmp_path / "trips.csv"
    path.write_text(f"minutes,rides,place\n{rows}", encoding="utf-8")
    out = tmp_path / "out"
    done = reproduce(out, "mean", "--dataset", str(path), "--bounds", "minutes=0:30")
    assert done.exit_code == 0, done.output
    assert "not tested  On real data the worst-case design" in done.output
    report = (out / "REPORT.md").read_text(encoding="utf-8")
    assert "### trips\n" in report
    assert "numbers of minutes lie beyond 0 and 30 and count as the nearer one" in report
    assert "the column place is left out: it does not hold numbers" in report
    found = json.loads((out / "metadata.json").read_text(encoding="utf-8"))
    assert found["datasets"]["trips"]["people"] == 400
    assert found["command"].endswith(f"--dataset {path} --bounds minutes=0:30")


@pytest.mark.slow
def test_a_file_of_few_people_has_a_report(tmp_path: Path) -> None:
    """Some errors of its two runs are equal, and some are 0."""
    path = tmp_path / "few.csv"
    path.write_text("x\n" + 30 * "5\n", encoding="utf-8")
    out = tmp_path / "out"
    for _ in range(2):  # the second one reads what the first has stored
        done = reproduce(out, "mean", "--dataset", str(path), "--bounds", "x=0:10")
        assert done.exit_code == 0, done.output
    report = (out / "REPORT.md").read_text(encoding="utf-8")
    assert "all runs gave the same error" in report
    assert " 0 ± 0 " in report
    assert "nan" not in report


def test_a_dataset_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    done = reproduce(tmp_path, "mean", "--dataset", "nothing")
    assert "dataset must be one of 'adult'" in str(done.exception)
    assert "'FILE.csv'" in str(done.exception)


def test_missing_data_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOUTPUT_DATA", raising=False)
    monkeypatch.setattr(Source, "cache", staticmethod(lambda: tmp_path))
    done = reproduce(tmp_path / "out", "mean", "--dataset", "beijing_housing")
    assert isinstance(done.exception, MissingDataError)


def test_other_numbers_are_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_arguments: object) -> None:
        raise run.Stopped

    monkeypatch.setattr(run, "_mechanisms", stop)
    rows = "".join(f"{k},{k * k}\n" for k in range(50))
    (tmp_path / "adult.csv.gz").write_bytes(gzip.compress(f"a,b\n{rows}".encode()))
    done = reproduce(tmp_path / "out", "mean", "--dataset", "adult", "--data", str(tmp_path))
    assert done.exit_code == 130
    assert "Warning: adult is not the known dataset: it has 50 people, 2 attributes" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure-9"], "'figure-9' is not one of 'example'"),
        (["--jobs", "0"], "'0' is not 'auto' or a number from 1 to 1024"),
        (["--jobs", "many"], "'many' is not 'auto'"),
        (["--runs", "1"], "1 is not in the range"),
    ],
)
def test_bad_arguments(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(command, ["--out", str(tmp_path), *arguments])
    assert done.exit_code == 2
    assert message in done.output

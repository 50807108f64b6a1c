from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from noutput import InvalidArgumentError, NoutputError, TableMechanism, design, frames
from noutput.cli.estimate import command
from noutput.estimate import gaussian
from noutput.estimate.mean_scores import scores_for
from noutput.frames.reports import mark_reports

COLUMNS = ["minutes", "rating"]
BOUNDS = {"minutes": (0.0, 180.0), "rating": (1.0, 5.0)}


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rng = np.random.default_rng(5)
    minutes = np.clip(rng.lognormal(3.3, 0.65, 20_000), 0.0, 180.0)
    return pa.table({"minutes": minutes, "rating": rng.integers(1, 6, 20_000)})


@pytest.fixture(scope="module")
def reports(
    tmp_path_factory: pytest.TempPathFactory, people: pa.Table, five_outputs: TableMechanism
) -> Path:
    folder = tmp_path_factory.mktemp("estimate")
    pq.write_table(people, folder / "people.parquet")
    frames.privatize_files(
        folder / "people.parquet",
        folder / "reports",
        COLUMNS,
        mechanism=five_outputs,
        bounds=BOUNDS,
        seed=5,
    )
    return folder / "reports"


def run(*arguments: object) -> Result:
    done = CliRunner().invoke(command, [str(argument) for argument in arguments])
    if done.exception is not None:
        assert isinstance(done.exception, NoutputError | SystemExit)
    return done


def test_estimates_are_in_the_units_of_the_values(reports: Path, people: pa.Table) -> None:
    found = json.loads(run(reports, "--json").output)
    assert list(found["columns"]) == COLUMNS
    for name in COLUMNS:
        values = people[name].to_numpy()
        column = found["columns"][name]
        assert column["reports"] == 20_000
        assert (column["lower"], column["upper"]) == BOUNDS[name]
        error = column["mean"]["standard_error"]
        assert column["mean"]["value"] == pytest.approx(values.mean(), abs=4 * error)
        low, high = column["variance"]["interval"]
        assert low <= column["variance"]["value"] <= high
        assert len(column["distribution"]["edges"]) == 65
        assert sum(column["distribution"]["probabilities"]) == pytest.approx(1.0)
        assert [q["share"] for q in column["quartiles"]] == [0.25, 0.5, 0.75]
        assert 0.0 < column["forged_reports"]["p_value"] <= 1.0
        assert column["forged_reports"]["one_percent_moves_mean"] > 0.0
    minutes = found["columns"]["minutes"]
    truth = np.quantile(people["minutes"].to_numpy(), 0.5)
    assert minutes["quartiles"][1]["value"] == pytest.approx(truth, abs=6.0)
    assert minutes["variance"]["value"] == pytest.approx(
        people["minutes"].to_numpy().var(), rel=0.3
    )


def test_the_same_reports_give_the_same_text(reports: Path) -> None:
    first, second = (run(reports, "--column", "minutes").output for _ in range(2))
    assert first == second
    assert first.startswith("minutes: 20,000 reports, epsilon = 4, values from 0 to 180\n")
    for fact in ("Mean", "Variance", "Median", "Forged reports", "95% intervals", "█"):
        assert fact in first
    assert "a simulation that protects nobody" in first
    assert "rating" not in first


def test_a_few_reports_are_put_in_words(five_outputs: TableMechanism, tmp_path: Path) -> None:
    source, path = tmp_path / "low.parquet", tmp_path / "few.parquet"
    pq.write_table(pa.table({"minutes": [0.0] * 30}), source)
    frames.privatize_files(source, path, "minutes", mechanism=five_outputs, bounds=(0, 180), seed=1)
    told = run(path, "--bins", 2).output
    assert "Note: the mean's estimate lies outside the bounds" in told
    assert "one forged report could move the mean by" in told


@pytest.mark.parametrize("method", ["gp", "em", "ems", "mle"])
def test_methods(reports: Path, method: str) -> None:
    arguments = ("--column", "minutes", "--method", method, "--bins", "32", "--level", "0.9")
    found = json.loads(run(reports, *arguments, "--json").output)["columns"]["minutes"]
    assert found["distribution"]["method"] == method
    assert len(found["distribution"]["probabilities"]) == 32
    assert found["level"] == 0.9


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_figure(reports: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"estimate.{kind}"
    done = run(reports, "--plot", path)
    assert f"Figure saved in {path}" in done.output
    assert path.stat().st_size > 20_000


def test_engines_agree(reports: Path) -> None:
    arrow, duckdb = (run(reports, "--engine", engine).output for engine in ("arrow", "duckdb"))
    assert arrow == duckdb


def test_the_master_is_passed_on(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, seen = frames.read_counts, []

    def count(source: str, _: object, *, engine: str, master: str) -> object:
        seen.append((engine, master))
        return read(source)

    monkeypatch.setattr(frames, "read_counts", count)
    assert run(reports, "--engine", "spark", "--master", "local[1]").exit_code == 0
    assert seen == [("spark", "local[1]")]


def test_one_column_a_row(tmp_path: Path, people: pa.Table, five_outputs: TableMechanism) -> None:
    pq.write_table(people, tmp_path / "people.parquet")
    target = tmp_path / "reports.parquet"
    frames.privatize_files(
        tmp_path / "people.parquet", target, COLUMNS, mechanism=five_outputs, bounds=BOUNDS,
        one_per_row=True,
    )  # fmt: skip
    found = json.loads(run(target, "--json").output)["columns"]
    assert sum(column["reports"] for column in found.values()) == 20_000
    for column in found.values():
        low, high = column["mean"]["interval"]
        inner_low, inner_high = column["mean"]["respondents_interval"]
        assert low <= inner_low < inner_high <= high
    alone = json.loads(run(target, "--column", "rating", "--json").output)
    assert alone["columns"] == {"rating": found["rating"]}


def test_as_many_bars_are_printed_as_can_be_told_apart(reports: Path) -> None:
    lines = run(reports, "--column", "minutes").output.splitlines()
    rows = [line for line in lines if "█" in line or "%  (" in line]
    shown = json.loads(run(reports, "--column", "minutes", "--json").output)
    histogram = shown["columns"]["minutes"]["histogram"]
    assert len(rows) == len(histogram["lower"]) > 2
    assert rows[0].lstrip().startswith("0 to")
    assert "In brackets: 95% intervals. The intervals hold whatever the distribution is." in lines


def test_guaranteed_intervals_are_wider(reports: Path) -> None:
    usual, proven = (
        json.loads(run(reports, "--column", "minutes", "--json", *more).output)["columns"][
            "minutes"
        ]
        for more in ([], ["--kind", "guaranteed"])
    )
    assert (usual["intervals"]["kind"], proven["intervals"]["kind"]) == ("slack", "guaranteed")
    for name in ("variance", "standard_deviation"):
        (low, high), (least, most) = usual[name]["interval"], proven[name]["interval"]
        assert most - least > high - low


def test_forged_reports_are_called_likely(tmp_path: Path, five_outputs: TableMechanism) -> None:
    name = frames.report_name("x", five_outputs)
    source = tmp_path / "people.csv"
    source.write_text("x\n" + "0.1\n" * 3_000)
    target = tmp_path / "reports.csv"
    frames.privatize_files(source, target, "x", mechanism=five_outputs, bounds=(-1, 1))
    forged = mark_reports(
        np.repeat(np.array([4, 0, 2, 1, 3], np.uint8), [2_000, 1_000, 3_000, 60, 60]),
        "x",
        five_outputs,
    )
    target.write_text(f'"{name}"\n' + "".join(f"{report}\n" for report in forged))
    shown = run(target).output
    assert "LIKELY" in shown
    assert shown.splitlines()[2].startswith("WARNING: Some reports are probably forged.")
    assert "intervals." not in shown
    assert "(" not in shown.split("Mean ")[1].split("Forged")[0]
    (column,) = json.loads(run(target, "--json").output)["columns"].values()
    assert column["warning"].startswith("Some reports are probably forged.")
    assert column["mean"]["interval"] is column["histogram"]["upper"] is None
    run(target, "--plot", str(tmp_path / "forged.png"))
    raw = mark_reports(np.repeat(np.array([4, 0], np.uint8), 3_000), "x", five_outputs)
    target.write_text(f'"{name}"\n' + "".join(f"{report}\n" for report in raw))
    assert "raw answers" in str(run(target).exception)


def test_a_fit_that_did_not_converge_is_named(
    reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "Warning: the fit of the distribution (gp) did not converge"
    assert line not in run(reports, "--column", "minutes").output
    monkeypatch.setattr(gaussian, "MAX_ITERATIONS", 1)
    gaussian._kept_modes.cache_clear()
    assert line in run(reports, "--column", "minutes").output
    gaussian._kept_modes.cache_clear()


def test_bad_arguments(reports: Path, tmp_path: Path, five_outputs: TableMechanism) -> None:
    plain = tmp_path / "plain.parquet"
    pq.write_table(pa.table({"x": [1]}), plain)
    one = tmp_path / "one.csv"
    one.write_text("x\n0.5\n")
    frames.privatize_files(one, tmp_path / "reports", "x", mechanism=five_outputs, bounds=(-1, 1))
    cases: list[tuple[tuple[object, ...], str]] = [
        ((tmp_path / "none",), "source must be a file or a folder"),
        (("-",), "standard input is not read: the recipe of the reports lies in or beside a file"),
        ((plain,), "source must hold reports with their recipe"),
        ((reports, "--column", "age"), "--column must be of"),
        ((tmp_path / "reports",), "reports of column 'x' must be at least two; found 1"),
        ((reports, "--level", "2"), "level must lie strictly between 0 and 1"),
        ((reports, "--plot", tmp_path / "a.bmpx"), "end in .png"),
    ]
    for arguments, found in cases:
        done = run(*arguments)
        assert isinstance(done.exception, InvalidArgumentError)
        assert found in str(done.exception)


def test_the_help_says_what_is_not_read() -> None:
    assert "standard input (-) is not read" in " ".join(run("--help").output.split())


def test_failures_have_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("minutes\n5\n")
    failed = subprocess.run(
        [sys.executable, "-m", "noutput", "estimate", "data.csv"], capture_output=True, text=True,
        timeout=600, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert failed.returncode == 2
    assert failed.stderr.startswith("Error: source must come with its data.csv.noutput.json")
    assert "Traceback" not in failed.stderr


def test_a_nearly_unbiased_mean_is_called_so(tmp_path: Path, people: pa.Table) -> None:
    pq.write_table(people.slice(0, 2_000), tmp_path / "people.parquet")
    mechanism = design(1.0, 64, objective="distribution").mechanism
    frames.privatize_files(
        tmp_path / "people.parquet", tmp_path / "reports", ["minutes"], mechanism=mechanism,
        bounds={"minutes": BOUNDS["minutes"]}, seed=5,
    )  # fmt: skip
    mean = json.loads(run(tmp_path / "reports", "--json").output)["columns"]["minutes"]["mean"]
    assert mean["method"] == "nearly unbiased"
    assert mean["bias_bound"] == pytest.approx(
        90.0 * scores_for(mechanism, 2_000).bias_bound, rel=1e-12
    )
    assert "estimate is nearly unbiased: on average it is off by at most 1.9" in (
        run(tmp_path / "reports").output
    )


def test_an_unbiased_mean_has_no_note(reports: Path) -> None:
    mean = json.loads(run(reports, "--json").output)["columns"]["minutes"]["mean"]
    assert (mean["method"], mean["bias_bound"]) == ("unbiased", 0.0)
    assert "nearly" not in run(reports).output

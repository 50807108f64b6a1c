from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from noutput import NoutputError, Number, TableMechanism, design, frames
from noutput.cli.privatize import command

MINUTES = ("--column", "minutes", "--lower", "0", "--upper", "180")


@pytest.fixture
def table(tmp_path: Path, five_outputs: TableMechanism) -> Path:
    path = tmp_path / "table.json"
    path.write_text(five_outputs.to_json())
    return path


@pytest.fixture
def people() -> Any:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "minutes": rng.uniform(0.0, 180.0, 500),
            "rating": rng.integers(1, 6, 500),
            "town": rng.choice(["A", "B"], 500),
        }
    )


def run(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments], input=stdin)


def message(done: Result) -> str:
    """Return what `main` would print; every other exception is a fault."""
    assert done.exit_code != 0
    assert isinstance(done.exception, NoutputError | SystemExit)
    return done.output + str(done.exception)


def test_csv_parquet_folders_and_standard_input(tmp_path: Path, table: Path, people: Any) -> None:
    pa_csv.write_csv(people, tmp_path / "people.csv")
    pq.write_table(people, tmp_path / "people.parquet")
    (tmp_path / "folder").mkdir()
    for part in range(2):
        file = tmp_path / "folder" / f"{part}.parquet"
        pq.write_table(people.slice(250 * part, 250), file)
    stdin = (tmp_path / "people.csv").read_bytes()
    for i, source in enumerate(("people.csv", "people.parquet", "folder", "-")):
        target = tmp_path / f"reports-{i}.parquet"
        where = source if source == "-" else tmp_path / source
        done = run(where, *MINUTES, "--table", table, "-o", target, stdin=stdin)
        assert done.exit_code == 0, done.output
        assert f"noutput estimate {target}" in done.output
        recipe, counts = frames.read_counts(target)
        assert counts["minutes"].total == 500
        assert recipe.bounds["minutes"].upper == 180.0
        assert recipe.secure


def test_several_columns_have_their_own_bounds(tmp_path: Path, table: Path, people: Any) -> None:
    source, target = tmp_path / "people.parquet", tmp_path / "reports"
    pq.write_table(people, source)
    rating = ("--column", "rating", "--lower", "1", "--upper", "5")
    done = run(source, *MINUTES, *rating, "--table", table, "--keep", "town", "-o", target)
    assert "Privacy loss of a row: 8 (2 reports of 4)" in done.output
    recipe = frames.read_recipe(target)
    assert {name: (b.lower, b.upper) for name, b in recipe.bounds.items()} == {
        "minutes": (0.0, 180.0),
        "rating": (1.0, 5.0),
    }
    assert pq.read_schema(target / "part-00000.parquet").names == ["town", *recipe.report_names]


def test_one_column_a_row_costs_one_report(tmp_path: Path, table: Path) -> None:
    source, target = tmp_path / "people.csv", tmp_path / "reports.csv"
    source.write_text("a,b\n" + "1,2\n" * 50)
    arguments = ("--column", "a", "--column", "b", "--lower", "0", "--upper", "3")
    done = run(source, *arguments, "--one-per-row", "--table", table, "-o", target)
    assert "Privacy loss of a row: 4." in done.output
    assert sum(tally.total for tally in frames.tally_files(target).values()) == 50


def test_the_master_is_passed_on(
    tmp_path: Path, table: Path, five_outputs: TableMechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []

    def privatize(*_: object, **options: Any) -> frames.Recipe:
        seen.append(options)
        return frames.Recipe(five_outputs, ("minutes",), (Number(0, 180),))

    monkeypatch.setattr(frames, "privatize_files", privatize)
    arguments = ("--engine", "spark", "--master", "local[1]", "-o", tmp_path / "reports")
    assert run("hdfs://a/b", *MINUTES, "--table", table, *arguments).exit_code == 0
    assert (seen[0]["engine"], seen[0]["master"]) == ("spark", "local[1]")


def test_an_epsilon_becomes_a_design(tmp_path: Path, people: Any) -> None:
    source, target = tmp_path / "people.parquet", tmp_path / "reports.parquet"
    pq.write_table(people, source)
    done = run(source, *MINUTES, "--epsilon", "1", "-o", target)
    assert done.exit_code == 0, done.output
    mechanism = frames.read_recipe(target).mechanism
    assert mechanism == design(1.0).mechanism


def test_the_default_number_of_outputs_is_that_of_python(tmp_path: Path, people: Any) -> None:
    source, target = tmp_path / "people.parquet", tmp_path / "reports.parquet"
    pq.write_table(people, source)
    done = run(source, *MINUTES, "--epsilon", "1", "--objective", "distribution", "-o", target)
    assert done.exit_code == 0, done.output
    assert frames.read_recipe(target).mechanism == design(1.0, objective="distribution").mechanism


def test_a_saved_design_is_a_table_too(tmp_path: Path, people: Any) -> None:
    source, target = tmp_path / "people.parquet", tmp_path / "reports.parquet"
    pq.write_table(people, source)
    found = design(4.0, 5, method="analytical")
    (tmp_path / "design.json").write_text(found.to_json())
    done = run(source, *MINUTES, "--table", tmp_path / "design.json", "-o", target)
    assert done.exit_code == 0, done.output
    assert frames.read_recipe(target).mechanism == found.mechanism


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_refused_rows_are_named_and_counted(tmp_path: Path, table: Path, engine: str) -> None:
    source, target = tmp_path / "people.parquet", tmp_path / "reports.parquet"
    values = [1.0] * 300_000
    values[299_990:] = [None, 999.0, -1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]  # type: ignore[list-item]
    pq.write_table(pa.table({"minutes": values}), source)
    common = (source, *MINUTES, "--table", table, "-o", target, "--engine", engine)
    text = message(run(*common))
    assert "column 'minutes' at row 299990 (one of 3 refused rows) must be a number" in text
    assert "--skip-missing" in text
    text = message(run(*common, "--skip-missing"))
    assert "at row 299991 (one of 2 refused rows) must lie in [0.0, 180.0] (--clip moves" in text
    assert "found 999.0" in text
    assert sorted(tmp_path.iterdir()) == sorted([source, table])
    done = run(*common, "--skip-missing", "--clip")
    assert done.exit_code == 0, done.output
    assert "learns which values were missing" in done.output
    assert frames.tally_files(target)["minutes"].total == 299_999


def test_a_stream_is_refused_with_row_and_count(tmp_path: Path, table: Path) -> None:
    target = tmp_path / "reports.parquet"
    stdin = b"id,minutes\n" + b"1,5\n" * 99 + b"1,\n1,500\n"
    text = message(run("-", *MINUTES, "--table", table, "-o", target, stdin=stdin))
    assert "column 'minutes' at row 99 (one of 2 refused rows)" in text
    assert list(tmp_path.iterdir()) == [table]


def test_an_empty_line_of_one_column_is_a_missing_value(tmp_path: Path, table: Path) -> None:
    source = tmp_path / "people.csv"
    source.write_text("minutes\n5\n\n7\n")
    arguments = (source, *MINUTES, "--table", table, "-o", tmp_path / "reports.parquet")
    assert "at row 1 (the only refused row)" in message(run(*arguments))
    assert run(*arguments, "--skip-missing").exit_code == 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("minutes\n5\nx\n", "at line 3 must hold numbers in ['minutes']; found 'x'"),
        ("minutes,a\n5\n", "at line 2 must have 2 columns, as the header; found 1"),
        ("minutes,minutes\n5,6\n", "must name every column once; found 'minutes'"),
        ("hours\n5\n", "--column must name columns of ['hours']; found 'minutes'"),
        ("minutes\ntrue\n", "in ['minutes'], 0 and 1 for truth values; found 'true'"),
        ("minutes;a\n5;1\n", "must have commas between columns, not ';'; found 'minutes;a'"),
        ("", "must be CSV text with a header; found 'no text'"),
    ],
)
@pytest.mark.parametrize("piped", [True, False])
def test_bad_csv(tmp_path: Path, table: Path, text: str, found: str, piped: bool) -> None:
    source = tmp_path / "people.csv"
    source.write_text(text)
    where = "-" if piped else source
    target = tmp_path / "reports.parquet"
    done = run(where, *MINUTES, "--table", table, "-o", target, stdin=text.encode())
    assert found in message(done)
    assert not target.exists()


def test_bounds_are_required(tmp_path: Path, table: Path) -> None:
    """No default would fit: it would clip salaries to 1, and spend their budget on it."""
    (tmp_path / "people.csv").write_text("salary\n52000\n48000\n")
    source, target = tmp_path / "people.csv", tmp_path / "reports.parquet"
    common = (source, "--column", "salary", "--table", table, "--clip", "-o", target)
    for given in ((), ("--upper", "100000"), ("--lower", "0")):
        done = run(*common, *given)
        assert done.exit_code == 2
        assert "Give --lower and --upper for numbers, or --answers, --choice" in done.output
    assert not target.exists()


def test_bad_arguments(tmp_path: Path, table: Path, people: Any) -> None:
    source, target = tmp_path / "people.csv", tmp_path / "reports.parquet"
    pa_csv.write_csv(people, source)
    fake = tmp_path / "fake.parquet"
    fake.write_text("no Parquet")
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(b"PAR1 and then nothing")
    cases: list[tuple[tuple[object, ...], str]] = [
        ((source, *MINUTES), "either --epsilon or --table"),
        ((source, *MINUTES, "--table", table, "--epsilon", "1"), "either --epsilon or --table"),
        ((source, *MINUTES, "--epsilon", "0"), "epsilon must be a positive finite number"),
        ((source, *MINUTES, "--lower", "1", "--table", table), "Give it once"),
        (
            (source, *MINUTES[:3], "9", *MINUTES[4:5], "3", "--table", table),
            "upper must be larger than lower (9.0)",
        ),
        ((fake, *MINUTES, "--table", table), "fake.parquet' must be Parquet"),
        ((fake, *MINUTES, "--table", table, "--engine", "duckdb"), "fake.parquet' must be Parquet"),
        ((cut, *MINUTES, "--table", table), "cut.parquet: "),
        ((cut, *MINUTES, "--table", table, "--engine", "duckdb"), "cut.parquet: "),
        ((tmp_path / "none", *MINUTES, "--table", table), "must be a file or a folder"),
        (("-", *MINUTES, "--table", table, "--engine", "duckdb"), "engine must be 'arrow'"),
        ((source, *MINUTES, "--table", table, "--master", "local"), "master must be given with"),
        ((source, *MINUTES, "--table", source), f"document in '{source}' must be JSON"),
        ((source, *MINUTES, "--epsilon", "1", "--outputs", "1"), "--outputs must be a whole"),
    ]
    for arguments, found in cases:
        assert found in message(run(*arguments, "-o", target)), arguments
    assert not target.exists()
    target.touch()
    text = message(run(source, *MINUTES, "--table", table, "-o", target))
    assert "--output must not exist yet" in text


def test_parquet_is_not_read_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, table: Path, tmp_path: Path
) -> None:
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"PAR1...")))
    monkeypatch.setattr("sys.stdin", stream)
    arguments = ["-", *MINUTES, "--table", str(table), "-o", str(tmp_path / "reports.parquet")]
    with pytest.raises(Exception, match="read as CSV"):
        command.main(arguments, standalone_mode=False)


class Broken(io.RawIOBase):
    """A pipe that breaks, or is interrupted, after its first lines."""

    def __init__(self, error: type[BaseException]) -> None:
        super().__init__()
        self.error = error
        self.calls = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.calls += 1
        if self.calls > 3:
            raise self.error("broken")
        text = b"minutes\n" + b"5\n" * 1_000 if self.calls == 1 else b"5\n" * 1_000
        buffer[: len(text)] = text
        return len(text)


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_broken_pipe_leaves_nothing(
    tmp_path: Path, five_outputs: TableMechanism, error: type[BaseException]
) -> None:
    for name in ("reports.parquet", "reports.csv", "reports"):
        with pytest.raises(error):
            frames.privatize_files(
                io.BufferedReader(Broken(error)),
                tmp_path / name,
                "minutes",
                mechanism=five_outputs,
                bounds={"minutes": (0, 180)},
            )
    assert list(tmp_path.iterdir()) == []


def test_progress_ends_at_one(tmp_path: Path, people: Any, five_outputs: TableMechanism) -> None:
    pa_csv.write_csv(people, tmp_path / "people.csv")
    pq.write_table(people, tmp_path / "people.parquet")
    for name in ("people.csv", "people.parquet"):
        seen: list[float] = []
        frames.privatize_files(
            tmp_path / name,
            tmp_path / f"reports-{name[7:]}-folder",
            "minutes",
            mechanism=five_outputs,
            bounds={"minutes": (0, 180)},
            progress=seen.append,
        )
        assert seen == sorted(seen)
        assert seen[-1] == 1.0


def test_csv_in_another_encoding_is_named(tmp_path: Path, table: Path) -> None:
    source = tmp_path / "people.csv"
    source.write_bytes("minutes,ort\n5,Köln\n".encode("latin-1"))
    done = run(source, *MINUTES, "--table", table, "-o", tmp_path / "reports.parquet")
    assert "must be CSV text in UTF-8" in message(done)

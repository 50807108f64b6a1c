from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from noutput.cli.compare import command
from noutput.errors import InvalidArgumentError


def only(*names: str) -> list[str]:
    return [part for name in names for part in ("--only", name)]


def test_mechanisms_stand_side_by_side() -> None:
    names = ("n-output-analytical", "duchi", "pm-sub", "hybrid", "oue")
    done = CliRunner().invoke(command, ["--epsilon", "1", *only(*names)])
    assert done.exit_code == 0
    rows = {line.split()[0]: line.split()[1:] for line in done.output.splitlines() if line.strip()}
    assert rows["duchi"][0] == "4.6827"
    assert rows["duchi"][-2:] == ["1", "yes"]
    assert rows["pm-sub"][0] == "5.0823"
    assert rows["pm-sub"][-2:] == ["24", "yes"]
    assert rows["hybrid"][-2:] == ["25", "yes"]
    assert rows["hybrid"][:2] == ["4.289", "4.289"]
    assert float(rows["hybrid"][2]) == pytest.approx(4.289 / 3.9905, rel=1e-3)
    assert rows["oue"][2] == "-"
    assert "below 3.99" in done.output
    assert rows["n-output-analytical"][0] == "4.4555"


def test_beyond_the_known_bounds_the_ratio_is_left_open() -> None:
    done = CliRunner().invoke(command, ["--epsilon", "20", *only("duchi")])
    assert done.exit_code == 0
    line = next(line for line in done.output.splitlines() if "duchi" in line)
    assert line.split()[3] == "-"


def test_a_design_that_does_not_exist_is_left_open() -> None:
    arguments = ["--outputs", "16", *only("n-output-analytical", "duchi")]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0
    line = next(line for line in done.output.splitlines() if "analytical" in line)
    assert line.split()[1:] == ["-"] * 5


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_figure_over_epsilon(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"figure.{kind}"
    done = CliRunner().invoke(command, ["--plot", str(path), *only("duchi", "pm")])
    assert done.exit_code == 0
    assert path.stat().st_size > 5000


@pytest.mark.parametrize("ends", [("3", "1"), ("1", "1000000")])
def test_a_range_grows_and_is_no_longer_than_needed(tmp_path: Path, ends: tuple[str, str]) -> None:
    arguments = ["--plot", str(tmp_path / "a.png"), "--range", *ends, *only("pm")]
    done = CliRunner().invoke(command, arguments)
    assert isinstance(done.exception, InvalidArgumentError)

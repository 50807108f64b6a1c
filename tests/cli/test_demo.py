from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from noutput.cli.demo import command


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("demo") / "demo.png"
    done = CliRunner().invoke(command, ["--plot", str(path)])
    assert done.exit_code == 0, done.output
    assert path.read_bytes().startswith(b"\x89PNG")
    return done.output


def test_every_number_stands_beside_the_truth(text: str) -> None:
    names = (
        "Mean", "Variance", "Standard deviation", "Lower quartile", "Median", "Upper quartile",
    )  # fmt: skip
    lines = {line[:20].strip(): line[20:].split() for line in text.splitlines()}
    for name in names:
        truth, estimate, low, _, high = (
            float(word.replace(",", "")) if word != "to" else 0.0 for word in lines[name]
        )
        assert low <= estimate <= high
        assert low - 3.0 * (high - low) < truth < high + 3.0 * (high - low)


def test_the_distribution_is_drawn(text: str) -> None:
    bars = [line for line in text.splitlines() if " to " in line and line.endswith("%")]
    assert len(bars) == 18
    assert all("┃" in line for line in bars)
    for column in (-1, -2):
        assert sum(float(bar.split()[column][:-1]) for bar in bars) == pytest.approx(100, abs=1)
    assert "Wasserstein distance" in text


def test_lines_fit_a_terminal(text: str) -> None:
    assert max(map(len, text.splitlines())) <= 100


def test_two_people_are_enough(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["--people", "2", "--epsilon", "4"])
    assert done.exit_code == 0, done.output
    assert not list(tmp_path.iterdir())

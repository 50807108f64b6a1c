"""What `make bench` reports: goals, exponents, and peers that could not be loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import benchmarks.peers
from benchmarks.growth import Curve
from benchmarks.measure import Case, in_turns
from benchmarks.page import number, write_page


@pytest.mark.parametrize(
    ("found", "goal", "at_least", "reached"),
    [(1.0, 2.0, False, True), (3.0, 2.0, False, False), (3.0, 2.0, True, True),
     (1.0, 2.0, True, False), (9.0, None, False, True)],
)  # fmt: skip
def test_goals_have_a_direction(
    found: float, goal: float | None, at_least: bool, reached: bool
) -> None:
    assert Case("", found, goal, "s", at_least).reached is reached


def test_exponents_are_slopes() -> None:
    sizes = (10, 100, 1000)
    assert Curve("", sizes, (2.0, 200.0, 20_000.0), "people").exponent == pytest.approx(2.0)


def test_the_best_of_all_turns_counts() -> None:
    ticks = iter([0.0, 5.0, 10.0, 11.0, 20.0, 22.0, 30.0, 33.0])
    found = in_turns({"a": int, "b": int}, turns=2, at_least=1.0, clock=lambda: next(ticks))
    assert found == {"a": 2.0, "b": 1.0}


@pytest.mark.parametrize(
    ("value", "text"), [(0.01234, "0.0123"), (7.0, "7"), (99.96, "100"), (1234.5, "1,234")]
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def ask_worker(folder: Path) -> dict[str, dict[str, str]]:
    """Return what the worker says of its peers, where they can come from `folder` only."""
    worker = Path(benchmarks.peers.__file__).with_name("worker.py")
    data = json.dumps({"values": [0.5], "bins": [1], "reports": [1]})
    done = subprocess.run(
        [sys.executable, "-S", str(worker)], input=data, capture_output=True, text=True,
        check=True, timeout=600, cwd=folder, env={"PYTHONPATH": str(folder)},
    )  # fmt: skip
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


def test_a_peer_that_does_not_load_is_named(tmp_path: Path) -> None:
    found = ask_worker(tmp_path)
    assert len(found) == 5
    assert all(facts["error"].startswith("ModuleNotFoundError") for facts in found.values())


def test_a_peer_that_does_not_work_is_named_before_anything_is_measured(tmp_path: Path) -> None:
    module = tmp_path / "diffprivlib" / "mechanisms.py"
    module.parent.mkdir()
    module.write_text("class Laplace:\n    def __init__(self, **_): pass\n")
    assert "'randomise'" in ask_worker(tmp_path)["diffprivlib"]["error"]


def test_the_page_says_what_was_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.page._DOCS", tmp_path)
    monkeypatch.setattr("benchmarks.comparison.found", {"opendp": ("not measured", "no wheel")})
    monkeypatch.setattr("benchmarks.growth.curves", [Curve("tally", (1, 10), (1.0, 9.0), "people")])
    cases = [Case("slow", 3.0, 2.0, "s"), Case("fast", 3.0, 2.0, "times", True, "9 us")]
    write_page(
        {"comparison": cases, "growth": cases},
        {"comparison": "Beside.\n\nText.\n", "growth": "Growth."},
    )
    page = (tmp_path / "performance.md").read_text()
    assert "## Beside\n\nText.\n\n| what |" in page
    assert "## Growth\n\n| what |" in page
    assert "| slow | 3 s | at most 2 | **missed** |  |" in page
    assert "| fast | 3 times | at least 2 | reached | 9 us |" in page
    assert "| opendp | not measured | no wheel |" in page
    assert (tmp_path / "images" / "performance-growth.svg").stat().st_size > 1000

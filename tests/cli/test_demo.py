from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from noutput.cli.demo import command


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("demo") / "demo.png"
    done = CliRunner().invoke(command, ["--people", "20000", "--plot", str(path)])
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
    bars = [line for line in text.splitlines() if " to " in line and "┃" in line]
    assert len(bars) == 18
    assert all(line.endswith("%") for line in bars)
    for column in (-1, -2):
        assert sum(float(bar.split()[column][:-1]) for bar in bars) == pytest.approx(100, abs=1)
    assert "Wasserstein distance" in text


def test_every_kind_of_question_is_shown(text: str) -> None:
    # reports are drawn with secure randomness: estimates may miss by seven standard errors
    shares = {"4": (36.0, 20.0), "Train or bus": (45.0, 16.0), "yes": (18.0, 11.0)}
    for label, (truth, most) in shares.items():
        (line,) = (line for line in text.splitlines() if line.startswith(f"  {label} "))
        true, estimate = (float(word[:-1]) for word in line.removeprefix(f"  {label}").split()[:2])
        assert true == pytest.approx(truth, abs=1.5)
        assert estimate == pytest.approx(truth, abs=most)


def test_lines_fit_a_terminal(text: str) -> None:
    assert max(map(len, text.splitlines())) <= 100


def test_reports_go_through_a_collector(text: str) -> None:
    assert re.search(r"A collector runs at http://127\.0\.0\.1:\d+\.", text)
    assert "20,000 reports were counted in" in text
    assert "live dashboard is at" not in text  # no terminal, so it ends by itself


def test_people_with_two_platforms_answer_in_rounds(text: str) -> None:
    assert "A second campaign asked 12,000 people in 16 rounds, one per hour." in text
    (line,) = (line for line in text.splitlines() if line.startswith("  ios "))
    truth, estimate = map(float, line.split()[1:3])
    assert truth == pytest.approx(2.7, abs=0.2)
    assert estimate == pytest.approx(truth, abs=2.0)


def test_two_people_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = CliRunner().invoke(command, ["--people", "2", "--epsilon", "4", "--no-serve"])
    assert done.exit_code == 0, done.output
    assert not list(tmp_path.iterdir())


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    done = CliRunner().invoke(command, ["--people", "2"])
    assert done.exit_code == 1
    assert "noutput[collector]" in str(done.exception)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of another kind there")
@pytest.mark.parametrize(
    "end", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_the_dashboard_is_served_until_a_signal(tmp_path: Path, end: signal.Signals) -> None:
    demo = [sys.executable, "-u", "-m", "noutput", "demo", "--people", "300", "--serve"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(demo, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = next(
            line.rsplit(" ", 1)[1].strip() for line in process.stdout if "dashboard is at" in line
        )
        request = urllib.request.Request(address, headers={"Accept": "text/html"})  # noqa: S310
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            assert "How many minutes" in answer.read().decode()
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(end)
        rest = process.stdout.read()
        assert process.wait(30) == 0
    assert "its database is gone" in rest
    assert not list(tmp_path.iterdir())


def test_adaptive_demo_has_two_waves_and_names_their_ranges() -> None:
    done = CliRunner().invoke(command, ["--people", "12000", "--adaptive", "--no-serve"])
    assert done.exit_code == 0, done.output
    text = done.output
    assert "how many minutes it took (0 to 600)" in text
    assert "Wave 1, minutes: 0 to 600 minutes. As declared." in text
    (upper,) = re.findall(
        r"^Wave 2, minutes: [\d.,]+ to ([\d.,]+) minutes\. \S", text, re.MULTILINE
    )
    assert 0.0 < float(upper) <= 600.0
    assert "12,000 reports were counted" in text
    lines = {line[:20].strip(): line[20:] for line in text.splitlines()}
    estimate, low, high = re.findall(r"[\d.,]+", lines["Mean"])[1:4]
    assert 0.0 <= float(low) <= float(estimate) <= float(high) <= 600.0
    (moved,) = re.findall(r"1% could move the mean by ([\d.,]+)", text) or ["0"]
    assert float(moved) < 600.0
    assert max(map(len, text.splitlines())) <= 100

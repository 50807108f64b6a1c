"""What the README shows is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import noutput as no

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
ROWS = {
    "Duchi (1 bit)": "duchi",
    "Three-output (2 bits)": "three-output",
    "PM-sub (64 bits)": "pm-sub",
    "Hybrid (64 bits)": "hybrid",
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def figures(row: str) -> list[float]:
    line = next(line for line in TEXT.splitlines() if line.startswith("|") and row in line)
    return [float(cell.strip(" *")) for cell in line.strip("|").split("|")[1:]]


def test_the_code_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102
    assert "above what is possible" in capsys.readouterr().out


def test_the_commands_run(tmp_path: Path) -> None:
    minutes = np.random.default_rng(1).uniform(0, 180, 500).round(1)
    (tmp_path / "people.csv").write_text("minutes\n" + "\n".join(map(str, minutes)) + "\n")
    commands = [block for block in blocks("sh") if "make" not in block]
    script = "".join(commands).replace("noutput ", f"{sys.executable} -m noutput ")
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", script], cwd=tmp_path, capture_output=True, text=True,
        timeout=300, check=False, env={**os.environ, "NOUTPUT_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "design.png").exists()


@pytest.mark.parametrize(("row", "name"), ROWS.items())
def test_the_variances_of_others(row: str, name: str) -> None:
    expected = [no.mechanism(name, epsilon).worst_variance() for epsilon in EPSILONS]
    np.testing.assert_allclose(figures(row), expected, rtol=6e-3)


def test_our_variances_and_their_limit() -> None:
    designs = [no.design(epsilon, 16) for epsilon in EPSILONS]
    np.testing.assert_allclose(figures("16 outputs"), [d.value for d in designs], rtol=1e-3)
    bounds = [d.lower_bound for d in designs]
    np.testing.assert_allclose(figures("lower bound"), np.array(bounds, float), rtol=1e-3)

"""The programs under examples/ run, and print what they promise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
PROMISES = {
    "campaign.py": ("not private", "400 reports", "95% interval"),
    "comparison.py": ("Figure saved in", "n-output", "simulated"),
    "dataframe.py": ("What may leave the building", "Cliff    salary"),
}


def test_every_example_is_run() -> None:
    assert {path.name for path in FOLDER.glob("*.py")} == set(PROMISES)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROMISES)
def test_an_example(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / name)], cwd=tmp_path, capture_output=True, text=True,
        timeout=600, check=False, env={**os.environ, "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for promise in PROMISES[name]:
        assert promise in done.stdout

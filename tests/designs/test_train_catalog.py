"""The catalog of trained tables is what its program makes, bit for bit."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the arithmetic is pinned for x86-64")
@pytest.mark.parametrize("objective", ["balanced", "distribution"])
def test_a_table_that_is_trained_again_is_the_same_bit_for_bit(
    objective: str, tmp_path: Path
) -> None:
    choice = ["--objective", objective, "--epsilon", "2.0", "--size", "16", "--jobs", "1"]
    command = [sys.executable, "-m", "tools.train_catalog", "--check", *choice]
    found = subprocess.run(
        [*command, "--folder", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "1 of 1 designs are the same bit for bit" in found.stdout

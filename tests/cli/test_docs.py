"""The commands and examples of docs/analyst.md run as they stand."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

PAGE = Path(__file__).parents[2] / "docs" / "analyst.md"


def test_examples() -> None:
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 3
    assert found.failed == 0


def test_commands(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    people = {"minutes": rng.uniform(0, 180, 500), "rating": rng.integers(1, 6, 500)}
    pa_csv.write_csv(pa.table(people), tmp_path / "data.csv")
    ages = pa.table({"age": rng.integers(0, 120, 500)})
    pq.write_table(ages, tmp_path / "people.parquet")
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    commands = "".join(blocks).replace("noutput ", f"{sys.executable} -m noutput ")
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", commands], cwd=tmp_path, capture_output=True, text=True,
        timeout=120, check=False, env={**os.environ, "NOUTPUT_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(commands.splitlines()) == 8
    assert (tmp_path / "estimate.png").exists()

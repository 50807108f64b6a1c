"""No action may need more instructions than it did: counts do not depend on how busy a machine is.

Valgrind counts the instructions of a process. The difference between running an action some times
more and not at all is what the action costs, in units of the floor: filling as many floats with
`Generator.random`. Both are reproducible to one part in a thousand. numpy and OpenBLAS are told to
use no vector instructions that only some processors have.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import noutput

WORKLOAD = Path(__file__).with_name("workload.py")
ROOT = Path(noutput.__file__).parents[1]
TIMES = 4
COSTS = {"privatize": 5.0, "tally": 0.51, "em": 1.40, "device": 0.92}  # as of 2026-11
LIMIT = 1.3  # times these costs: half as much again is far above
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3", "OPENBLAS_CORETYPE": "Nehalem",
    "OPENBLAS_NUM_THREADS": "1",
}  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the counts are those of x86-64"),
    pytest.mark.skipif(
        shutil.which("valgrind") is None and not os.environ.get("CI"), reason="needs valgrind"
    ),
]


def count_instructions(action: str, times: int) -> int:
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command = [*tool, sys.executable, str(WORKLOAD), action, str(times)]
    done = subprocess.run(
        command, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, check=True,
        timeout=300,
    )  # fmt: skip
    found = re.search(r"I +refs: +([0-9,]+)", done.stderr)
    assert found is not None, done.stderr
    return int(found[1].replace(",", ""))


def within_limit(action: str, cost: float) -> bool:
    return cost <= LIMIT * COSTS[action]


@pytest.fixture(scope="module")
def costs() -> dict[str, float]:
    """What every action costs, and a "regression" that privatizes half as much again."""
    runs = [
        ("floor", 0),
        *((name, TIMES) for name in ("floor", *COSTS)),
        ("privatize", TIMES * 3 // 2),
    ]
    with ThreadPoolExecutor(2) as pool:
        start, floor, *counts = pool.map(count_instructions, *zip(*runs, strict=True))
    names = [*COSTS, "regression"]
    return {name: (n - start) / (floor - start) for name, n in zip(names, counts, strict=True)}


@pytest.mark.parametrize("action", COSTS)
def test_no_action_needs_more_instructions(action: str, costs: dict[str, float]) -> None:
    found = f"{action} costs {costs[action]:.3f} floors, recorded are {COSTS[action]}"
    print(found)
    assert within_limit(action, costs[action]), found


def test_half_as_much_again_is_noticed(costs: dict[str, float]) -> None:
    assert not within_limit("privatize", costs["regression"])

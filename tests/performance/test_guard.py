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
from functools import partial
from pathlib import Path

import pytest

import noutput

WORKLOAD = Path(__file__).with_name("workload.py")
ROOT = Path(noutput.__file__).parents[1]
TIMES = 4
# As of 2026-11. A draw on a device checks its value, and serves answers, numbers and pairs.
COSTS = {"privatize": 5.0, "tally": 0.51, "em": 1.40, "device": 2.46}
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


def run_workload(cache: Path, action: str, times: int, *tool: str, write: bool = False) -> str:
    bytecode = {"PYTHONPYCACHEPREFIX": str(cache), "PYTHONDONTWRITEBYTECODE": "" if write else "1"}
    done = subprocess.run(
        [*tool, sys.executable, str(WORKLOAD), action, str(times)], capture_output=True, text=True,
        env={**os.environ, **ENVIRONMENT, **bytecode}, check=True, timeout=300,
    )  # fmt: skip
    return done.stderr


def count_instructions(cache: Path, action: str, times: int) -> int:
    tool = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
    told = run_workload(cache, action, times, *tool)
    found = re.search(r"I +refs: +([0-9,]+)", told)
    assert found is not None, told
    return int(found[1].replace(",", ""))


def within_limit(action: str, cost: float) -> bool:
    return cost <= LIMIT * COSTS[action]


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """What every action costs, and a "regression" that privatizes half as much again."""
    cache = tmp_path_factory.mktemp("bytecode")
    run_workload(cache, "floor", 0, write=True)  # no counted run compiles anything
    runs = [("floor", 0), *((name, TIMES) for name in ("floor", *COSTS))]
    runs.append(("privatize", TIMES * 3 // 2))
    with ThreadPoolExecutor(2) as pool:
        count = partial(count_instructions, cache)
        start, floor, *counts = pool.map(count, *zip(*runs, strict=True))
    names = [*COSTS, "regression"]
    return {name: (n - start) / (floor - start) for name, n in zip(names, counts, strict=True)}


@pytest.mark.parametrize("action", COSTS)
def test_no_action_needs_more_instructions(action: str, costs: dict[str, float]) -> None:
    found = f"{action} costs {costs[action]:.3f} floors, recorded are {COSTS[action]}"
    print(found)
    assert within_limit(action, costs[action]), found


def test_half_as_much_again_is_noticed(costs: dict[str, float]) -> None:
    assert not within_limit("privatize", costs["regression"])

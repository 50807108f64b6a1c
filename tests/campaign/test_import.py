"""A device loads little and does little: modules and instructions are counted, not seconds."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import noutput.campaign
from tests.tables import window_table

HEAVY = {
    "asyncio", "click", "cryptography", "email", "fastapi", "http.client", "numpy", "rich", "scipy",
    "sqlalchemy", "ssl", "starlette", "urllib.request",
}  # fmt: skip
MOST_MODULES = 110  # 85 as of 2026-11, 15 of them ours
MOST_INSTRUCTIONS = 300  # 250 as of 2026-11, in Python 3.11


def loaded_by(module: str) -> set[str]:
    """Return which modules an import loads that the interpreter alone does not."""
    code = (
        "import sys; before = set(sys.modules)\n"
        f"import {module}\n"
        "after = set(sys.modules) - before\n"
        "import json; print(json.dumps(sorted(after)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    return set(json.loads(done.stdout))


def instructions(action: Callable[[], object]) -> int:
    """Return how many instructions of Python's virtual machine an action executes."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    gc.disable()  # what a collection finalizes is Python code, too
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


def test_importing_is_light() -> None:
    loaded = loaded_by("noutput.campaign")
    assert loaded & HEAVY == set()
    assert len(loaded) <= MOST_MODULES


def test_the_count_of_modules_notices_a_heavy_one() -> None:
    loaded = loaded_by("noutput.campaign, urllib.request")
    assert loaded & HEAVY
    assert len(loaded) > MOST_MODULES


def test_every_name_resolves() -> None:
    assert sorted(noutput.campaign.__all__) == noutput.campaign.__all__
    for name in noutput.campaign.__all__:
        assert getattr(noutput.campaign, name) is not None


def test_a_draw_takes_few_instructions_whatever_the_number_is() -> None:
    counts = set()
    for size, knots in ((2, 2), (16, 9), (64, 33)):
        table = window_table(1.0, size, knots, 0.5).plain
        for x in (-1.0, -0.999, -0.3, 0.0, 0.7, 1.0):
            table.privatize(x)
            counts.add(instructions(lambda table=table, x=x: table.privatize(x)))  # type: ignore[misc]
    (count,) = counts
    assert count <= MOST_INSTRUCTIONS

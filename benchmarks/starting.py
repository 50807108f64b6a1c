"""Importing and starting, as processes of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measure import Case, in_turns

__all__ = ["cases"]

_CLIENT = (
    "import time; t = time.process_time(); import noutput.campaign; print(time.process_time() - t)"
)


def cases() -> Iterator[Case]:
    """Measure how long the first second of a process is."""
    _run("-c", "import noutput.campaign, noutput.mechanisms.table")  # compiles
    best = in_turns({
        "bare": lambda: _run("-c", "pass"),
        "client": lambda: _run("-c", "import noutput.campaign"),
        "core": lambda: _run("-c", "import noutput; noutput.TableMechanism"),
        "help": lambda: _run("-m", "noutput", "--help"),
    }, turns=15)  # fmt: skip
    yield Case("import of the client", (best["client"] - best["bare"]) * 1e3, 60.0, "ms")
    processor = min(float(_run("-c", _CLIENT)) for _ in range(15))
    yield Case("import of the client, processor time", processor * 1e3, 60.0, "ms")
    yield Case("import of noutput and its core", (best["core"] - best["bare"]) * 1e3, 300.0, "ms")
    yield Case("noutput --help", best["help"] * 1e3, 250.0, "ms")


def _run(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout

"""Importing and starting, in separate processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial

from benchmarks.measure import Case, in_turns

__all__ = ["cases"]

_CLOCK = (
    "import time; start = time.process_time(); import noutput.campaign;"
    "print(time.process_time() - start)"
)
_COMMANDS = {
    "bare": ("-c", "pass"),
    "client": ("-c", "import noutput.campaign"),
    "core": ("-c", "import noutput; noutput.TableMechanism"),
    "help": ("-m", "noutput", "--help"),
}


def cases() -> Iterator[Case]:
    """Measure how a process starts whose modules are compiled, as those of an installation are."""
    with tempfile.TemporaryDirectory() as cache:
        actions = {name: partial(_run, cache, *command) for name, command in _COMMANDS.items()}
        for action in actions.values():
            action()  # compiles
        best = in_turns(actions, turns=15)
        clock = min(float(_run(cache, "-c", _CLOCK)) for _ in range(15))
    client = (best["client"] - best["bare"]) * 1e3
    detail = f"{clock * 1e3:.1f} ms of processor time"
    yield Case("import of the client", client, 60.0, "ms", detail=detail)
    yield Case("import of noutput and its core", (best["core"] - best["bare"]) * 1e3, 300.0, "ms")
    yield Case("noutput --help", best["help"] * 1e3, 250.0, "ms")


def _run(cache: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, text=True, timeout=60,
        env=environment,
    )  # fmt: skip
    return done.stdout

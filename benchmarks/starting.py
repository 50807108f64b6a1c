"""Importing and starting, in separate processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.collector import SERVE, make_campaign, serving
from benchmarks.measure import Case, best_seconds, in_turns
from noutput.campaign.segments import Segments
from noutput.collector.cells import CellLayout
from noutput.collector.store import open_store
from noutput.collector.store.interface import Submission

__all__ = ["cases"]

_CLOCK = (
    "import time; start = time.process_time(); import noutput.campaign;"
    "print(time.process_time() - start)"
)
_REPORTS = 200_000
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
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "reports.db"
        cells = _count_apart(str(database))
        serve = ("-c", SERVE, "--database", str(database), "--port", "0")
        seconds = best_seconds(lambda: _start(*serve), 3)
    detail = f"{_REPORTS:,} reports in {cells:,} cells"
    yield Case("start of a collector with many labels", seconds, 3.0, "s", detail=detail)


def _count_apart(database: str) -> int:
    """Count reports of 1,000 combinations of labels; return how many cells have any."""
    labels = tuple(
        (name, tuple(f"{name}{number}" for number in range(size)))
        for name, size in (("state", 49), ("plan", 19))
    )
    load = make_campaign()
    questions = tuple(replace(load.questions[0], name=f"n{place}") for place in range(20))
    campaign = replace(
        load, segments=Segments(labels, 100), questions=questions, tables=load.tables * 20,
        objectives=load.objectives * 20,
    )  # fmt: skip
    rng, layout = np.random.default_rng(1), CellLayout(campaign)
    cells = layout.cells(
        rng.integers(0, 20, _REPORTS).astype(np.int32),
        rng.integers(0, 16, _REPORTS).astype(np.int32),
        rng.integers(0, layout.strata.combinations, _REPORTS),
    )
    assert cells is not None
    with closing(open_store(database)) as store:
        row, _ = store.create(
            campaign.id, campaign.fingerprint, campaign.to_json(), "2026-01-01T00:00:00Z"
        )
        store.add([Submission(row.key, rng.bytes(16 * _REPORTS), cells.tobytes())])
    return len(np.unique(cells))


def _start(*command: str) -> None:
    with serving(*command):
        pass


def _run(cache: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, text=True, timeout=60,
        env=environment,
    )  # fmt: skip
    return done.stdout

"""Sampling, importing and starting."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Iterator

import numpy as np

from benchmarks.measure import Case, best_seconds, floor_seconds
from noutput.mechanisms.table import TableMechanism
from tests.tables import window_table

__all__ = ["cases"]

_SIZE = 10_000_000


def cases() -> Iterator[Case]:
    """Measure everything the core promises."""
    table = window_table(1.0, 16, 33, 0.4)
    x = np.random.default_rng(2).uniform(-1.0, 1.0, _SIZE)
    ratio = best_seconds(lambda: table.privatize(x)) / floor_seconds(_SIZE)
    yield Case("privatize 10^7 values, N = 16, secure", ratio, 10.0, "x Generator.random")
    yield Case("memory above input and output", _peak_megabytes(table, x), 200.0, "MB")
    yield Case("one value", best_seconds(lambda: table.privatize(0.3), 2000) * 1e6, 50.0, "us")
    bare = best_seconds(lambda: _run("-c", "pass"))
    imported = best_seconds(lambda: _run("-c", "import noutput; noutput.TableMechanism"))
    yield Case("import noutput and its core", imported - bare, 0.3, "s")
    yield Case("noutput --help", best_seconds(lambda: _run("-m", "noutput", "--help")), 0.25, "s")


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, timeout=60)


def _peak_megabytes(
    table: TableMechanism, x: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> float:
    tracemalloc.start()
    table.privatize(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (peak - x.size) / 1e6

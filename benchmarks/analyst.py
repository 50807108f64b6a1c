"""The analyst's verbs as processes: from start to end, with the memory that they take."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Case
from benchmarks.peak import write_people

__all__ = ["cases"]

_SIZE = 10_000_000
_PEOPLE = ("--column", "x", "--epsilon", "1")


def cases() -> Iterator[Case]:
    """Measure what the command line promises."""
    for verb in ("plan", "privatize", "estimate", "demo"):
        seconds = min(_run(verb, "--help")[0] for _ in range(5))
        yield Case(f"noutput {verb} --help", seconds, 0.25, "s")
    yield Case("noutput demo", min(_run("demo")[0] for _ in range(3)), 5.0, "s")
    arguments = ("plan", "--epsilon", "1", "--people", "50000")
    yield Case("noutput plan", min(_run(*arguments)[0] for _ in range(3)), 2.0, "s")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = str(write_people(folder / "people.parquet", _SIZE))
        for engine in ("arrow", "duckdb"):
            target = str(folder / f"{engine}.parquet")
            done = _run("privatize", source, *_PEOPLE, "--engine", engine, "-o", target)
            yield from _pair(f"privatize 10^7 rows of Parquet, {engine}", *done)
        done = _run("estimate", target)
        yield from _pair("estimate from 10^7 reports", *done)
        csv = folder / "people.csv"
        _write_csv(csv)
        done = _run("privatize", str(csv), *_PEOPLE, "-o", str(folder / "csv.parquet"))
        yield from _pair("privatize 10^7 rows of CSV", *done)


def _pair(label: str, seconds: float, megabytes: float) -> Iterator[Case]:
    yield Case(label, seconds, 30.0, "s")
    yield Case(f"{label}: peak", megabytes, 500.0, "MB")


def _write_csv(path: Path) -> None:
    lines = "".join(f"{k / 500 - 1:.3f}\n" for k in range(1000)).encode()
    with path.open("wb") as file:
        file.write(b"x\n")
        for _ in range(_SIZE // 1000):
            file.write(lines)


def _run(*arguments: str) -> tuple[float, float]:
    """Return seconds and peak megabytes of one call of the program."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "noutput", *arguments], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"noutput {' '.join(arguments)} ended with {process.returncode}")
    return seconds, usage.ru_maxrss / 1000.0

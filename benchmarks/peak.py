"""Time and peak memory of privatizing and tallying a Parquet file, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from noutput import TableMechanism, Tally, frames
from tests.tables import window_table

__all__ = ["ENGINES", "measure", "write_people"]

ENGINES = ("arrow", "duckdb", "polars", "spark")
_CHUNK = 1_000_000
_STATUS = Path("/proc")


def write_people(path: Path, rows: int) -> Path:
    """Write uniform numbers in chunks of a million."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(rows)
    with pq.ParquetWriter(path, pa.schema([("x", pa.float64())])) as writer:
        for start in range(0, rows, _CHUNK):
            numbers = rng.uniform(-1.0, 1.0, min(_CHUNK, rows - start))
            writer.write_table(pa.table({"x": numbers}))
    return path


def measure(engine: str, source: Path) -> dict[str, float]:
    """Return rows counted, seconds, processor seconds and peak megabytes.

    The times leave out imports and Spark's start; the memory does not.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peak", engine, str(source)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        timeout=1800,
        cwd=Path(__file__).parents[1],
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _arrow(source: str, mechanism: TableMechanism) -> Tally:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "reports"
        frames.privatize_files(source, target, "x", mechanism=mechanism, bounds=(-1, 1))
        return frames.tally_files(target)["x"]


def _polars(source: str, mechanism: TableMechanism) -> Tally:
    import polars as pl

    people = pl.scan_parquet(source)
    return frames.tally(
        frames.privatize(people, "x", mechanism=mechanism, bounds=(-1, 1)), "x", mechanism
    )


def _duckdb(source: str, mechanism: TableMechanism) -> Tally:
    import duckdb

    people = duckdb.read_parquet(source)
    return frames.tally(
        frames.privatize(people, "x", mechanism=mechanism, bounds=(-1, 1)), "x", mechanism
    )


def _spark(source: str, mechanism: TableMechanism) -> Tally:
    people = _session().read.parquet(source)
    return frames.tally(
        frames.privatize(people, "x", mechanism=mechanism, bounds=(-1, 1)), "x", mechanism
    )


def _session() -> Any:
    settings = {
        "spark.driver.memory": "768m",
        # the whole heap is resident from the start: what grows after that is what somebody holds
        "spark.driver.extraJavaOptions": "-Xms768m -XX:+AlwaysPreTouch",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    return frames.spark_session("local[2]", settings)


def _family(root: int) -> list[int]:
    """Return a process and all its living descendants."""
    parents = {}
    for folder in _STATUS.glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
            )
        except OSError:
            continue
    family = [root]
    for process in family:
        family += [child for child, parent in parents.items() if parent == process]
    return family


def _processor_seconds() -> float:
    """Add up what this process and its descendants have used so far."""
    ticks = 0
    for text in _files("stat"):
        fields = text.rsplit(")", 1)[1].split()
        ticks += sum(map(int, fields[11:15]))  # user and system, own and of ended children
    return ticks / os.sysconf("SC_CLK_TCK")


def _peak_megabytes() -> float:
    """Add up the largest resident sizes of this process, Spark's Java and its workers."""
    total = 0
    for text in _files("status"):
        lines = text.splitlines()
        total += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return total / 1000.0


def _files(name: str) -> Iterator[str]:
    """Read a file of this process and of every descendant that has not just ended."""
    for process in _family(os.getpid()):
        with suppress(OSError):
            yield (_STATUS / str(process) / name).read_text()


def _main(engine: str, source: str) -> None:
    warnings.simplefilter("ignore")  # of libraries; this is no test
    mechanism = window_table(1.0, 16, 33, 0.4)
    if engine == "spark":
        _session()
    run = {"arrow": _arrow, "duckdb": _duckdb, "polars": _polars, "spark": _spark}[engine]
    start, used = time.perf_counter(), _processor_seconds()
    found: dict[str, float] = {"rows": run(source, mechanism).total}
    found["seconds"] = time.perf_counter() - start
    found["processor_seconds"] = _processor_seconds() - used
    found["megabytes"] = _peak_megabytes()
    print(json.dumps(found))
    if engine == "spark":
        _session().stop()


if __name__ == "__main__":
    _main(*sys.argv[1:])

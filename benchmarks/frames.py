"""Columns where the data already is: tallies, streamed files, and Spark beside its own floor."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from benchmarks.measure import Case, best_seconds
from benchmarks.peak import ENGINES, measure, write_people
from noutput import frames
from noutput.mechanisms.table import TableMechanism
from tests.tables import window_table

__all__ = ["cases"]

_SIZE = 10_000_000


def cases() -> Iterator[Case]:
    """Measure everything that the frames promise."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    mechanism = window_table(1.0, 16, 33, 0.4)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = write_people(folder / "people.parquet", _SIZE)
        small = write_people(folder / "small.parquet", _SIZE // 10)
        yield from _tallies(source, folder / "reports.parquet", mechanism)
        for engine in ENGINES:
            yield from _streams(engine, small, source)
        yield from _spark(str(source), mechanism)


def _tallies(source: Path, reports: Path, mechanism: TableMechanism) -> Iterator[Case]:
    frames.privatize_files(source, reports, "x", mechanism=mechanism, bounds=(-1, 1))
    lazy = best_seconds(lambda: frames.tally(pl.scan_parquet(reports), "x", mechanism))
    yield Case("tally 10^7 rows, Polars from Parquet", lazy, 1.0, "s")
    relation = duckdb.read_parquet(str(reports))
    seconds = best_seconds(lambda: frames.tally(relation, "x", mechanism))
    yield Case("tally 10^7 rows, DuckDB from Parquet", seconds, 1.0, "s")
    eager = pl.read_parquet(reports)
    seconds = best_seconds(lambda: frames.tally(eager, "x", mechanism))
    yield Case("tally 10^7 rows, Polars in memory", seconds, 1.0, "s")


def _streams(engine: str, small: Path, large: Path) -> Iterator[Case]:
    few, many = measure(engine, small), measure(engine, large)
    label = f"privatize and tally 10^7 rows, {engine}"
    yield Case(label, many["seconds"], 30.0, "s")
    yield Case(f"{label}: peak", many["megabytes"], 2000.0 if engine == "spark" else 500.0, "MB")
    growth = many["megabytes"] - few["megabytes"]
    yield Case(f"{label}: above 10^6", growth, 400.0 if engine == "spark" else 150.0, "MB")


def _copy(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _spark(source: str, mechanism: TableMechanism) -> Iterator[Case]:
    """Compare with a job that copies the same column through Python and counts it."""
    session = frames.spark_session("local[2]", {"spark.ui.enabled": "false"})
    session.sparkContext.setLogLevel("ERROR")
    people = session.read.parquet(source)
    copied = people.mapInArrow(_copy, people.schema)
    reports = frames.privatize(people, "x", mechanism=mechanism, bounds=(-1, 1))
    floors, jobs = [], []
    for _ in range(6):  # in turns, so that both see the same machine; the first turn warms up
        floors.append(best_seconds(copied.count, 1))
        jobs.append(best_seconds(lambda: frames.tally(reports, "x", mechanism), 1))
    session.stop()
    yield Case("Spark local[2], 10^7 rows: the floor", min(floors[1:]), 60.0, "s")
    ratio = min(jobs[1:]) / min(floors[1:])
    yield Case("Spark local[2], 10^7 rows, warm", ratio, 1.5, "x copy and count")

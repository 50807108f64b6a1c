"""Archive of reports: what it adds to a commit, and counting 10^7 rows, each id once.

A commit with an archive is compared with one without, in turns; both times are medians, since a
disk that others use takes its time now and then. Of the 10^7 rows, 5% have an id
that came before. Counting them is compared with the engine's own count of different ids, in the
same session: whoever counts each id once cannot do less.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from benchmarks.collector import make_campaign
from benchmarks.measure import Case, best_seconds, in_turns
from noutput import frames
from noutput.campaign import Campaign
from noutput.collector.archive.archive import MANY, ArchivedStore, open_archive
from noutput.collector.cells import CellLayout
from noutput.collector.store import open_store
from noutput.collector.store.interface import ReportSink, Submission

__all__ = ["cases"]

_ROWS = 10_000_000
_DIFFERENT = _ROWS * 20 // 21
_TURNS = 200


def cases() -> Iterator[Case]:
    """Measure commits, files, and every engine."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    campaign = make_campaign()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from _commits(folder, campaign)
        yield from _files(folder / "archive", campaign)
        yield from _tallies(folder / "archive", campaign)


def _commits(folder: Path, campaign: Campaign) -> Iterator[Case]:
    keys: dict[str, int] = {}
    sinks: dict[str, ReportSink] = {}
    stores = {name: open_store(str(folder / f"{name}.db")) for name in ("without", "with")}
    for name, store in stores.items():
        now = "2026-05-01T00:00:00Z"
        row, _ = store.create(campaign.id, campaign.fingerprint, campaign.to_json(), now)
        keys[name], sinks[name] = row.key, store
    archive = open_archive(folder / "commits")
    sinks["with"] = ArchivedStore(stores["with"], archive)

    def commit(name: str, size: int) -> Callable[[], object]:
        cells = np.zeros(size, "<i4").tobytes()
        return lambda: sinks[name].add([Submission(keys[name], os.urandom(16 * size), cells)])

    for size in (10_000, 1_000, 1):  # the first also brings the logs to the size that they keep
        actions = {name: commit(name, size) for name in sinks}
        spent: dict[str, list[float]] = {name: [] for name in sinks}
        for _ in range(_TURNS):
            for name, action in actions.items():
                spent[name].append(best_seconds(action, 1))
        usual = {name: float(np.median(each)) for name, each in spent.items()}
        detail = f"{usual['with'] * 1e3:.2f} ms; without {usual['without'] * 1e3:.2f} ms"
        label = (
            f"a commit of {size:,} reports, archived" if size > 1 else "a commit of one, archived"
        )
        yield Case(label, usual["with"] / usual["without"], None, "x without", detail=detail)
    archive.close()
    for store in stores.values():
        store.close()


def _files(folder: Path, campaign: Campaign) -> Iterator[Case]:
    rng = np.random.default_rng(4)
    ids = np.frombuffer(rng.bytes(16 * _DIFFERENT), "V16")
    cells = rng.integers(0, CellLayout(campaign).size, _DIFFERENT).astype("<i4")
    picked = np.concatenate(
        [np.arange(_DIFFERENT), rng.integers(0, _DIFFERENT, _ROWS - _DIFFERENT)]
    )  # fmt: skip
    rng.shuffle(picked)
    archive = open_archive(folder)
    spent = []
    for part in np.array_split(picked, _ROWS // MANY):
        archive.add([(campaign, ids[part].tobytes(), cells[part].tobytes())])
        spent.append(best_seconds(archive.flush, 1) / len(part))
    archive.close()
    yield Case("files of a million reports", min(spent) * 1e6, None, "us per report")
    size = sum(file.stat().st_size for file in folder.rglob("*.parquet")) / _ROWS
    yield Case("size of the files", size, 18.0, "bytes per report")


def _tallies(folder: Path, campaign: Campaign) -> Iterator[Case]:
    files = [str(file) for file in sorted(folder.rglob("*.parquet"))]
    relation = duckdb.read_parquet(files, hive_partitioning=False)
    scan = pl.scan_parquet(files, hive_partitioning=False)
    session = frames.spark_session(
        "local[2]",
        {
            "spark.ui.enabled": "false",
            "spark.driver.memory": "3g",
            "spark.ui.showConsoleProgress": "false",
        },
    )
    session.sparkContext.setLogLevel("ERROR")
    stored = session.read.parquet(*files)
    jobs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "DuckDB": (
            relation.aggregate("count(DISTINCT id)").fetchall,
            lambda: frames.tally_reports(relation, campaign),
        ),
        "Polars, lazy": (
            scan.select(pl.col("id").n_unique()).collect,
            lambda: frames.tally_reports(scan, campaign),
        ),
        "Spark local[2], warm": (
            stored.select("id").distinct().count,
            lambda: frames.tally_reports(stored, campaign),
        ),
    }
    for engine, (floor, job) in jobs.items():
        best = in_turns({"floor": floor, "job": job}, 2, 0.0)
        detail = f"{best['job']:.1f} s; different ids {best['floor']:.1f} s"
        ratio = best["job"] / best["floor"]
        yield Case(f"tally 10^7 rows, {engine}", ratio, 4.0, "x different ids", detail=detail)
    session.stop()
    seconds = best_seconds(lambda: frames.tally_reports(folder, campaign), 2)
    yield Case('tally 10^7 rows, engine "arrow"', seconds, 30.0, "s")

"""Millions of reports with repeats: the archive counts exactly what the collector counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from noutput import frames
from noutput.campaign import Campaign
from noutput.collector.archive.archive import MANY, ArchivedStore, open_archive
from noutput.collector.cells import CellLayout
from noutput.collector.store import open_store
from noutput.collector.store.interface import Submission
from noutput.tally import Tally
from tests.campaign.examples import survey_campaign

_BATCH = 10_000
_GROUP = 5 * _BATCH  # reports of a commit


def collect(folder: Path, campaign: Campaign, size: int) -> list[Tally]:
    """Let a collector count and archive rows, every 21st an id that comes again; return counts."""
    rng = np.random.default_rng(7)
    layout = CellLayout(campaign)
    different = size * 20 // 21
    ids = np.frombuffer(rng.bytes(16 * different), "V16")
    cells = rng.integers(0, layout.size, different).astype("<i4")
    picked = np.concatenate(
        [np.arange(different), rng.integers(0, different, size - different)]
    )  # fmt: skip
    rng.shuffle(picked)  # repeats are spread over all commits, and so over all files
    store, archive = open_store(str(folder / "reports.db")), open_archive(folder / "archive")
    now = "2026-05-01T00:00:00Z"
    row, _ = store.create(campaign.id, campaign.fingerprint, campaign.to_json(), now)
    counting = ArchivedStore(store, archive)
    for start in range(0, size, _GROUP):
        parts = np.split(picked[start : start + _GROUP], range(_BATCH, _GROUP, _BATCH))
        counting.add(
            [Submission(row.key, ids[part].tobytes(), cells[part].tobytes()) for part in parts]
        )
        if start % MANY < _GROUP:
            archive.flush(MANY)
    archive.flush()
    tallies = layout.tallies(store.counts(row.key))
    for each in (archive, store):
        each.close()
    assert sum(tally.total for tally in tallies) == different
    return tallies


def check(folder: Path, size: int, wanted: list[Tally], engine: str) -> None:
    found = frames.tally_reports(folder / "archive", engine=engine)
    assert list(found.tallies.values()) == wanted
    assert (found.rows, found.conflicting, found.pending) == (size, 0, 0)


@pytest.mark.slow
def test_ten_million_reports_count_as_in_the_collector(tmp_path: Path) -> None:
    wanted = collect(tmp_path, survey_campaign("commute"), 10**7)
    assert len([*tmp_path.rglob("*.parquet")]) > 9 * 16
    check(tmp_path, 10**7, wanted, "duckdb")


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_spark_counts_an_archive_as_the_collector(tmp_path: Path) -> None:
    size = 200_000
    wanted = collect(tmp_path, survey_campaign("commute"), size)
    check(tmp_path, size, wanted, "spark")
    check(tmp_path, size, wanted, "arrow")

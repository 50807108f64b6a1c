from __future__ import annotations

import asyncio
import logging

import pytest

from noutput.collector.ingest import merging
from noutput.collector.ingest.merging import Merger
from noutput.collector.lanes import Lanes
from noutput.collector.metrics import Metrics
from noutput.collector.store.interface import UnavailableError


class Counting:
    """A store that counts calls, of which some fail."""

    def __init__(self, *failures: Exception) -> None:
        self.calls = 0
        self._failures = list(failures)

    def merge_ids(self) -> None:
        self.calls += 1
        if self._failures:
            raise self._failures.pop(0)


async def until(store: Counting, calls: int) -> None:
    while store.calls < calls:
        await asyncio.sleep(0.001)


def test_ids_are_merged_at_the_start_after_reports_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(merging, "_MERGE_SECONDS", 0.001)
    store = Counting(UnavailableError("no answer"), RuntimeError("bad"))
    metrics = Metrics()

    async def main() -> None:
        merger = Merger(store, metrics, Lanes().merging)  # type: ignore[arg-type]
        await merger.stop()  # not started: nothing to do
        merger.start()
        await until(store, 3)  # two failed
        await asyncio.sleep(0.02)
        assert store.calls == 3  # no reports, no work
        metrics.accepted += 1
        await until(store, 4)
        await merger.stop()
        assert store.calls == 5

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert [record.getMessage() for record in caplog.records] == [
        "no ids were merged: no answer", "no ids were merged",
    ]  # fmt: skip

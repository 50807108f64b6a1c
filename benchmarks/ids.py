"""Ids of reports: chosen by an attacker, growing, one by one, and read after a restart."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.collector import make_campaign
from benchmarks.measure import Case
from noutput.collector.store import open_store
from noutput.collector.store.ids import IdSet
from noutput.collector.store.interface import Submission
from noutput.collector.store.sqlite import SqliteStore

__all__ = ["cases"]

_BATCH = 10_000
_COMMIT = 1_000
_GROWN = 10_000_000
_SINGLE = 200_000
_MILLION = 1_000_000


def hostile() -> bytes:
    """Return 10,000 ids of which a linear hash has 128 different values, whatever its factors."""
    pairs = [(high << 57, low << 57) for high in range(128) for low in range(128)][:_BATCH]
    return b"".join(high.to_bytes(8, "big") + low.to_bytes(8, "big") for high, low in pairs)


def cases() -> Iterator[Case]:
    """Measure processor time, which other work on the machine does not change much."""
    random = os.urandom(16 * _BATCH)
    usual = _seconds(lambda: IdSet().add(random))
    batch = hostile()
    chosen = _seconds(lambda: IdSet().add(batch))
    detail = f"{chosen * 1e3:.2f} ms; random ids {usual * 1e3:.2f} ms"
    yield Case("10,000 chosen ids", chosen / usual, 2.0, "x random ids", detail=detail)
    yield from _growth()
    with tempfile.TemporaryDirectory() as name:
        yield from _one_by_one(Path(name) / "reports.db")


def _growth() -> Iterator[Case]:
    rng = np.random.default_rng(4)
    ids = IdSet()
    spent = []
    while len(ids) < _GROWN:
        batch = rng.bytes(16 * _COMMIT)
        spent.append(_seconds(lambda: ids.add(batch), 1))  # noqa: B023 (called at once)
    detail = f"median {np.median(spent) * 1e3:.2f} ms"
    longest = max(spent) * 1e3
    yield Case("longest of 10,000 commits of 1,000 ids", longest, 50.0, "ms", detail=detail)
    each = sum(spent) / _GROWN * 1e6
    yield Case("ids added, up to 10^7", each, 1.0, "us per id")


def _one_by_one(file: Path) -> Iterator[Case]:
    """Write what single commits write, in one transaction: the rows are the same."""
    campaign = make_campaign()
    store = open_store(str(file))
    assert isinstance(store, SqliteStore)
    key = store.create(
        campaign.id, campaign.fingerprint, campaign.to_json(), "2026-05-01T00:00:00Z"
    )[0].key
    data = os.urandom(16 * _SINGLE)
    start = time.thread_time()
    with store._write() as connection:  # noqa: SLF001 (a commit per report would take hours)
        for place in range(0, len(data), 16):
            store._remember(connection, key, data[place : place + 16])  # noqa: SLF001 (the same)
    each = (time.thread_time() - start) / _SINGLE
    store.close()
    yield Case("one id remembered", each * 1e6, None, "us")
    yield Case("disk, one by one", file.stat().st_size / _SINGLE, 20.0, "bytes per report")
    store = open_store(str(file))
    load = _seconds(lambda: store.add([Submission(key, data[:16], bytes(4))]), 1)
    store.close()
    yield Case("read after a restart", load * _MILLION / _SINGLE, 1.0, "s per 10^6 reports")


def _seconds(action: Callable[[], object], repetitions: int = 5) -> float:
    best = float("inf")
    for _ in range(repetitions):
        start = time.thread_time()
        action()
        best = min(best, time.thread_time() - start)
    return best

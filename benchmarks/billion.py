"""Many reports of one campaign: memory, restart, and repetitions.

As many ids as `NOUTPUT_IDS` says (10^7 where it says nothing) are counted in commits of 10,000 in
a process of its own, and older ones are settled meanwhile as a collector does it. Then another
process opens the file, counts one report, and takes in batches: new ones, and such as were
counted long ago. Memory is the resident size of the process above that of one with few reports.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Case

__all__ = ["cases"]

_COMMON = """
import os, sys, threading, time
import numpy as np
from benchmarks.collector import make_campaign, memory_megabytes
from noutput.collector.store import open_store
from noutput.collector.store.interface import Submission
database, total = sys.argv[1], int(sys.argv[2])
campaign = make_campaign()
store = open_store(database)
row, _ = store.create(campaign.id, campaign.fingerprint, campaign.to_json(), "2026-05-01T00:00:00Z")
cells = (np.arange(10_000) % 16).astype("<i4").tobytes()
def add(ids):
    return store.add([Submission(row.key, ids, cells[: len(ids) // 4])])[0]
def batch(number):
    return np.random.default_rng([7, number]).bytes(160_000)
"""
_FILL = """
add(os.urandom(16))
before = memory_megabytes(os.getpid())
ended = threading.Event()
def settle():
    while not ended.wait(1.0):
        store.merge_ids()
thread = threading.Thread(target=settle)
thread.start()
start, most = time.perf_counter(), 0.0
for number in range(total // 10_000):
    assert add(batch(number)).accepted == 10_000
    if number % 100 == 0:
        most = max(most, memory_megabytes(os.getpid()))
seconds = time.perf_counter() - start
ended.set()
thread.join()
store.merge_ids()
print(seconds, time.process_time(), before, max(most, memory_megabytes(os.getpid())))
store.close()
"""
_AGAIN = """
before = memory_megabytes(os.getpid())
start = time.perf_counter()
assert add(os.urandom(16)).accepted == 1
first = time.perf_counter() - start
assert add(os.urandom(160_000)).accepted == 10_000
spent = {}
for name, make in (("new", lambda n: os.urandom(160_000)), ("old", batch)):
    best = float("inf")
    for number in range(10):
        ids = make(number)
        start = time.thread_time()
        outcome = add(ids)
        best = min(best, time.thread_time() - start)
        assert outcome.accepted == (10_000 if name == "new" else 0)
    spent[name] = best
known = store._remembered._known[row.key]
print(first, spent["new"], spent["old"], before, memory_megabytes(os.getpid()), known.recent,
      len(known.segments._rows))
store.close()
"""


def cases(database: str | None = None) -> Iterator[Case]:
    """Count ids, open the database again, and send old ids once more."""
    total = int(os.environ.get("NOUTPUT_IDS", 10_000_000))
    with tempfile.TemporaryDirectory() as name:
        where = database or str(Path(name) / "reports.db")
        seconds, used, before, most = _run(_FILL, where, total)
        detail = f"{total / seconds:,.0f} reports/s, {used * 1e6 / total:.2f} us of processor time"
        yield Case(f"{total:,} reports counted", seconds, None, "s", detail=detail)
        yield Case("memory while they are counted", most - before, None, "MB")
        if database is None:
            size = sum(path.stat().st_size for path in Path(name).iterdir())
            yield Case("disk", size / total, None, "bytes per report")
        first, new, old, before, after, recent, segments = _run(_AGAIN, where, total)
        yield Case("first report after a restart", first, 2.0, "s")
        detail = f"{recent:,.0f} ids in memory, the others in {segments:.0f} segments"
        each = (after - before) * 1e6 / total
        yield Case("memory after a restart", each, None, "bytes per report", detail=detail)
        detail = f"{new * 1e3:.1f} ms per 10,000"
        yield Case("old reports, once more", old / new, None, "x new ones", detail=detail)


def _run(code: str, database: str, total: int) -> tuple[float, ...]:
    done = subprocess.run(
        [sys.executable, "-c", _COMMON + code, database, str(total)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)
    return tuple(map(float, done.stdout.split()))

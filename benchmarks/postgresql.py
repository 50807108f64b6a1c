"""PostgreSQL: batches of 10,000 reports into one campaign, by one process and by two.

A server of the benchmark's own on loopback, with durable commits on this disk. The processes take
turns with one that inserts one row per id under a primary key, and does nothing else. Reports go
to the store itself; what HTTP takes comes on top, in each process.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import psycopg

from benchmarks.collector import make_campaign
from benchmarks.measure import Case
from noutput.collector.store import open_store
from tests.collector.postgresql import PostgresqlServer

__all__ = ["cases"]

_TURNS = 4
_BATCH = 10_000
_MILLION = 1_000_000
_ROWS = "CREATE TABLE by_row (campaign bigint, id bytea, PRIMARY KEY (campaign, id))"
_START = """
import os, sys, time
import numpy as np
database, key, commits = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
batches = [os.urandom(160_000) for _ in range(commits)]
"""
_STORE = """
from noutput.collector.store import open_store
from noutput.collector.store.interface import Submission
store = open_store(database)
cells = (np.arange(10_000) % 16).astype("<i4").tobytes()
store.add([Submission(key, os.urandom(16), cells[:4])])
def add(ids):
    assert store.add([Submission(key, ids, cells)])[0].accepted == 10_000
"""
_BY_ROW = """
import psycopg
connection = psycopg.connect(database)
def add(ids):
    ordered = np.sort(np.frombuffer(ids, "S16")).tobytes()
    done = connection.execute(
        "INSERT INTO by_row SELECT %s, substring(%s::bytea FROM 16 * place + 1 FOR 16)"
        " FROM generate_series(0, 9999) AS place ON CONFLICT DO NOTHING", (key, ordered))
    connection.commit()
    assert done.rowcount == 10_000
"""
_MEASURE = """
print("ready", flush=True)
sys.stdin.readline()
start = time.perf_counter()
for ids in batches:
    add(ids)
print(time.perf_counter() - start, flush=True)
"""


def cases() -> Iterator[Case]:
    """Take turns, and keep the best turn of each."""
    best = {"one": 0.0, "two": 0.0, "rows": 0.0}
    with PostgresqlServer.start() as server:
        database = server.new_database()
        campaign = make_campaign()
        store = open_store(database)
        row, _ = store.create(
            campaign.id, campaign.fingerprint, campaign.to_json(), "2026-05-01T00:00:00Z"
        )
        with psycopg.connect(database) as connection:
            connection.execute(_ROWS)
        for _ in range(_TURNS):
            for name, code, commits, processes in (
                ("one", _STORE, 50, 1), ("two", _STORE, 50, 2), ("rows", _BY_ROW, 10, 1),
            ):  # fmt: skip
                found = _per_second(code, database, row.key, commits, processes)
                best[name] = max(best[name], found)
            store.merge_ids()
        store.close()
    detail = f"{best['one']:,.0f} reports/s"
    yield Case("one process", _MILLION / best["one"], 1.0 / 0.6, "us per report", detail=detail)
    ratio = best["one"] / best["rows"]
    detail = f"{best['rows']:,.0f} reports/s with one row per id"
    yield Case("against one row per id", ratio, 4.0, "times as fast", at_least=True, detail=detail)
    detail = f"{best['two']:,.0f} reports/s together"
    yield Case("two processes", best["two"] / best["one"], None, "times one process", detail=detail)


def _per_second(code: str, database: str, key: int, commits: int, processes: int) -> float:
    command = [sys.executable, "-c", _START + code + _MEASURE, database, str(key), str(commits)]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for each in started:
        assert each.stdout is not None
        each.stdout.readline()
    for each in started:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    seconds = max(float(each.communicate()[0]) for each in started)
    return _BATCH * commits * processes / seconds

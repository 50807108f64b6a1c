"""Whole campaigns: many reports counted, and a million people from their values to estimates."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Case, best_seconds, floor, in_turns
from noutput.designs.design import design
from noutput.estimate.distribution import estimate_distribution
from noutput.estimate.mean import estimate_mean
from noutput.estimate.variance import estimate_variance
from noutput.mechanisms.table import TableMechanism
from noutput.tally import Tally

__all__ = ["campaign", "cases"]

_MILLION = 1_000_000
_REPORTS = 100_000_000


def cases() -> Iterator[Case]:
    """Measure counting, and everything from values to estimates with their intervals."""
    table = design(1.0, 16, "worst").mechanism
    rng = np.random.default_rng(4)
    x = np.clip(rng.normal(0.1, 0.3, _MILLION), -1.0, 1.0)
    for threads in (1, 2):
        words = "one thread" if threads == 1 else "two threads"
        seconds = best_seconds(partial(campaign, table, x, threads))
        yield Case(f"campaign of 10^6 people, {words}", seconds, 0.5, "s")
    reports = rng.integers(0, 16, _REPORTS, dtype=np.uint8)
    best = in_turns(
        {"tally": lambda: Tally.of(table, reports), "floor": floor(_MILLION * 10)}, turns=3
    )
    ratio = best["tally"] / (10.0 * best["floor"])
    yield Case("tally 10^8 reports", ratio, 1.5, "x the floor", detail=f"{best['tally']:.3f} s")
    yield Case("tally 10^8 reports: memory above them", _peak(table, reports), 10.0, "MB")


def campaign(table: TableMechanism, x: NDArray[np.float64], threads: int = 1) -> None:
    """Privatize, count, and make every estimate with its interval."""
    tally = Tally.of(table, table.privatize(x, threads=threads))
    estimate_mean(table, tally).interval()
    estimate_variance(table, tally).interval()
    distribution = estimate_distribution(table, tally)
    distribution.interval("bins")
    distribution.interval("quantile", [0.25, 0.5, 0.75])


def _peak(table: TableMechanism, reports: NDArray[np.uint8]) -> float:
    tracemalloc.start()
    Tally.of(table, reports)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6

"""Privacy of published counts: one table, from a thousand to a billion reports."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import noutput as no
from benchmarks.measure import Case, best_seconds

__all__ = ["cases"]


def cases() -> Iterator[Case]:
    """Measure epsilon for a delta of 1e-8, over all pairs of rows."""
    for epsilon, outputs, objective in (
        (1.0, 16, "worst"),
        (4.0, 16, "worst"),
        (1.0, 64, "distribution"),
        (4.0, 64, "distribution"),
    ):
        table = no.design(epsilon, outputs, objective).mechanism
        for power in (3, 4, 5, 6, 9):
            run = partial(no.published_privacy, table, reports=10**power)
            name = f"epsilon {epsilon:g}, {outputs} outputs, {len(table.weights)} rows, 10^{power}"
            yield Case(name, best_seconds(run, 5) * 1e3, 50.0, "ms")

from __future__ import annotations

import tracemalloc

import numpy as np

from noutput.mechanisms.table import TableMechanism


def test_memory_does_not_grow_with_the_input(five_outputs: TableMechanism) -> None:
    x = np.zeros(3_000_000)
    five_outputs.privatize(x[:10])
    tracemalloc.start()
    try:
        reports = np.asarray(five_outputs.privatize(x))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - reports.nbytes < 5_000_000

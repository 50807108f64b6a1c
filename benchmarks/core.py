"""Sampling, relative to the floor."""

from __future__ import annotations

import timeit
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.measure import Case, floor, in_turns
from noutput.designs.design import design
from noutput.encoding import encode
from noutput.mechanisms.kernel import CHUNK
from noutput.mechanisms.table import TableMechanism
from noutput.questions import Answers, Choice, Scale, YesNo

__all__ = ["cases"]

_SIZES = (1_000, 100_000, 10_000_000)
_LARGE = _SIZES[-1]
_GOALS = {("secure", 1): 8.0, ("secure", 2): 5.0}


def cases() -> Iterator[Case]:
    """Measure everything the core promises."""
    table = design(1.0, 16, "worst").mechanism
    x = np.random.default_rng(2).uniform(-1.0, 1.0, _LARGE)
    for size in _SIZES:
        yield from _privatize(table, x[:size])
    yield Case("memory above input and output, 10^7 values", _peak_megabytes(table, x), 200.0, "MB")
    device = table.plain
    for name, owner, goal in (("on a device", device, 5.0), ("with numpy", table, 50.0)):
        times = timeit.repeat(partial(owner.privatize, 0.3), number=2_000, repeat=40)
        yield Case(f"one value {name}", min(times) / 2_000 * 1e6, goal, "us")
    yield from _encode()


def _encode() -> Iterator[Case]:
    """Answers to places: no goal but to take no longer than reading such a column does."""
    places = np.random.default_rng(4).integers(0, 3, _LARGE)
    choice, scale = Choice("train", "car", "other"), Scale(1, 2, 3)
    texts = np.array(choice.answers, object)[places]
    columns: dict[str, tuple[Answers, Any]] = {
        "whole numbers": (scale, places + 1),
        "truth values": (YesNo(), places > 1),
        "categories of pandas": (choice, pd.Categorical.from_codes(places, list(choice.answers))),
        "texts": (choice, texts),
    }
    for name, (question, column) in columns.items():
        seconds = min(timeit.repeat(partial(encode, question, column), number=1, repeat=3))
        detail = f"{seconds / _LARGE * 1e9:.3g} ns per value"
        yield Case(f"encode 10^7 answers, {name}", seconds, None, "s", detail=detail)


def _privatize(table: TableMechanism, x: NDArray[np.float64]) -> Iterator[Case]:
    kinds = [(source, threads) for source in ("secure", "seeded") for threads in (1, 2)]
    rng = np.random.default_rng(3)
    actions: dict[str, Callable[[], object]] = {"floor": floor(x.size)}
    for source, threads in kinds:
        generator = rng if source == "seeded" else None
        actions[f"{source}, {threads}"] = partial(table.privatize, x, generator, threads=threads)
    best = in_turns(actions)
    power = round(np.log10(x.size))
    for source, threads in kinds:
        if threads > 1 and x.size <= CHUNK:
            continue  # one chunk: nothing to share
        seconds = best[f"{source}, {threads}"]
        words = "one thread" if threads == 1 else "two threads"
        name = f"privatize 10^{power} values, {source}, {words}"
        goal = _GOALS.get((source, threads)) if x.size == _LARGE else None
        detail = f"{seconds / x.size * 1e9:.3g} ns per value"
        yield Case(name, seconds / best["floor"], goal, "x the floor", detail=detail)


def _peak_megabytes(table: TableMechanism, x: NDArray[np.float64]) -> float:
    tracemalloc.start()
    table.privatize(x, threads=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (peak - x.size) / 1e6

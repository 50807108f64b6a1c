"""Sampling from the mechanisms of the literature."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measure import Case, floor, in_turns
from noutput.registry import mechanism

__all__ = ["cases", "sampling_ratio"]

_SIZE = 4_000_000
_GOALS = {"duchi": 10.0, "three-output": 20.0, "pm": 20.0, "square-wave": 20.0}


def sampling_ratio(name: str, epsilon: float = 1.0, size: int = _SIZE) -> float:
    """Return the time of secure reports, in times that of the floor."""
    found = mechanism(name, epsilon)
    x = np.random.default_rng(2).uniform(-1.0, 1.0, size)
    best = in_turns({"reports": lambda: found.privatize(x), "floor": floor(size)})
    return best["reports"] / best["floor"]


def cases() -> Iterator[Case]:
    """Measure the mechanisms that have a goal."""
    for name, goal in _GOALS.items():
        title = f"privatize {_SIZE:,} values, {name}, secure"
        yield Case(title, sampling_ratio(name), goal, "x the floor")

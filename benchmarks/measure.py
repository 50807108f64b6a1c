"""One goal a case: what is measured, what was found, what is allowed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["Case", "best_seconds", "floor_seconds"]


@dataclass(frozen=True, slots=True)
class Case:
    """A measurement beside its goal; smaller is better."""

    name: str
    found: float
    goal: float
    unit: str

    @property
    def reached(self) -> bool:
        """Whether the goal was met."""
        return self.found <= self.goal


def best_seconds(action: Callable[[], object], repetitions: int = 5) -> float:
    """Return the shortest time of several runs."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def floor_seconds(size: int) -> float:
    """Return the time to fill an array with numpy's fastest uniform numbers."""
    numbers = np.empty(size)
    rng = np.random.default_rng(1)
    return best_seconds(lambda: rng.random(out=numbers))

"""One goal a case: what is measured, what was found, what is allowed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

__all__ = ["Case", "best_seconds", "floor", "in_turns"]


@dataclass(frozen=True, slots=True)
class Case:
    """A measurement beside its goal, if it has one; smaller is better unless `at_least` is set.

    `detail` says in words what a ratio was made from.
    """

    name: str
    found: float
    goal: float | None
    unit: str
    at_least: bool = False
    detail: str = ""

    @property
    def reached(self) -> bool:
        """Whether the goal was met."""
        if self.goal is None:
            return True
        return self.found >= self.goal if self.at_least else self.found <= self.goal

    @property
    def target(self) -> str:
        """The goal in words."""
        if self.goal is None:
            return ""
        return f"{'at least' if self.at_least else 'at most'} {self.goal:g}"


def best_seconds(action: Callable[[], object], repetitions: int = 5) -> float:
    """Return the shortest time of several runs."""
    return min(_seconds(action) for _ in range(repetitions))


def in_turns(
    actions: Mapping[str, Callable[[], object]],
    turns: int = 5,
    at_least: float = 0.02,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the shortest time of every action; they take turns, so all see the same machine.

    In each turn an action runs once, or again until it has taken `at_least` seconds.
    """
    best = dict.fromkeys(actions, float("inf"))
    for _ in range(turns):
        for name, action in actions.items():
            spent = 0.0
            while not spent or spent < at_least:
                seconds = _seconds(action, clock)
                best[name] = min(best[name], seconds)
                spent += seconds
    return best


def _seconds(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    action()
    return clock() - start


def floor(size: int) -> Callable[[], object]:
    """Return what every sampler is compared with: filling an array with numpy's random numbers."""
    numbers = np.empty(size)
    rng = np.random.default_rng(1)
    return lambda: rng.random(out=numbers)

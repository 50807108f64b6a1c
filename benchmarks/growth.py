"""How time grows.

The exponent is the slope of a straight line through the logarithms of sizes and processor times;
"at the end" is the slope between the two largest sizes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Case, in_turns
from noutput.estimate.attributes import estimate_means
from noutput.estimate.distribution import estimate_distribution
from noutput.mechanisms.table import TableMechanism
from noutput.tally import Tally
from tests.tables import window_table

__all__ = ["Curve", "cases", "curves"]

_MILLION = 1_000_000
_PEOPLE = tuple(10**power for power in range(4, 9))


@dataclass(frozen=True, slots=True)
class Curve:
    """Times of one action at several sizes, and the largest exponent that is allowed.

    Without one the curve must be a straight line: exponent 1 within 0.05.
    """

    name: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    against: str
    most: float | None = None

    @property
    def exponent(self) -> float:
        """The slope of a straight line through the logarithms."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.seconds), 1)[0])

    @property
    def last(self) -> float:
        """The exponent between the two largest sizes: where a curve bends, the one that matters."""
        a, b = self.seconds[-2:]
        return float(np.log(b / a) / np.log(self.sizes[-1] / self.sizes[-2]))


curves: list[Curve] = []


def cases() -> Iterator[Case]:
    """Measure the curves, and compare their exponents with what is stated."""
    curves.clear()
    for curve in _measure():
        curves.append(curve)
        name = f"{curve.name}, {curve.sizes[0]:,} to {curve.sizes[-1]:,} {curve.against}"
        exponent = curve.exponent
        if curve.most is None:
            detail = f"exponent {exponent:.3f}"
            yield Case(name, abs(exponent - 1.0), 0.05, "from exponent 1", detail=detail)
        else:
            detail = f"{curve.last:.2f} at the end"
            yield Case(name, exponent, curve.most, "exponent", detail=detail)


def _measure() -> Iterator[Curve]:
    table = window_table(1.0, 16, 33, 0.4)
    yield from _against_people(table)
    x = np.clip(np.random.default_rng(6).normal(0.1, 0.3, _MILLION), -1.0, 1.0)
    yield _curve("privatize", "outputs", _powers(1, 8), lambda n: _sampler(n, 33, x), 0.2)
    yield _curve("privatize", "knots", _powers(1, 9), lambda k: _sampler(16, k, x), 0.2)
    reports = table.privatize(x, np.random.default_rng(6))
    tallies = cycle([Tally.of(table, reports[first:]) for first in range(64)])
    for method, most in (("em", 1.2), ("gp", 3.0)):
        make = partial(_estimator, table, tallies, method)
        yield _curve(method, "bins", _powers(5, 10), make, most)
    yield _curve("means", "attributes", _powers(0, 10), lambda d: _means(table, d, reports), 1.0)


def _against_people(table: TableMechanism) -> Iterator[Curve]:
    rng = np.random.default_rng(6)
    x = rng.uniform(-1.0, 1.0, _PEOPLE[-1])
    make = partial(_first, table.privatize, x)
    yield _curve("privatize", "people", _PEOPLE, make)
    reports = rng.integers(0, 16, _PEOPLE[-1], dtype=np.uint8)
    make = partial(_first, partial(Tally.of, table), reports)
    yield _curve("tally", "people", _PEOPLE, make)


def _first(
    action: Callable[[Any], object], values: NDArray[Any], size: int
) -> Callable[[], object]:
    return partial(action, values[:size])


def _estimator(
    table: TableMechanism, tallies: Iterator[Tally], method: str, bins: int
) -> Callable[[], object]:
    """Return an action that estimates from other reports every time: results are kept."""
    return lambda: estimate_distribution(table, next(tallies), bins, method=method)


def _powers(first: int, last: int) -> tuple[int, ...]:
    return tuple(1 << power for power in range(first, last + 1))


def _curve(
    name: str,
    against: str,
    sizes: tuple[int, ...],
    make: Callable[[int], Callable[[], object]],
    most: float | None = None,
) -> Curve:
    actions = {str(size): make(size) for size in sizes}
    for size in sizes[:-1]:
        actions[str(size)]()  # builds what is built once
    # other work on the machine delays long runs more than short ones, which would bend the curve
    best = in_turns(actions, turns=3, at_least=0.05, clock=time.process_time)
    return Curve(name, sizes, tuple(best.values()), against, most)


def _sampler(n_outputs: int, n_knots: int, x: NDArray[np.float64]) -> Callable[[], object]:
    table = window_table(1.0, n_outputs, n_knots, 0.4)
    return partial(table.privatize, x)


def _means(
    table: TableMechanism, attributes: int, reports: NDArray[np.uint8]
) -> Callable[[], object]:
    """Count a million reports by attribute and estimate the mean of each."""
    which = np.random.default_rng(attributes).integers(0, attributes, reports.size)
    return lambda: estimate_means(table, Tally.by_attribute(table, which, reports, attributes))

"""Results without simulation: the example of Figure 1 and the bits of Table 1."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.design import design
from noutput.designs.paper import analytical

if TYPE_CHECKING:
    from noutput.evaluation.scenarios import Scenario
    from noutput.mechanisms.table import TableMechanism

__all__ = [
    "EXAMPLE_INPUT",
    "PAPER_BITS",
    "NumberTable",
    "bits_limits",
    "compute",
    "example",
    "needed_bits",
    "paper_bits",
]

EXAMPLE_INPUT = 0.7
"""The input of the second panel of Figure 1."""

PAPER_BITS = ((0.69, 1), (2.54, 2), (5.41, 3), (7.8, 4))
"""Table 1 of the paper: below this epsilon, so many bits."""

_LARGEST_SIZE = 18  # the best up to epsilon 8 has 17
_LOWEST, _HIGHEST, _STRIDE = 10, 800, 10  # hundredths of epsilon


@dataclass(frozen=True, slots=True)
class NumberTable:
    """Columns and rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


def compute(scenario: Scenario) -> dict[str, NumberTable]:
    """Return the tables that a scenario asks for, by the figure's name."""
    makers = {"example": _example, "bits": _bits}
    return {name: make() for name, make in makers.items() if name in scenario.figures}


@lru_cache(maxsize=1)
def example() -> TableMechanism:
    """Return the paper's example: the numerical design with 5 outputs at epsilon 1."""
    return design(1.0, 5, method="numerical").mechanism


def _example() -> NumberTable:
    mechanism = example()
    places = np.union1d(mechanism.knots, [EXAMPLE_INPUT])
    chances = mechanism.probabilities(places)
    rows = [
        (float(x), float(output), float(chances[i, j]))
        for i, x in enumerate(places)
        for j, output in enumerate(mechanism.outputs)
    ]
    return NumberTable(("x", "output", "probability"), tuple(rows))


@lru_cache(maxsize=1)
def sizes() -> tuple[tuple[float, int], ...]:
    """Return from which epsilon on the analytical design is best with how many outputs.

    The best size grows with epsilon; where it changes between two points of a coarse grid, the
    place is found by halving.
    """
    found = [(_LOWEST, _best(_LOWEST))]
    for high in range(_LOWEST + _STRIDE, _HIGHEST + 1, _STRIDE):
        low = high - _STRIDE
        while found[-1][1] < _best(high):
            place = bisect_right(range(low, high), found[-1][1], key=_best) + low
            found.append((place, _best(place)))
    return tuple((place / 100.0, size) for place, size in found)


@lru_cache(maxsize=1024)
def _best(hundredths: int) -> int:
    return analytical.best_size(hundredths / 100.0, _LARGEST_SIZE)


def _bits() -> NumberTable:
    """List every epsilon at which the best size changes."""
    rows = [(epsilon, size, needed_bits(size), paper_bits(size)) for epsilon, size in sizes()]
    return NumberTable(("from_epsilon", "n_outputs", "bits", "bits_by_the_paper"), tuple(rows))


def needed_bits(size: int) -> int:
    """Return how many bits tell so many outputs apart: ceil(log2 N)."""
    return (size - 1).bit_length()


def paper_bits(size: int) -> int:
    """Return what the paper counts: floor(log2 N) + 1, but one bit for two outputs."""
    return 1 if size == 2 else size.bit_length()


def bits_limits(count: Callable[[int], int]) -> dict[int, float]:
    """Return the smallest epsilon at which a number of bits does not suffice any more.

    Parameters
    ----------
    count : callable
        `needed_bits` or `paper_bits`.
    """
    limits: dict[int, float] = {}
    for epsilon, size in sizes():
        for bits in range(1, count(size)):
            limits.setdefault(bits, epsilon)
    return limits

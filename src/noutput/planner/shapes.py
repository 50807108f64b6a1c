"""Reference shapes: what people's numbers may look like, for plans to simulate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.mechanisms.table import TableMechanism

__all__ = ["SHAPES", "Shape", "shape_of"]

_BINS = 64


@dataclass(frozen=True, slots=True)
class Shape:
    """Distribution of numbers in [-1, 1]: some spread over equal bins, others exactly at a place.

    Parameters
    ----------
    words : str
        What the numbers are like, after "the numbers are".
    weights : tuple of float
        The shares of equal bins, inside of which numbers are spread evenly.
    spikes : tuple of pairs
        Places, and the shares of people whose number is exactly there. All shares add up to 1.

    Examples
    --------
    >>> half = Shape("half at 0", (0.25, 0.25), ((0.0, 0.5),))
    >>> half.below(np.array([-0.5, -1e-9, 0.0, 1.0])).round(3).tolist()
    [0.125, 0.25, 0.75, 1.0]
    """

    words: str
    weights: tuple[float, ...]
    spikes: tuple[tuple[float, float], ...] = ()

    def chances(self, mechanism: TableMechanism) -> NDArray[np.float64]:
        """Return the chances of the outputs of a table."""
        found = np.array(self.weights) @ mechanism.transition(len(self.weights))
        for place, share in self.spikes:
            found = found + share * np.asarray(mechanism.probabilities(place))
        result: NDArray[np.float64] = found / found.sum()
        return result

    def below(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shares of numbers up to some places."""
        edges = np.linspace(-1.0, 1.0, len(self.weights) + 1)
        sums = np.concatenate([[0.0], np.cumsum(self.weights)])
        result: NDArray[np.float64] = np.interp(x, edges, sums)
        for place, share in self.spikes:
            result = result + np.where(x >= place, share, 0.0)
        return result


def shape_of(weights: NDArray[np.float64]) -> Shape:
    """Return the shape of a prior that adds up to 1."""
    return Shape("distributed as the prior", tuple(weights.tolist()))


def _shapes() -> dict[str, Shape]:
    x = (np.arange(_BINS) + 0.5) * (2.0 / _BINS) - 1.0
    humps = np.exp(-0.5 * ((x[:, None] - [-0.5, 0.5]) / 0.15) ** 2)
    hump = np.exp(-0.5 * (x / 0.25) ** 2)
    skewed = np.exp(-(x + 1.0) / 0.4)

    def shape(words: str, weights: NDArray[np.float64], *spikes: tuple[float, float]) -> Shape:
        left = max(1.0 - sum(share for _, share in spikes), 0.0)
        return Shape(words, tuple((left * weights / weights.sum()).tolist()), spikes)

    stars = zip((-1.0, -0.5, 0.0, 0.5, 1.0), (0.1, 0.2, 0.3, 0.25, 0.15), strict=True)
    return {
        "even": shape("all alike", np.ones(_BINS)),
        "one hump": shape("normal around the middle", hump),
        "two humps": shape("normal around two middles", humps.sum(axis=1)),
        "skewed": shape("most frequent at the lower end", skewed),
        "low": shape("nearly all in the lowest fifth", np.exp(-(x + 1.0) / 0.1)),
        "zeros": shape("for 3 in 10 exactly the lower end", hump, (-1.0, 0.3)),
        "few values": shape("one of five values, such as a rating", np.ones(1), *stars),
        "three values": shape(
            "one of three values", np.ones(1), (-0.6, 0.3), (0.1, 0.5), (0.7, 0.2)
        ),
    }


SHAPES: Mapping[str, Shape] = _shapes()
"""Shapes that stand for what people's numbers may look like: smooth ones, and ones with spikes."""

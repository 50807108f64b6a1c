"""Moments of what is linear between knots: variances, and averages over bins."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "average_variance",
    "bin_mean_squares",
    "bin_means",
    "interpolate",
    "largest_variance",
    "mean_square",
]

Array: TypeAlias = NDArray[np.float64]


def interpolate(x: Array, knots: Array, values: Array) -> Array:
    """Interpolate rows of `values` (K x M) linearly; the result has shape x.shape + (M,).

    At a jump, which is a knot that is listed twice, its second row counts.
    """
    return _in_cell(_cells(x, knots), x, knots, values)


def _cells(x: Array, knots: Array) -> NDArray[np.intp]:
    result: NDArray[np.intp] = np.clip(
        np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2
    )
    return result


def _in_cell(cell: NDArray[np.intp], x: Array, knots: Array, values: Array) -> Array:
    share = ((x - knots[cell]) / (knots[cell + 1] - knots[cell]))[..., None]
    result: Array = (1.0 - share) * values[cell] + share * values[cell + 1]
    return result


def largest_variance(knots: Array, second_moments: Array) -> float:
    r"""Return the maximum of :math:`s(x) - x^2` where s is linear between the knots.

    On a cell the maximum is at the vertex :math:`s' / 2`, moved into the cell where it lies
    outside.
    """
    cell = np.flatnonzero(np.diff(knots))  # not the two sides of a jump
    left, right, start = knots[cell], knots[cell + 1], second_moments[cell]
    slope = (second_moments[cell + 1] - start) / (right - left)
    vertex = np.clip(slope / 2.0, left, right)
    values = start + slope * (vertex - left) - vertex**2
    return float(max(values.max(), (second_moments - knots**2).max()))


def bin_means(knots: Array, values: Array, edges: Array) -> Array:
    """Average what is linear between knots over every bin, exactly.

    Parameters
    ----------
    knots : array of shape (K,)
    values : array of shape (K, M)
    edges : array of shape (bins + 1,)
        Increasing, from the first knot to the last.

    Returns
    -------
    array of shape (bins, M)

    Notes
    -----
    Every bin is split at the knots inside it, as in the paper's derivation of the transition
    matrix of discrete mechanisms; on each part the trapezoid rule is exact.
    """
    grid = np.union1d(knots, edges)
    low, high = _part_ends(grid, knots, values)
    return _gather(grid, (low + high) / 2.0, edges)


def bin_mean_squares(knots: Array, values: Array, edges: Array) -> Array:
    """Average the square of what is linear between knots over every bin, exactly.

    Parameters
    ----------
    knots, values : array of shape (K,)
    edges : array of shape (bins + 1,)
        Increasing, from the first knot to the last.

    Returns
    -------
    array of shape (bins,)
    """
    grid = np.union1d(knots, edges)
    low, high = _part_ends(grid, knots, values[:, None])
    return _gather(grid, (low**2 + low * high + high**2) / 3.0, edges)[:, 0]


def _part_ends(grid: Array, knots: Array, values: Array) -> tuple[Array, Array]:
    """Interpolate at both ends of every part of a grid, as from inside it."""
    cell = _cells(grid[:-1], knots)  # of the whole part: the grid holds all knots
    return _in_cell(cell, grid[:-1], knots, values), _in_cell(cell, grid[1:], knots, values)


def _gather(grid: Array, averages: Array, edges: Array) -> Array:
    """Average over every bin what is known for all parts of a finer grid."""
    # outer knots may lie a rounding error outside the bins
    owner = np.clip(np.searchsorted(edges, grid[:-1], side="right") - 1, 0, len(edges) - 2)
    sums = np.zeros((len(edges) - 1, averages.shape[1]))
    np.add.at(sums, owner, averages * np.diff(grid)[:, None])
    result: Array = sums / np.diff(edges)[:, None]
    return result


def average_variance(knots: Array, second_moments: Array, prior: Array) -> float:
    """Average the variance over a histogram of equal bins of the knots that adds up to 1."""
    edges = np.linspace(knots[0], knots[-1], len(prior) + 1)
    moments = bin_means(knots, second_moments[:, None], edges)[:, 0]
    return float(prior @ moments) - mean_square(prior, (float(knots[0]), float(knots[-1])))


def mean_square(prior: Array, bounds: tuple[float, float] = (-1.0, 1.0)) -> float:
    """Average x squared over a histogram of equal bins between bounds that adds up to 1."""
    edges = np.linspace(*bounds, len(prior) + 1)
    squares = (edges[1:] ** 2 + edges[1:] * edges[:-1] + edges[:-1] ** 2) / 3.0
    return float(prior @ squares)

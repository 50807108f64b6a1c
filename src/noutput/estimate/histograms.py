"""Statistics of many histograms at once: one row per histogram, over the same bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noutput.estimate.counts import Array

__all__ = ["means", "quantiles", "shares_below", "variances"]


def means(rows: Array, edges: Array) -> Array:
    """Return the mean of every row, with every bin at its center (as with uniform bins)."""
    result: Array = rows @ _centers(edges)
    return result


def variances(rows: Array, edges: Array) -> Array:
    r"""Return the variance of every row, with numbers uniform inside the bins.

    Notes
    -----
    That is the variance of the centers plus :math:`w^2 / 12` for bins of width w, the variance
    of a number that is uniform in its bin: which bin it is in and where in the bin it lies are
    independent. The transition matrix, the CDF and the quantiles say uniform as well.

    Examples
    --------
    >>> variances(np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]), np.array([0.0, 1.0, 2.0, 3.0]))
    array([1.08333333, 0.08333333])
    """
    distances = _centers(edges) - means(rows, edges)[:, None]
    inside = (edges[1] - edges[0]) ** 2 / 12.0
    result: Array = (rows * distances**2).sum(axis=1) + inside
    return result


def shares_below(rows: Array) -> Array:
    """Return the shares below all edges of every row, from 0 to 1."""
    sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)], axis=1)
    result: Array = sums / sums[:, -1:]
    return result


def quantiles(rows: Array, edges: Array, wanted: Array) -> Array:
    """Return the smallest x with a share of `wanted` at or below it; linear inside a bin.

    Parameters
    ----------
    rows : array of shape (size, bins)
    edges : array of shape (bins + 1,)
        At equal distances.
    wanted : array of shape (k,)
        Shares between 0 and 1.

    Returns
    -------
    array of shape (size, k)

    Examples
    --------
    >>> quantiles(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([0.0, 1.0, 2.0]), np.array([0.5]))
    array([[1. ],
           [1.5]])
    """
    sums = shares_below(rows)
    right = np.array([np.searchsorted(row, wanted, side="left") for row in sums])
    right = np.clip(right, 1, rows.shape[1])
    left = np.take_along_axis(sums, right - 1, axis=1)
    height = np.take_along_axis(sums, right, axis=1) - left
    # an empty first bin is passed over in one step: only a share of 0 finds it
    inside = (wanted - left) / np.where(height > 0.0, height, 1.0)
    result: Array = edges[right - 1] + inside * (edges[1] - edges[0])
    return result


def _centers(edges: Array) -> Array:
    result: Array = (edges[1:] + edges[:-1]) / 2.0
    return result

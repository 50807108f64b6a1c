"""Tables for numbers with cells, and people as they act on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

import noutput as no
from noutput.estimate.summary.cells import CellSummary
from tests.estimate.answer_tables import whole

Array = NDArray[np.float64]
KNOTS = (0.0, 15.0, 15.0, 30.0, 30.0, 60.0)
EDGES = (15.0, 30.0)


def made(knots: ArrayLike, rows: ArrayLike, epsilon: float = 3.0) -> no.TableMechanism:
    """Return the mechanism of rows of probabilities, as whole numbers."""
    table = whole(np.asarray(rows, np.float64))
    return no.TableMechanism(max(epsilon, table.epsilon), None, table.weights, knots)


def drawn(knots: ArrayLike, outputs: int, seed: int, epsilon: float = 2.0) -> no.TableMechanism:
    """Return a table with random rows."""
    rng = np.random.default_rng(seed)
    rows = np.exp(epsilon * rng.beta(0.3, 0.3, (len(np.asarray(knots)), outputs)))
    return made(knots, rows / rows.sum(axis=1, keepdims=True), epsilon + 2.0)


def acting(knots: ArrayLike, numbers: ArrayLike, shares: ArrayLike) -> Array:
    """Return which shares of the rows people with these numbers act as, by the definition."""
    points, result = np.asarray(knots, np.float64), np.zeros(len(np.asarray(knots)))
    for number, share in zip(np.asarray(numbers), np.asarray(shares), strict=True):
        cell = min(int(np.count_nonzero(points <= number)) - 1, len(points) - 2)
        upper = (number - points[cell]) / (points[cell + 1] - points[cell])
        result[cell] += share * (1.0 - upper)
        result[cell + 1] += share * upper
    return result


def expected(mechanism: no.TableMechanism, population: Array, reports: float) -> no.Tally:
    """Return the counts that are expected of people, rounded."""
    counts = np.rint(population @ mechanism.table() * reports).astype(np.int64)
    return no.Tally(mechanism.fingerprint, tuple(counts.tolist()))


def summary(
    mechanism: no.TableMechanism, tally: no.Tally, level: float = 0.95, kind: str = "normal"
) -> CellSummary:
    """Return the summary without the check for impossible counts."""
    return CellSummary(
        no.Number(*mechanism.bounds, edges=mechanism.plain.jumps), mechanism, tally, level, kind
    )

"""What counts of reports truly reveal: every input of the others, every set of counts."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from noutput.mechanisms import exact
from noutput.mechanisms.answers import AnswerMechanism

Floats = NDArray[np.float64]


def random_table(rng: np.random.Generator, n_rows: int, n_outputs: int) -> AnswerMechanism:
    """Return a certified table with random rows; half of them have two values per column."""
    spread = rng.uniform(0.2, 3.0)
    base = rng.dirichlet(np.full(n_outputs, 2.0)) + 0.01
    while True:
        raised = rng.random((n_rows, n_outputs))
        if rng.random() < 0.5:
            raised = np.round(raised)
        rows = base * np.exp(spread * raised)
        rows /= rows.sum(axis=1, keepdims=True)
        weights = np.floor(rows * exact.SCALE).astype(np.int64)
        weights[:, 0] += exact.SCALE - weights.sum(axis=1)
        loss = exact.privacy_loss(weights.max(axis=0).tolist(), weights.min(axis=0).tolist())
        if loss > 0.05:
            return AnswerMechanism(loss, weights)


def add_report(law: Floats, row: Floats) -> Floats:
    """Return the law of the counts with one report more; the last output is not counted."""
    result: Floats = law * row[-1]
    for output, chance in enumerate(row[:-1]):
        moved = np.moveaxis(law, output, 0)[:-1]
        np.moveaxis(result, output, 0)[1:] += chance * moved
    return result


def exact_delta(rows: Floats, reports: int, factor: float) -> float:
    """Return the true delta for e^epsilon = factor: the worst values of all people.

    The rows are the chances of the outputs for every value that a person may have.
    """
    start = np.zeros((reports + 1,) * (rows.shape[1] - 1))
    start.flat[0] = 1.0
    worst = 0.0
    for others in combinations_with_replacement(range(len(rows)), reports - 1):
        law = start
        for other in others:
            law = add_report(law, rows[other])
        laws = np.stack([add_report(law, row) for row in rows])
        for own in laws:
            gaps = np.maximum(own - factor * laws, 0.0).reshape(len(rows), -1).sum(axis=1)
            worst = max(worst, float(gaps.max()))
    return worst

"""Tables for answers and populations that the tests of their estimates share."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from noutput.mechanisms.answers import AnswerMechanism

SCALE = 1 << 32


def whole(rows: NDArray[np.float64]) -> AnswerMechanism:
    """Return the table of rows of positive weights, each divided by its sum, with its loss."""
    shares = rows / rows.sum(axis=1, keepdims=True)
    epsilon = float(np.log(shares.max(axis=0) / shares.min(axis=0)).max())
    weights = np.floor(shares * SCALE).astype(np.int64)
    weights[np.arange(len(rows)), weights.argmax(axis=1)] += SCALE - weights.sum(axis=1)
    return AnswerMechanism(epsilon + 1e-6, weights)


def subsets(k: int, epsilon: float, size: int) -> NDArray[np.float64]:
    """Return one column per subset of so many answers: 1 is direct encoding."""
    columns = [np.isin(np.arange(k), chosen) for chosen in combinations(range(k), size)]
    return np.where(np.array(columns).T, np.exp(epsilon), 1.0)


def thresholds(k: int, epsilon: float) -> NDArray[np.float64]:
    """Return two columns per threshold: whether an answer is below it."""
    below = np.arange(k)[:, None] < np.arange(1, k)
    return np.where(np.concatenate([below, ~below], axis=1), np.exp(epsilon), 1.0)


@lru_cache(maxsize=32)
def direct(k: int, epsilon: float) -> AnswerMechanism:
    """Return direct encoding: as many outputs as answers."""
    return whole(subsets(k, epsilon, 1))


@lru_cache(maxsize=32)
def mixed(k: int, epsilon: float) -> AnswerMechanism:
    """Return thresholds and direct encoding in equal parts: more outputs than answers."""
    parts = [thresholds(k, epsilon), subsets(k, epsilon, 1)]
    return whole(np.concatenate([part / part.sum(axis=1)[0] for part in parts], axis=1))


def populations(k: int) -> dict[str, NDArray[np.float64]]:
    """Return five populations, one with an empty answer and one with all people at one."""
    places = np.arange(k)
    rising = np.arange(1.0, k + 1.0)
    rising[k // 2] = 0.0
    shapes = {
        "uniform": np.ones(k),
        "falling": 0.6**places,
        "hump": np.exp(-0.5 * ((places - (k - 1) / 2.0) / (k / 6.0)) ** 2) + 0.02 * (places == 0),
        "empty answer": rising,
        "one answer": (places == max(k - 2, 0)).astype(float),
    }
    return {name: shape / shape.sum() for name, shape in shapes.items()}

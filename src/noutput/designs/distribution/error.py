"""The Wasserstein error of a table: the value of a design for distributions."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.distribution.training_shapes import BINS, draw_histograms
from noutput.estimate import methods
from noutput.estimate.counts import Counts
from noutput.estimate.distance import wasserstein

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.mechanisms.table import TableMechanism

__all__ = ["expected_error"]

_COLLECTIONS = 256
_PEOPLE = 5000
_TOLERANCE = 1e-5
_SEED = 20


def expected_error(mechanism: TableMechanism) -> float:
    """Return the mean Wasserstein error over [-1, 1] of EM with the paper's rule.

    It is simulated: 256 collections of 5,000 people each, whose histograms are always the same
    draws (`noutput.designs.distribution.training_shapes`); none of them is trained on. For the
    same table the result is always the same, up to rounding and to what a release of numpy may
    change in its random numbers.
    """
    truths = _truths()
    theta = mechanism.transition(BINS)
    chances = truths @ theta
    rng = np.random.default_rng(_SEED)
    drawn = rng.multinomial(_PEOPLE, chances / chances.sum(axis=1, keepdims=True))
    counts = Counts(drawn / _PEOPLE, np.full(len(drawn), float(_PEOPLE)))
    found = methods.fit(counts, theta, "em", _TOLERANCE)
    return float(np.mean(wasserstein(found.probabilities, truths)))


@cache
def _truths() -> NDArray[np.float64]:
    return draw_histograms(np.random.default_rng(_SEED), _COLLECTIONS)

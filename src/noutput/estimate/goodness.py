r"""Are these counts plausible under any distribution of honest people?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noutput import _checks
from noutput.estimate import maximum
from noutput.estimate.channel import Array, Channel, Counts, check_tally, supported
from noutput.estimate.channel import transition_matrix
from noutput.estimate.fit import mean_log_likelihood
from noutput.mechanisms.table import TableMechanism
from noutput.tally import Tally

__all__ = ["GoodnessOfFit", "goodness_of_fit"]

_GAP = 1e-9
_MOST_KNOTS = 257
_BINS = 128
_FINE_BINS = 4096
_LARGEST_DRAW = 1 << 62


@dataclass(frozen=True, slots=True)
class GoodnessOfFit:
    """The result of the test for forged reports.

    Parameters
    ----------
    statistic : float
        Twice the log-likelihood ratio between any counts and those of honest people.
    p_value : float
        The share of honest campaigns with a statistic at least as large.
    replicates : int
        How many campaigns were simulated.
    """

    statistic: float
    p_value: float
    replicates: int


def goodness_of_fit(
    mechanism: Channel,
    tally: Tally,
    *,
    replicates: int = 199,
    rng: np.random.Generator | None = None,
) -> GoodnessOfFit:
    """Test."""
    size = _checks.whole("replicates", replicates, 19, 1 << 20)
    rows = extreme_rows(mechanism)
    check_tally(mechanism, tally, rows.shape[1])
    counts = Counts.of([tally])
    shares, rows = supported(counts.shares, rows)
    observed, fitted = _deviance(shares, rows)
    chances = fitted[0] @ rows
    generator = np.random.default_rng() if rng is None else rng
    total = min(tally.total, _LARGEST_DRAW)
    again = generator.multinomial(total, chances / chances.sum(), size=size) / total
    simulated, _ = _deviance(again, rows)
    larger = int(np.count_nonzero(simulated >= observed[0] - 2*_GAP))
    return GoodnessOfFit(
        float(2.0 * counts.totals[0] * observed[0]), (1 + larger) / (size + 1), size
    )


def extreme_rows(mechanism: Channel) -> Array:
    if isinstance(mechanism, TableMechanism) and len(mechanism.knots) <= _MOST_KNOTS:
        return np.asarray(mechanism.weights / mechanism.scale, np.float64)
    fine = transition_matrix(mechanism, _FINE_BINS)
    return np.vstack([fine[:1], transition_matrix(mechanism, _BINS), fine[-1:]])


def _deviance(shares: Array, rows: Array) -> tuple[Array, Array]:
    found = maximum.maximize(shares, rows, np.full(len(shares), _GAP))
    saturated = (shares * np.log(np.where(shares > 0.0, shares, 1.0))).sum(axis=1)
    lost = saturated - mean_log_likelihood(shares, found.probabilities, rows)
    return np.maximum(lost, 0.0), found.probabilities

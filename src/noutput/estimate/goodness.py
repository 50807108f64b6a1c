r"""Whether counts are plausible under any distribution of honest people.

Notes
-----
Honest reports of people with any distribution have output probabilities in a polytope: the convex
hull of the rows :math:`P(\cdot \mid x)`, whose corners are the knots of a table. Forged reports
leave it; all of them on one output leave it fast, since honest people cannot make any output
likely by more than a factor :math:`e^\epsilon`. The statistic is twice the log-likelihood ratio
between the shares themselves and the best point of the polytope,

.. math:: T = 2 m \sum_j c_j \ln (c_j / q_j), \qquad q = \arg\max_{q} \sum_j c_j \ln q_j .

Its distribution depends on where the true probabilities lie. Deep inside, T = 0. Near a smooth
part of the boundary T is half the time 0; near a corner, as when everybody has the same number,
it is largest, because a cone shifted into itself only comes closer to every point. So a campaign
simulated from :math:`q` is right when :math:`q` lies on the same face as the truth, and alarms too
often when noise has moved :math:`q` off a corner. The campaigns are therefore simulated from the
sparsest mixture of rows, built one row at a time, whose log-likelihood is within
:math:`\frac12 \ln m` of the maximum: consistently on the true face, and else nearer to a corner,
which makes the test cautious. Counts of people whose numbers are given vary less than
multinomial ones, which makes it cautious too.

References
----------
Andrews and Soares (2010), 10.3982/ECTA7502, for selecting the face with a slowly growing bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.estimate import maximum
from noutput.estimate.channel import Array, Channel, Counts, check_tally, supported
from noutput.estimate.fit import mean_log_likelihood
from noutput.mechanisms.table import TableMechanism

if TYPE_CHECKING:
    from noutput.tally import Tally

__all__ = ["GoodnessOfFit", "goodness_of_fit"]

_GAP = 1e-9
_GRID = 257
_MOST_ATOMS = 8
_LARGEST_DRAW = 1 << 62


@dataclass(frozen=True, slots=True)
class GoodnessOfFit:
    """The result of the test for forged reports.

    Parameters
    ----------
    statistic : float
        Twice the log-likelihood ratio between the counts and the best fit of honest people.
    p_value : float
        How often honest campaigns have a statistic at least as large.
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
    """Test whether any distribution of honest people explains the counts.

    Parameters
    ----------
    mechanism : TableMechanism, or any mechanism with probabilities of outputs
        What should have made the reports.
    tally : Tally
        At least one report.
    replicates : int
        How many honest campaigns are simulated; the p-value is at least 1 / (replicates + 1).
    rng : numpy Generator, optional
        For a reproducible result.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> rng = np.random.default_rng(7)
    >>> goodness_of_fit(m, no.Tally(m.fingerprint, (400, 600)), rng=rng).p_value
    1.0
    >>> goodness_of_fit(m, no.Tally(m.fingerprint, (100, 900)), rng=rng).p_value
    0.005
    """
    size = _checks.whole("replicates", replicates, 1, 1 << 20)
    rows = _extreme_rows(mechanism)
    check_tally(mechanism, tally, rows.shape[1])
    counts = Counts.of([tally])
    shares, rows = supported(counts.shares, rows)
    best = _maximum(shares, rows)
    observed = float(_deviance(shares, best, rows)[0])
    chances = _sparse_chances(shares, rows, best, tally.total)
    generator = np.random.default_rng() if rng is None else rng
    total = min(tally.total, _LARGEST_DRAW)
    again = generator.multinomial(total, chances / chances.sum(), size=size) / total
    simulated = _deviance(again, _maximum(again, rows), rows)
    larger = int(np.count_nonzero(simulated >= observed - _GAP))
    return GoodnessOfFit(
        statistic=2.0 * float(counts.totals[0]) * observed,
        p_value=(1 + larger) / (size + 1),
        replicates=size,
    )


def _extreme_rows(mechanism: Channel) -> Array:
    """Return rows whose convex hull holds all that honest people can cause.

    For a table these are the knots' rows, exactly; other mechanisms are taken on a fine grid.
    """
    if isinstance(mechanism, TableMechanism):
        return np.asarray(mechanism.weights / mechanism.scale, np.float64)
    return mechanism.probabilities(np.linspace(-1.0, 1.0, _GRID))


def _maximum(shares: Array, rows: Array) -> Array:
    return maximum.maximize(shares, rows, np.full(len(shares), _GAP)).probabilities


def _deviance(shares: Array, mixture: Array, rows: Array) -> Array:
    """Return by how much the shares' own log-likelihood a report exceeds that of a mixture."""
    own = (shares * np.log(np.where(shares > 0.0, shares, 1.0))).sum(axis=1)
    result: Array = np.maximum(own - mean_log_likelihood(shares, mixture, rows), 0.0)
    return result


def _sparse_chances(shares: Array, rows: Array, best: Array, total: int) -> Array:
    """Return the output probabilities of the sparsest mixture that fits nearly as well."""
    worst = mean_log_likelihood(shares, best, rows)[0] - 0.5 * math.log(total) / total
    counted = shares[0] > 0.0
    chosen: list[int] = []
    possible = (rows[:, counted] > 0.0).all(axis=1)
    if possible.any():
        logs = np.log(np.where(rows > 0.0, rows, 1.0)) @ shares[0]
        chosen.append(int(np.where(possible, logs, -np.inf).argmax()))
    while chosen and len(chosen) <= _MOST_ATOMS:
        few = rows[chosen]
        mixture = _maximum(shares, few)
        chances: Array = (mixture @ few)[0]
        if mean_log_likelihood(shares, mixture, few)[0] >= worst:
            return chances
        ratios = np.divide(shares[0], chances, out=np.zeros_like(chances), where=counted)
        steepest = int((rows @ ratios).argmax())
        if steepest in chosen:
            break
        chosen.append(steepest)
    return np.asarray((best @ rows)[0])

r"""Assumption-free intervals for the CDF of numbers, at the edges of a table's cells.

Notes
-----
Tables for distributions and balanced tables have cells: two knots per bin, at its lower edge and
just below its upper edge (less :math:`2^{-18}`), and rows that differ between bins. Let
:math:`a_k` be 1 for the knots below an edge e and 0 for the others. A person's row is a mixture of
the rows of two neighboring knots, and all people's rows are a mixture of the rows of all knots,
with weights that nobody knows. Those of the knots below e add up to :math:`\theta`, with

.. math:: F(e - g) \le \theta \le F(e), \qquad F(x) = P(\text{number} < x),

where g is the gap between the last knot below e and e: two millionths of the bounds' width. So an
interval for :math:`\theta` bounds F(e) from below and F(e - g) from above: numbers inside the gap,
and those exactly at an edge up to rounding, may count on either side of it. Elsewhere in a bin the
place does not matter.

The two rows of a bin differ a little (that makes the mean unbiased), so there are more knots than
outputs, and no scores are unbiased for :math:`\theta`. And neighboring bins look much alike to
an epsilon-private table. So :math:`\theta` is not estimated but bracketed: scores :math:`s` with
:math:`\sum_j P_{kj} s_j \ge a_k` at **every** knot have an expectation of at least :math:`\theta`
for every population, and the upper end of their interval is an upper end for :math:`\theta`; scores
below :math:`a_k` give the lower end. Each misses with half the error probability. Nothing is
assumed about the population: no smoothness, no prior, and no even spread inside bins.

Which scores depends on the table and the number of reports alone. They are ridge regressions on
steps and on ramps from 1 to 0 beyond the edge, over 0 to 32 bins, moved by a constant until they
bracket; of those the one with the smallest expected end for people who are spread evenly. A
wide ramp has little noise, and counts people beyond the edge in part.

Such intervals contain what the table cannot tell apart, so they are wider than those of the
fitted histograms, which rely on a prior, and they hold where those may not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate.answers import normal
from noutput.estimate.answers.exact import exact_interval
from noutput.estimate.answers.linear import KINDS
from noutput.estimate.counts import check_table, check_tally
from noutput.interval import UNIT, IntervalLike, as_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = ["EdgeIntervals", "cdf_at_edges"]

_LARGEST_GAP = 2.0**-12  # between the two knots at an edge, of a table with cells
_RAMPS = (0, 1, 2, 4, 6, 8, 12, 16, 24, 32)
_PENALTIES = 10.0 ** np.arange(-9.0, 0.0)
_FEWER = 2.0  # steps of the number of reports for which scores are chosen


@dataclass(frozen=True, slots=True, eq=False)
class EdgeIntervals:
    """Intervals for the share of people below each edge.

    Parameters
    ----------
    edges : array of shape (n,)
        In the units of the bounds.
    low, high : array of shape (n,)
    gap : float
        Numbers so close below an edge may count on either side: `low` bounds the share of people
        below the edge, and `high` the share of people below the edge less the gap.
    level : float
    kind : {"normal", "exact"}
        What was computed: exact ones where fewer than 100 reports were counted.

    Examples
    --------
    >>> import noutput as no
    >>> d = no.design(1.0, 64, "distribution", question=no.Number(0, 64))
    >>> people = np.linspace(0.0, 64.0, 20_000)
    >>> tally = d.tally(d.privatize(people, rng=np.random.default_rng(1)))
    >>> found = no.cdf_at_edges(d.mechanism, tally, (0, 64))
    >>> float(found.edges[15].round(3)), bool(found.low[15] < 0.25 < found.high[15])
    (16.0, True)
    """

    edges: Array
    low: Array
    high: Array
    gap: float
    level: float
    kind: str


def cdf_at_edges(
    mechanism: TableMechanism,
    tally: Tally,
    bounds: IntervalLike = UNIT,
    *,
    level: float = 0.95,
    kind: str = "normal",
    simultaneous: bool = False,
) -> EdgeIntervals:
    """Return intervals for the CDF of numbers that hold for every population.

    Parameters
    ----------
    mechanism : TableMechanism
        A table with cells, as those for distributions and balanced ones are.
    tally : Tally
        Of at least two reports.
    bounds : Interval or pair of numbers
        The user's units; [-1, 1] by default.
    level : float
    kind : {"normal", "exact"}
        As in `AnswerEstimate.interval`: normal ones cover with a probability of about `level` at
        least, exact ones with at least this probability for every number of reports. With fewer
        than 100 reports they are exact ones.
    simultaneous : bool
        Whether all intervals together shall cover with the probability `level`.

    Raises
    ------
    InvalidArgumentError
        If the table has no cells: its rows change gradually between knots, so no edge is told.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(1.0, 64, "distribution").mechanism
    >>> reports = m.privatize(np.full(20_000, -0.5), rng=np.random.default_rng(7))
    >>> found = cdf_at_edges(m, no.Tally.of(m, reports), (0, 64))
    >>> middle = 31  # the edge at 32: everybody is below
    >>> [round(float(x[middle]), 1) for x in (found.edges, found.low, found.high)]
    [32.0, 0.9, 1.0]
    """
    ends = as_interval(bounds)
    check_table(mechanism)
    check_tally(mechanism, tally, mechanism.n_outputs)
    _checks.inner_share("level", level)
    _checks.choice("kind", kind, KINDS)
    if tally.total < 2:
        raise InvalidArgumentError("tally", "have at least two reports", tally.total)
    places = _steps(mechanism)
    reports = float(tally.total)
    below, above = _brackets(_Key(mechanism.fingerprint, mechanism), _rounded(reports))
    shares = np.array([count / tally.total for count in tally.counts])
    rows = mechanism.probabilities(mechanism.knots)
    scores = np.concatenate([below, above], axis=1)
    kind = normal.kind_used(kind, reports)
    if kind == "exact":
        alpha = (1.0 - level) / (len(places) if simultaneous else 1)
        found = [
            exact_interval(rows, each, rows @ each, shares, reports, alpha, side=side)
            for some, side in ((below, 1.0), (above, -1.0))
            for each in some.T
        ]
        low, high = np.array(found).T
    else:
        low, high = _normal(rows, scores, shares, reports, level, simultaneous=simultaneous)
    size = len(places)
    knots = mechanism.knots
    return EdgeIntervals(
        np.array([ends.from_unit(float(knots[place])) for place in places]),
        np.clip(low[:size], 0.0, 1.0),
        np.clip(high[size:], 0.0, 1.0),
        float((knots[places] - knots[places - 1]).max()) * ends.half_width,
        level,
        kind,
    )


def _normal(
    rows: Array, scores: Array, shares: Array, reports: float, level: float, *, simultaneous: bool
) -> tuple[Array, Array]:
    values = shares @ scores
    covariance = normal.score_covariance(rows, scores, shares, reports)
    z = normal.critical_value(level)
    if simultaneous:
        z = normal.joint_critical_value(normal.largest_draws(covariance), level)
    thirds = shares @ (scores - values) ** 3
    return normal.ends(values, np.diagonal(covariance), thirds, reports, z)


def _steps(mechanism: TableMechanism) -> NDArray[np.intp]:
    """Return the knots at which a cell starts."""
    places = np.flatnonzero(np.diff(mechanism.knots) < _LARGEST_GAP) + 1
    if not places.size:
        rule = (
            "have cells, as tables for distributions and balanced ones do: between knots that "
            "are far apart its rows change gradually, and no edge is told"
        )
        raise InvalidArgumentError("mechanism", rule, repr(mechanism))
    return places


def _rounded(reports: float) -> float:
    """Return a power of 2 near the number of reports, so that scores are chosen seldom."""
    return float(_FEWER ** np.round(np.log(reports) / np.log(_FEWER)))


@dataclass(frozen=True)
class _Key:
    """A mechanism is known by its fingerprint, so equal ones share their scores."""

    fingerprint: str
    mechanism: TableMechanism = field(compare=False)


@lru_cache(maxsize=64)
def _brackets(key: _Key, reports: float) -> tuple[Array, Array]:
    """Return scores below and above the indicators of all edges, of shape (N, edges) each."""
    mechanism = key.mechanism
    rows, places = mechanism.probabilities(mechanism.knots), _steps(mechanism)
    above = _majorants(rows, places, reports)
    # what lies at and beyond an edge is what lies before it, seen from the other end
    mirrored = _majorants(rows[::-1], len(rows) - places[::-1], reports)[:, ::-1]
    return 1.0 - mirrored, above


def _majorants(rows: Array, places: NDArray[np.intp], reports: float) -> Array:
    """Return scores whose expectations exceed the indicator of the knots before each place."""
    order, size = np.arange(len(rows)), rows.shape[1]
    chances = rows.mean(axis=0)
    inside = order[:, None] < places
    cells = 2 * np.array(_RAMPS)  # a bin has two knots
    beyond = order[:, None, None] - places[:, None] + 1
    ramps = np.clip(1.0 - beyond / (cells + 1.0), 0.0, 1.0)  # [knot, edge, ramp]
    targets = ramps.reshape(len(rows), -1)
    best = np.ones((size, len(places)))
    ends = 1.0 - inside.mean(axis=0)  # of the scores 1, which always bracket
    for penalty in _PENALTIES:
        matrix = rows.T @ rows / len(rows) + penalty * np.diag(chances)
        found = np.linalg.solve(matrix, rows.T @ targets / len(rows))
        found = found.reshape(size, len(places), len(cells))
        expected = np.tensordot(rows, found, axes=1)
        shift = (inside[:, :, None] - expected).max(axis=0)
        found += shift
        excess = expected.mean(axis=0) + shift - inside.mean(axis=0)[:, None]
        means = np.tensordot(chances, found, axes=1)
        spread = np.tensordot(chances, found**2, axes=1) - means**2
        end = excess + 1.96 * np.sqrt(spread / reports)
        for edge, ramp in enumerate(end.argmin(axis=1)):
            if end[edge, ramp] < ends[edge]:
                ends[edge], best[:, edge] = end[edge, ramp], found[:, edge, ramp]
    return best

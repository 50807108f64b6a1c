r"""Goodness of fit: whether counts are plausible under any distribution of honest people.

Notes
-----
Honest reports of people with any distribution have output probabilities in a polytope: the convex
hull of the rows :math:`P(\cdot \mid x)` at the corners that every mechanism names: the knots of a
table, the bends of a window, one number per bin of direct encoding; the answers of a question.
Forged reports leave it; all of them on one output leave it fast, since honest people cannot make
any output likely by more than a factor :math:`e^\epsilon`. The statistic is twice the
log-likelihood ratio between the shares themselves and the best point of the polytope,

.. math:: T = 2 m \sum_j c_j \ln (c_j / q_j), \qquad q = \arg\max_{q} \sum_j c_j \ln q_j .

Its distribution depends on where the true probabilities lie: deep inside T = 0, and near a corner,
as when everybody has the same number, T is largest. Two p-values are computed, and the larger one
is reported.

*Conditional.* Let the best point lie on a face of dimension f of the polytope in J - 1 dimensions.
Given that, T is at most as large as a chi-square variable with J - 1 - f degrees of freedom,
wherever in the polytope the truth lies. For in the normal model the residual r is a normal vector
around some :math:`\eta`, restricted to the normal cone N of the face; because the polytope
lies behind the face, :math:`\langle r, \eta \rangle \le 0` for all r of N, which only makes the
length of r smaller than that of a standard normal vector of N. At a corner the two are equal.

Where evidence has several parts, q is that of a stacked table (`noutput.estimate.stacked`). The
cells of a part add up to its share of the reports in the counts and in every row, so the residual
lies in a space of J less the number of parts dimensions, which takes the place of J - 1; simulated
campaigns have as many reports in each part as were counted.

*Bootstrap.* Campaigns are simulated from the best point and fitted again. This needs no large
counts. Alone it would alarm too often, in about 7% of campaigns at a level of 5%, where noise has
moved the best point off the corner that is the truth. Simulation ends once the p-value must exceed
10%, and does not begin where the conditional one does: then it is that of the campaigns so far.
Whoever tests at a level of up to 10% comes to the same decision, and honest counts take few
campaigns, mostly none. Where no campaign fits as badly as the counts, six times as many are
simulated, or fewer if one of them does: so 199 campaigns tell a p-value of 0.005 from one below
0.001.

A campaign is fitted again only as far as it takes to tell whether its statistic is smaller than
the observed one. Any point of the polytope that is likely enough proves that: often the best point
of the observed counts, or what a few steps of EM make of it. What is left is fitted within a
limited number of operations, and counts as larger beyond it, so the p-value is never smaller than
it should be, and forged counts cost no more than honest ones.

Counts of people whose numbers are given vary less than multinomial ones, which makes the test
cautious too.

*Impossible counts.* Raw answers that are passed as reports miss outputs that honest people cannot
avoid. Let a set of outputs have a probability of at least q in every row. Even if half of n reports
are forged, each of the other :math:`m = n / 2` falls into the set with at least this chance,
independently, and forged ones only add to it. By Chernoff's bound, c or fewer of m do so with a
chance of at most :math:`e^{-m D(c / m \| q)}`, with the relative entropy D of two coins. One
billionth is shared by all sizes of sets, and by all sets of a size, so that the set may be chosen
after the counts are known. Whoever forges fewer than half of the reports cannot make an estimate
disappear by this rule.

References
----------
Susko (2013), "Likelihood ratio tests with boundary constraints using data-dependent degrees of
freedom", 10.1093/biomet/ast032.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc, gammaln, rel_entr

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate import maximum
from noutput.estimate.counts import Array, CellModel, Counts, check_tally, supported
from noutput.estimate.evidence import Evidence, unpacked
from noutput.estimate.fit import mean_log_likelihood
from noutput.estimate.resample import generator, redraw_parts
from noutput.estimate.stacked import StackedChannel
from noutput.estimate.stacked_answers import StackedAnswers
from noutput.mechanisms.array_rows import ArrayRows
from noutput.mechanisms.base import check_channel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.tally import Tally

__all__ = [
    "GoodnessOfFit",
    "check_possible",
    "conditional_goodness_of_fit",
    "goodness_of_fit",
    "known_goodness_of_fit",
]

_GAP = 1e-9
_IMPOSSIBLE = 1e-9  # chance of counts that are refused
_TINY = 1e-15
_FEW_OUTPUTS = 4  # that a message names
_SETTLED = 0.1  # a p-value from here on alarms nobody
_FARTHER = 6  # times as many campaigns where none fits as badly as the counts
_BATCH = 32  # campaigns that are simulated at once
_FIT_OPERATIONS = 1 << 33  # of all fits of simulated campaigns: a fraction of a second
_STEPS_PER_FIT = 16  # of Newton's, as a rule
_CLIMB_OPERATIONS = 1 << 26  # of the steps before the fits, per batch
_MOST_STEPS = 40
_SMALLEST_WEIGHT = 1e-3  # of a row that spans the face; larger values only make p larger
_SMALLEST_EXTENT = 1e-3  # of a direction of the face, relative to the largest


@dataclass(frozen=True, slots=True)
class GoodnessOfFit:
    """The result of the test for forged reports.

    Parameters
    ----------
    statistic : float
        Twice the log-likelihood ratio between the counts and the best fit of honest people.
    degrees_of_freedom : int
        How many directions lead away from the face of best fits: 0 where the fit is perfect.
    p_value : float
        A bound on how often honest campaigns have a statistic at least as large.
    replicates : int
        How many campaigns were simulated: none or fewer than asked for where these settle it, and
        up to six times as many where none fits as badly as the counts.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tally = no.Tally(m.fingerprint, (50, 950))  # honest people are at 25% of 0 at least
    >>> found = no.goodness_of_fit(m, tally, rng=np.random.default_rng(7))
    >>> found.p_value < 0.01, found.degrees_of_freedom
    (True, 1)
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    replicates: int


def goodness_of_fit(
    mechanism: CellModel | AnswerMechanism | StackedAnswers | Evidence,
    tally: Tally | None = None,
    *,
    replicates: int = 199,
    rng: np.random.Generator | None = None,
) -> GoodnessOfFit:
    """Test whether any distribution of honest people explains the counts.

    Parameters
    ----------
    mechanism : TableMechanism, AnswerMechanism, any with probabilities of outputs, or Evidence
        What should have made the reports. Evidence takes the place of the tally, too.
    tally : Tally
        At least one report.
    replicates : int
        How many honest campaigns are simulated at most; where none of them fits as badly as the
        counts, six times as many. The p-value is at least 1 / (6 (replicates + 1)).
    rng : numpy Generator, optional
        For a reproducible result.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> rng = np.random.default_rng(7)
    >>> goodness_of_fit(m, no.Tally(m.fingerprint, (400, 600)), rng=rng).p_value
    1.0
    >>> goodness_of_fit(m, no.Tally(m.fingerprint, (100, 900)), rng=rng).p_value < 0.001
    True
    """
    size = _checks.whole("replicates", replicates, 1, 1 << 20)
    model, counted, _ = unpacked(mechanism, tally)
    found, rows, start, observed, parts = _observed(model, counted)
    statistic, freedom, conditional = found.statistic, found.degrees_of_freedom, found.p_value
    if conditional >= _SETTLED:
        return found
    source = generator(rng)
    fits = _most(_FIT_OPERATIONS, _STEPS_PER_FIT * rows.shape[1] ** 2 * sum(rows.shape))
    again = redraw_parts(start @ rows, parts, size, source)
    larger, simulated, fits = _count_larger(again, rows, start, observed, fits)
    total = _FARTHER * (1 + size)  # campaigns, with the observed one
    while not larger and simulated < total - 1 and conditional * (1 + simulated) < 1.0:
        count = min(_BATCH, total - 1 - simulated)
        some = redraw_parts(start @ rows, parts, count, source)
        larger, fits = _larger(some, rows, start, observed, fits)
        simulated += count
    return GoodnessOfFit(
        statistic=statistic,
        degrees_of_freedom=freedom,
        p_value=max(conditional, (1 + larger) / (1 + simulated)),
        replicates=simulated,
    )


def conditional_goodness_of_fit(
    mechanism: CellModel | AnswerMechanism, tally: Tally
) -> GoodnessOfFit:
    """Return the test with its conditional p-value alone: a function of the counts.

    There is no random number in it, so everybody who has the counts comes to the same decision.
    Where counts are small, it alarms more often than `goodness_of_fit`.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> found = conditional_goodness_of_fit(m, no.Tally(m.fingerprint, (200, 800)))
    >>> f"{found.p_value:.5f}", found.replicates
    ('0.00018', 0)
    """
    return _observed(mechanism, tally)[0]


def _observed(
    model: CellModel | AnswerMechanism, counted: Tally
) -> tuple[GoodnessOfFit, Array, Array, float, list[tuple[int, int]]]:
    """Return the conditional test, the rows, the best mixture of them, and its distance."""
    rows = _rows(model)  # their hull holds all honest causes
    check_tally(model, counted, rows.shape[1])
    counts = Counts.of([counted])
    parts = _parts(model, counted, rows)
    shares, rows = supported(counts.shares, rows)
    best = _maximum(shares, rows)
    reached = mean_log_likelihood(shares, best, rows)
    observed = max(float((_own(shares) - reached)[0]), 0.0)
    statistic = 2.0 * float(counts.totals[0]) * observed
    freedom = rows.shape[1] - len(parts) - _face_dimension(best[0], rows)
    conditional = float(chdtrc(freedom, statistic)) if freedom > 0 else 1.0
    found = GoodnessOfFit(statistic, freedom, conditional, replicates=0)
    return found, rows, best[0], observed, parts


def check_possible(mechanism: CellModel | AnswerMechanism, tally: Tally) -> None:
    """Refuse counts that no people explain, even if half of the reports are forged.

    Raises
    ------
    InvalidArgumentError
        With the name "reports"; for honest reports with a chance below one billionth.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> check_possible(m, no.Tally(m.fingerprint, (200, 800)))
    >>> check_possible(m, no.Tally(m.fingerprint, (20, 980)))
    Traceback (most recent call last):
        ...
    noutput.errors.InvalidArgumentError: reports must be made by the mechanism (by `privatize`), ...
    """
    rows = _rows(mechanism)
    check_tally(mechanism, tally, rows.shape[1])
    counts = np.array([float(count) for count in tally.counts])
    size, honest = len(counts), tally.total / 2.0
    # The outputs that are missing most come first; sets are those of the first few.
    order = np.argsort(counts / np.maximum(rows.min(axis=0), _TINY), kind="stable")
    counted = np.cumsum(counts[order])
    least = np.minimum(np.cumsum(rows[:, order], axis=1).min(axis=0), 1.0 - _TINY)
    share = np.minimum(counted / max(honest, 1.0), least)
    entropy = rel_entr(share, least) + rel_entr(1.0 - share, 1.0 - least)
    chosen = np.arange(1.0, size + 1.0)
    sets = gammaln(size + 1.0) - gammaln(chosen + 1.0) - gammaln(size - chosen + 1.0)
    excess = honest * entropy - sets - math.log(size / _IMPOSSIBLE)
    worst = int(excess.argmax())
    if excess[worst] <= 0.0:
        return
    raise InvalidArgumentError(
        "reports",
        "be made by the mechanism (by `privatize`), and neither be raw answers nor reports of "
        "another table",
        f"{counted[worst] / tally.total:.1%} with output {_listed(order[: worst + 1])}, where "
        f"{least[worst]:.1%} is the least that people can make",
    )


def _listed(outputs: NDArray[np.intp]) -> str:
    """Name a few outputs."""
    few = [str(output) for output in sorted(outputs.tolist())[:_FEW_OUTPUTS]]
    more = len(outputs) - len(few)
    return " or ".join(few) + (f" or {more} others" if more else "")


@dataclass(frozen=True)
class _Key:
    """Counts know the fingerprint of their mechanism, so equal ones share their test."""

    tally: Tally
    mechanism: CellModel | AnswerMechanism = field(compare=False)


@lru_cache(maxsize=64)
def _known(key: _Key) -> GoodnessOfFit:
    return goodness_of_fit(key.mechanism, key.tally, rng=np.random.default_rng(0))


def known_goodness_of_fit(mechanism: CellModel | AnswerMechanism, tally: Tally) -> GoodnessOfFit:
    """Return `goodness_of_fit` from a fixed seed; the latest ones are kept.

    Estimates of the same counts, such as those with other bins, share one test.
    """
    return _known(_Key(tally, mechanism))


def _rows(mechanism: CellModel | AnswerMechanism) -> Array:
    """Return the rows whose mixtures are what honest people send."""
    if isinstance(mechanism, ArrayRows | StackedAnswers):
        return mechanism.table()
    check_channel(mechanism, "fingerprint", "probabilities", "corners")
    return mechanism.probabilities(mechanism.corners())


def _parts(
    mechanism: CellModel | AnswerMechanism, tally: Tally, rows: Array
) -> list[tuple[int, int]]:
    """Return how many possible cells each part has, and how many reports."""
    possible = rows.max(axis=0) > 0.0
    if isinstance(mechanism, StackedChannel | StackedAnswers):
        return [(int(possible[cells].sum()), total) for cells, total in mechanism.groups]
    return [(int(possible.sum()), tally.total)]


def _count_larger(
    again: Array, rows: Array, start: Array, observed: float, fits: int
) -> tuple[int, int, int]:
    """Return how many simulated campaigns fit no better than the observed one, of how many.

    Ends once all of them together could not make a p-value below `_SETTLED`. The last number is how
    many fits are left of those that may be made.
    """
    larger = done = 0
    while done < len(again) and 1 + larger < _SETTLED * (1 + len(again)):
        some = again[done : done + _BATCH]
        more, fits = _larger(some, rows, start, observed, fits)
        larger += more
        done += len(some)
    return larger, done, fits


def _larger(some: Array, rows: Array, start: Array, observed: float, fits: int) -> tuple[int, int]:
    """Return how many campaigns fit no better than the observed one, and how many fits are left.

    Those that a limited number of operations does not decide count as fitting no better: the
    p-value is never too small.
    """
    target = _own(some) - (observed - _GAP)  # a campaign above it fits better
    if _is_diagonal(rows):
        reached = mean_log_likelihood(some, _fill(some, rows), rows)
        return int(np.count_nonzero(reached <= target)), fits
    doubtful = _climb(some, rows, start, target)
    fitted = doubtful[:fits]
    larger = len(doubtful) - len(fitted)
    if len(fitted):
        found = _maximum(some[fitted], rows, target[fitted])
        reached = mean_log_likelihood(some[fitted], found, rows)
        larger += int(np.count_nonzero(reached <= target[fitted]))
    return larger, fits - len(fitted)


def _climb(shares: Array, rows: Array, start: Array, target: Array) -> NDArray[np.intp]:
    """Return which campaigns a few cheap steps of EM, from `start`, do not lift above `target`.

    Whatever mixture is above it, the best one is.
    """
    open_rows = np.flatnonzero(mean_log_likelihood(shares, start[None, :], rows) <= target)
    steps = _most(_CLIMB_OPERATIONS, 4 * len(shares) * rows.size)
    mixture = np.tile(0.9 * start + 0.1 / len(rows), (len(open_rows), 1))
    for _ in range(min(steps, _MOST_STEPS)):
        if not len(open_rows):
            break
        some = shares[open_rows]
        chances = mixture @ rows
        mixture *= (some / chances) @ rows.T
        low = (some * np.log(chances)).sum(axis=1) <= target[open_rows]
        open_rows, mixture = open_rows[low], mixture[low]
    return open_rows


def _most(operations: int, each: int) -> int:
    """Return how often something can be done with so many operations, at least once."""
    return max(operations // each, 1)


def _maximum(shares: Array, rows: Array, target: Array | None = None) -> Array:
    """Return the weights of the rows whose mixture makes every row of shares likeliest.

    With a `target`, some weights whose likelihood is above it, where the largest is.
    """
    if _is_diagonal(rows):
        return _fill(shares, rows)
    tolerance = np.full(len(shares), _GAP)
    return maximum.maximize(shares, rows, tolerance, target=target).probabilities


def _is_diagonal(rows: Array) -> bool:
    """Return whether every row raises one cell of its own, all by the same amount."""
    size = len(rows)
    if rows.shape != (size, size) or size < 2:
        return False
    pattern = np.full((size, size), rows[0, 1])
    np.fill_diagonal(pattern, rows[0, 0])
    return bool(rows[0, 0] > rows[0, 1] and np.abs(rows - pattern).max() < _GAP * rows[0, 1])


def _fill(shares: Array, rows: Array) -> Array:
    r"""Return the maximum for rows that raise one cell each from q to p, in closed form.

    Notes
    -----
    Of :math:`\sum_j c_j \ln q_j` with :math:`q_j \ge q` the maximum is
    :math:`q_j = \max(q, c_j / \lambda)`. If the k largest shares are above,
    :math:`\lambda` is their sum divided by what the others leave, :math:`1 - (J - k) q`.
    """
    size, base, rise = len(rows), rows[0, 1], rows[0, 0] - rows[0, 1]
    falling = np.sort(shares, axis=1)[:, ::-1]
    levels = np.cumsum(falling, axis=1) / (1.0 - np.arange(size - 1, -1, -1) * base)
    above = np.maximum(np.count_nonzero(falling > base * levels, axis=1), 1)
    level = np.take_along_axis(levels, above[:, None] - 1, axis=1)
    weights = np.maximum(shares / level - base, 0.0) / rise
    result: Array = weights / weights.sum(axis=1, keepdims=True)
    return result


def _own(shares: Array) -> Array:
    """Return the log-likelihood per report of the shares themselves."""
    result: Array = (shares * np.log(np.where(shares > 0.0, shares, 1.0))).sum(axis=1)
    return result


def _face_dimension(mixture: Array, rows: Array) -> int:
    """Return the dimension of the face that the rows of a best mixture span.

    The interior-point method ends inside the face, with weight on all its corners.
    """
    chances = mixture @ rows
    corners = rows[mixture > _SMALLEST_WEIGHT * mixture.max()]
    if _is_diagonal(rows):
        return len(corners) - 1
    extents = np.linalg.svd((corners - chances) / np.sqrt(chances), compute_uv=False)
    return int(np.count_nonzero(extents > max(_SMALLEST_EXTENT * extents[0], 1e-9)))

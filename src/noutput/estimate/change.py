r"""Tests for a sudden change: of how many reports come in, and of how they are distributed.

Notes
-----
*Rate.* The number of reports in an interval is compared with what the S reports of h intervals
before it predict. If counts were Poisson with an unknown mean, the prediction would be negative
binomial with shape S + 1/2 (Jeffreys' prior) and mean (S + 1/2) / h. Honest reports are less
regular, so there are two allowances: counts are divided by `RATE_SPREAD`, so that their variance
may be that many times their mean; and the mean may grow or shrink by the factor `RATE_DRIFT` from
the past to the interval, as it does in the course of a day.

*Shape.* The counts of a block of n reports are compared with those of m reports before it by
Pearson's statistic of two samples, :math:`X^2 = \nu \sum_j (\hat p_j - \hat q_j)^2 / \hat r_j`
with :math:`\nu = n m / (n + m)` and the shares :math:`\hat r_j` of both together. Outputs with an
expected count below ten in the smaller sample are put together. Honest people change, too, and
many reports show the least change: distances :math:`d = (\sum_j (p_j - q_j)^2 / r_j)^{1/2}` up to
`SHAPE_DRIFT` are no alarm. :math:`X` is then about the length of a standard normal vector plus a
vector of length :math:`\sqrt\nu d`. By the triangle inequality it exceeds
:math:`\sqrt\nu d + z` no more often than :math:`\chi^2` with the same degrees of freedom exceeds
:math:`z^2`.

Where outputs stand for numbers, the mean of these is compared as well, in the same way and with
one degree of freedom: people whose numbers change move it long before single outputs show it. Of
both p-values, twice the smaller one counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.special import betainc, chdtrc

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RATE_DRIFT", "RATE_SPREAD", "SHAPE_DRIFT", "ShapeChange", "rate_change", "shape_change"]

RATE_SPREAD: Final = 4.0
RATE_DRIFT: Final = 2.0
SHAPE_DRIFT: Final = 0.01
_LEAST_EXPECTED = 10.0


def rate_change(
    now: float, past: float, intervals: int, *, spread: float = RATE_SPREAD
) -> tuple[float, float]:
    """Return the p-values of so many reports in an interval: of more, and of fewer than before.

    Parameters
    ----------
    now : float
        Reports of the interval; for the second p-value, of all of it.
    past : float
        Reports of the intervals before it, all together.
    intervals : int
        How many these are.
    spread : float
        How large the variance of honest counts may be, relative to their mean.

    Examples
    --------
    >>> more, fewer = rate_change(130, 600, 6)  # 100 per interval
    >>> more > 0.5 and fewer > 0.5
    True
    >>> rate_change(1016, 600, 6)[0] < 1e-9, rate_change(0, 6000, 6)[1] < 1e-9
    (True, True)
    """
    shape = past / spread + 0.5
    count = now / spread
    high, low = RATE_DRIFT / intervals, 1.0 / (RATE_DRIFT * intervals)
    more = float(betainc(count, shape, high / (1.0 + high))) if count else 1.0
    fewer = float(betainc(shape, count + 1.0, 1.0 / (1.0 + low)))
    return more, fewer


@dataclass(frozen=True, slots=True)
class ShapeChange:
    """How the distribution of a block of reports differs from that of those before.

    Parameters
    ----------
    p_value : float
        A bound on how often people who change by `SHAPE_DRIFT` at most differ so much.
    share : float
        Which share of the block would have to be exchanged, at least, for it to be like those
        before: the total variation distance, less what chance alone would make of it, or what it
        takes to move the mean.

    Examples
    --------
    >>> found = shape_change((4_000, 6_000), (610, 390))
    >>> found.p_value < 1e-9, round(found.share, 2)
    (True, 0.2)
    """

    p_value: float
    share: float


def shape_change(
    before: Sequence[int], block: Sequence[int], scores: Sequence[float] | None = None
) -> ShapeChange:
    """Test whether a block of reports is distributed as those before it.

    Parameters
    ----------
    before, block : sequence of int
        How many reports had each output.
    scores : sequence of float, optional
        The number that each output stands for.

    Examples
    --------
    >>> shape_change((4_000, 6_000), (405, 595)).p_value > 0.5
    True
    >>> shape_change((0, 0), (405, 595)).p_value  # nothing to compare with
    1.0
    """
    counts = np.array([before, block], float)
    if not counts.sum(axis=1).all():
        return ShapeChange(1.0, 0.0)
    outputs = _of_outputs(_together(counts))
    if scores is None:
        return outputs
    mean = _of_mean(counts, np.array(scores, float))
    p_value = min(2.0 * min(outputs.p_value, mean.p_value), 1.0)
    return ShapeChange(p_value, max(outputs.share, mean.share))


def _of_outputs(counts: NDArray[Any]) -> ShapeChange:
    sizes = counts.sum(axis=1)
    first, second = counts / sizes[:, None]
    pooled = counts.sum(axis=0) / sizes.sum()
    effective = float(sizes.prod() / sizes.sum())
    distance = math.sqrt(float(((second - first) ** 2 / pooled).sum()))
    chance = np.sqrt(2.0 / np.pi * pooled * (1.0 - pooled) / effective).sum()
    share = (float(np.abs(second - first).sum()) - float(chance)) / 2.0
    return ShapeChange(_p_value(distance, effective, counts.shape[1] - 1), max(share, 0.0))


def _of_mean(counts: NDArray[Any], scores: NDArray[Any]) -> ShapeChange:
    sizes = counts.sum(axis=1)
    first, second = counts @ scores / sizes
    pooled = counts.sum(axis=0) / sizes.sum()
    spread = math.sqrt(float(pooled @ (scores - pooled @ scores) ** 2))
    if not spread:
        return ShapeChange(1.0, 0.0)
    effective = float(sizes.prod() / sizes.sum())
    end = scores.max() if second > first else scores.min()
    share = float((second - first) / (end - first))
    return ShapeChange(_p_value(abs(second - first) / spread, effective, 1), share)


def _p_value(distance: float, effective: float, freedom: int) -> float:
    length = math.sqrt(effective) * max(distance - SHAPE_DRIFT, 0.0)
    return float(chdtrc(freedom, length**2)) if freedom else 1.0


def _together(counts: NDArray[Any]) -> NDArray[Any]:
    """Put the rarest outputs together until each is expected ten times in the smaller sample."""
    sizes = counts.sum(axis=1)
    pooled = counts.sum(axis=0)
    least = _LEAST_EXPECTED * sizes.sum() / sizes.min()
    order = np.argsort(pooled, kind="stable")
    merged: list[NDArray[Any]] = []
    rest = np.zeros(2)
    for place in order:
        rest = rest + counts[:, place]
        if rest.sum() >= least:
            merged.append(rest)
            rest = np.zeros(2)
    if rest.any():
        if not merged:
            return rest[:, None]
        merged[-1] = merged[-1] + rest
    return np.stack(merged, axis=1)

r"""Difference of two distributions: which shares of two groups of people differ, and by how much.

Notes
-----
Reports of two groups are independent, so the misfits of two populations add up. A pair of
populations fits where the sum of both excesses over the best fits is at most a threshold. For a
share s of the threshold in the first group and 1 - s in the second,

.. math:: \max_s \; U_1(s \tau) - L_2((1 - s) \tau)

is the upper end of the difference, with the upper and lower slack ends U and L of each group, and
likewise for the lower end. Where both ends grow like roots of the threshold, as far from
boundaries, this is the root of the sum of the squares of both half widths. The part of the
threshold that is for lost atoms (`noutput.estimate.slack.threshold`) is not shared but given to
both: quantiles of :math:`\chi^2` are concave in the degrees of freedom, so both extra parts
together are at least what the sum of all lost degrees asks for.

Guaranteed intervals are differences of the ends of both groups at the level
:math:`1 - (1 - \text{level}) / 2`, so that both hold together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput._progress import shown_progress
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noutput.estimate.counts import Array
    from noutput.estimate.distribution import DistributionEstimate
    from noutput.estimate.intervals import Intervals

__all__ = ["SPLITS", "cdf_difference", "split_difference"]

SPLITS = np.sin((np.arange(8) + 0.5) * (np.pi / 2.0 / 8)) ** 2
"""Parts of the threshold in one group, at equal angles: where ends grow like roots, the best is
0.5% better at most. Those that are left for the other group are the same in the other order."""


@shown_progress("Estimating")
def cdf_difference(
    first: DistributionEstimate,
    second: DistributionEstimate,
    at: ArrayLike,
    *,
    level: float = 0.95,
    kind: str = "slack",
) -> tuple[Array, Array]:
    """Return intervals for how much larger the share below numbers is in one of two groups.

    Parameters
    ----------
    first, second : DistributionEstimate
        Of two groups with no person in both, in the same unit. Tables and bounds may differ.
    at : array of floats
        The numbers. Each interval holds on its own.
    level : float
    kind : {"slack", "guaranteed"}
        As in `DistributionEstimate.interval`.

    Returns
    -------
    two arrays of the shape of `at`
        The ends for the share of the first group less that of the second.

    Examples
    --------
    >>> import noutput as no
    >>> m, rng = no.design(2.0).mechanism, np.random.default_rng(7)
    >>> def people(median):
    ...     minutes = no.Interval(0, 180).to_unit(rng.gamma(4.0, median / 4, 30_000), clip=True)
    ...     tally = no.Tally.of(m, m.privatize(minutes, rng))
    ...     return no.estimate_distribution(m, tally, bounds=(0, 180))
    >>> low, high = no.cdf_difference(people(30), people(50), [45.0, 170.0])
    >>> bool(low[0] > 0.0), bool(low[1] <= 0.0 <= high[1])
    (True, True)
    """
    values = _checks.numbers("at", "be numbers", at).astype(np.float64)
    if not np.all(np.isfinite(values)):
        raise InvalidArgumentError("at", "be finite numbers", at)
    _checks.inner_share("level", level)
    one, two = (each.intervals(values, level=level, kind=kind) for each in (first, second))
    if one.kind == two.kind == "slack":
        low, high = split_difference(_splits(one, values.ravel()), _splits(two, values.ravel()))
    else:
        both = 1.0 - (1.0 - level) / 2.0
        low_1, high_1 = one.at_level(both).cdf(values.ravel())
        low_2, high_2 = two.at_level(both).cdf(values.ravel())
        low, high = low_1 - high_2, high_1 - low_2
    return low.reshape(values.shape), high.reshape(values.shape)


def _splits(found: Intervals, values: Array) -> Array:
    """Return the ends with every part of the threshold, of shape (parts, 2, values)."""
    return np.array([found.part(share).cdf(values) for share in SPLITS])


def split_difference(first: Array, second: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest difference over all splits of the threshold.

    Parameters
    ----------
    first, second : arrays of shape (parts, 2) or (parts, 2, values)
        The lower and the upper ends with every part of `SPLITS`, of both groups.

    Examples
    --------
    >>> ends = np.sqrt(SPLITS)[:, None] * [-3.0, 3.0]  # each alone is known to 3
    >>> low, high = split_difference(ends, ends)
    >>> round(float(low), 1), round(float(high), 1)
    (-4.2, 4.2)
    """
    other = second[::-1]
    low = np.min(first[:, 0] - other[:, 1], axis=0)
    return low, np.max(first[:, 1] - other[:, 0], axis=0)

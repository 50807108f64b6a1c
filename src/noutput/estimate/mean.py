"""The mean of numbers that nobody may see."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from noutput.errors import InvalidArgumentError
from noutput.interval import UNIT, Interval

if TYPE_CHECKING:
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = ["MeanEstimate", "estimate_mean"]


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """An unbiased estimate of a mean, in the units of the bounds that it was made with."""

    value: float
    standard_error: float
    n_reports: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the normal confidence interval for the mean of the population."""
        if not 0.0 < level < 1.0:
            raise InvalidArgumentError("level", "lie strictly between 0 and 1", level)
        half = NormalDist().inv_cdf(0.5 + level / 2.0) * self.standard_error
        return self.value - half, self.value + half


def estimate_mean(mechanism: TableMechanism, tally: Tally, bounds: Interval = UNIT) -> MeanEstimate:
    """Estimate the mean of the people's numbers from their reports.

    Parameters
    ----------
    mechanism : TableMechanism
        What made the reports.
    tally : Tally
        At least two reports of this mechanism.
    bounds : Interval
        The user's units; [-1, 1] by default.

    Notes
    -----
    Every report decodes to an unbiased estimate of one person's number, so their average is
    unbiased. The standard error is the sample standard deviation of the decoded reports divided
    by the square root of their number.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> estimate_mean(m, no.Tally.of(m, [0, 1, 1, 1]), no.Interval(0, 10)).value
    10.0
    """
    if tally.fingerprint != mechanism.fingerprint:
        rule = f"be a tally of the mechanism {mechanism.fingerprint[:12]}"
        raise InvalidArgumentError("tally", rule, tally.fingerprint[:12])
    n = tally.total
    if n < 2:
        raise InvalidArgumentError("tally", "have at least two reports", n)
    outputs = mechanism.outputs.tolist()
    mean = math.fsum(c * a for c, a in zip(tally.counts, outputs, strict=True)) / n
    spread = math.fsum(c * (a - mean) ** 2 for c, a in zip(tally.counts, outputs, strict=True))
    error = math.sqrt(spread / (n - 1) / n)
    return MeanEstimate(bounds.from_unit(mean), error * bounds.half_width, n)

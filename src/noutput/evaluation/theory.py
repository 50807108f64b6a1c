"""Theoretical errors, to compare the measured ones with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noutput.evaluation.datasets import Dataset
    from noutput.mechanisms.base import Mechanism

__all__ = ["campaign_error", "mean_square_error", "worst_input"]

_GRID = 200_001


def worst_input(mechanism: Mechanism) -> float:
    """Return the number of [-1, 1] at which the variance of a report is largest.

    Examples
    --------
    >>> import noutput as no
    >>> worst_input(no.mechanism("pm", 1.0))
    -1.0
    """
    places = np.linspace(-1.0, 1.0, _GRID)
    knots = getattr(mechanism, "knots", None)
    if knots is not None:
        places = np.union1d(places, knots)
    return float(places[np.argmax(mechanism.variance(places))])


def campaign_error(mechanism: Mechanism, people: int) -> float:
    r"""Return the mean square error of a mean of reports in the worst case: V / n."""
    return mechanism.worst_variance() / people


def mean_square_error(mechanism: Mechanism, data: Dataset) -> float:
    r"""Return the mean square error of estimated means, averaged over the attributes of a dataset.

    Notes
    -----
    Each of N people draws one of k attributes. Given that :math:`n_j` people drew attribute j,
    they are a simple random sample without replacement of all N. The estimate is the average of
    their decoded reports. Its noise has variance :math:`\mathrm{Var}[Y|x]` for a person with x, so
    over samples on average :math:`\bar v_j / n_j`, with the average :math:`\bar v_j` of
    :math:`\mathrm{Var}[Y|x]` over everybody. The sample's own average varies around that of
    everybody by :math:`(S_j^2 / n_j) (1 - n_j / N)`, where :math:`S_j^2` is the variance of the
    attribute with divisor N - 1. Noise and sampling are uncorrelated, so

    .. math:: E[(\hat\mu_j - \mu_j)^2] = E[1 / n_j] (\bar v_j + S_j^2) - S_j^2 / N .

    :math:`n_j` is binomial with mean :math:`m = N / k`; to second order
    :math:`E[1/n_j] = (1 + (1 - 1/k) / m) / m`, which is right within :math:`3 / m^2`.
    """
    people, size = data.values.shape
    expected = people / size
    inverse = (1.0 + (1.0 - 1.0 / size) / expected) / expected
    total = 0.0
    for column in data.values.T:
        spread = float(column.var(ddof=1))
        noise = float(np.mean(mechanism.variance(column)))
        total += inverse * (noise + spread) - spread / people
    return float(total / size)

"""What a campaign promises to those who answer, and how much of the possible accuracy it keeps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from noutput.designs.catalog import lower_bound
from noutput.mechanisms.table import TableMechanism

if TYPE_CHECKING:
    from noutput.collector.store.directory import KnownCampaign

__all__ = ["Privacy", "privacy"]


@dataclass(frozen=True, slots=True)
class Privacy:
    """The promise of a campaign in numbers.

    Parameters
    ----------
    epsilon : float
    outputs : int
        How many different reports there are.
    factor : float
        How many times as likely one person's number can make a report as another's.
    gap : float or None
        By how much the largest variance of a report exceeds what no unbiased private mechanism
        can beat, as a share of it; None where no such limit is known.
    """

    epsilon: float
    outputs: int
    factor: float
    gap: float | None


def privacy(entry: KnownCampaign) -> Privacy:
    """Return the promise of a campaign; the first call for a table may take a second."""
    epsilon = entry.campaign.epsilon
    outputs = max(mechanism.n_outputs for mechanism in entry.mechanisms)
    mechanism = entry.mechanisms[0]
    gap = _gap(mechanism) if isinstance(mechanism, TableMechanism) else None
    return Privacy(epsilon, outputs, math.exp(epsilon), gap)


@lru_cache(maxsize=256)
def _gap(mechanism: TableMechanism) -> float | None:
    limit = lower_bound(mechanism.epsilon)
    return None if limit is None else max(0.0, mechanism.worst_variance() / limit - 1.0)

"""What a campaign promises to those who answer, and how much of the possible accuracy it keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from noutput.collector.dashboard import words
from noutput.designs.catalog import lower_bound
from noutput.mechanisms.table import TableMechanism, unit_mechanism

if TYPE_CHECKING:
    from noutput.collector.guarantees import Readers
    from noutput.collector.store.directory import KnownCampaign
    from noutput.mechanisms.certified import Table

__all__ = ["Privacy", "privacy"]


@dataclass(frozen=True, slots=True)
class Privacy:
    """The promise of a campaign in numbers.

    Parameters
    ----------
    epsilon : float
        Of all that one person sends.
    outputs : int
        How many different reports there are, of the question with the most.
    factor : float
        How many times as likely one person's answers can make what is sent as another's.
    gap : float or None
        By how much the largest variance of a report on this number exceeds what no unbiased
        private mechanism can beat, as a share of it; None where no such limit is known.
    parts : sequence of pairs
        Every question and the epsilon of a report on it, where they are not all the same.
    readers : Readers or None
        What holds against everybody who sees only what is published, where that is more.
    invented : bool
        Whether that holds only if nobody invents reports: operators are told so, others nothing.
    """

    epsilon: float
    outputs: int
    factor: float
    gap: float | None
    parts: Sequence[tuple[str, float]] = ()
    readers: Readers | None = None
    invented: bool = False


def privacy(entry: KnownCampaign, place: int = 0, readers: Readers | None = None) -> Privacy:
    """Return the promise of a campaign; the first call for a table may take a second.

    Parameters
    ----------
    entry : KnownCampaign
    place : int
        Of the question whose accuracy is wanted.
    readers : Readers, optional
        What is known about those who see only what is published.
    """
    campaign = entry.campaign
    losses = [table.epsilon for table in campaign.tables]
    parts = [
        (words.called(question), loss)
        for question, loss in zip(campaign.questions, losses, strict=True)
    ]
    return Privacy(
        epsilon=campaign.epsilon,
        outputs=max(each.n_outputs for each in entry.mechanisms),
        factor=math.exp(campaign.epsilon),
        gap=_gap(entry.campaign.tables[place]),
        parts=parts if len(set(losses)) > 1 else (),
        readers=readers,
        invented=not campaign.admission.needs_token,
    )


@lru_cache(maxsize=256)
def _gap(table: Table) -> float | None:
    mechanism, limit = unit_mechanism(table), lower_bound(table.epsilon)
    if limit is None or not isinstance(mechanism, TableMechanism) or table.jumps:
        return None  # a table with jumps tells more than the mean, which is not judged alone
    return max(0.0, mechanism.worst_variance() / limit - 1.0)

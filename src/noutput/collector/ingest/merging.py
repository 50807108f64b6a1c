"""Merging of the ids that came last, in the background; see `noutput.collector.store.runs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput.collector.ingest.background import Background

if TYPE_CHECKING:
    from noutput.collector.lanes import Lane
    from noutput.collector.metrics import Metrics
    from noutput.collector.store.interface import Store

__all__ = ["Merger"]

_MERGE_SECONDS = 10.0


class Merger(Background):
    """Calls `Store.merge_ids` every ten seconds while reports come in.

    Parameters
    ----------
    store : Store
    metrics : Metrics
    lane : Lane
        Where the database is asked.

    Notes
    -----
    The first call comes at the start, whether or not there are reports: a collector that was
    killed may have left ids that were not merged. The last comes at the end, so that nothing is
    left in the order in which it came.
    """

    def __init__(self, store: Store, metrics: Metrics, lane: Lane) -> None:
        super().__init__(lane, _MERGE_SECONDS, "no ids were merged", last=True)
        self._store = store
        self._metrics = metrics
        self._seen = -1

    def is_due(self) -> bool:
        """Say whether reports came since the last merge."""
        before, self._seen = self._seen, self._metrics.accepted
        return self._seen != before

    def look(self) -> None:
        """Merge ids."""
        self._store.merge_ids()

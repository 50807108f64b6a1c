"""Merging of the ids that came last, in the background; see `noutput.collector.store.runs`."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from noutput.collector.store.interface import Store, UnavailableError

if TYPE_CHECKING:
    from noutput.collector.lanes import Lane
    from noutput.collector.metrics import Metrics

__all__ = ["Merger"]

_MERGE_SECONDS = 10.0
_log = logging.getLogger("noutput.collector")


class Merger:
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
    killed may have left ids that were not merged.
    """

    def __init__(self, store: Store, metrics: Metrics, lane: Lane) -> None:
        self._store = store
        self._metrics = metrics
        self._lane = lane
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; called inside the event loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Merge once more, so that nothing is left in the order in which it came."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None
            await self._merge()

    async def _run(self) -> None:
        seen = -1
        while True:
            if self._metrics.accepted != seen:
                seen = self._metrics.accepted
                await self._merge()
            await asyncio.sleep(_MERGE_SECONDS)

    async def _merge(self) -> None:
        try:
            await self._lane.run(self._store.merge_ids)
        except UnavailableError as error:
            _log.warning("no ids were merged: %s", error)
        except Exception:  # noqa: BLE001 (whatever it is, reports are counted all the same)
            _log.exception("no ids were merged")

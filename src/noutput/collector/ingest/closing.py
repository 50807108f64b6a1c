"""Closing campaigns when their time has come, for good."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from noutput.campaign.text import format_instant
from noutput.collector.store.interface import Store, UnavailableError

if TYPE_CHECKING:
    from noutput.collector.clock import Clock
    from noutput.collector.lanes import Lane
    from noutput.collector.store.directory import Directory, KnownCampaign

__all__ = ["Closer"]

_LOOK_SECONDS = 1.0
_log = logging.getLogger("noutput.collector")


class Closer:
    """Writes down that a campaign's closing time has passed.

    Parameters
    ----------
    store : Store
    directory : Directory
    clock : Clock
    lane : Lane
        Where the database is asked.

    Guarantees
    ----------
    A campaign that was closed by its time is never open again, also where the clock is set back
    or the process starts anew: from then on, the database refuses to count for it.
    """

    def __init__(self, store: Store, directory: Directory, clock: Clock, lane: Lane) -> None:
        self._store = store
        self._directory = directory
        self._clock = clock
        self._lane = lane
        self._closing: set[int] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look every second; called inside the event loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _run(self) -> None:
        complete = failed = False
        while True:
            try:
                if not complete:
                    await self._lane.run(self._directory.all)  # all are known from here on
                    complete = True
                if any(entry.is_over(self._clock()) for entry in self._directory.known()):
                    await self._lane.run(self.look)
                failed = False
            except UnavailableError as error:
                if not failed:
                    _log.warning("no campaign was closed: %s", error)
                failed = True
            except Exception:  # noqa: BLE001 (whatever it is, reports are counted all the same)
                _log.exception("no campaign was closed")
            await asyncio.sleep(_LOOK_SECONDS)

    def look(self) -> None:
        """Close every known campaign whose time has passed."""
        now = self._clock()
        for entry in self._directory.known():
            if entry.is_over(now):
                self.close(entry)

    def close(self, entry: KnownCampaign) -> None:
        """Close a campaign whose time has passed; many may ask, and one at a time writes."""
        if entry.key in self._closing:
            return
        self._closing.add(entry.key)
        try:
            name, closes = entry.campaign.id, format_instant(entry.campaign.closes)
            row = self._store.close_campaign(name, closes, key=entry.key)
            if row is None:
                self._directory.forget(name)
            else:
                self._directory.take(row)
        finally:
            self._closing.discard(entry.key)

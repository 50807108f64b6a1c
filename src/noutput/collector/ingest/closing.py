"""Closing campaigns when their time has come, for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput.campaign.text import format_instant
from noutput.collector.ingest.background import Background

if TYPE_CHECKING:
    from noutput.collector.clock import Clock
    from noutput.collector.lanes import Lane
    from noutput.collector.store.directory import Directory, KnownCampaign
    from noutput.collector.store.interface import Store

__all__ = ["Closer"]

_LOOK_SECONDS = 1.0


class Closer(Background):
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
        super().__init__(lane, _LOOK_SECONDS, "no campaign was closed", last=False)
        self._store = store
        self._directory = directory
        self._clock = clock
        self._complete = False  # whether all campaigns are known
        self._closing: set[int] = set()

    def is_due(self) -> bool:
        """Say whether a campaign's time has passed, or may have."""
        now = self._clock()
        return not self._complete or any(entry.is_over(now) for entry in self._directory.known())

    def look(self) -> None:
        """Close every campaign whose time has passed."""
        if not self._complete:
            self._directory.all()
            self._complete = True
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
            name, closes = entry.campaign.id, format_instant(entry.ends)
            row = self._store.close_campaign(name, closes, key=entry.key)
            if row is None:
                self._directory.forget(name)
            else:
                self._directory.take(row)
        finally:
            self._closing.discard(entry.key)

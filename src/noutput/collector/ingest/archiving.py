"""Archiving: pending reports become files of the archive, in the background."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from noutput.collector.archive.archive import LEAST, MANY
from noutput.collector.ingest.background import Background

if TYPE_CHECKING:
    from collections.abc import Callable

    from noutput.collector.archive.archive import Archive
    from noutput.collector.lanes import Lane
    from noutput.collector.metrics import Metrics
    from noutput.collector.store.directory import Directory

__all__ = ["Archiver"]

_LOOK_SECONDS = 1.0
_LAST_SECONDS = 30.0  # files of many campaigns are written and synced when the collector ends
_FLUSH_SECONDS = 600.0


class Archiver(Background):
    """Writes pending reports to files, and puts files together when a campaign is closed.

    Parameters
    ----------
    archive : Archive
    directory : Directory
        Says which campaigns are closed.
    metrics : Metrics
    lane : Lane
        Where files are written.
    clock : callable
        Seconds that never go back.

    Notes
    -----
    Files are written when a campaign has a million pending reports, every ten minutes where it
    has 8,192 or more, when it is closed, and when the collector ends in order.
    """

    def __init__(
        self,
        archive: Archive,
        directory: Directory,
        metrics: Metrics,
        lane: Lane,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        failure = "no reports were archived"
        super().__init__(lane, _LOOK_SECONDS, failure, last=True, patience=_LAST_SECONDS)
        self._archive = archive
        self._directory = directory
        self._metrics = metrics
        self._clock = clock
        self._flushed = clock()
        self._seen = 0
        self._compacted: set[str] = set()
        self._ending = False

    def is_due(self) -> bool:
        """Say whether many reports came, ten minutes passed, or a campaign was closed."""
        return self._has_many() or self._is_time() or not self._closed() <= self._compacted

    def _has_many(self) -> bool:
        metrics = self._metrics
        return metrics.accepted + metrics.repeated - self._seen >= MANY

    def _is_time(self) -> bool:
        return self._clock() - self._flushed >= _FLUSH_SECONDS

    def _closed(self) -> set[str]:
        """Return the roots of the campaigns that are closed."""
        known = self._directory.known()
        return {entry.campaign.root for entry in known if entry.closed is not None}

    def look(self) -> None:
        """Write files of what is due."""
        seen, is_time = self._metrics.accepted + self._metrics.repeated, self._is_time()
        least = 1 if self._ending else LEAST if is_time else MANY
        try:
            self._put_together()
        finally:  # a closed campaign that cannot be written holds up no other
            self._seen = seen
            if is_time:
                self._flushed = self._clock()
            self._archive.flush(least)

    def _put_together(self) -> None:
        """Write all of the campaigns that are closed, in as few files as there can be."""
        closed = self._closed()
        self._archive.flush(only=closed)
        for root in closed - self._compacted:
            self._archive.compact(root)
            self._compacted.add(root)

    async def stop(self) -> None:
        """Write everything to files, unless that takes too long: then the next start does."""
        self._ending = True
        await super().stop()

"""Watching the counts for sudden changes, in the background; see `noutput.collector.alarms`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from noutput.collector.alarms import Alarm, Watch
from noutput.collector.ingest.background import Background
from noutput.collector.logs import event

if TYPE_CHECKING:
    from datetime import datetime

    from noutput.collector.clock import Clock
    from noutput.collector.ingest.quotas import Quotas
    from noutput.collector.lanes import Lane
    from noutput.collector.metrics import Metrics
    from noutput.collector.store.directory import Directory, KnownCampaign
    from noutput.collector.store.interface import Store

__all__ = ["Watcher"]

_LOOK_SECONDS = 1.0
_IDLE_LOOKS = 60  # of which one is made where no report comes
_log = logging.getLogger("noutput.collector")


class Watcher(Background):
    """Raises alarms, and lets quotas know what other processes counted.

    Parameters
    ----------
    store : Store
    directory : Directory
    clock : Clock
    metrics : Metrics
    quotas : Quotas
    lane : Lane
        Where the database is asked.

    Notes
    -----
    Looks every second while this process counts reports, and every minute otherwise: at the number
    of reports of each campaign that this process knows, and at their counts once a block may be
    complete. All processes of a database see the reports of all, and each has its own alarms.
    """

    def __init__(
        self,
        store: Store,
        directory: Directory,
        clock: Clock,
        metrics: Metrics,
        quotas: Quotas,
        lane: Lane,
    ) -> None:
        super().__init__(lane, _LOOK_SECONDS, "no alarm can be raised", last=False)
        self._store = store
        self._directory = directory
        self._clock = clock
        self._metrics = metrics
        self._quotas = quotas
        self._seen = (-1, -1)
        self._idle = 0
        self._watches: dict[int, Watch] = {}

    def alarms(self, entry: KnownCampaign, now: datetime) -> tuple[Alarm, ...]:
        """Return the alarms of a campaign in the last seven days, newest first."""
        watch = self._watches.get(entry.key)
        return () if watch is None else watch.shown(now)

    def is_due(self) -> bool:
        """Say whether reports came since the last look, or it was a minute ago."""
        before = self._seen
        self._seen = self._metrics.accepted, self._metrics.refused_reports.total()
        self._idle += 1
        if self._seen == before and self._idle < _IDLE_LOOKS:
            return False
        self._idle = 0
        return True

    def look(self) -> None:
        """Look at every campaign that is open."""
        now = self._clock()
        entries = [each for each in self._directory.known() if each.is_open(now)]
        totals = self._store.totals() if entries else {}
        for entry in entries:
            self._look(entry, totals.get(entry.key, 0), now)

    def _look(self, entry: KnownCampaign, total: int, now: datetime) -> None:
        watch = self._watches.get(entry.key)
        if watch is None:
            watch = self._watches[entry.key] = Watch(entry)
        watch.follow(entry)
        refused = self._quotas.look(entry, total)
        expected = entry.campaign.admission.reports_per_hour or 0
        alarms = watch.note_refused(now, refused, expected) + watch.note_rate(now, total)
        if watch.wants_counts(total):
            tallies = entry.layout.tallies(self._store.counts(entry.key))
            alarms += watch.note_shape(now, tallies)
        for alarm in alarms:
            name = entry.campaign.id
            self._metrics.alarm(name, alarm.kind, now.timestamp())
            _log.warning(
                "alarm (%s) of campaign %r: %s",
                alarm.kind,
                name,
                alarm.text,
                extra=event("alarm", kind=alarm.kind, campaign=name),
            )

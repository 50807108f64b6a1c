"""Next waves of adaptive campaigns, from published counts only, in the background."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from noutput.campaign.waves import FEWEST_REPORTS
from noutput.collector.ingest.background import Background
from noutput.collector.logs import event
from noutput.collector.store.interface import UnavailableError
from noutput.planner.successors import next_campaign
from noutput.questions import Number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from noutput.collector.clock import Clock
    from noutput.collector.lanes import Lane
    from noutput.collector.metrics import Metrics
    from noutput.collector.store.directory import Directory, KnownCampaign
    from noutput.collector.store.interface import Store
    from noutput.tally import Tally

__all__ = ["Adapter"]

_LOOK_SECONDS = 1.0
_IDLE_LOOKS = 10  # of which one is made where no report comes: others may have counted some
_log = logging.getLogger("noutput.collector")


class Adapter(Background):
    """Gives adaptive campaigns their second wave when it is due.

    Parameters
    ----------
    store : Store
    directory : Directory
    clock : Clock
    metrics : Metrics
    lane : Lane
        Where the rule is computed, which takes seconds: neither reports nor pages wait for it.

    Guarantees
    ----------
    The wave is computed of published counts alone, which its document holds. Of several processes
    that compute one at the same time, one writes its document; the others' are dropped. Whoever is
    killed meanwhile leaves either the old or the new chain, and the next to start goes on.
    """

    def __init__(
        self, store: Store, directory: Directory, clock: Clock, metrics: Metrics, lane: Lane
    ) -> None:
        super().__init__(lane, _LOOK_SECONDS, "no wave was begun", last=False)
        self._store = store
        self._directory = directory
        self._clock = clock
        self._metrics = metrics
        self._complete = False  # whether all campaigns are known
        self._seen = -1
        self._idle = 0
        self._tried: dict[int, int] = {}

    def is_due(self) -> bool:
        """Say whether a campaign waits for its second wave, and may have got what it waits for."""
        if not self._complete:
            return True
        before, self._seen = self._seen, self._metrics.accepted
        self._idle += 1
        if self._seen == before and self._idle < _IDLE_LOOKS:
            return False
        self._idle = 0
        now = self._clock()
        return any(_waits(entry, now) for entry in self._directory.known())

    def look(self) -> None:
        """Begin the second wave of every campaign that is due."""
        if not self._complete:
            self._directory.all()
            self._complete = True
        now = self._clock()
        for entry in self._directory.known():
            if not _waits(entry, now):
                continue
            shown = self._store.published(entry.key)
            tallies = entry.layout.tallies(shown.counts)
            reports = sum(tally.total for tally in tallies)
            if not _is_due(entry, tallies, now) or self._tried.get(entry.key) == reports:
                continue
            self._tried[entry.key] = reports
            try:
                self._begin(entry, tallies)
            except UnavailableError:
                del self._tried[entry.key]
                raise
            except Exception:  # noqa: BLE001 (others go on; this one with its next step)
                _log.exception(
                    "campaign %r has no second wave",
                    entry.campaign.id,
                    extra=event("wave-failed", campaign=entry.campaign.id),
                )

    def _begin(self, entry: KnownCampaign, tallies: Sequence[Tally]) -> None:
        known = entry.campaign
        found = next_campaign(known, [tally.counts for tally in tallies])
        values = (known.fingerprint, found.fingerprint, found.to_json())
        if self._store.succeed(entry.key, *values):
            reports = sum(tally.total for tally in tallies)
            _log.info(
                "campaign %r has a second wave, after %d reports",
                known.id,
                reports,
                extra=event("wave-opened", campaign=known.id),
            )
        self._directory.find(known.id)


def _waits(entry: KnownCampaign, now: datetime) -> bool:
    """Say whether an open campaign has yet to get its second wave."""
    return entry.awaits_wave and entry.is_open(now)


def _is_due(entry: KnownCampaign, tallies: Sequence[Tally], now: datetime) -> bool:
    """Say whether published reports, or the time, begin the second wave.

    Every number waits until it has as many reports as the rule needs: with fewer it would keep its
    range for good.
    """
    following = entry.campaign.next_wave
    reports = sum(tally.total for tally in tallies)
    if following is None or not reports:
        return False
    if following.until is not None and now >= following.until:
        return True
    numbers = [
        tally.total
        for question, tally in zip(entry.campaign.questions, tallies, strict=True)
        if isinstance(question, Number)
    ]
    return reports >= following.reports and min(numbers) >= FEWEST_REPORTS

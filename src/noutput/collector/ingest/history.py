"""Releases: what is published about a question, whenever enough reports came since the last."""

from __future__ import annotations

import logging
import threading
from dataclasses import astuple
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from noutput.campaign.text import format_instant
from noutput.collector.estimable import check_question
from noutput.collector.followed import follow
from noutput.collector.ingest.background import Background
from noutput.collector.logs import event
from noutput.collector.measured import FEWEST
from noutput.collector.pooled import pooled
from noutput.collector.publishing import Publishing
from noutput.collector.store.interface import Store, UnavailableError
from noutput.errors import DocumentError

if TYPE_CHECKING:
    from noutput.collector.clock import Clock
    from noutput.collector.ingest.shares import ReleaseShares
    from noutput.collector.lanes import Lane
    from noutput.collector.metrics import Metrics
    from noutput.collector.publishing import ReleasePolicy
    from noutput.collector.store.directory import Directory, KnownCampaign

__all__ = ["LEVEL", "Recorder"]

LEVEL = 0.95
_LOOK_SECONDS = 1.0
_COMMITTED = timedelta(seconds=30)  # after which what was accepted in time is in the database
_log = logging.getLogger("noutput.collector")


class Recorder(Background):
    """Publishes counts, and notes what `follow` says about them.

    Parameters
    ----------
    store : Store
    directory : Directory
    clock : Clock
    metrics : Metrics
    lane : Lane
        Where the database is asked.
    policy : ReleasePolicy
        How many new reports a release has at least.
    shares : ReleaseShares
        Those of clients, which are told what was published.

    Notes
    -----
    The process that counts reports looks after their publication, every second and at its end,
    also while nobody watches; when it starts, and when a campaign is closed, it looks at all.
    Several processes agree because the transaction that publishes looks again. Without new
    reports nothing is read or written.

    Guarantees
    ----------
    Every release is what `noutput.collector.publishing` says, also where the collector was killed
    or several share a database.
    """

    def __init__(
        self,
        store: Store,
        directory: Directory,
        clock: Clock,
        metrics: Metrics,
        lane: Lane,
        policy: ReleasePolicy,
        shares: ReleaseShares,
    ) -> None:
        super().__init__(lane, _LOOK_SECONDS, "nothing was published", last=True)
        self._store = store
        self._directory = directory
        self._clock = clock
        self._metrics = metrics
        self._policy = policy
        self._shares = shares
        self._complete = False  # whether all campaigns were looked at
        self._seen: tuple[int, int] = (0, 0)
        self._looked: dict[int, tuple[int, bool, int, int]] = {}
        self._lock = threading.Lock()

    def is_due(self) -> bool:
        """Say whether reports came, or campaigns or rounds ended, since the last look."""
        known = self._directory.known()
        ended = sum((entry.closed is not None) + self._rounds_over(entry) for entry in known)
        before, self._seen = self._seen, (self._metrics.accepted, ended)
        return not self._complete or self._seen != before

    def look(self) -> None:
        """Publish what is due of every campaign that this process knows."""
        with self._lock:
            if not self._complete:
                self._directory.all()
                self._complete = True
            totals = self._store.totals()
            for entry in self._directory.known():
                state = (
                    totals.get(entry.key, 0), entry.closed is not None, len(entry.campaign.waves),
                    self._rounds_over(entry),
                )  # fmt: skip
                if state != self._looked.get(entry.key):
                    try:
                        self._publish(entry, state[-1])
                    except UnavailableError:
                        raise
                    except Exception:  # noqa: BLE001 (other campaigns are published all the same)
                        _log.exception(
                            "nothing was published of campaign %r",
                            entry.campaign.id,
                            extra=event("publishing-failed", campaign=entry.campaign.id),
                        )
                        continue
                    self._looked[entry.key] = state

    def _publish(self, entry: KnownCampaign, over: int) -> None:
        *_, done = self._looked.get(entry.key, (0,))  # rounds that were over at the last look
        publishing = Publishing(entry.layout, self._policy, over, done)
        now = format_instant(self._clock())
        self._store.release(entry.key, publishing, now, partial(_figure, entry))
        if self._shares.applies_to(entry) and entry.closed is None:
            self._shares.look(entry, self._store.taken(entry.key, entry.layout))

    def _rounds_over(self, entry: KnownCampaign) -> int:
        """Return how many rounds are over, and their last reports committed."""
        return entry.rounds_over(self._clock() - _COMMITTED)


def _figure(
    entry: KnownCampaign, place: int, counts: dict[int, int]
) -> tuple[float, float, float] | None:
    """Return what is followed over time; None for a campaign that would be refused now."""
    question, parts = entry.campaign.questions[place], pooled(entry, place, counts)
    if sum(part.tally.total for part in parts) < FEWEST:
        return None
    try:
        for part in parts:
            check_question(question, part.mechanism)
    except DocumentError:
        return None
    return astuple(follow(question, parts, LEVEL))

"""Milestones: what was known about a question, noted whenever its reports grow by a tenth."""

from __future__ import annotations

import logging
import threading
from dataclasses import astuple
from typing import TYPE_CHECKING

from noutput.campaign.text import format_instant
from noutput.collector.estimable import check_question
from noutput.collector.followed import follow
from noutput.collector.ingest.background import Background
from noutput.collector.store.interface import Milestone, Store, UnavailableError
from noutput.errors import DocumentError

if TYPE_CHECKING:
    from noutput.collector.clock import Clock
    from noutput.collector.lanes import Lane
    from noutput.collector.metrics import Metrics
    from noutput.collector.store.directory import Directory, KnownCampaign
    from noutput.tally import Tally

__all__ = ["LEVEL", "Recorder"]

LEVEL = 0.95
_GROWTH = 1.1
_LEAST = 10  # reports between two milestones
_LOOK_SECONDS = 1.0
_log = logging.getLogger("noutput.collector")


class Recorder(Background):
    """Notes what `follow` says about every question as reports come in.

    Parameters
    ----------
    store : Store
    directory : Directory
    clock : Clock
    metrics : Metrics
    lane : Lane
        Where the database is asked.

    Notes
    -----
    A milestone is kept where the reports on a question have grown by a tenth since the last,
    and by ten at least: up to a billion reports that are about 200 rows. The process that counts
    reports looks after them, every second and at its end, also while nobody watches; several
    processes agree because the database keeps a milestone only after the one that its writer saw.
    Without new reports nothing is read or written.

    Guarantees
    ----------
    A milestone has numbers of all reports together, and between two there are ten or more: when
    a single report came, or what it says, cannot be read off them.
    """

    def __init__(
        self, store: Store, directory: Directory, clock: Clock, metrics: Metrics, lane: Lane
    ) -> None:
        super().__init__(lane, _LOOK_SECONDS, "no history was kept", last=True)
        self._store = store
        self._directory = directory
        self._clock = clock
        self._metrics = metrics
        self._seen = 0
        self._looked: dict[int, int] = {}
        self._newest: dict[tuple[int, int], int] = {}
        self._lock = threading.Lock()

    def is_due(self) -> bool:
        """Say whether reports came since the last look."""
        before, self._seen = self._seen, self._metrics.accepted
        return self._seen != before

    def look(self) -> None:
        """Note what is due for every campaign whose reports this process counted."""
        with self._lock:
            totals = self._store.totals()
            for entry in self._directory.known():
                total = totals.get(entry.key, 0)
                if total != self._looked.get(entry.key, 0):
                    try:
                        self._note(entry)
                    except UnavailableError:
                        raise
                    except Exception:  # noqa: BLE001 (other campaigns have a history all the same)
                        _log.exception("no history was kept of campaign %r", entry.campaign.id)
                        continue
                    self._looked[entry.key] = total

    def _note(self, entry: KnownCampaign) -> None:
        found = entry.layout.tallies(self._store.counts(entry.key))
        if not self._due(entry, found):
            return
        last = {each.question: each.reports for each in self._store.history(entry.key)}
        for place, reports in last.items():  # another process may have been faster
            self._newest[entry.key, place] = reports
        now = format_instant(self._clock())
        milestones: list[Milestone] = []
        for place in self._due(entry, found):
            question, mechanism = entry.campaign.questions[place], entry.mechanisms[place]
            try:
                check_question(question, mechanism)
            except DocumentError:  # of a campaign that would be refused now
                continue
            known = follow(question, mechanism, found[place], LEVEL)
            milestones.append(Milestone(place, found[place].total, now, *astuple(known)))
        self._store.add_history(entry.key, milestones, last)
        for each in milestones:
            self._newest[entry.key, each.question] = each.reports

    def _due(self, entry: KnownCampaign, found: list[Tally]) -> list[int]:
        """Return the places of the questions whose reports have grown enough."""
        return [
            place
            for place, tally in enumerate(found)
            if tally.total >= self._next(self._newest.get((entry.key, place), 0))
        ]

    @staticmethod
    def _next(reports: int) -> float:
        return max(reports + _LEAST, _GROWTH * reports)

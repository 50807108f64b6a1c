"""Milestones: the mean and its interval, noted whenever the reports have grown by a tenth."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from noutput.campaign.text import format_instant
from noutput.collector.store.interface import Milestone, Store, UnavailableError
from noutput.estimate.mean import estimate_mean
from noutput.interval import Interval
from noutput.mechanisms.table import TableMechanism
from noutput.questions import Number

if TYPE_CHECKING:
    from noutput.collector.clock import Clock
    from noutput.collector.metrics import Metrics
    from noutput.collector.store.directory import Directory, KnownCampaign
    from noutput.tally import Tally

__all__ = ["LEVEL", "Recorder"]

LEVEL = 0.95
_GROWTH = 1.1
_LEAST = 10  # reports between two milestones
_LOOK_SECONDS = 1.0
_log = logging.getLogger("noutput.collector")


class Recorder:
    """Notes the mean and its interval of every number as reports come in.

    Parameters
    ----------
    store : Store
    directory : Directory
    clock : Clock
    metrics : Metrics

    Notes
    -----
    A milestone is kept where the reports on a number have grown by a tenth since the last,
    and by ten at least: up to a billion reports that are about 200 rows. The process that counts
    reports looks after them, also while nobody watches; several processes agree because the
    database keeps a milestone only after the one that its writer saw. Without new reports
    nothing is read or written.

    Guarantees
    ----------
    A milestone has numbers of all reports together, and between two there are ten or more: when
    a single report came, or what it says, cannot be read off them.
    """

    def __init__(self, store: Store, directory: Directory, clock: Clock, metrics: Metrics) -> None:
        self._store = store
        self._directory = directory
        self._clock = clock
        self._metrics = metrics
        self._looked: dict[int, int] = {}
        self._last: dict[tuple[int, int], int] = {}
        self._task: asyncio.Task[None] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin to look every second; called inside the event loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Look once more, so that the last reports are noted."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None
            await self._look()

    async def _run(self) -> None:
        seen = 0
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if self._metrics.accepted != seen:
                seen = self._metrics.accepted
                await self._look()

    async def _look(self) -> None:
        try:
            await run_in_threadpool(self.look)
        except UnavailableError as error:
            _log.warning("no history was kept: %s", error)
        except Exception:  # noqa: BLE001 (whatever it is, reports are counted all the same)
            _log.exception("no history was kept")

    def look(self) -> None:
        """Note what is due for every campaign whose reports this process counted."""
        with self._lock:
            totals = self._store.totals()
            for entry in self._directory.known():
                total = totals.get(entry.key, 0)
                if total != self._looked.get(entry.key, 0):
                    self._looked[entry.key] = total
                    self._note(entry)

    def _note(self, entry: KnownCampaign) -> None:
        found = entry.layout.tallies(self._store.counts(entry.key))
        if not self._due(entry, found):
            return
        last = {each.attribute: each.reports for each in self._store.history(entry.key)}
        for place, reports in last.items():  # another process may have been faster
            self._last[entry.key, place] = reports
        now = format_instant(self._clock())
        milestones: list[Milestone] = []
        for place in self._due(entry, found):
            question, mechanism = entry.campaign.questions[place], entry.mechanisms[place]
            if not isinstance(question, Number) or not isinstance(mechanism, TableMechanism):
                continue
            bounds = Interval(question.lower, question.upper)
            mean = estimate_mean(mechanism, found[place], bounds)
            total = found[place].total
            milestones.append(Milestone(place, total, now, mean.value, *mean.interval(LEVEL)))
        self._store.add_history(entry.key, milestones, last)
        for each in milestones:
            self._last[entry.key, each.attribute] = each.reports

    def _due(self, entry: KnownCampaign, found: list[Tally]) -> list[int]:
        """Return the places of the numbers whose reports have grown enough."""
        return [
            place
            for place, tally in enumerate(found)
            if isinstance(entry.campaign.questions[place], Number)
            and tally.total >= self._next(self._last.get((entry.key, place), 0))
        ]

    @staticmethod
    def _next(reports: int) -> float:
        return max(reports + _LEAST, _GROWTH * reports)

"""Answers that are computed of published counts: once for every state of them."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from noutput.collector.lanes import BusyError, Lane, Once

if TYPE_CHECKING:
    from noutput.collector.metrics import Metrics
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Published, Store

__all__ = ["LONGEST_REST_SECONDS", "Computed", "rest_seconds"]

_KEPT = 256  # answers
_FRESH_SECONDS = 1.0
_REST = 10.0  # how much longer an answer is used than it took
LONGEST_REST_SECONDS = 30.0

Make: TypeAlias = Callable[["Published"], bytes]


def rest_seconds(seconds: float, longest: float = LONGEST_REST_SECONDS) -> float:
    """Return how long an answer is used that took so long, before the counts are read again."""
    return min(max(_FRESH_SECONDS, _REST * seconds), longest)


@dataclass(slots=True)
class _Answer:
    """One answer, the state that it is of, and until when it is used without a look."""

    content: bytes | None = None
    state: object = None
    until: float = 0.0


class Computed:
    """Cache of answers, by what was asked for and the state of what is published.

    Parameters
    ----------
    store : Store
    metrics : Metrics
    lane : Lane
        Where they are computed.

    Notes
    -----
    As `Estimates` does it: all who wait for the same answer wait for one computation, those who
    have an answer from before get that meanwhile, and whoever asks sees what was published last.
    Called in one event loop.
    """

    def __init__(self, store: Store, metrics: Metrics, lane: Lane) -> None:
        self._store = store
        self._metrics = metrics
        self._lane = lane
        self._answers: OrderedDict[Hashable, _Answer] = OrderedDict()
        self._once: Once[bytes] = Once()

    async def get(
        self, entry: KnownCampaign, asked: Hashable, state: Hashable, make: Make
    ) -> bytes:
        """Return an answer.

        Parameters
        ----------
        entry : KnownCampaign
        asked : hashable
            What was asked for.
        state : hashable
            What else than the published counts the answer depends on.
        make : callable
            Computes it of the published counts, in a thread.

        Raises
        ------
        BusyError
            If too many others are computed, and there is no answer from before.
        """
        name = _name(entry, asked)
        answer = self._answers.setdefault(name, _Answer())
        self._answers.move_to_end(name)
        while len(self._answers) > _KEPT:
            self._answers.popitem(last=False)
        found = answer.content
        if found is not None and (time.monotonic() < answer.until or name in self._once):
            return found
        try:
            return await self._once.get(
                name, lambda: self._lane.run(self._refresh, answer, entry, state, make)
            )
        except BusyError:
            if found is None:
                raise
            return found

    async def soon(
        self, entry: KnownCampaign, asked: Hashable, state: Hashable, make: Make, seconds: float
    ) -> bytes | None:
        """Return an answer as `get` does, or where it takes longer the one from before, if any."""
        try:
            async with asyncio.timeout(seconds):
                return await self.get(entry, asked, state, make)
        except (TimeoutError, BusyError):
            kept = self._answers.get(_name(entry, asked))
            return None if kept is None else kept.content

    def _refresh(self, answer: _Answer, entry: KnownCampaign, state: Hashable, make: Make) -> bytes:
        start = time.monotonic()
        shown = self._store.published(entry.key)
        now = (sum(shown.counts.values()), state)
        if answer.content is None or answer.state != now:
            answer.content, answer.state = make(shown), now
            self._metrics.estimates += 1
        end = time.monotonic()
        answer.until = end + rest_seconds(end - start)
        return answer.content


def _name(entry: KnownCampaign, asked: Hashable) -> Hashable:
    return (entry.key, entry.campaign.fingerprint, asked)

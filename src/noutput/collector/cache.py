"""Cache of answers: the last good one per name, up to a number of bytes.

Estimates, comparisons, trends, pages and files all pass through one `Cache`:

====================  ====================================================================
what                  how
====================  ====================================================================
one computation       all who ask for one name wait for one job of a `Lane`
only good answers     a job that fails or is refused keeps nothing, and evicts nothing
the last good answer  is given meanwhile, after 0.4 seconds at most
bytes                 answers are kept as bytes, and all of them have at most `MAX_BYTES`
fairness              clients have turns in lanes; who has the most bytes loses an answer first
====================  ====================================================================
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, TypeAlias

from noutput import __version__
from noutput.collector.lanes import CLIENT, BusyError, Job, Lane

if TYPE_CHECKING:
    from noutput.collector.metrics import Metrics
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Published, Store

__all__ = ["MAX_BYTES", "MAX_REUSE_SECONDS", "Answer", "Cache", "reuse_seconds"]

MAX_BYTES: Final = 1 << 26
MAX_REUSE_SECONDS: Final = 30.0
_PATIENCE_SECONDS = 0.4  # a page waits for four answers, and takes two seconds at most
_ENTRY_BYTES = 1024  # of a name and a version, about
_MIN_REUSE_SECONDS = 1.0
_REUSE_FACTOR = 10.0  # how much longer an answer is used than it took


def reuse_seconds(seconds: float) -> float:
    """Return how long an answer is used that took so long, before the counts are read again."""
    return min(max(_MIN_REUSE_SECONDS, _REUSE_FACTOR * seconds), MAX_REUSE_SECONDS)


@dataclass(frozen=True)
class Answer:
    """What is kept under a name.

    Parameters
    ----------
    content : bytes
    version : hashable
        What it was made of: another one where it must be made again.
    until : float
        Until when it is used whatever the version is, on the monotonic clock.
    """

    content: bytes
    version: Hashable
    until: float = 0.0

    @cached_property
    def tag(self) -> str:
        """An ETag: another one where the content is, or the version of the software."""
        digest = hashlib.sha256(__version__.encode() + self.content).hexdigest()[:24]
        return f'"{digest}"'

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return len(self.content) + _ENTRY_BYTES


Make: TypeAlias = Callable[[Answer | None], Answer]


class Cache:
    """Cache of answers, called in one event loop.

    Parameters
    ----------
    store : Store
    metrics : Metrics

    Attributes
    ----------
    size : int
        The bytes of all answers: `MAX_BYTES` at most.
    patience : float
        How many seconds whoever could have the last answer waits for a new one.
    """

    def __init__(self, store: Store, metrics: Metrics) -> None:
        self.size = 0
        self.patience = _PATIENCE_SECONDS
        self._store = store
        self._metrics = metrics
        self._kept: OrderedDict[Hashable, tuple[Answer, bytes]] = OrderedDict()
        self._held: Counter[bytes] = Counter()  # bytes by client
        self._pending: dict[Hashable, tuple[Job[Answer], asyncio.Task[Answer]]] = {}

    async def get(
        self, name: Hashable, lane: Lane, make: Make, version: Hashable = None,
        patience: float | None = None,
    ) -> Answer:  # fmt: skip
        """Return the answer of a name.

        Parameters
        ----------
        name : hashable
            What is answered, and to whom: nothing else may differ between those who get it.
        lane : Lane
            Where it is made.
        make : callable
            Makes it, of the last one or None.
        version : hashable
            The version that is wanted; None leaves it to the time until which one is used.
        patience : float, optional
            How many seconds to wait; if not given, 0.4 where there is an answer from before, and
            as long as the lane allows where there is none.

        Raises
        ------
        BusyError
            If the lane is full or not fast enough, and there is no answer from before.
        """
        kept = self._look(name)
        if kept is not None and (kept.version == version or time.monotonic() < kept.until):
            return kept
        try:
            if name not in self._pending:
                self._begin(name, lane, partial(make, kept))
            elif kept is not None:
                return kept
            else:
                lane.join(self._pending[name][0])
            seconds = self.patience if patience is None and kept is not None else patience
            return await self._wait(name, lane, seconds)
        except BusyError:
            if kept is None:
                raise
            return kept

    async def published(
        self, entry: KnownCampaign, asked: Hashable, lane: Lane,
        make: Callable[[Published], bytes], *, state: Hashable = None,
        patience: float | None = None,
    ) -> Answer:  # fmt: skip
        """Return an answer that is made of published counts.

        Parameters
        ----------
        entry : KnownCampaign
        asked : hashable
            What is asked about it.
        lane, patience
            As in `get`.
        make : callable
            Makes it of the counts, in a thread.
        state : hashable
            What else it depends on.

        Notes
        -----
        An answer is used for a second, or ten times as long as it took to compute, before the
        counts are read again, and ever after where they are the same.
        """

        def refresh(kept: Answer | None) -> Answer:
            start = time.monotonic()
            shown = self._store.published(entry.key)
            version = (sum(shown.counts.values()), state)
            if kept is not None and kept.version == version:
                content = kept.content
            else:
                content = make(shown)
                self._metrics.estimates += 1
            end = time.monotonic()
            return Answer(content, version, end + reuse_seconds(end - start))

        name = (entry.key, entry.campaign.fingerprint, asked)
        return await self.get(name, lane, refresh, patience=patience)

    def _look(self, name: Hashable) -> Answer | None:
        """Return what is kept, from now on on the account of the present client."""
        answer, _ = self._kept.get(name, (None, b""))
        if answer is not None:
            self._put(name, answer)
        return answer

    def _begin(self, name: Hashable, lane: Lane, work: Callable[[], Answer]) -> None:
        job = lane.submit(work)
        task = asyncio.get_running_loop().create_task(self._finish(name, lane.wait(job)))
        task.add_done_callback(partial(self._forget, name))
        self._pending[name] = job, task

    async def _wait(self, name: Hashable, lane: Lane, seconds: float | None) -> Answer:
        task = self._pending[name][1]
        try:
            await asyncio.wait([task], timeout=seconds)
            if task.done():
                return task.result()
            raise BusyError(f"the {lane.name} took more than {seconds:g} s")
        finally:
            del task  # as in `Lane.wait`

    async def _finish(self, name: Hashable, result: Awaitable[Answer]) -> Answer:
        answer = await result
        self._put(name, answer)
        return answer

    def _forget(self, name: Hashable, task: asyncio.Task[Answer]) -> None:
        del self._pending[name]
        if not task.cancelled():
            task.exception()  # nobody may be left to look at it

    def _put(self, name: Hashable, answer: Answer) -> None:
        """Keep an answer on the account of the present client, and evict others where needed."""
        self._remove(name)
        if answer.size > MAX_BYTES:
            return
        client = CLIENT.get()
        self._kept[name] = answer, client
        self._held[client] += answer.size
        self.size += answer.size
        while self.size > MAX_BYTES:
            greedy = max(self._held, key=self._held.__getitem__)
            self._remove(next(each for each, (_, owner) in self._kept.items() if owner == greedy))

    def _remove(self, name: Hashable) -> None:
        if name not in self._kept:
            return
        answer, client = self._kept.pop(name)
        self.size -= answer.size
        self._held[client] -= answer.size
        if not self._held[client]:
            del self._held[client]

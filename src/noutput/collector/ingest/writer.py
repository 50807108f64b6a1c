"""Group commit: requests that arrive during one commit share the next."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeAlias

from noutput.collector.lanes import BusyError
from noutput.collector.logs import event
from noutput.collector.store.interface import Outcome, ReportSink, Submission, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from noutput.collector.metrics import Metrics

__all__ = ["Writer"]

_LARGEST_GROUP = 50_000  # reports
# After a commit that many requests shared, the next waits a moment so that more can share it.
_FEW = 8
_GATHER_SECONDS = 0.004
_log = logging.getLogger("noutput.collector")

Waiting: TypeAlias = tuple[Submission, "asyncio.Future[Outcome | None]"]


class Writer:
    """One thread that commits what all requests submit.

    Parameters
    ----------
    store : ReportSink
    metrics : Metrics
    limit : int
        How many reports may wait at once.
    seconds : float
        How long a submission waits for its commit.
    clock : callable

    Attributes
    ----------
    commit_since : float, optional
        Since when a commit is under way, by the monotonic clock.
    ended : float
        When the last commit ended.
    failed : bool
        Whether it failed.

    Guarantees
    ----------
    A submission's future gets its outcome after the commit is durable, and an
    `UnavailableError` where it may not have been committed; then the client sends again. One
    that nobody waits for any more is committed or dropped: its ids tell when it comes again.
    While a commit takes longer than `seconds`, new submissions are refused at once.
    """

    def __init__(
        self,
        store: ReportSink,
        metrics: Metrics,
        limit: int,
        seconds: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._metrics = metrics
        self._limit = limit
        self._seconds = seconds
        self._clock = clock
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.commit_since: float | None = None
        self.ended = float("-inf")
        self.failed = False

    def start(self) -> None:
        """Start the thread; called inside the event loop that submits."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="noutput-writer", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Commit what waits, then end the thread; give up where that takes too long."""
        if self._thread is not None:
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join, self._seconds)
            if self._thread.is_alive():
                _log.error(
                    "the last commit did not end; its reports were not acknowledged",
                    extra=event("commit-failed"),
                )
            self._thread = None

    async def count(self, submission: Submission) -> Outcome | None:
        """Count reports durably, or raise a `BusyError` where that takes too long."""
        future = self.submit(submission)
        try:
            async with asyncio.timeout(self._seconds):
                return await future
        except TimeoutError:
            raise BusyError("the database did not commit in time") from None
        finally:
            del future  # else an error and its frames would be a cycle

    def submit(self, submission: Submission) -> asyncio.Future[Outcome | None]:
        """Queue reports for the next commit; None becomes of those of a closed campaign."""
        if self._loop is None or self._metrics.queued + submission.size > self._limit:
            raise BusyError("too many reports wait for their commit")
        since = self.commit_since
        if since is not None and self._clock() - since > self._seconds:
            raise BusyError("the database does not commit")
        future: asyncio.Future[Outcome | None] = self._loop.create_future()
        self._metrics.queued += submission.size
        self._queue.put((submission, future))
        return future

    def _run(self) -> None:
        busy = False
        while (first := self._queue.get()) is not None:
            if busy:
                time.sleep(_GATHER_SECONDS)
            group = [first]
            size = first[0].size
            last = False
            while size < _LARGEST_GROUP:
                try:
                    more = self._queue.get_nowait()
                except Empty:
                    break
                if more is None:
                    last = True
                    break
                group.append(more)
                size += more[0].size
            busy = len(group) > _FEW
            self._commit(group, size)
            if last:
                return

    def _commit(self, group: list[Waiting], size: int) -> None:
        start = self.commit_since = self._clock()
        error: UnavailableError | None = None
        group = [waiting for waiting in group if not waiting[1].cancelled()]
        outcomes: list[Outcome | None] = [None] * len(group)
        try:
            if group:
                outcomes = self._store.add([submission for submission, _ in group])
        except UnavailableError as found:
            error = found
            _log.warning("%s", found, extra=event("commit-failed"))
        except Exception as found:  # noqa: BLE001 (the thread must outlive any failure)
            error = UnavailableError(f"the commit failed: {type(found).__name__}")
            _log.exception("the commit failed", extra=event("commit-failed"))
        end = self._clock()
        seconds = end - start
        self.failed, self.ended, self.commit_since = error is not None, end, None
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._settle, group, outcomes, error, size, seconds)

    def _settle(
        self,
        group: list[Waiting],
        outcomes: Iterable[Outcome | None],
        error: UnavailableError | None,
        size: int,
        seconds: float,
    ) -> None:
        """Tell all requests of a group; runs in the event loop."""
        self._metrics.queued -= size
        accepted = repeated = 0
        for (_, future), outcome in zip(group, outcomes, strict=True):
            if outcome is not None:
                accepted += outcome.accepted
                repeated += outcome.repeated
            if future.cancelled():
                continue
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(outcome)
        if error is None:
            self._metrics.commit(seconds, accepted=accepted, repeated=repeated)
        else:
            self._metrics.failed_commits += 1

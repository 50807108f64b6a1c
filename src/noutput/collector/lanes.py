"""Lanes: threads of their own for each kind of work, so that no kind can starve another."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

from noutput.collector.store.interface import UnavailableError

__all__ = ["BusyError", "Lane", "Lanes", "Once"]

_LINGER_SECONDS = 10.0  # how long a thread without work stays

P = ParamSpec("P")
T = TypeVar("T")


class BusyError(UnavailableError):
    """So much work of this kind waits that no more is taken, or it took too long."""


@dataclass(slots=True, eq=False)
class _Job:
    work: Callable[[], Any]
    future: asyncio.Future[Any]


class Lane:
    """A few threads for one kind of work, and a queue of bounded length.

    Parameters
    ----------
    name : str
        Of the threads, and in errors.
    threads : int
        How much of this work is done at once.
    waiting : int
        How much may wait.
    seconds : float
        How long a caller waits for the result.

    Notes
    -----
    Work that a caller no longer waits for is dropped where it has not begun, and counts as long
    as it runs. The threads are daemons: one that a database never answers does not keep the
    process from ending.

    Examples
    --------
    >>> lane = Lane("sums", threads=1, waiting=1, seconds=5.0)
    >>> asyncio.run(lane.run(sum, [1, 2, 3])), lane.size
    (6, 0)
    """

    def __init__(self, name: str, threads: int, waiting: int, seconds: float) -> None:
        self.name = name
        self.seconds = seconds
        self.size = 0
        self._most_threads = threads
        self._most = threads + waiting
        self._jobs: deque[_Job] = deque()
        self._threads = 0
        self._idle = 0
        self._ready = threading.Condition()

    async def run(self, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Return what a function returns that runs in one of the threads.

        Raises
        ------
        BusyError
            If too much waits already, or no result came in time.
        """
        if self.size >= self._most:
            raise BusyError(f"{self.size} {self.name} wait already")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.size += 1
        self._put(_Job(partial(work, *arguments, **options), future))
        try:
            async with asyncio.timeout(self.seconds):
                return await future
        except TimeoutError:
            raise BusyError(f"the {self.name} took more than {self.seconds:g} s") from None
        finally:
            del future  # else an error, its frames and what they hold would be a cycle

    def _put(self, job: _Job) -> None:
        with self._ready:
            self._jobs.append(job)
            if self._idle < len(self._jobs) and self._threads < self._most_threads:
                self._threads += 1
                name = f"noutput-{self.name}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()
            else:
                self._ready.notify()

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            result, error = None, None
            if not job.future.cancelled():
                try:
                    result = job.work()
                except Exception as found:  # noqa: BLE001 (it is the caller's)
                    error = found
            loop = job.future.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._settle, job.future, result, error)
            del job, result, error  # nothing is kept while the thread waits

    def _next(self) -> _Job | None:
        """Return the next job, or None after a while without any."""
        with self._ready:
            while not self._jobs:
                self._idle += 1
                woken = self._ready.wait(_LINGER_SECONDS)
                self._idle -= 1
                if not woken and not self._jobs:
                    self._threads -= 1
                    return None
            return self._jobs.popleft()

    def _settle(self, future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
        self.size -= 1
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


class Once(Generic[T]):
    """One computation per name at a time, shared by all who wait for it.

    Parameters
    ----------
    most : int
        How many may wait for all names together.

    Examples
    --------
    >>> async def main() -> tuple[list[int], int]:
    ...     calls, once = [], Once()
    ...     async def compute() -> int:
    ...         calls.append(1)
    ...         await asyncio.sleep(0)
    ...         return 42
    ...     found = await asyncio.gather(*(once.get("name", compute) for _ in range(3)))
    ...     return found, len(calls)
    >>> asyncio.run(main())
    ([42, 42, 42], 1)
    """

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._waiting = 0
        self._tasks: dict[Hashable, asyncio.Task[T]] = {}

    def __contains__(self, name: Hashable) -> bool:
        return name in self._tasks

    async def get(self, name: Hashable, compute: Callable[[], Awaitable[T]]) -> T:
        """Return the result; a caller who goes away stops nothing.

        Raises
        ------
        BusyError
            If too many wait already.
        """
        if self._waiting >= self._most:
            raise BusyError(f"{self._waiting} requests wait for the like already")
        task = self._tasks.get(name)
        if task is None:
            task = asyncio.get_running_loop().create_task(_awaited(compute))
            self._tasks[name] = task
            task.add_done_callback(partial(self._forget, name))
        self._waiting += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting -= 1
            del task  # as in `Lane.run`

    def _forget(self, name: Hashable, task: asyncio.Task[T]) -> None:
        del self._tasks[name]
        if not task.cancelled():
            task.exception()  # nobody may be left to look at it


async def _awaited(compute: Callable[[], Awaitable[T]]) -> T:
    return await compute()


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of one collector process.

    Parameters
    ----------
    store : Lane
        Questions to the database.
    changes : Lane
        What an admin changes; deleting a large campaign takes a while.
    estimates : Lane
        Computing estimates: seconds for a campaign with many questions.
    trends : Lane
        Smoothing rounds: seconds where there are many.
    pages : Lane
        Drawing pages.
    bodies : Lane
        Decoding large bodies of reports.
    merging : Lane
        Hiding the order of the ids that came last.
    archiving : Lane
        Writing files of the archive.
    waves : Lane
        Computing the next wave of an adaptive campaign: seconds.
    publishing : Lane
        Publishing counts, and what is followed over time: seconds where there are several waves.
    """

    store: Lane = field(default_factory=lambda: Lane("calls of the database", 16, 240, 5.0))
    changes: Lane = field(default_factory=lambda: Lane("changes", 2, 30, 120.0))
    estimates: Lane = field(default_factory=lambda: Lane("estimates", 1, 8, 60.0))
    trends: Lane = field(default_factory=lambda: Lane("trends", 1, 16, 60.0))
    pages: Lane = field(default_factory=lambda: Lane("pages", 1, 32, 30.0))
    bodies: Lane = field(default_factory=lambda: Lane("large bodies", 1, 15, 10.0))
    merging: Lane = field(default_factory=lambda: Lane("merging of ids", 1, 0, 5.0))
    archiving: Lane = field(default_factory=lambda: Lane("writing of files", 1, 0, 60.0))
    waves: Lane = field(default_factory=lambda: Lane("next waves", 1, 0, 600.0))
    publishing: Lane = field(default_factory=lambda: Lane("publishing", 1, 0, 120.0))

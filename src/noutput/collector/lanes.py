"""Lanes: threads of their own for each kind of work, with a fair queue of clients."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, ParamSpec, TypeVar

from noutput.collector.store.interface import UnavailableError

__all__ = ["CLIENT", "BusyError", "Job", "Lane", "Lanes"]

# Who waits for the work: the `RateLimiter.name` of a request's client; nobody in the background.
CLIENT: Final[ContextVar[bytes]] = ContextVar("client", default=b"")

_LINGER_SECONDS = 10.0  # how long a thread without work stays
_MAX_TURNS = 4096  # clients whose last turn is known

P = ParamSpec("P")
T = TypeVar("T")


class BusyError(UnavailableError):
    """So much work of this kind waits that no more is taken, or it took too long."""


@dataclass(slots=True, eq=False)
class Job(Generic[T]):
    """Work of a client that waits for its turn, or runs."""

    work: Callable[[], T]
    future: asyncio.Future[T]
    client: bytes


class Lane:
    """A few threads for one kind of work, and a fair queue of bounded length.

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
    The next job is that of the client whose last turn is longest ago, so that a client waits for
    one job of every other client at most, however many these have. Where the queue is full, the
    client with the most jobs loses its last one. Work that a caller no longer waits for is dropped
    where it has not begun, and counts as long as it runs. The threads are daemons: one that a
    database never answers does not keep the process from ending.

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
        self._max_threads = threads
        self._max_size = threads + waiting
        self._waiting: dict[bytes, deque[Job[Any]]] = {}
        self._turns: dict[bytes, int] = {}
        self._turn = 0
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
        return await self.wait(self.submit(partial(work, *arguments, **options)))

    def submit(self, work: Callable[[], T]) -> Job[T]:
        """Put work in the queue of the present client.

        Raises
        ------
        BusyError
            If too much waits already.
        """
        job = Job(work, asyncio.get_running_loop().create_future(), CLIENT.get())
        with self._ready:
            if self.size >= self._max_size:
                self._make_room(job.client)
            self.size += 1
            self._waiting.setdefault(job.client, deque()).append(job)
            if (
                self._idle < sum(map(len, self._waiting.values()))
                and self._threads < self._max_threads
            ):
                self._threads += 1
                name = f"noutput-{self.name}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()
            else:
                self._ready.notify()
        return job

    async def wait(self, job: Job[T]) -> T:
        """Return the result of a job.

        Raises
        ------
        BusyError
            If no result came in time, or others needed the room.
        """
        future = job.future
        del job
        try:
            async with asyncio.timeout(self.seconds):
                return await future
        except TimeoutError:
            raise BusyError(f"the {self.name} took more than {self.seconds:g} s") from None
        finally:
            del future  # else an error, its frames and what they hold would be a cycle

    def join(self, job: Job[Any]) -> None:
        """Let a job of another client have the turn of the present one, where that is sooner."""
        client = CLIENT.get()
        with self._ready:
            theirs, mine = self._waiting.get(job.client, ()), self._waiting.get(client, ())
            if job in theirs and (len(mine), self._last_turn(client)) < (
                theirs.index(job), self._last_turn(job.client)
            ):  # fmt: skip
                self._remove(job)
                job.client = client
                self._waiting.setdefault(client, deque()).append(job)

    def _last_turn(self, client: bytes) -> int:
        return self._turns.get(client, 0)

    def _remove(self, job: Job[Any]) -> None:
        jobs = self._waiting[job.client]
        jobs.remove(job)
        if not jobs:
            del self._waiting[job.client]

    def _make_room(self, client: bytes) -> None:
        """Drop the last job of the client with the most, or raise where it is this one."""
        jobs = max(self._waiting.values(), key=len, default=deque[Job[Any]]())
        if len(jobs) <= len(self._waiting.get(client, ())) + 1:
            raise BusyError(f"{self.size} {self.name} wait already")
        job = jobs[-1]
        self._remove(job)
        error = BusyError(f"{self.size} {self.name} wait already")
        self._settle(job.future, None, error)

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

    def _next(self) -> Job[Any] | None:
        """Return the next job, or None after a while without any."""
        with self._ready:
            while not self._waiting:
                self._idle += 1
                woken = self._ready.wait(_LINGER_SECONDS)
                self._idle -= 1
                if not woken and not self._waiting:
                    self._threads -= 1
                    return None
            client = min(self._waiting, key=self._last_turn)
            self._turn += 1
            self._turns.pop(client, None)
            self._turns[client] = self._turn
            if len(self._turns) > _MAX_TURNS:
                del self._turns[next(iter(self._turns))]
            job = self._waiting[client][0]
            self._remove(job)
            return job

    def _settle(self, future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
        self.size -= 1
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


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
        Computing estimates: a fraction of a second each.
    slow : Lane
        Estimates that take seconds: smoothed rounds, all questions of a campaign, and
        shares and quantiles of numbers.
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
    estimates: Lane = field(default_factory=lambda: Lane("estimates", 1, 32, 60.0))
    slow: Lane = field(default_factory=lambda: Lane("slow estimates", 1, 32, 60.0))
    pages: Lane = field(default_factory=lambda: Lane("pages", 1, 32, 30.0))
    bodies: Lane = field(default_factory=lambda: Lane("large bodies", 1, 15, 10.0))
    merging: Lane = field(default_factory=lambda: Lane("merging of ids", 1, 0, 5.0))
    archiving: Lane = field(default_factory=lambda: Lane("writing of files", 1, 0, 60.0))
    waves: Lane = field(default_factory=lambda: Lane("next waves", 1, 0, 600.0))
    publishing: Lane = field(default_factory=lambda: Lane("publishing", 1, 0, 120.0))

"""Background work: a function of the database that is called every few seconds."""

from __future__ import annotations

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING

from noutput.collector.logs import event
from noutput.collector.store.interface import UnavailableError

if TYPE_CHECKING:
    from noutput.collector.lanes import Lane

__all__ = ["Background"]

_log = logging.getLogger("noutput.collector")


class Background(ABC):
    """Calls `look` in a lane every few seconds, where it is due.

    Parameters
    ----------
    lane : Lane
        Where the database is asked.
    seconds : float
        Between two looks.
    failure : str
        What the log says where a look failed.
    last : bool
        Look once more when it ends.
    patience : float
        How many seconds the last look may take.

    Notes
    -----
    One look is under way at a time: while the database does not answer, none is started, so that
    threads and queue of the lane stay free for requests. A look that failed is due again.
    """

    def __init__(
        self, lane: Lane, seconds: float, failure: str, *, last: bool, patience: float = 3.0
    ) -> None:
        self._lane = lane
        self._seconds = seconds
        self._failure = failure
        self._last = last
        self._patience = patience
        self._failed = False
        self._looking = threading.Lock()
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    def is_due(self) -> bool:
        """Say whether there is something to do; called in the event loop, without the database."""

    @abstractmethod
    def look(self) -> None:
        """Do what is due; called in a thread."""

    def start(self) -> None:
        """Begin; called inside the event loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """End, after a last look where that is wanted; give up where it takes too long."""
        if self._task is None:
            return
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._task = None
        if self._last:
            try:
                await asyncio.wait_for(self._call(), self._patience)
            except TimeoutError:
                _log.warning(
                    "%s: the database does not answer",
                    self._failure,
                    extra=event("background-failed", work=self._failure),
                )

    async def _run(self) -> None:
        while True:
            if (self.is_due() or self._failed) and not self._looking.locked():
                await self._call()
            await asyncio.sleep(self._seconds)

    async def _call(self) -> None:
        self._failed = True
        try:
            await self._lane.run(self._guarded)
            self._failed = False
        except UnavailableError as error:
            _log.warning(
                "%s: %s", self._failure, error, extra=event("background-failed", work=self._failure)
            )
        except Exception:  # noqa: BLE001 (whatever it is, reports are counted all the same)
            _log.exception(
                "%s", self._failure, extra=event("background-failed", work=self._failure)
            )

    def _guarded(self) -> None:
        with self._looking:
            self.look()

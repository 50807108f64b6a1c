"""Readiness: whether reports can be counted now, as the last commit or a small write tells."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noutput.collector.logs import event
from noutput.collector.store.interface import ReportSink, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from noutput.collector.ingest.writer import Writer

__all__ = ["Readiness"]

_FRESH_SECONDS = 1.0
_LONGEST_COMMIT_SECONDS = 5.0
# As much as the largest commit: what failed for want of room is tried again in earnest.
_LARGE_PROBE = 1 << 20
_log = logging.getLogger("noutput.collector")


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A commit or a probe that ended."""

    at: float
    failed: bool


class Readiness:
    """Whether reports can be counted now.

    Parameters
    ----------
    store : ReportSink
    writer : Writer
    clock : callable
        Seconds that never go back.
    patience : float
        How many seconds an answer may take.

    Notes
    -----
    While reports are counted, their commits tell; nothing else is written. A second after the
    last commit, or after anything else that the database did not answer, whoever asks starts a
    probe, which writes to the database and commits. There is one probe at a time, in a thread of
    its own: asking more often costs the database nothing, and an answer takes less than a second,
    also where the database does not answer at all.
    """

    def __init__(
        self,
        store: ReportSink,
        writer: Writer,
        clock: Callable[[], float] = time.monotonic,
        patience: float = 0.8,
    ) -> None:
        self._store = store
        self._writer = writer
        self._clock = clock
        self._patience = patience
        self._probed = _Attempt(-_FRESH_SECONDS, failed=False)
        self._doubted = False
        self._running: asyncio.Future[None] | None = None

    def doubt(self) -> None:
        """Let the next question be answered by a probe: some other statement failed."""
        self._doubted = True

    async def obstacle(self) -> str | None:
        """Return why reports cannot be counted now, or None."""
        if self._known_obstacle() is None and self._is_due():
            if self._running is None or self._running.done():
                self._running = self._start_probe()
            await asyncio.wait([self._running], timeout=self._patience)
            if not self._running.done():
                return "the database does not answer"
        return self._known_obstacle() or (
            "the last commit failed; see the log of the collector" if self._last().failed else None
        )

    def _known_obstacle(self) -> str | None:
        if self._store.problems():
            return "the database is damaged or has lost reports; see the log of the collector"
        since = self._writer.commit_since
        if since is not None and self._clock() - since > _LONGEST_COMMIT_SECONDS:
            return "a commit takes too long"
        return None

    def _last(self) -> _Attempt:
        committed = _Attempt(self._writer.ended, failed=self._writer.failed)
        return committed if committed.at >= self._probed.at else self._probed

    def _is_due(self) -> bool:
        last = self._last()
        if self._writer.commit_since is not None and not last.failed:
            return False  # that commit will tell
        doubted = self._doubted and not last.failed
        return doubted or self._clock() - last.at >= _FRESH_SECONDS

    def _start_probe(self) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        size = _LARGE_PROBE if self._last().failed else 0

        def end() -> None:
            if not done.done():
                done.set_result(None)

        def work() -> None:
            self._probe(size)
            if not loop.is_closed():
                loop.call_soon_threadsafe(end)

        threading.Thread(target=work, name="noutput-probe", daemon=True).start()
        return done

    def _probe(self, size: int) -> None:
        failed, self._doubted = True, False
        try:
            self._store.probe(size)
            if size:
                self._store.probe()  # gives the room back
            failed = False
        except UnavailableError as error:
            _log.warning("%s", error, extra=event("probe-failed"))
        except Exception:  # noqa: BLE001 (whatever it is, the answer is no)
            _log.exception("the probe failed", extra=event("probe-failed"))
        finally:
            self._probed = _Attempt(self._clock(), failed=failed)

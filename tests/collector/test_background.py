"""Background work: one look at a time, however long the database takes."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from noutput.collector.ingest.background import Background
from noutput.collector.lanes import Lane


class Looking(Background):
    """Work that waits at a gate, and counts."""

    def __init__(self, lane: Lane, *, last: bool = False, patience: float = 3.0) -> None:
        super().__init__(lane, 0.001, "nothing was done", last=last, patience=patience)
        self.rounds = self.looks = 0
        self.gate = threading.Event()
        self.error: Exception | None = None

    def is_due(self) -> bool:
        self.rounds += 1
        return True

    def look(self) -> None:
        self.looks += 1
        self.gate.wait(30)
        if self.error is not None:
            error, self.error = self.error, None
            raise error


async def more_rounds(work: Looking, number: int = 5) -> None:
    wanted = work.rounds + number
    while work.rounds < wanted:
        await asyncio.sleep(0.001)


def test_a_look_that_does_not_end_takes_one_thread_of_its_lane() -> None:
    async def main() -> None:
        lane = Lane("calls of the database", 2, 0, 0.005)
        work = Looking(lane)
        work.start()
        await more_rounds(work, 10)
        assert (work.looks, lane.size) == (1, 1)
        lane.seconds = 30.0
        assert await lane.run(int, "7") == 7  # requests have their place
        work.gate.set()
        while work.looks < 3:
            await asyncio.sleep(0.001)
        await work.stop()

    asyncio.run(main())


def test_a_look_that_failed_is_due_again(caplog: pytest.LogCaptureFixture) -> None:
    class Quiet(Looking):
        def is_due(self) -> bool:
            return super().is_due() and self.rounds == 1

    async def main() -> None:
        work = Quiet(Lane("calls of the database", 1, 0, 30.0))
        work.gate.set()
        work.error = RuntimeError("bad")
        work.start()
        while work.looks < 2:
            await asyncio.sleep(0.001)
        await more_rounds(work)
        assert work.looks == 2
        await work.stop()
        assert work.looks == 2

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert [record.getMessage() for record in caplog.records] == ["nothing was done"]


def test_the_end_does_not_wait_for_a_frozen_database(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> Looking:
        work = Looking(Lane("calls of the database", 1, 0, 30.0), last=True, patience=0.01)
        work.start()
        while not work.looks:
            await asyncio.sleep(0.001)
        await work.stop()
        await work.stop()  # has nothing to do
        return work

    with caplog.at_level(logging.WARNING):
        asyncio.run(main()).gate.set()
    assert len(caplog.records) == 1

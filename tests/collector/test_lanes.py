"""Work of one kind is bounded, and never in the way of another kind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import weakref
from collections.abc import Callable
from functools import partial

import pytest

from noutput.collector.cache import Answer, Cache
from noutput.collector.lanes import CLIENT, BusyError, Lane
from noutput.collector.metrics import Metrics


async def settled(condition: Callable[[], bool]) -> None:
    """Let the event loop turn until something holds."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0)


def test_a_lane_takes_so_much_work_and_no_more() -> None:
    gate = threading.Event()
    running: list[int] = []

    def work(number: int) -> int:
        running.append(number)
        gate.wait(30)
        return number

    async def main() -> None:
        lane = Lane("jobs", threads=2, waiting=3, seconds=30)
        tasks = [asyncio.create_task(lane.run(work, number)) for number in range(5)]
        await settled(lambda: len(running) == 2)
        for _ in range(10):
            with pytest.raises(BusyError, match="5 jobs wait already"):
                await lane.run(work, 9)
        assert (lane.size, len(running)) == (5, 2)  # two run, three wait
        gate.set()
        assert await asyncio.gather(*tasks) == list(range(5))
        assert lane.size == 0

    asyncio.run(main())
    assert sorted(running) == list(range(5))


def test_clients_have_turns_and_the_one_with_the_most_makes_room() -> None:
    gate, begun = threading.Event(), threading.Event()
    turns: list[str] = []

    def work(name: str) -> None:
        turns.append(name)
        begun.set()
        gate.wait(30)

    async def main() -> None:
        lane = Lane("jobs", threads=1, waiting=6, seconds=30)

        def submit(name: str) -> asyncio.Task[None]:
            CLIENT.set(name[0].encode())  # of this task alone
            return asyncio.create_task(lane.wait(lane.submit(partial(work, name))))

        tasks = [submit(f"a{number}") for number in range(7)]
        await asyncio.to_thread(begun.wait, 30)
        tasks += [submit(name) for name in ("b0", "b1", "c0")]
        with pytest.raises(BusyError, match="7 jobs wait already"):
            submit("b2")  # there are three of a, and two of b already
        gate.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        lost = [number for number, end in enumerate(ends) if isinstance(end, BusyError)]
        assert lost == [4, 5, 6]
        assert lane.size == 0

    asyncio.run(main())
    assert turns == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"]


def test_work_that_takes_too_long_counts_until_it_ends_and_what_waits_is_dropped() -> None:
    gate, begun = threading.Event(), threading.Event()
    done: list[str] = []

    def block() -> None:
        begun.set()
        gate.wait(30)
        done.append("first")

    async def main() -> None:
        lane = Lane("jobs", threads=1, waiting=1, seconds=0.02)
        first = asyncio.create_task(lane.run(block))
        await asyncio.to_thread(begun.wait, 30)
        with pytest.raises(BusyError, match=r"the jobs took more than 0\.02 s"):
            await lane.run(done.append, "second")
        with pytest.raises(BusyError):
            await first
        assert lane.size == 2  # the thread is still at it
        gate.set()
        await settled(lambda: lane.size == 0)
        lane.seconds = 30
        await lane.run(done.append, "third")

    asyncio.run(main())
    assert done == ["first", "third"]


def test_an_error_is_the_callers() -> None:
    async def main() -> None:
        lane = Lane("jobs", threads=1, waiting=0, seconds=30)
        with pytest.raises(ZeroDivisionError):
            await lane.run(divmod, 1, 0)
        assert await lane.run(divmod, 7, 2) == (3, 1)

    asyncio.run(main())


def test_threads_without_work_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noutput.collector.lanes._LINGER_SECONDS", 0.0)

    async def main() -> None:
        lane = Lane("jobs", threads=1, waiting=0, seconds=30)
        for _ in range(3):
            assert await lane.run(sum, [1, 2]) == 3
            await settled(lambda: lane._threads == 0)

    asyncio.run(main())


def test_a_refused_body_is_freed_at_once() -> None:
    class Body:
        pass

    def refuse(_: Body) -> None:
        raise ValueError("no")

    def make(body: Body, _: Answer | None) -> Answer:
        raise ValueError(type(body).__name__)

    async def main() -> list[weakref.ref[Body]]:
        lane = Lane("jobs", threads=1, waiting=0, seconds=30)
        cache = Cache(None, Metrics())  # type: ignore[arg-type]  # no store
        freed = []
        for _ in range(3):
            body = Body()
            freed.append(weakref.ref(body))
            with contextlib.suppress(ValueError):
                await lane.run(refuse, body)
            with contextlib.suppress(ValueError):
                await cache.get("it", lane, partial(make, body))
            del body
        await lane.run(sum, [])
        return freed

    gc.disable()  # counting references is enough
    try:
        assert [reference() for reference in asyncio.run(main())] == [None] * 3
    finally:
        gc.enable()

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

from noutput.collector.lanes import BusyError, Lane, Once
from noutput.collector.rendered import Renderings


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


def test_a_waiter_that_goes_away_stops_nothing_for_the_others() -> None:
    async def main() -> None:
        once: Once[int] = Once()
        gate = asyncio.Event()

        async def compute() -> int:
            await gate.wait()
            return 42

        gone, stays = (asyncio.create_task(once.get("it", compute)) for _ in range(2))
        await settled(lambda: "it" in once)
        gone.cancel()
        gate.set()
        assert await stays == 42
        assert "it" not in once

    asyncio.run(main())


def test_a_page_is_rendered_once_per_version_and_the_oldest_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("noutput.collector.rendered._KEPT_BYTES", 25)
    calls: list[str] = []

    async def main() -> None:
        renderings = Renderings()

        async def page(name: str, version: int) -> str:
            async def render() -> str:
                calls.append(f"{name}{version}")
                return 10 * name

            return (await renderings.get(name, version, render)).tag

        tags = await asyncio.gather(*(page("a", 1) for _ in range(50)))
        assert len(set(tags)) == 1
        assert calls == ["a1"]
        await page("b", 1)
        await page("a", 1)
        await page("c", 1)  # there is room for two: b was asked for least recently
        await page("a", 1)
        assert calls == ["a1", "b1", "c1"]
        await page("a", 2)
        await page("b", 1)
        assert calls == ["a1", "b1", "c1", "a2", "b1"]
        assert renderings._bytes == sum(len(kept.content) for _, kept in renderings._kept.values())

    asyncio.run(main())


def test_a_refused_body_is_freed_at_once() -> None:
    class Body:
        pass

    def refuse(_: Body) -> None:
        raise ValueError("no")

    async def main() -> list[weakref.ref[Body]]:
        lane = Lane("jobs", threads=1, waiting=0, seconds=30)
        once: Once[None] = Once()
        freed = []
        for _ in range(3):
            body = Body()
            freed.append(weakref.ref(body))
            with contextlib.suppress(ValueError):
                await lane.run(refuse, body)
            with contextlib.suppress(ValueError):
                await once.get("it", partial(lane.run, refuse, body))
            del body
        await lane.run(sum, [])
        return freed

    gc.disable()  # counting references is enough
    try:
        assert [reference() for reference in asyncio.run(main())] == [None] * 3
    finally:
        gc.enable()

"""One cache for estimates, comparisons, trends and pages: bounded, fair, and of good answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from noutput.collector import cache as module
from noutput.collector.cache import Answer, Cache, reuse_seconds
from noutput.collector.lanes import CLIENT, BusyError, Lane
from noutput.collector.metrics import Metrics

GOOD, HOSTILE = b"good", b"hostile"


def make_cache() -> Cache:
    """Return a cache that waits as long as it takes; nothing here reads published counts."""
    found = Cache(None, Metrics())  # type: ignore[arg-type]  # no store
    found.patience = 30.0
    return found


def make_lane(waiting: int = 32) -> Lane:
    return Lane("answers", threads=1, waiting=waiting, seconds=30)


def made(content: bytes, version: int = 1) -> Callable[[Answer | None], Answer]:
    return lambda _: Answer(content, version)


def refused(_: Answer | None) -> Answer:
    raise ValueError("no")


async def settled(condition: Callable[[], bool]) -> None:
    """Let the event loop turn until something holds."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0)


def as_client(client: bytes, work: Any) -> asyncio.Task[Any]:
    """Begin something as a client."""
    token = CLIENT.set(client)
    try:
        return asyncio.get_running_loop().create_task(work)
    finally:
        CLIENT.reset(token)


def held(cache: Cache) -> int:
    return sum(answer.size for answer, _ in cache._kept.values())


def test_an_answer_is_made_once_per_version_and_the_oldest_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    size = Answer(bytes(10), 1).size
    monkeypatch.setattr(module, "MAX_BYTES", 2 * size)

    async def main() -> None:
        cache, lane = make_cache(), make_lane()

        async def page(name: str, version: int) -> str:
            def make(_: Answer | None) -> Answer:
                calls.append(f"{name}{version}")
                return Answer(10 * name.encode(), version)

            return (await cache.get(name, lane, make, version)).tag

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
        assert cache.size == held(cache) == 2 * size

    asyncio.run(main())


def test_failures_keep_nothing_and_evict_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", Answer(bytes(10), 1).size)

    async def main() -> None:
        cache, lane = make_cache(), make_lane()
        good = await cache.get("good", lane, made(bytes(10)), 1)
        for number in range(20):
            with pytest.raises(ValueError, match="no"):
                await cache.get(number, lane, refused, 1)
        lane._max_size = 0
        for number in range(20):
            with pytest.raises(BusyError):
                await cache.get(number, lane, made(bytes(10)), 1)
        lane._max_size = 1
        too_large = await cache.get("large", lane, made(bytes(11)), 1)
        assert len(too_large.content) == 11  # answered, and not kept
        assert await cache.get("good", lane, refused, 1) is good
        assert (list(cache._kept), cache._pending) == (["good"], {})
        with pytest.raises(ValueError, match="no"):
            await cache.get("good", lane, refused, 2)
        assert await cache.get("good", lane, refused, 1) is good  # the last good one stays

    asyncio.run(main())


def test_the_client_with_the_most_bytes_loses_an_answer_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 8 * Answer(bytes(10), 1).size)

    async def main() -> None:
        cache, lane = make_cache(), make_lane()
        for name in ("one", "two"):
            await as_client(GOOD, cache.get(name, lane, made(bytes(10)), 1))
        for number in range(100):
            await as_client(HOSTILE, cache.get(number, lane, made(bytes(10)), 1))
            assert cache.size == held(cache) <= module.MAX_BYTES
        assert set(cache._kept) == {"one", "two", *range(94, 100)}
        for name in ("one", "two"):
            await as_client(GOOD, cache.get(name, lane, refused, 1))
        assert sum(cache._held.values()) == cache.size

    asyncio.run(main())


def test_the_last_good_answer_is_given_while_a_new_one_is_made() -> None:
    gate = threading.Event()

    def slow(_: Answer | None) -> Answer:
        gate.wait(30)
        return Answer(b"new", 2)

    async def main() -> None:
        cache, lane = make_cache(), make_lane()
        await cache.get("page", lane, made(b"old"), 1)
        first = as_client(GOOD, cache.get("page", lane, slow, 2))
        await settled(lambda: "page" in cache._pending)
        for _ in range(20):  # no more jobs, and nobody waits
            assert (await cache.get("page", lane, slow, 2)).content == b"old"
        assert lane.size == 1
        gate.set()
        assert (await first).content == b"new"
        assert (await cache.get("page", lane, refused, 2)).content == b"new"

    asyncio.run(main())


def test_nobody_waits_for_a_new_answer_longer_than_their_patience() -> None:
    gate = threading.Event()

    def slow(_: Answer | None) -> Answer:
        gate.wait(30)
        return Answer(b"new", 2)

    async def main() -> None:
        cache, lane = make_cache(), make_lane()
        await cache.get("page", lane, made(b"old"), 1)
        cache.patience = 0.0
        assert (await cache.get("page", lane, slow, 2)).content == b"old"
        with pytest.raises(BusyError, match="the answers took more than 0 s"):
            await cache.get("trend", lane, slow, 2, patience=0.0)
        gate.set()
        await settled(lambda: not cache._pending)  # both are made nevertheless
        for name in ("page", "trend"):
            assert (await cache.get(name, lane, refused, 2)).content == b"new"

    asyncio.run(main())


def test_whoever_goes_away_stops_nothing_for_the_others() -> None:
    gate = threading.Event()

    def slow(_: Answer | None) -> Answer:
        gate.wait(30)
        return Answer(b"it", 1)

    async def main() -> None:
        cache, lane = make_cache(), make_lane()
        gone, stays = (asyncio.create_task(cache.get("it", lane, slow, 1)) for _ in range(2))
        await settled(lambda: "it" in cache._pending)
        gone.cancel()
        gate.set()
        assert (await stays).content == b"it"
        await settled(lambda: not cache._pending)

    asyncio.run(main())


def test_a_reader_is_next_however_much_another_client_has_waiting() -> None:
    """Counted in turns: the job that runs, and then the reader's."""
    gate, begun = threading.Event(), threading.Event()
    turns: list[object] = []

    def work(name: object) -> Callable[[Answer | None], Answer]:
        def make(_: Answer | None) -> Answer:
            turns.append(name)
            begun.set()
            gate.wait(30)
            return Answer(b"it", 1)

        return make

    async def main() -> None:
        cache, lane = make_cache(), make_lane()
        hostile = [as_client(HOSTILE, cache.get(n, lane, work(n), 1)) for n in range(40)]
        await asyncio.to_thread(begun.wait, 30)
        good = as_client(GOOD, cache.get("good", lane, work("good"), 1))
        shared = as_client(GOOD, cache.get(30, lane, work(30), 1))  # the other's, far behind
        await settled(lambda: GOOD in lane._waiting and len(lane._waiting[GOOD]) == 2)
        gate.set()
        assert (await good).content == (await shared).content == b"it"
        ends = await asyncio.gather(*hostile, return_exceptions=True)
        assert sum(isinstance(end, BusyError) for end in ends) == 40 - len(turns) + 1

    asyncio.run(main())
    assert turns[:4] == [0, "good", 1, 30]
    assert len(turns) == 33  # one ran, 32 waited: the reader's among them


@pytest.mark.parametrize(("took", "seconds"), [(0.01, 1.0), (2.0, 20.0), (3.5, 30.0), (900, 30.0)])
def test_an_answer_is_used_for_half_a_minute_at_most(took: float, seconds: float) -> None:
    assert reuse_seconds(took) == seconds

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.errors import InvalidArgumentError
from noutput.mechanisms.kernel import CHUNK
from noutput.mechanisms.sampling import report, unit_array

Array = np.ndarray[Any, np.dtype[Any]]


def keep_words(words_each: int) -> Any:
    """Return a sampler whose report is its words."""

    def draw(x: Array, words: Array, out: Array) -> None:
        assert x.dtype == np.float64
        out[:] = words.reshape(len(x), words_each)

    return draw


def keep_none(*_: Array) -> None:
    """Report nothing."""


@pytest.mark.parametrize("words_each", [1, 2, 5])
@pytest.mark.parametrize("size", [1, CHUNK - 1, CHUNK + 1, 2 * CHUNK + 3])
def test_every_number_gets_the_next_words(size: int, words_each: int) -> None:
    found = report(
        np.zeros(size), np.random.default_rng(1), keep_words(words_each), np.dtype(np.uint64),
        clip=False, shape=(words_each,), words_each=words_each,
    )  # fmt: skip
    stream = np.random.default_rng(1).integers(0, 1 << 64, size * words_each, np.uint64)
    assert np.array_equal(found.reshape(-1), stream)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.uint16])
def test_numbers_of_any_type_are_taken(dtype: type[Any]) -> None:
    values = np.array([0, 1, 1, 0], dtype).reshape(2, 2).T
    seen: list[float] = []

    def draw(x: Array, _: Array, out: Array) -> None:
        seen.extend(x.tolist())
        out[:] = 0

    assert report(values, None, draw, np.dtype(np.uint8), clip=False).shape == (2, 2)
    assert seen == [0.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("bad", [[True], ["0.5"], [None], [1j]])
def test_other_types_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="x must be numbers"):
        report(bad, None, keep_words(1), np.dtype(np.uint64), clip=False)
    with pytest.raises(InvalidArgumentError, match="x must be numbers"):
        unit_array(bad)


@given(values=st.lists(st.floats(-1.0, 1.0)))
def test_unit_arrays_are_copies(values: list[float]) -> None:
    given = np.array(values)
    found = unit_array(given)
    assert np.array_equal(found, given)
    assert not np.shares_memory(found, given)


def test_the_position_of_a_bad_number_is_named() -> None:
    values = np.zeros(CHUNK + 9)
    values[CHUNK + 4] = 1.5
    with pytest.raises(InvalidArgumentError, match=rf"x\[{CHUNK + 4}\] must be"):
        report(values, None, lambda *_: None, np.dtype(np.uint8), clip=False)


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.Philox, np.random.MT19937])
def test_threads_do_not_change_the_words(threads: int, bits: Any) -> None:
    size = 5 * (1 << 16) + 7
    rngs = [np.random.Generator(bits(4)) for _ in range(2)]
    found = [
        report(
            np.zeros(size), rng, keep_words(2), np.dtype(np.uint64),
            clip=False, shape=(2,), words_each=2, threads=count,
        )
        for rng, count in zip(rngs, (1, threads), strict=True)
    ]  # fmt: skip
    assert np.array_equal(found[0], found[1])
    assert rngs[0].integers(1 << 62) == rngs[1].integers(1 << 62)


def test_threads_never_share_a_secure_word() -> None:
    values = np.zeros((2, 1 << 17)).T  # not contiguous
    found = report(
        values, None, keep_words(1), np.dtype(np.uint64), clip=False, shape=(1,), threads=4
    )
    assert len(np.unique(found)) == values.size


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_of_all_bad_numbers_the_first_is_named(threads: int) -> None:
    values = np.zeros(1 << 20)
    values[[200_000, 70_000, 1_000_000]] = [3.0, 2.0, np.nan]
    with pytest.raises(InvalidArgumentError, match=r"x\[70000\] must be .* 2\.0"):
        report(values, None, lambda *_: None, np.dtype(np.uint8), clip=False, threads=threads)


@pytest.mark.parametrize("threads", [2, 5])
def test_the_failure_of_any_thread_is_raised(threads: int) -> None:
    calls = iter(range(1000))

    def draw(*_: Array) -> None:
        if next(calls) == 3:
            raise MemoryError

    with pytest.raises(MemoryError):
        report(np.zeros(1 << 20), None, draw, np.dtype(np.uint8), clip=False, threads=threads)


def test_no_thread_works_on_where_another_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start
    started: list[threading.Thread] = []

    def start_one(thread: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    rng = np.random.default_rng(1)
    with pytest.raises(RuntimeError, match="start new thread"):
        report(np.zeros(1 << 22), rng, keep_none, np.dtype(np.uint8), clip=False, threads=3)
    assert not started[0].is_alive()


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_all_threads(threads: int) -> None:
    class Interrupted(np.random.Generator):
        fills = 0

        def integers(self, *arguments: Any, **options: Any) -> Any:
            self.fills += 1
            if self.fills == 3:
                raise KeyboardInterrupt
            return super().integers(*arguments, **options)

    rng = Interrupted(np.random.PCG64(1))
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        report(np.zeros(1 << 20), rng, keep_none, np.dtype(np.uint8), clip=False, threads=threads)
    assert threading.active_count() == before
    assert rng.fills < 10  # of 64 chunks


@pytest.mark.parametrize("threads", [0, -1, 257, 1.5, None, True])
def test_a_number_of_threads_is_needed(threads: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="threads must be"):
        report([0.0], None, keep_words(1), np.dtype(np.uint64), clip=False, threads=threads)

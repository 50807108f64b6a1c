"""Sampling loop of all mechanisms: checked inputs, chunks, words in a fixed order, threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from noutput import _checks
from noutput._random import word_source
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.kernel import CHUNK

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from noutput._random import WordSource

__all__ = ["bounded_array", "check_threads", "fill", "report", "unit_array"]

MAX_THREADS = 256
_SHARED_CHUNK = (
    1 << 16
)  # values: with smaller ones, threads wait for the interpreter's lock instead

Check: TypeAlias = "Callable[[NDArray[np.generic], int], NDArray[Any]]"
"""Returns checked values of a chunk, which begins at the given place."""


def report(
    x: ArrayLike,
    rng: np.random.Generator | None,
    draw: Callable[[NDArray[np.float64], NDArray[np.uint64], NDArray[Any]], None],
    dtype: np.dtype[Any],
    *,
    clip: bool,
    bounds: tuple[float, float] = (-1.0, 1.0),
    shape: tuple[int, ...] = (),
    words_each: int = 1,
    threads: int = 1,
) -> NDArray[Any]:
    """Make one report of `dtype` and `shape` for every number; see `fill` for the rest.

    A single number gives a single report: a numpy scalar where `shape` is empty.
    """
    values = _checks.numbers("x", f"be numbers in {_checks.span(bounds)}", x)
    if values.ndim == 0:
        values = np.asarray(_checks.bounded("x", values.item(), bounds, clip=clip))
    reports: NDArray[Any] = np.empty(values.shape + shape, dtype)
    flat = reports.reshape(-1, *shape)

    def check(part: NDArray[np.generic], start: int) -> NDArray[np.float64]:
        return _bounded_chunk(part, start, bounds, clip=clip)

    fill(values, flat, rng, draw, check, words_each=words_each, threads=threads)
    result: NDArray[Any] = reports[()]
    return result


def fill(
    values: NDArray[np.generic],
    reports: NDArray[Any],
    rng: np.random.Generator | None,
    draw: Callable[[NDArray[Any], NDArray[np.uint64], NDArray[Any]], None],
    check: Check,
    *,
    words_each: int = 1,
    threads: int = 1,
) -> None:
    """Call ``draw(numbers, words, out)`` for every chunk, with what `check` makes of its values.

    The i-th number gets the words from ``i * words_each`` on, whatever the chunks and however
    many threads there are.
    """
    count = check_threads(threads)
    step = max(1, _chunk(values.size, count) // words_each)
    run = _Run(values, reports, word_source(rng), step, words_each)
    count = min(count, -(-values.size // step))
    helpers = [threading.Thread(target=run.work, args=(draw, check)) for _ in range(count - 1)]
    try:
        for helper in helpers:
            helper.start()
        run.work(draw, check)
    finally:
        run.stop()  # an interrupt, or a thread that did not start, must not leave others at work
        for helper in helpers:
            if helper.ident is not None:
                helper.join()
    try:
        if run.failures:  # every chunk before the first bad one was looked at
            raise run.failures[min(run.failures)]
    finally:
        run.failures.clear()  # a traceback must not keep the arrays alive


def check_threads(threads: object) -> int:
    """Return a number of threads, from 1 to 256."""
    return _checks.whole("threads", threads, 1, MAX_THREADS)


def _chunk(size: int, threads: int) -> int:
    """Return how many values to draw at once, so that every thread has some of few."""
    return CHUNK if threads == 1 else min(max(CHUNK, -(-size // threads)), _SHARED_CHUNK)


class _Run:
    """The chunks of one call, handed out in order, each with its words."""

    def __init__(
        self,
        values: NDArray[np.generic],
        reports: NDArray[Any],
        source: WordSource,
        step: int,
        words_each: int,
    ) -> None:
        self._flat = values.reshape(-1) if values.flags.c_contiguous else values.flat
        self._reports = reports
        self._source = source
        self._words_each = words_each
        self._step = step
        self._starts = iter(range(0, values.size, step))
        self._lock = threading.Lock()
        self.failures: dict[int, BaseException] = {}

    def stop(self) -> None:
        """Hand out no more chunks."""
        with self._lock:
            self._starts = iter(range(0))

    def _next(self, words: NDArray[np.uint64]) -> tuple[int, NDArray[np.generic]] | None:
        """Return where the next chunk starts and its values, and fill its words."""
        with self._lock:
            start = None if self.failures else next(self._starts, None)
            if start is None:
                return None
            part = self._flat[start : start + self._step]
            self._source.fill(words[: part.size * self._words_each])
            return start, part

    def work(
        self,
        draw: Callable[[NDArray[Any], NDArray[np.uint64], NDArray[Any]], None],
        check: Check,
    ) -> None:
        """Draw chunks until none is left or one has failed."""
        start = 0
        try:
            words = np.empty(min(self._step, len(self._reports)) * self._words_each, np.uint64)
            while (chunk := self._next(words)) is not None:
                start, part = chunk
                numbers = check(part, start)
                out = self._reports[start : start + part.size]
                draw(numbers, words[: part.size * self._words_each], out)
        except BaseException as failure:  # noqa: BLE001 (raised by the thread that called)
            self.failures[start] = failure


def unit_array(x: ArrayLike) -> NDArray[np.float64]:
    """Return numbers of [-1, 1] as an array of floats of the same shape (a copy)."""
    return bounded_array(x, (-1.0, 1.0))


def bounded_array(x: ArrayLike, bounds: tuple[float, float]) -> NDArray[np.float64]:
    """Return numbers between two bounds as an array of floats of the same shape (a copy)."""
    array = _checks.numbers("x", f"be numbers in {_checks.span(bounds)}", x)
    flat = array.astype(np.float64).reshape(-1)
    if flat.size:
        flat = _bounded_chunk(flat, 0, bounds, clip=False)
    return flat.reshape(array.shape)


def _bounded_chunk(
    values: NDArray[np.generic], start: int, bounds: tuple[float, float], *, clip: bool
) -> NDArray[np.float64]:
    numbers = values.astype(np.float64, copy=False)
    lower, upper = bounds
    if numbers.min() >= lower and numbers.max() <= upper:
        return numbers
    within = ~np.isnan(numbers) if clip else (numbers >= lower) & (numbers <= upper)
    bad = np.flatnonzero(~within)
    if bad.size:
        rule, value = f"be a number in {_checks.span(bounds)}", float(numbers[bad[0]])
        raise InvalidArgumentError(f"x[{start + bad[0]}]", rule, value)
    return np.clip(numbers, lower, upper)

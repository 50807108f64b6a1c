"""What every sampler shares: checked inputs, bounded memory, and words in a fixed order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noutput import _checks
from noutput._random import word_source
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.kernel import CHUNK

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["fill", "report", "unit_array"]


def report(
    x: ArrayLike,
    rng: np.random.Generator | None,
    draw: Callable[[NDArray[np.float64], NDArray[np.uint64], NDArray[Any]], None],
    dtype: np.dtype[Any],
    *,
    clip: bool,
    shape: tuple[int, ...] = (),
    words_each: int = 1,
) -> NDArray[Any]:
    """Make one report of `dtype` and `shape` for every number; see `fill` for the rest.

    A single number gives a single report: a numpy scalar where `shape` is empty.
    """
    values = np.asarray(x)
    if values.dtype.kind not in "fiu" and values.size:
        raise InvalidArgumentError("x", "be numbers in [-1, 1]", x)
    if values.ndim == 0:
        values = np.asarray(_checks.unit_value("x", values.item(), clip=clip))
    reports: NDArray[Any] = np.empty(values.shape + shape, dtype)
    fill(values, reports.reshape(-1, *shape), rng, draw, clip=clip, words_each=words_each)
    result: NDArray[Any] = reports[()]
    return result


def fill(
    values: NDArray[np.generic],
    reports: NDArray[Any],
    rng: np.random.Generator | None,
    draw: Callable[[NDArray[np.float64], NDArray[np.uint64], NDArray[Any]], None],
    *,
    clip: bool,
    words_each: int = 1,
) -> None:
    """Call ``draw(numbers, words, out)`` for every chunk.

    The i-th number gets the words from ``i * words_each`` on, whatever the chunks are.
    """
    flat = values.reshape(-1) if values.flags.c_contiguous else values.flat
    source = word_source(rng)
    step = max(1, CHUNK // words_each)
    words = np.empty(min(step, values.size) * words_each, np.uint64)
    for start in range(0, values.size, step):
        stop = min(start + step, values.size)
        numbers = _unit_chunk(flat[start:stop], start, clip=clip)
        part = words[: (stop - start) * words_each]
        source.fill(part)
        draw(numbers, part, reports[start:stop])


def unit_array(x: ArrayLike) -> NDArray[np.float64]:
    """Return numbers of [-1, 1] as an array of floats of the same shape (a copy)."""
    array = np.asarray(x)
    if array.dtype.kind not in "fiu" and array.size:
        raise InvalidArgumentError("x", "be numbers in [-1, 1]", x)
    flat = array.astype(np.float64)
    return _unit_chunk(flat.reshape(-1), 0, clip=False).reshape(array.shape) if flat.size else flat


def _unit_chunk(values: NDArray[np.generic], start: int, *, clip: bool) -> NDArray[np.float64]:
    numbers = values.astype(np.float64, copy=False)
    if numbers.min() >= -1.0 and numbers.max() <= 1.0:
        return numbers
    bad = np.flatnonzero(np.isnan(numbers) if clip else ~(np.abs(numbers) <= 1.0))
    if bad.size:
        found = float(numbers[bad[0]])
        raise InvalidArgumentError(f"x[{start + bad[0]}]", "be a number in [-1, 1]", found)
    return np.clip(numbers, -1.0, 1.0)

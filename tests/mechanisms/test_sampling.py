from __future__ import annotations

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

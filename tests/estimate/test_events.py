from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.errors import InvalidArgumentError
from noutput.estimate.events import find_event, readers_of
from noutput.estimate.low_bits import NO_BIT, lowest_bit


def test_values_seen_often_have_cells_of_their_own() -> None:
    rng = np.random.default_rng(1)
    reports = np.concatenate([rng.random(10_000), np.full(50, 0.5)])
    reader = readers_of(reports)[0]
    others = reader.counts(rng.random(10_000))
    found = reader.counts(np.full(50, 0.5))
    assert found.max() == 50
    assert others[found.argmax()] == 0


def test_reports_never_seen_before_are_read_too() -> None:
    reader = readers_of(np.array([1, 2, 3] * 10))[0]
    counts = reader.counts(np.array([0, 2, 9]))
    assert counts.sum() == 3
    assert counts.max() == 1


def test_numbers_that_hardly_repeat_are_read_by_their_lowest_bit() -> None:
    rng = np.random.default_rng(1)
    coarse = np.floor(rng.random(20_000) * 2.0**40) / 2.0**40
    fine = coarse + 2.0**-41
    readers = readers_of(np.concatenate([coarse, fine]))
    assert len(readers) == 2
    event = find_event(readers, fine, coarse)
    assert str(event).startswith("lowest set bit of report = 2^-41 (")
    assert event.count(fine) == 20_000
    assert event.count(coarse) == 0
    assert event.count(np.full(10, 2.0**-90)) == 0
    assert len(readers_of(np.array([0.1, 0.2] * 1000))) == 1


@given(st.lists(st.floats(), min_size=1))
def test_lowest_bits_of_floats(numbers: list[float]) -> None:
    found = lowest_bit(np.array(numbers)).tolist()
    for number, level in zip(numbers, found, strict=True):
        if number == 0.0 or not math.isfinite(number):
            assert level == NO_BIT
        else:
            quotient = Fraction(number) / Fraction(2) ** level
            assert quotient.denominator == 1
            assert quotient.numerator % 2 == 1


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_lowest_bits_of_whole_numbers(numbers: list[int]) -> None:
    expected = [(n & -n).bit_length() - 1 if n else NO_BIT for n in numbers]
    assert lowest_bit(np.array(numbers, np.int64)).tolist() == expected
    positive = [n % 2**64 for n in numbers]
    assert lowest_bit(np.array(positive, np.uint64)).tolist() == expected


def test_the_event_is_where_the_inputs_differ() -> None:
    rng = np.random.default_rng(1)
    likely, unlikely = rng.uniform(0.0, 1.0, 20_000), rng.uniform(0.5, 1.5, 20_000)
    event = find_event(readers_of(np.concatenate([likely, unlikely])), likely, unlikely)
    assert event.count(np.linspace(0.01, 0.45, 100)) == 100
    assert event.count(np.linspace(0.55, 1.5, 100)) == 0
    assert str(event).startswith("report in [")


def test_bits_that_tell_nothing_are_left_out() -> None:
    rng = np.random.default_rng(1)
    likely = rng.random((5000, 40)) < 0.5
    unlikely = rng.random((5000, 40)) < 0.5
    likely[:, 7] |= rng.random(5000) < 0.6
    event = find_event(readers_of(likely), likely, unlikely)
    assert str(event) == "bit 7 = 1"


def test_packed_bits_count_like_plain_ones() -> None:
    bits = (np.random.default_rng(1).random((300, 16)) < 0.3).astype(np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    plain_reader, packed_reader = readers_of(bits)[0], readers_of(packed)[0]
    assert np.array_equal(plain_reader.counts(bits), packed_reader.counts(packed))
    scores = np.random.default_rng(2).normal(size=32)
    expected = scores[2 * np.arange(16) + bits].sum(axis=1)
    assert plain_reader.score(bits, scores) == pytest.approx(expected)
    assert packed_reader.score(packed, scores) == pytest.approx(expected)


def test_reports_of_unknown_kind_are_refused() -> None:
    for reports in (np.zeros((4, 2)), np.array(["a"]), np.zeros((2, 2, 2)), np.array([[300, 2]])):
        with pytest.raises(InvalidArgumentError, match="rows of bits"):
            readers_of(reports)

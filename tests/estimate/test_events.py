from __future__ import annotations

import numpy as np
import pytest

from noutput.errors import InvalidArgumentError
from noutput.estimate.events import find_event, readers_of


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

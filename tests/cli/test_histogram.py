from __future__ import annotations

import sys
from io import BytesIO, TextIOWrapper
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noutput._numbers import round_edges
from noutput.cli.histogram import MARK, draw_bars, encodable

shares = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_edges_divide_the_bounds(lower: float, width: float) -> None:
    upper = lower + width
    assume(lower < upper)
    edges = round_edges(lower, upper)
    assert edges[0] == lower
    assert edges[-1] == upper
    assert edges == sorted(set(edges))
    assert 2 <= len(edges) <= 22
    inner = [high - low for low, high in pairwise(edges[1:-1])]
    assert all(step == pytest.approx(inner[0], rel=1e-3) for step in inner)


@given(shares, st.integers(40, 120), st.booleans())
def test_lines_fill_the_width(values: list[float], width: int, known: bool) -> None:
    edges = list(range(len(values) + 1))
    text = draw_bars(edges, values, values if known else None, width=width)
    assert {len(line) for line in text.splitlines()} == {width}


def test_longer_bars_are_larger_shares() -> None:
    text = draw_bars([0, 1, 2, 3], [0.1, 0.4, 0.2], width=60)
    lengths = [line.count("█") for line in text.splitlines()]
    assert lengths[1] > lengths[2] > lengths[0]


def test_the_truth_is_marked_where_it_belongs() -> None:
    text = draw_bars([0, 1, 2], [0.5, 0.5], [0.0, 1.0], width=60)
    first, last = (line.index(MARK) for line in text.splitlines()[1:])
    assert first == len("0 to 1  ")
    assert last > first + 20


def test_narrow_terminals_still_get_bars() -> None:
    assert "█" in draw_bars([0, 1], [1.0], width=5)


def test_plain_characters_where_there_are_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(BytesIO(), encoding="ascii"))
    text = draw_bars([0, 1, 2], [0.3, 0.7], [0.4, 0.6], width=50)
    assert text.isascii()
    assert "#" in text
    assert encodable(MARK) == "|"


def test_all_empty_bins_are_no_fault() -> None:
    assert draw_bars([0, 1, 2], [0.0, 0.0]).count("0.0%") == 2

"""Labels of the picture: none stands on another, on a line, or over the edge, for any shape."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput._numbers import tick_labels, ticks
from noutput.collector.dashboard import words
from noutput.collector.dashboard.chart import NARROW, WIDE, Size, distribution_svg
from noutput.collector.dashboard.labels import place_labels
from noutput.estimate.summary import Estimate, Histogram

LETTER = 8.2  # about the width of a bold one at this size, in a wide font
TEXT = re.compile(
    r'<text class="chart-(\w+)" x="([\d.-]+)" y="([\d.]+)" text-anchor="(\w+)"[^>]*>([^<]*)<'
)
LINE = re.compile(r'<line class="chart-mark" x1="([\d.]+)" x2="[\d.]+" y1="([\d.]+)" y2="([\d.]+)"')


def draw(
    quartiles: tuple[float, float, float],
    bounds: tuple[float, float],
    size: Size,
    unit: str = "minutes",
) -> str:
    """Draw an estimate whose bars follow its quartiles."""
    edges = np.linspace(*bounds, 19)
    cdf = np.interp(edges, [bounds[0], *quartiles, bounds[1]], [0, 0.25, 0.5, 0.75, 1])
    shares = np.diff(cdf)
    width = (bounds[1] - bounds[0]) / 100.0
    columns = (edges, shares, 0.8 * shares, 1.2 * shares)
    found = Histogram(*(column.tolist() for column in columns))
    figures = {
        share: Estimate(value, value - width, value + width)
        for share, value in zip((0.25, 0.5, 0.75), quartiles, strict=True)
    }
    return distribution_svg(found, figures, unit, size)


def boxes(picture: str, kind: str) -> list[tuple[float, float, float, float, str]]:
    """Return left, right, top and bottom of every text of a kind, and the text."""
    found = []
    for name, x, y, anchor, text in TEXT.findall(picture):
        if name == kind:
            width = LETTER * len(text) if kind == "strong" else 7.6 * len(text)
            left = float(x) - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
            found.append((left, left + width, float(y) - 10, float(y) + 2, text))
    return found


def check(picture: str, size: Size) -> int:
    """Check a picture; return how many quartiles have a label."""
    labels = boxes(picture, "strong")
    lines = [tuple(map(float, found)) for found in LINE.findall(picture)]
    assert len(lines) == 3
    for left, right, top, bottom, text in labels:
        assert left >= 0, text
        assert right <= size.width, text
        assert top >= 0
        for x, start, end in lines:
            assert not (left < x < right and start < bottom and top < end), (text, x)
    for a, b in combinations(labels, 2):
        assert a[1] < b[0] or b[1] < a[0] or a[3] < b[2] or b[3] < a[2], (a, b)
    below = [box for box in boxes(picture, "muted") if not box[4].endswith("%")]
    for a, b in combinations(sorted(below), 2):
        assert a[1] < b[0] or abs(a[2] - b[2]) > 10, (a, b)
    assert all(box[1] <= size.width + 1 for box in below)
    return len(labels)


SHAPES = {
    "usual": (16.0, 29.0, 45.0), "skewed": (1.0, 3.0, 6.0), "skewed up": (170.0, 176.0, 179.0),
    "spike": (90.0, 90.0, 90.0), "spike at the start": (0.1, 0.2, 0.3),
    "spike at the end": (179.7, 179.8, 179.9), "both ends": (0.2, 90.0, 179.9),
    "start and middle": (0.2, 0.4, 90.0), "middle and end": (90.0, 179.0, 179.5),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_every_shape_has_room_for_its_labels(shape: str, size: Size) -> None:
    picture = draw(SHAPES[shape], (0.0, 180.0), size)
    assert check(picture, size) == 3


@pytest.mark.parametrize(
    "bounds",
    [(0.0, 1.5e6), (1e6, 1e6 + 1.0), (-1e15, 1e15), (1e-9, 2e-9), (-40.0, 50.0), (0.0, 7.77)],
)  # fmt: skip
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_bounds_of_any_size_have_room(bounds: tuple[float, float], size: Size) -> None:
    low, width = bounds[0], bounds[1] - bounds[0]
    for shares in ((0.02, 0.04, 0.07), (0.25, 0.5, 0.75), (0.94, 0.96, 0.99)):
        quartiles = (low + shares[0] * width, low + shares[1] * width, low + shares[2] * width)
        picture = draw(quartiles, bounds, size, unit="W" * 64)
        assert check(picture, size) >= 1


@given(
    shares=st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted),
    widths=st.lists(st.floats(20, 220), min_size=3, max_size=3),
    room=st.sampled_from([380.0, 960.0]),
)
def test_labels_touch_nothing(shares: list[float], widths: list[float], room: float) -> None:
    lines = [46 + share * (room - 64) for share in shares]
    found = place_labels(lines, widths, (0.0, room))
    placed = [each for each in found if each is not None]
    for a, b in combinations(placed, 2):
        assert not a.touches(b)
        assert not b.touches(a)
    assert all(each.is_within((0.0, room)) for each in placed)
    if max(widths) <= 120:  # what labels on a phone have
        assert len(placed) == 3


def test_ticks_can_be_told_apart() -> None:
    for low, high in ((0.0, 180.0), (1e6, 1e6 + 1), (0.0, 1.5e6), (-1e15, 1e15), (1e-9, 2e-9)):
        texts = tick_labels(ticks(low, high, 6))
        assert len(set(texts)) == len(texts)
    assert tick_labels([1_500_000.0]) == ["1,500,000"]


@pytest.mark.parametrize(
    ("name", "unit", "label", "beside"),
    [("mb", "MB", "MB", ""), ("used_mb", "MB", "used MB", ""), ("minutes", "min", "minutes", "min"),
     ("rides", "", "rides", ""), ("wait_time", "ms", "wait time", "ms"),
     ("energy_kwh", "kWh", "energy kWh", ""), ("cost_us_dollars", "US dollars",
      "cost US dollars", ""), ("mbs", "MB", "mbs", "MB")],
)  # fmt: skip
def test_a_unit_is_said_once(name: str, unit: str, label: str, beside: str) -> None:
    assert words.label(name, unit) == label
    assert words.unit_beside(name, unit) == beside

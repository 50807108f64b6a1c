"""Places: between neighbors, every mechanism's rows are mixtures of theirs."""

from __future__ import annotations

import numpy as np
import pytest

from noutput.estimate.slack import places as goals_of
from noutput.estimate.slack.places import NARROW, Places
from noutput.mechanisms.direct_encoding import DirectEncoding
from tests.registered import NAMES, make

CHANNELS = [name for name in NAMES if hasattr(make(name, 1.0), "corners")]


@pytest.mark.parametrize("name", CHANNELS)
def test_rows_are_linear_between_places(name: str) -> None:
    channel = make(name, 1.0)
    x = Places(channel, (0.3, -0.77)).x
    assert (x[0], x[-1]) == (-1.0, 1.0)
    assert np.all(np.diff(x) > 0.0)
    wide = np.diff(x) > NARROW
    start, end = x[:-1][wide], x[1:][wide]
    for share in (0.1, 0.5, 0.7):
        rows = channel.probabilities(start + share * (end - start))
        mixed = (1.0 - share) * channel.probabilities(start) + share * channel.probabilities(end)
        np.testing.assert_allclose(rows, mixed, atol=1e-8)


def test_direct_encoding_has_cells_with_jumps() -> None:
    places = Places(DirectEncoding(1.0, 4))
    starts = places.x[places.starts_cell]
    np.testing.assert_allclose(starts, [-0.5, 0.0, 0.5], atol=1e-5)


@pytest.mark.parametrize("name", ["n-output-distribution", "pm", "direct-encoding", "duchi"])
def test_statistics_lie_between_the_two_functions(name: str) -> None:
    places = Places(make(name, 1.0), (0.3, -0.5))
    rng = np.random.default_rng(1)
    x = np.sort(np.concatenate([rng.uniform(-1.0, 1.0, 500), places.x[~places.starts_cell]]))
    known = {
        "mean": (goals_of.position(places), x),
        "square": (goals_of.distance(places, 0.2), (x - 0.2) ** 2),
        "function": (goals_of.expected(places, np.cos), np.cos(x)),
        "below": (goals_of.below(places, 0.3), (x < 0.3).astype(float)),
        "up to": (goals_of.below(places, 0.3), (x <= 0.3).astype(float)),
        "between": (goals_of.between(places, -0.5, 0.3), ((x >= -0.5) & (x < 0.3)).astype(float)),
    }
    # within 2^-15 below a cell's start, numbers may count on either side
    gap = np.searchsorted(places.x, x)
    clear = ~np.append(places.starts_cell, False)[gap] | np.isin(x, places.x)
    for text, (goal, values) in known.items():
        assert np.all(np.interp(x, places.x, goal.upper)[clear] >= values[clear] - 1e-6), text
        assert np.all(np.interp(x, places.x, goal.lower)[clear] <= values[clear] + 1e-6), text

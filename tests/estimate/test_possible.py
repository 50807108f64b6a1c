"""Intervals end where nothing is possible any more, and cover as often as before."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noutput as no
from noutput.estimate.summary import summarize
from tests.estimate.samples import sixteen
from tests.tables import window_table

MINUTES = no.Interval(0.0, 180.0)
ASKED = no.Number(0.0, 180.0, "minutes")
LEVELS = st.floats(0.01, 0.999)


@given(
    counts=st.lists(st.integers(0, 40), min_size=16, max_size=16).filter(lambda c: sum(c) > 1),
    epsilon=st.sampled_from([0.5, 1.0, 3.0]),
    kind=st.sampled_from(["normal", "guaranteed"]),
    of=st.sampled_from(["population", "respondents"]),
    level=LEVELS,
    truth=st.floats(0.0, 180.0),
)
def test_the_interval_of_the_mean_lies_within_the_bounds(
    counts: list[int], epsilon: float, kind: str, of: str, level: float, truth: float
) -> None:
    table = sixteen(epsilon)
    found = no.estimate_mean(table, no.Tally(table.fingerprint, tuple(counts)), MINUTES)
    low, high = found.interval(level, kind=kind, of=of)
    assert 0.0 <= low <= high <= 180.0
    wide_low, wide_high = replace(found, bounds=None).interval(level, kind=kind, of=of)
    if wide_low <= truth <= wide_high:
        assert low <= truth <= high
    if 0.0 <= found.value <= 180.0:
        assert (low, high) == (max(wide_low, 0.0), min(wide_high, 180.0))
    half = found.half_width(level, kind=kind, of=of)
    assert high - low >= min(half, 180.0) * (1.0 - 1e-12)


def test_twenty_reports_say_little_and_nothing_impossible() -> None:
    table = sixteen(1.0)
    counts = np.bincount(np.arange(20) % 16, minlength=16).tolist()
    found = no.estimate_mean(table, no.Tally(table.fingerprint, tuple(counts)), MINUTES)
    low, high = replace(found, bounds=None).interval(kind="guaranteed")
    assert high - low > 4.0 * 180.0
    assert found.interval(kind="guaranteed") == (0.0, 180.0)


def test_several_means_stay_within_their_own_bounds() -> None:
    table = window_table(1.0, 2, 2, 0.5)
    tallies = [no.Tally(table.fingerprint, counts) for counts in ((2, 3), (4, 1))]
    bounds = [no.Interval(-5.0, 5.0), no.Interval(100.0, 101.0)]
    found = no.estimate_means(table, tallies, bounds)
    low, high = found.interval(kind="guaranteed", simultaneous=True)
    assert (low.tolist(), high.tolist()) == ([-5.0, 100.0], [5.0, 101.0])
    low, high = found.interval()
    assert np.all((low >= [-5.0, 100.0]) & (low <= high) & (high <= [5.0, 101.0]))


@pytest.mark.parametrize("method", ["em", "mle", "gp"])
@pytest.mark.parametrize("counts", [(0, 2), (1, 1), (3, 0), (30, 12)])
def test_all_that_is_summarized_is_possible(method: str, counts: tuple[int, int]) -> None:
    table = window_table(0.5, 2, 2, 0.5)
    found = summarize(table, no.Tally(table.fingerprint, counts), ASKED, method=method, bins=16)
    content = json.loads(json.dumps(found.to_dict()))
    for name in ("interval", "guaranteed_interval", "respondents_interval"):
        low, high = content["mean"][name]
        assert 0.0 <= low <= high <= 180.0
    for name, most in (("variance", 8100.0), ("standard_deviation", 90.0)):
        low, high = content[name]["interval"]
        assert 0.0 <= low <= high <= most
        assert content[name]["value"] <= most
    for each in content["quartiles"]:
        assert 0.0 <= each["interval"][0] <= each["interval"][1] <= 180.0
    for statistic in ("bins", "cdf"):
        lows, highs = map(np.asarray, found.distribution.interval(statistic))
        assert np.all((lows >= 0.0) & (lows <= highs) & (highs <= 1.0))

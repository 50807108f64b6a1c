"""Groups of people: differences that cover together, and means of a known population."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import noutput as no
from noutput.errors import InvalidArgumentError
from noutput.estimate.mean import MeanEstimate

LETTERS = "abcdef"


def normal_estimate(value: float, error: float, bias: float = 0.0) -> MeanEstimate:
    return MeanEstimate(value, error, error, 1000, 8.0, bias_bound=bias)


def test_differences_cover_together() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(size=6)
    errors = rng.uniform(0.3, 2.0, size=6)
    hits = 0
    for _ in range(1000):
        values = truth + errors * rng.normal(size=6)
        groups = {
            name: normal_estimate(value, error)
            for name, value, error in zip(LETTERS, values, errors, strict=True)
        }
        true = dict(zip(LETTERS, truth, strict=True))
        found = no.compare_groups(groups)
        hits += all(each.low <= true[each.first] - true[each.second] <= each.high for each in found)
    assert 935 <= hits <= 985  # Tukey and Kramer are a little conservative for unequal groups


def test_estimates_beyond_what_is_possible_are_not_certain() -> None:
    below = MeanEstimate(-9.0, 0.1, 0.1, 1000, 8.0, no.Interval(0, 1))
    above = replace(below, value=9.0)
    (found,) = no.compare_groups({"below": below, "above": above})
    assert (found.value, found.low) == (-18.0, -1.0)
    assert found.high == pytest.approx(-1.0 + 0.196 * 2.0**0.5, abs=1e-3)
    low, high = no.standardize({"one": below, "other": below}, {"one": 1, "other": 1}).interval()
    assert low == 0.0
    assert high == pytest.approx(0.196 / 2.0**0.5, abs=1e-3)


def test_two_groups_are_an_ordinary_interval() -> None:
    groups = {"a": normal_estimate(1.0, 0.3), "b": normal_estimate(0.0, 0.4)}
    (found,) = no.compare_groups(groups)
    assert found.high - found.low == pytest.approx(2 * 1.959964 * 0.5)
    assert not found.is_clear or abs(found.value) > found.high - found.value


def test_bias_bounds_add_up() -> None:
    plain = {"a": normal_estimate(1.0, 0.3), "b": normal_estimate(0.0, 0.4)}
    biased = {"a": normal_estimate(1.0, 0.3, 0.2), "b": normal_estimate(0.0, 0.4, 0.1)}
    (narrow,), (wide,) = no.compare_groups(plain), no.compare_groups(biased)
    assert wide.high - wide.low > narrow.high - narrow.low + 0.3


def test_reference() -> None:
    groups = {name: normal_estimate(index, 0.1) for index, name in enumerate("abc")}
    found = no.compare_groups(groups, reference="b")
    assert [(each.first, each.second) for each in found] == [("a", "b"), ("c", "b")]


def slack_groups() -> dict[str, MeanEstimate]:
    m = no.design(4.0, 64, objective="distribution").mechanism
    rng = np.random.default_rng(1)
    return {
        name: no.estimate_mean(m, no.Tally.of(m, m.privatize(np.full(20_000, x), rng=rng)), (0, 10))
        for name, x in (("low", -0.9), ("high", 0.6))
    }


def test_slack_estimates_are_compared_by_one_threshold_or_by_their_own_intervals() -> None:
    groups = slack_groups()
    assert all(each.method == "slack" for each in groups.values())
    (found,) = no.compare_groups(groups, level=0.9)
    low, high = (groups[name].interval(0.95) for name in ("low", "high"))
    ends = low[0] - high[1], low[1] - high[0]
    assert ends[0] < found.low < found.value < found.high < ends[1]
    assert found.high - found.low < 0.9 * (ends[1] - ends[0])
    assert found.is_clear
    beside = groups | {"other": normal_estimate(5.0, 0.1)}  # nothing to share a threshold with
    found, *_ = no.compare_groups(beside, level=0.85)
    assert (found.low, found.high) == pytest.approx(ends)
    many = {f"{name}{number}": each for name, each in groups.items() for number in range(7)}
    (found,) = (each for each in no.compare_groups(many, level=0.3)
                if (each.first, each.second) == ("low0", "high0"))  # fmt: skip
    assert (found.low, found.high) == pytest.approx(ends)
    mean = no.standardize(groups, {"low": 1, "high": 1})
    assert mean.interval(0.9) == ((low[0] + high[0]) / 2, (low[1] + high[1]) / 2)


def test_differences_end_where_they_can_be() -> None:
    bounds = no.Interval(0, 10)
    groups = {
        name: MeanEstimate(value, 5.0, 5.0, 100, 8.0, bounds)
        for name, value in (("a", 9), ("b", 1))
    }
    (found,) = no.compare_groups(groups)
    assert found.high == 10.0
    assert no.standardize(groups, {"a": 1, "b": 0}).interval()[1] == 10.0


def test_standardized_mean_covers() -> None:
    rng = np.random.default_rng(6)
    truth = {"a": 1.0, "b": 3.0, "c": -2.0}
    shares = {"a": 10, "b": 70, "c": 20}
    hits = 0
    for _ in range(1500):
        groups = {name: normal_estimate(x + 0.5 * rng.normal(), 0.5) for name, x in truth.items()}
        low, high = no.standardize(groups, shares).interval()
        hits += low <= 1.8 <= high
    assert 0.935 < hits / 1500 < 0.965


def test_guaranteed_standardized_mean_is_the_sum_of_guaranteed_ones() -> None:
    groups = {name: normal_estimate(1.0, 0.5) for name in "ab"}
    mean = no.standardize(groups, {"a": 0.25, "b": 0.75})
    assert mean.interval(0.9, kind="guaranteed") == pytest.approx(
        groups["a"].interval(0.95, kind="guaranteed")
    )
    assert mean.bias_bound == 0.0


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"a": 1.0}, r"shares must have the names \['a', 'b'\]"),
        ({"a": 1.0, "b": -1.0}, r"shares\['b'\] must be finite and at least 0"),
        ({"a": 0.0, "b": 0.0}, "shares must add up to more than 0"),
    ],
)
def test_bad_shares(shares: dict[str, float], message: str) -> None:
    groups = {name: normal_estimate(1.0, 0.5) for name in "ab"}
    with pytest.raises(InvalidArgumentError, match=message):
        no.standardize(groups, shares)


def test_bad_groups() -> None:
    with pytest.raises(InvalidArgumentError, match="groups must be at least two"):
        no.compare_groups({"a": normal_estimate(1.0, 0.5)})
    with pytest.raises(InvalidArgumentError, match="reference"):
        no.compare_groups({name: normal_estimate(1.0, 0.5) for name in "ab"}, reference="c")

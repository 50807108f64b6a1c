"""What plans forecast against campaigns of people that are like none of the shapes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import noutput as no
from noutput.planner.expectation import expect
from noutput.planner.forecast import interval_widths, wasserstein_error
from noutput.planner.shapes import SHAPES, Shape

UNIT = no.Interval(-1, 1)
BINS = 128
STATISTICS = ("mean", "lower quartile", "median", "share below the middle", "share of a quarter")


def held_back() -> dict[str, Shape]:
    """Return populations that no plan simulates."""
    x = (np.arange(BINS) + 0.5) / BINS

    def shape(density: np.ndarray, *spikes: tuple[float, float]) -> Shape:
        left = max(1.0 - sum(share for _, share in spikes), 0.0)
        return Shape("", tuple((left * density / density.sum()).tolist()), spikes)

    commute = np.exp(-0.5 * (np.log(x / 0.2) / 0.6) ** 2) / x
    humps = 0.7 * np.exp(-0.5 * ((x - 0.3) / 0.05) ** 2) / 0.05
    humps += 0.3 * np.exp(-0.5 * ((x - 0.78) / 0.1) ** 2) / 0.1
    stars = zip(np.linspace(-1.0, 1.0, 5).tolist(), (0.05, 0.05, 0.15, 0.35, 0.4), strict=True)
    return {
        "commute": shape(commute),
        "beta": shape(x * (1.0 - x) ** 4),
        "unequal humps": shape(humps),
        "low end": shape(np.exp(-x / 0.06)),
        "zeros": shape(commute, (-1.0, 0.3)),
        "half zeros": shape(np.exp(-x / 0.15), (-1.0, 0.5)),
        "three spikes": shape(np.ones(1), (-0.45, 0.4), (0.05, 0.35), (0.6, 0.25)),
        "stars": shape(np.ones(1), *stars),
        "triangle": shape(1.0 - np.abs(2.0 * x - 1.0)),
        "middle": shape((np.abs(x - 0.5) < 0.25).astype(float)),
    }


CELLS = [(1.0, 20_000), (4.0, 20_000), (1.0, 200_000)]


@cache
def table(epsilon: float) -> no.TableMechanism:
    return no.design(epsilon).mechanism


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "people"), CELLS)
def test_forecasts_contain_what_populations_that_were_held_back_cause(
    epsilon: float, people: int
) -> None:
    mechanism = table(epsilon)
    plan = expect(mechanism, people, UNIT)
    low, high = plan.wasserstein_range
    inside = []
    for shape in held_back().values():
        inside.append(low <= wasserstein_error(mechanism, people, shape) <= high)
        found = interval_widths(mechanism, people, shape, 20)
        shown = [
            np.median([getattr(each, name) for each in found])
            for name in ("mean", "quartile", "median", "below_middle", "quarter")
        ]
        ends = [plan.interval_widths[name] for name in STATISTICS]
        inside += [a <= width <= b for width, (a, b) in zip(shown, ends, strict=True)]
    assert len(inside) == 60
    assert np.mean(inside) >= 0.9


def test_shapes_are_distributions() -> None:
    for shape in SHAPES.values():
        masses = sum(shape.weights) + sum(share for _, share in shape.spikes)
        assert masses == pytest.approx(1.0)
        assert shape.below(np.array([1.0]))[0] == pytest.approx(1.0)
        assert shape.chances(table(1.0)).sum() == pytest.approx(1.0)


def test_spikes_are_forecast_with_larger_errors_than_smooth_shapes() -> None:
    errors = dict(expect(table(1.0), 20_000, UNIT).wasserstein_errors)
    assert errors["few values"] > 1.5 * max(
        errors[name] for name in ("even", "one hump", "two humps", "skewed")
    )


def test_a_prior_is_the_only_shape() -> None:
    found = expect(table(4.0), 5_000, no.Interval(0, 10), np.array([0.2, 0.5, 0.3]))
    assert [name for name, _ in found.shapes] == ["prior"]
    for low, high in found.interval_widths.values():
        assert 0.0 < low <= high <= 10.0
    assert 2 <= found.bars[0] <= found.bars[1] <= 20

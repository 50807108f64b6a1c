"""Intervals of distributions, in the user's units."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import noutput as no
from noutput.errors import InvalidArgumentError
from noutput.estimate.intervals import Intervals
from tests.estimate.samples import campaigns, population, sixteen

BOUNDS = no.Interval(0.0, 180.0)


@lru_cache
def found(
    people: int = 20_000, shape: str = "two-humped", bins: int = 16
) -> no.DistributionEstimate:
    table = sixteen(3.0)
    counts = campaigns(table, shape, people, 1, np.random.default_rng(1))[0].tolist()
    return no.estimate_distribution(
        table, no.Tally(table.fingerprint, tuple(counts)), bins, bounds=BOUNDS
    )


def people() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return (population("two-humped") + 1.0) * 90.0


def test_every_statistic_holds_the_truth() -> None:
    x = people()
    edges = found().edges
    truths = {
        "mean": x.mean(),
        "variance": x.var(),
        "bins": np.histogram(x, edges)[0] / x.size,
        "cdf": np.array([*(np.mean(x < edge) for edge in edges[:-1]), 1.0]),
        "quantile": np.quantile(x, [0.05, 0.25, 0.5, 0.75, 0.95]),
    }
    for statistic, truth in truths.items():
        low, high = found().interval(statistic)
        assert np.all((np.asarray(low) <= truth) & (truth <= np.asarray(high))), statistic
    low, high = found().interval(lambda x: x**2)
    assert low < np.mean(x**2) < high
    low, high = found().interval("share", (45.0, 90.0))
    assert low < np.mean((x >= 45.0) & (x < 90.0)) < high


def test_shapes_are_those_of_what_is_asked() -> None:
    assert isinstance(found().interval("cdf", 30.0)[0], float)
    assert isinstance(found().interval("quantile", 0.5)[1], float)
    assert isinstance(found().interval("share", (0.0, 30.0))[0], float)
    for statistic, at, shape in (
        ("cdf", [[30.0, 60.0], [90.0, 100.0]], (2, 2)),
        ("quantile", [0.5, 0.6], (2,)),
        ("share", [(0.0, 30.0), (1.0, 2.0), (5.0, 180.0)], (3,)),
    ):
        low, high = found().interval(statistic, at)
        assert np.shape(low) == np.shape(high) == shape


def test_methods_make_no_difference() -> None:
    table = sixteen(3.0)
    tally = found()._tally
    for method in ("em", "mle"):
        other = no.estimate_distribution(table, tally, 16, method, bounds=BOUNDS)
        assert other.interval("cdf", 40.0) == found().interval("cdf", 40.0)


def test_nobody_is_outside_of_the_bounds() -> None:
    low, high = found().interval("cdf", [-5.0, 0.0, 180.0, 1e9])
    assert np.array_equal(low, [0.0, 0.0, 1.0, 1.0])
    assert np.array_equal(high, low)
    assert found().interval("share", (-10.0, 1e6)) == (1.0, 1.0)


def test_a_higher_level_is_wider_and_guaranteed_ones_are_wider_still() -> None:
    widths = [
        np.subtract(*found().interval("cdf", 60.0, level=level, kind=kind)[::-1])
        for level, kind in ((0.5, "slack"), (0.95, "slack"), (0.95, "guaranteed"))
    ]
    assert widths == sorted(widths)


def test_few_reports_have_guaranteed_intervals() -> None:
    few = found(99)
    assert few.interval("mean") == few.interval("mean", kind="guaranteed")
    assert Intervals(sixteen(3.0), few._tally, BOUNDS).kind == "guaranteed"


def test_many_bins_are_fitted_in_parts() -> None:
    many = found(bins=256)
    low, high = map(np.asarray, many.interval("bins"))
    assert low.shape == high.shape == (256,)
    assert np.all((low >= 0.0) & (low <= high) & (high <= 1.0))


def test_rounded_numbers_meet_the_cells_of_a_table() -> None:
    """Edges that are no binary fractions of the bounds are those of the cells all the same."""
    m = no.design(2.0, 64, objective="distribution").mechanism
    tally = no.Tally(m.fingerprint, (50,) * 64)
    bounds = no.Interval(0.1, 0.7)
    at = 0.1 + 0.6 * np.arange(1, 64) / 64
    ours = Intervals(m, tally, bounds, named=at)
    exact = Intervals(m, tally, no.Interval(0, 64), named=np.arange(1, 64))
    assert np.allclose(ours.cdf(at), exact.cdf(np.arange(1, 64)))


def too_few(x: np.ndarray) -> np.ndarray:
    return x[:1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"statistic": "median"}, "statistic must be"),
        ({"statistic": "mean", "at": 3.0}, "at must be left out"),
        ({"statistic": "share"}, "at must be a pair"),
        ({"statistic": "share", "at": (3.0, 2.0)}, "at must be a pair"),
        ({"statistic": "share", "at": (1.0, 2.0, 3.0)}, "at must be a pair"),
        ({"statistic": "quantile", "at": 1.5}, "at must lie between 0 and 1"),
        ({"statistic": "cdf", "at": "x"}, "at must be numbers"),
        ({"level": 1.0}, "level"),
        ({"kind": "bootstrap"}, "kind must be"),
        ({"statistic": too_few}, "statistic must return as many finite numbers"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        found().interval(**arguments)  # type: ignore[call-overload]

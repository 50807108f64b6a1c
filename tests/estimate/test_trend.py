"""Trends: the mixture of models against brute force, and what bands cover."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import benchmarks.trends
import noutput as no
from benchmarks.trends import GOALS, Series
from noutput.errors import InvalidArgumentError
from noutput.estimate import trend_models
from noutput.estimate.trend import Course
from noutput.estimate.trend_models import Forecast, posterior

ROUNDS = 30


def covariances(
    models: trend_models._Models, noise: np.ndarray, cycle: int | None
) -> Iterator[np.ndarray]:
    """Return the covariance of the estimates under every model, entry by entry."""
    t = np.arange(len(noise))
    rows = trend_models._regressors(t.astype(float), cycle)
    lag = np.abs(np.subtract.outer(t, t))
    for model in zip(*models, strict=True):
        persistence, step, nugget, start, _ = model
        moving = step * np.minimum.outer(t, t)
        if persistence < 1.0:
            moving = start[1] * persistence**lag
        fixed = np.where(np.arange(len(start)) == 1, 0.0, start)
        yield rows * fixed @ rows.T + moving + nugget * np.eye(len(t)) + np.diag(noise)


@pytest.mark.parametrize("cycle", [None, 2, 3, 4])
def test_smoother_is_that_of_dense_algebra(cycle: int | None) -> None:
    """Evidence, means and variances of true values, and what a jump adds, for every model."""
    rng = np.random.default_rng(3)
    y, noise = rng.normal(size=7), rng.uniform(0.5, 2.0, size=7)
    models, rows = trend_models._Models.grid(cycle), trend_models._regressors(np.arange(7.0), cycle)
    smoothed = trend_models._smooth(models, rows, y, noise)
    u = (np.arange(7) >= 4).astype(float)
    for index, covariance in enumerate(covariances(models, noise, cycle)):
        inverse = np.linalg.inv(covariance)
        evidence = -0.5 * (np.linalg.slogdet(covariance)[1] + y @ inverse @ y)
        dense = [y - noise * (inverse @ y), noise - noise**2 * np.diag(inverse)]
        np.testing.assert_allclose(smoothed.evidence[index], evidence, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(smoothed.means[:, index], dense[0], atol=1e-6)
        np.testing.assert_allclose(smoothed.variances[:, index], dense[1], atol=1e-6)
        np.testing.assert_allclose(smoothed.pull[4, index], u @ inverse @ y, atol=1e-6)
        np.testing.assert_allclose(smoothed.pull_variance[4, index], u @ inverse @ u, atol=1e-6)


def test_average_over_models_and_jumps_is_that_of_dense_algebra() -> None:
    """A jump is smoothed with its model where it matters."""
    rng = np.random.default_rng(5)
    y, noise = rng.normal(size=6), rng.uniform(0.5, 2.0, size=6)
    y[3:] += 12.0
    models = trend_models._Models.grid(None)
    logs, means, jumped = [], [], []
    plain = list(covariances(models, noise, None))
    steps = [(0, 0.0)] + [(before, size) for size in (4.0, 16.0) for before in range(1, 6)]
    for before, size in steps:
        u = (np.arange(6) >= before).astype(float)
        share = 0.3 / 10 if size else 0.7
        for model, covariance in enumerate(plain):
            full = covariance + size**2 * np.outer(u, u)
            solved = np.linalg.solve(full, y)
            log = models.log_weight[model] - 0.5 * (np.linalg.slogdet(full)[1] + y @ solved)
            logs.append(log + np.log(share))
            means.append(y - noise * solved)
            jumped.append(before)
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    found = posterior(y, noise, None)
    np.testing.assert_allclose(
        found.jumps[1:], np.bincount(jumped, weights, 6)[1:], rtol=1e-5, atol=1e-9
    )
    mean, exact = found.weights @ found.means, weights @ np.array(means)
    np.testing.assert_allclose(mean, exact, atol=0.06)  # what is dropped has 2% of the weight
    assert found.jumps.argmax() == 3


def test_surprises_of_forecasts_are_those_of_dense_algebra() -> None:
    """One round ahead, with a round missing, on the scale of normal numbers."""
    rng = np.random.default_rng(8)
    y, noise = 2.0 * rng.normal(size=6), rng.uniform(0.5, 2.0, size=6)
    at = np.array([0, 1, 2, 4, 5])
    models = trend_models._Models.grid(None)
    forecast = Forecast(None)
    surprises = [forecast.surprise(int(t), float(y[t]), float(noise[t])) for t in at]
    plain = list(covariances(models, noise, None))
    for number, t in enumerate(at):
        past = at[:number]
        below, total = 0.0, 0.0
        for log_weight, covariance in zip(models.log_weight, plain, strict=True):
            before = covariance[np.ix_(past, past)]
            solved = np.linalg.solve(before, covariance[past, t])
            deviation = math.sqrt(covariance[t, t] - covariance[past, t] @ solved)
            log = log_weight - 0.5 * float(y[past] @ np.linalg.solve(before, y[past]))
            weight = math.exp(log - 0.5 * float(np.linalg.slogdet(before)[1]))
            below += weight * NormalDist().cdf((y[t] - solved @ y[past]) / deviation)
            total += weight
        np.testing.assert_allclose(
            surprises[number], NormalDist().inv_cdf(below / total), atol=1e-5
        )


def simulated(shape: str, repetitions: int, cycle: int | None = None) -> tuple[float, float]:
    """Return the error as a multiple of that of single rounds, and the share that bands cover."""
    rng = np.random.default_rng(11)
    at = np.arange(ROUNDS)
    errors, covered = [], []
    for _ in range(repetitions):
        truth = {
            "constant": np.zeros(ROUNDS),
            "linear": 0.2 * at,
            "weekly": 2.0 * np.sin(2.0 * np.pi * at / 7.0 + rng.uniform(0.0, 6.0)),
            "jump": 3.0 * (at >= rng.integers(5, 25)),
            "sine": np.sin(2.0 * np.pi * at / 10.0 + rng.uniform(0.0, 6.3)),
            "walk": np.cumsum(0.3 * rng.normal(size=ROUNDS)),
        }[shape]
        noise = np.exp(0.2 * rng.normal(size=ROUNDS))
        values = truth + noise * rng.normal(size=ROUNDS)
        found = no.trend(list(zip(values, noise, strict=True)), cycle=cycle)
        errors.append(np.mean((found.values - truth) ** 2) / np.mean(noise**2))
        covered.append(np.mean((found.low <= truth) & (truth <= found.high)))
    return float(np.sqrt(np.mean(errors))), float(np.mean(covered))


@pytest.mark.parametrize("shape", ["constant", "linear", "jump"])
def test_error_is_less_than_half_of_single_rounds(shape: str) -> None:
    ratio, covered = simulated(shape, 12)
    assert ratio < 0.5
    assert covered > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "cycle", "error"),
    [("constant", None, 0.35), ("linear", None, 0.4), ("weekly", 7, 0.55), ("jump", None, 0.5),
     ("walk", None, 0.5), ("sine", None, 0.65)],
)  # fmt: skip
def test_bands_cover(shape: str, cycle: int | None, error: float) -> None:
    """The table in docs/comparing.md."""
    ratio, covered = simulated(shape, 400, cycle)
    assert ratio <= error
    assert covered >= 0.93


@pytest.mark.parametrize("kind", ["white", "autoregressive", "pattern", "walk"])
def test_bands_cover_ordinary_variation(kind: str) -> None:
    """Where rounds vary by half a standard error of their own, 71% to 76% were covered."""
    series = next(each for each in GOALS if (each.kind, each.size) == (kind, 0.5))
    assert benchmarks.trends.covered(series, ROUNDS, 20, np.random.default_rng(1))[0] >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("series", GOALS, ids=lambda series: "{}-{}-{}".format(*series))
@pytest.mark.parametrize("rounds", [12, 100])
def test_bands_cover_series_by_which_nothing_was_chosen(series: Series, rounds: int) -> None:
    """93% at least; what is covered of a series varies by less than a tenth."""
    share, _, _ = benchmarks.trends.covered(series, rounds, 100, np.random.default_rng(7))
    assert share >= 0.93 - 2.0 * 0.1 / math.sqrt(100)


def shown(size: float, repetitions: int) -> float:
    """Return how often the band of the second round after a jump leaves out the value before it."""
    rng = np.random.default_rng(4)
    found = []
    for _ in range(repetitions):
        values = rng.normal(size=ROUNDS + 2)
        values[ROUNDS:] += size
        found.append(no.trend([(value, 1.0) for value in values]).low[-1] > 0.0)
    return float(np.mean(found))


def test_a_jump_of_three_standard_errors_is_shown_within_two_rounds() -> None:
    assert 0.45 < shown(3.0, 40) < 0.9
    assert shown(0.0, 20) <= 0.1


@pytest.mark.slow
def test_how_often_a_jump_is_shown_within_two_rounds() -> None:
    """In 67% of series, as docs/comparing.md says."""
    assert 0.6 < shown(3.0, 400) < 0.74
    assert shown(0.0, 200) <= 0.03


def test_constant_and_unknown_rounds() -> None:
    found = no.trend([(5.0, 1.0), (5.0, 1.0), None, (5.0, 1.0), (5.0, 1.0)])
    np.testing.assert_allclose(found.values, 5.0, atol=1e-6)
    assert found.low[2] < 5.0 < found.high[2]
    assert found.high[2] - found.low[2] > found.high[1] - found.low[1]


@settings(max_examples=15, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3))
def test_units_do_not_matter(shift: float, factor: float) -> None:
    values = [1.0, 2.0, 0.0, 4.0, 3.0]
    plain = no.trend([(value, 1.0) for value in values])
    other = no.trend([(shift + factor * value, factor) for value in values])
    close = 1e-6 * (abs(shift) + factor)
    np.testing.assert_allclose(other.values, shift + factor * plain.values, atol=close)
    np.testing.assert_allclose(other.low, shift + factor * plain.low, atol=close)


@pytest.mark.parametrize(
    ("rounds", "message"),
    [
        ([(1.0, 1.0)] * 2, "have at least 3 estimates"),
        ([(1.0, 1.0)] * 1001, "be at most 1000"),
        ([(1.0, 1.0)] * 3 + [(float("nan"), 1.0)], r"rounds\[3\] must have a finite value"),
        ([(1.0, 1.0)] * 3 + [(1.0, 0.0)], r"rounds\[3\] must have a standard error"),
    ],
)
def test_bad_rounds(rounds: list[tuple[float, float]], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        no.trend(rounds)


def test_bad_cycle_and_level() -> None:
    rounds = [(1.0, 1.0)] * 4
    with pytest.raises(InvalidArgumentError, match="cycle"):
        no.trend(rounds, cycle=1)
    with pytest.raises(InvalidArgumentError, match="level"):
        no.trend(rounds, level=1.0)


def test_takes_estimates_of_means() -> None:
    m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    counts = [(4_000, 6_000), (4_020, 5_980), (3_990, 6_010)]
    means = [no.estimate_mean(m, no.Tally(m.fingerprint, each), (0, 10)) for each in counts]
    found = no.trend(means)
    assert found.low[0] < 7.0 < found.high[0]
    assert found.high[0] - found.low[0] < 2 * means[0].half_width()


def biased_rounds(bias: float, rounds: int = 12) -> list[no.MeanEstimate]:
    """Return estimates of 5 that are all off by the largest bias that they may have."""
    rng = np.random.default_rng(6)
    values = 5.0 + bias + rng.normal(0.0, 0.1, rounds)
    bounds = no.Interval(0, 10)
    return [no.MeanEstimate(v, 0.1, 0.1, 500, 20.0, bounds, bias_bound=abs(bias)) for v in values]


@pytest.mark.parametrize("bias", [-0.5, -0.05, 0.05, 0.5])
def test_band_allows_for_the_bias_of_all_rounds(bias: float) -> None:
    """Noise averages out over rounds, a bias that they share does not."""
    found = no.trend(biased_rounds(bias))
    assert np.all((found.low < 5.0) & (found.high > 5.0))
    assert np.all(found.high - found.low > 2.0 * abs(bias))
    plain = no.trend([(each.value, each.standard_error) for each in biased_rounds(bias)])
    assert np.all(found.high - found.low < plain.high - plain.low + 2.0 * abs(bias) + 1e-9)
    np.testing.assert_allclose(found.values, plain.values)


def test_band_with_a_bias_of_nothing_is_symmetric_and_the_same() -> None:
    """Between the half width of no bias and that of a large one, as for a single estimate."""
    rounds = [(5.0, 1.0)] * 6
    plain, shifted = Course(rounds).trend(0.95), Course(rounds, bias=1e-9).trend(0.95)
    np.testing.assert_allclose(shifted.high, plain.high, atol=1e-6)
    far = Course(rounds, bias=50.0).trend(0.95)
    ninety = Course(rounds).trend(0.90)
    np.testing.assert_allclose(far.high, ninety.high + 50.0, atol=1e-6)


def test_slack_means_are_smoothed_by_their_scores() -> None:
    m = no.design(4.0, 64, objective="distribution").mechanism
    rng = np.random.default_rng(3)
    people = np.clip(rng.lognormal(-1.0, 0.6, (4, 20_000)) - 1.0, -1.0, 1.0)
    means = [no.estimate_mean(m, no.Tally.of(m, m.privatize(each, rng=rng))) for each in people]
    assert {each.method for each in means} == {"slack"}
    scores = [each.by_scores for each in means]
    np.testing.assert_array_equal(no.trend(means).values, no.trend(scores).values)


def test_combined_means_are_refused() -> None:
    bounds = no.Interval(0, 10)
    combined = no.MeanEstimate(5.0, 0.1, 0.1, 500, 20.0, bounds, slack=object())  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match='method="unbiased"'):
        no.trend([combined] * 3)

"""The nearly unbiased estimate of the mean: its bias, its intervals, and when it is used."""

from __future__ import annotations

from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, minimize
from scipy.stats import norm

import noutput as no
from noutput.estimate.mean import reports_needed
from noutput.estimate.mean_scores import (
    MeanScores,
    decoded_scores,
    half_width,
    reports_for,
    scores_for,
)
from tests.tables import tables

EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0)
PEOPLE = (2_000, 20_000, 200_000)
CAMPAIGNS = 300


@cache
def trained(epsilon: float = 1.0) -> no.TableMechanism:
    return no.design(epsilon, 64, objective="distribution").mechanism


def commute(rng: np.random.Generator, size: int) -> np.ndarray:
    return np.clip(rng.lognormal(np.log(30.0), 0.6, size) / 90.0 - 1.0, -1.0, 1.0)


@cache
def populations(size: int = 4_000) -> dict[str, np.ndarray]:
    """Numbers that no choice was made on."""
    rng = np.random.default_rng(11)
    humps = np.where(rng.random(size) < 0.4, -0.6, 0.5) + 0.1 * rng.normal(size=size)
    return {
        "uniform": rng.uniform(-1.0, 1.0, size),
        "commute": commute(rng, size),
        "two humps": np.clip(humps, -1.0, 1.0),
        "exponential": np.clip(rng.exponential(0.06, size) - 1.0, -1.0, 1.0),
        "30% at zero": np.where(rng.random(size) < 0.3, -1.0, commute(rng, size)),
        "three spikes": rng.choice([-0.8, 0.1, 0.337], size),
        "one value": np.full(size, -0.4321),
    }


def campaigns(
    mechanism: no.TableMechanism, x: np.ndarray, people: int, seed: int = 3
) -> list[no.Tally]:
    chances = mechanism.probabilities(x).mean(axis=0)
    drawn = np.random.default_rng(seed).multinomial(people, chances / chances.sum(), size=CAMPAIGNS)
    return [no.Tally(mechanism.fingerprint, tuple(row)) for row in drawn.tolist()]


def covered(mechanism: no.TableMechanism, x: np.ndarray, people: int, **options: str) -> float:
    # by scores, also where a slack interval is shorter: tests/estimate/test_mean_slack.py has those
    with patch("noutput.estimate.mean.is_shorter", return_value=False):
        found = [no.estimate_mean(mechanism, each) for each in campaigns(mechanism, x, people)]
    ends = np.array([each.interval(**options) for each in found])  # type: ignore[arg-type]
    return float(np.mean((ends[:, 0] <= x.mean()) & (x.mean() <= ends[:, 1])))


@pytest.mark.parametrize("people", [2, 500, 20_000])
def test_no_number_has_a_larger_bias(people: int) -> None:
    mechanism = trained()
    scores = scores_for(mechanism, people)
    x = np.concatenate([np.linspace(-1.0, 1.0, 5_001), mechanism.knots])
    biases = np.abs(mechanism.probabilities(x) @ scores.values - x)
    assert biases.max() == pytest.approx(scores.bias_bound, rel=1e-9)
    assert 0.0 < scores.bias_bound <= 1.0 / 24.0 + 1e-12


def test_no_scores_of_this_bias_have_a_smaller_variance() -> None:
    mechanism = no.design(1.0, 16, objective="distribution").mechanism
    scores = scores_for(mechanism, 500)
    assert scores.bias_bound > 0.0
    q, x = mechanism.transition(1)[0], mechanism.knots
    rows = LinearConstraint(
        mechanism.weights / mechanism.scale, x - scores.bias_bound, x + scores.bias_bound
    )

    def mean_square(b: NDArray[np.float64]) -> float:
        return float(q @ b**2)

    def gradient(b: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(2.0 * q * b)

    found = minimize(
        mean_square, mechanism.outputs, jac=gradient, constraints=rows, method="SLSQP", tol=1e-12
    )
    assert q @ scores.values**2 == pytest.approx(found.fun, rel=1e-6)


@given(st.floats(0.0, 20.0), st.floats(0.5, 0.999))
def test_half_widths_cover_at_the_largest_bias(shift: float, level: float) -> None:
    half = half_width(2.0, 2.0 * shift, level) / 2.0
    assert norm.cdf(half - shift) - norm.cdf(-half - shift) == pytest.approx(level, abs=1e-9)
    assert half_width(0.0, shift, level) == shift


def test_moments_are_those_of_the_scores() -> None:
    mechanism = trained()
    scores = scores_for(mechanism, 2_000)
    prior = np.array([0.2, 0.5, 0.3])
    x = (np.arange(3 << 12) + 0.5) / (3 << 11) - 1.0
    density = np.repeat(prior, 1 << 12) / (1 << 12)
    rows = mechanism.probabilities(x)
    mean, second = density @ rows @ scores.values, density @ rows @ scores.values**2
    square = density @ (rows @ scores.values) ** 2
    assert scores.expected(prior) == pytest.approx((second - mean**2, second - square), rel=1e-3)
    assert scores.variance(density @ rows) == pytest.approx(second - mean**2)


@given(tables(), st.lists(st.floats(0.01, 1.0), min_size=2, max_size=9), st.integers(2, 10_000))
def test_no_population_has_a_larger_variance(
    mechanism: no.TableMechanism, masses: list[float], people: int
) -> None:
    scores = scores_for(mechanism, people)
    share = np.array(masses) / sum(masses)
    chances = share @ mechanism.probabilities(np.linspace(-1.0, 1.0, len(share)))
    assert scores.variance(chances) <= scores.worst_variance() * (1.0 + 1e-9)
    assert scores.smallest_noise <= scores.noise.min() * (1.0 + 1e-9)


@pytest.mark.parametrize("objective", ["worst", "average"])
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
def test_tables_for_the_mean_decode_as_ever(epsilon: float, objective: str) -> None:
    for size in (3, 8, 16):
        mechanism = no.design(epsilon, size, objective).mechanism
        for people in (2, 100, 10_000, 10**7):
            assert scores_for(mechanism, people) is decoded_scores(mechanism)


def test_with_many_reports_everything_is_decoded() -> None:
    mechanism = trained()
    counts = np.random.default_rng(7).multinomial(10**6, mechanism.transition(1)[0])
    tally = no.Tally(mechanism.fingerprint, tuple(counts.tolist()))
    found = no.estimate_mean(mechanism, tally)
    assert (found.method, found.bias_bound) == ("unbiased", 0.0)
    assert found == no.estimate_mean(mechanism, tally, method="unbiased")
    assert scores_for(mechanism, 10**300) is decoded_scores(mechanism)


def test_the_choice_does_not_depend_on_the_counts() -> None:
    mechanism = trained()
    tallies = campaigns(mechanism, populations()["exponential"], 500)[:20]
    found = {no.estimate_mean(mechanism, each).bias_bound for each in tallies}
    assert found == {scores_for(mechanism, 500).bias_bound}


def test_the_method_can_be_chosen() -> None:
    mechanism = trained()
    tally = campaigns(mechanism, populations()["commute"], 2_000)[0]
    unbiased = no.estimate_mean(mechanism, tally, (0, 180), method="unbiased")
    shares = np.array(tally.counts) / tally.total
    assert unbiased.value == pytest.approx(90.0 * (1.0 + shares @ mechanism.outputs))
    assert unbiased.method == "unbiased"
    found = no.estimate_mean(mechanism, tally, (0, 180))
    assert found.method == "nearly unbiased"
    assert found.half_width() < 0.8 * unbiased.half_width()
    assert found.poisoning_bound(20) < unbiased.poisoning_bound(20)
    with pytest.raises(no.errors.InvalidArgumentError, match="method"):
        no.estimate_mean(mechanism, tally, method="best")


def test_the_bias_is_part_of_every_interval() -> None:
    mechanism = trained()
    found = no.estimate_mean(mechanism, campaigns(mechanism, np.array([-1.0, 1.0]), 2_000)[0])
    assert found.respondents_error < found.standard_error
    for of in ("population", "respondents"):
        error = found.standard_error if of == "population" else found.respondents_error
        assert found.half_width(of=of) == half_width(error, found.bias_bound, 0.95)
        assert found.half_width(of=of) > 1.96 * error
    wider = found.half_width(kind="guaranteed")
    assert wider > np.sqrt(2.0 * np.log(80.0)) * found.standard_error + found.bias_bound
    low, high = found.interval(0.999999, kind="guaranteed")
    assert (low, high) >= (-1.0, -1.0)
    assert high <= 1.0


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_intervals_of_the_respondents_cover(epsilon: float) -> None:
    mechanism, rng = trained(epsilon), np.random.default_rng(9)
    hits, shorter = [], []
    for _ in range(150):
        x = commute(rng, 1_000)
        tally = no.Tally.of(mechanism, mechanism.privatize(x, rng=rng))
        found = no.estimate_mean(mechanism, tally)
        low, high = found.interval(of="respondents")
        hits.append(low <= x.mean() <= high)
        shorter.append(found.respondents_error / found.standard_error)
    assert np.mean(hits) > 0.9
    assert max(shorter) <= 1.0


@pytest.mark.parametrize("wanted", [0.5, 0.1, 0.03, 0.01, 1e-3])
def test_as_many_reports_as_needed_suffice(wanted: float) -> None:
    mechanism = trained(2.0)
    shares = mechanism.transition(4)[0]

    def half(scores: MeanScores, n: int) -> float:
        return half_width((scores.variance(shares) / n) ** 0.5, scores.bias_bound, 0.95)

    n = int(np.ceil(reports_for(mechanism, lambda scores: scores.variance(shares), wanted)))
    assert half(scores_for(mechanism, n), n) <= wanted
    assert half(scores_for(mechanism, n - 1), n - 1) > wanted * (1.0 - 1e-9)
    assert reports_for(mechanism, lambda scores: scores.variance(shares), 1e-200) == np.inf


def test_reports_needed_are_those_of_the_estimate() -> None:
    mechanism = trained()
    tally = campaigns(mechanism, populations()["commute"], 2_000)[0]
    found = no.estimate_mean(mechanism, tally, (0, 180))
    assert reports_needed(mechanism, tally, found, 1.1 * found.half_width()) == 2_000
    more = reports_needed(mechanism, tally, found, found.half_width() / 2.0)
    assert 8_000 < more < 16_000  # the bias falls more slowly than the standard error


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_intervals_cover_whatever_the_numbers_are(epsilon: float) -> None:
    mechanism, everything = trained(epsilon), []
    for people in PEOPLE:
        scores = scores_for(mechanism, people)
        worst = scores.knots[np.argmax(np.abs(scores.means - scores.knots))]
        for name, x in {**populations(), "worst": np.full(1, worst)}.items():
            share = covered(mechanism, x, people)
            assert share > 0.91, (people, name)
            everything.append(share)
        assert covered(mechanism, np.full(1, worst), people, kind="guaranteed") > 0.99
    assert np.mean(everything) > 0.945


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "people", "length", "error"),
    [(0.5, 2_000, 0.73, 0.75), (1.0, 2_000, 0.76, 0.75), (1.0, 20_000, 0.9, 0.9),
     (2.0, 20_000, 0.88, 0.87), (4.0, 2_000, 0.5, 0.4), (4.0, 20_000, 0.86, 0.75)],
)  # fmt: skip
def test_it_is_better_than_decoding(
    epsilon: float, people: int, length: float, error: float
) -> None:
    mechanism, x = trained(epsilon), populations()["commute"]
    tallies = campaigns(mechanism, x, people)
    found = [no.estimate_mean(mechanism, each) for each in tallies]
    decoded = [no.estimate_mean(mechanism, each, method="unbiased") for each in tallies]
    lengths, errors = (
        [np.mean([each.half_width() for each in some]) for some in (found, decoded)],
        [np.mean([(each.value - x.mean()) ** 2 for each in some]) for some in (found, decoded)],
    )
    assert lengths[0] < length * lengths[1]
    assert errors[0] < error**2 * errors[1]

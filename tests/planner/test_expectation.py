"""What a plan says against what simulated campaigns find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noutput as no
from noutput.designs.paper import analytical
from noutput.estimate.mean_scores import scores_for
from noutput.mechanisms.quantize import quantize
from noutput.planner.expectation import SHAPES, expect, histogram_variance
from tests.tables import tables, window_table

PEOPLE = 1_000
CAMPAIGNS = 10_000
SKEWED = np.array(SHAPES["skewed"].weights)
PRIORS = {"even": None, "skewed": SKEWED, "three bins": np.array([0.2, 0.5, 0.3])}


def asymmetric() -> no.TableMechanism:
    table = analytical.solve(4.0, 5)
    rows = 0.9 * table.probabilities + 0.1 * table.probabilities[-1]
    return quantize(4.0, table.outputs / 0.9 - 0.1 / 0.9, rows)


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_standard_error_matches_simulation(epsilon: float, name: str) -> None:
    bounds = no.Interval(0, 180)
    prior = PRIORS[name]
    plan = no.plan(epsilon=epsilon, people=PEOPLE, bounds=bounds, prior=prior)
    mechanism = plan.mechanism
    rng = np.random.default_rng(3)
    weights = np.ones(1) if prior is None else prior
    x = np.linspace(-1.0, 1.0, 1 << 14, endpoint=False) + 2.0**-14
    density = weights[((x + 1.0) / 2.0 * len(weights)).astype(int)]
    chances = density @ mechanism.probabilities(x) / density.sum()
    counts = rng.multinomial(PEOPLE, chances / chances.sum(), size=CAMPAIGNS)
    means = counts @ mechanism.outputs / PEOPLE * bounds.half_width
    assert plan.standard_error == pytest.approx(means.std(), rel=0.03)
    found = no.estimate_mean(
        mechanism, no.Tally(mechanism.fingerprint, tuple(counts[0].tolist())), bounds
    )
    assert plan.standard_error == pytest.approx(found.standard_error, rel=0.15)


def test_the_error_of_the_respondents_matches_simulation() -> None:
    mechanism = window_table(1.0, 16, 33, 0.4)
    rng = np.random.default_rng(3)
    plan = expect(mechanism, 200, no.Interval(-1, 1))
    x = rng.uniform(-1.0, 1.0, (5_000, 200))
    reports = mechanism.decode(mechanism.privatize(x.ravel(), rng=rng)).reshape(x.shape)
    errors = reports.mean(axis=1) - x.mean(axis=1)
    assert plan.respondents_error == pytest.approx(errors.std(), rel=0.03)
    assert plan.respondents_error < plan.standard_error < plan.worst_standard_error


@given(tables(), st.lists(st.floats(0.0, 1.0), min_size=2, max_size=40))
def test_no_distribution_is_worse_than_the_worst(
    mechanism: no.TableMechanism, masses: list[float]
) -> None:
    if sum(masses) <= 0.0:
        masses[0] = 1.0
    share = np.array(masses) / sum(masses)
    x = np.linspace(-1.0, 1.0, len(share))
    worst = expect(mechanism, 2, no.Interval(-1, 1), np.ones(2) / 2).worst_standard_error
    chances = share @ mechanism.probabilities(x)
    variance = scores_for(mechanism, 2).variance(chances)
    assert variance / 2.0 <= worst**2 * (1.0 + 1e-9)


@pytest.mark.parametrize("people", [500, 20_000, 10**6])
def test_the_plan_for_a_distribution_is_what_the_estimate_will_say(people: int) -> None:
    bounds, prior = no.Interval(0, 180), SKEWED
    mechanism = no.design(2.0, 64, objective="distribution").mechanism
    plan = expect(mechanism, people, bounds, prior)
    chances = prior @ mechanism.transition(len(prior))
    counts = np.random.default_rng(3).multinomial(people, chances / chances.sum())
    found = no.estimate_mean(
        mechanism, no.Tally(mechanism.fingerprint, tuple(counts.tolist())), bounds
    )
    assert (plan.mean_method, plan.bias_bound) == (found.method, found.bias_bound)
    simulated = plan.mean_method == "slack"
    assert plan.half_width == pytest.approx(found.half_width(), rel=0.25 if simulated else 0.1)
    assert plan.half_width <= plan.worst_half_width
    needed = plan.people_for(plan.half_width)
    assert needed == pytest.approx(people, rel=0.5) if simulated else needed in (people, people + 1)
    wanted = expect(mechanism, plan.people_for(1.0), bounds, prior).half_width
    assert wanted == pytest.approx(1.0, rel=0.05 if simulated else 0.01)


def test_some_two_numbers_are_the_worst() -> None:
    mechanism = asymmetric()
    worst = expect(mechanism, 2, no.Interval(-1, 1)).worst_standard_error
    x = mechanism.knots
    share = np.linspace(0.0, 1.0, 501)[:, None, None]
    mean = share * x[:, None] + (1.0 - share) * x
    second = mechanism.variance(x) + x**2
    variance = share * second[:, None] + (1.0 - share) * second - mean**2
    assert variance.max() / 2.0 == pytest.approx(worst**2, rel=1e-4)


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=20))
def test_the_spread_of_a_histogram(weights: list[float]) -> None:
    share = np.array(weights) / sum(weights)
    fine = np.repeat(share, 4_000) / 4_000
    x = np.linspace(-1.0, 1.0, fine.size, endpoint=False) + 1.0 / fine.size
    expected = fine @ x**2 - (fine @ x) ** 2
    assert histogram_variance(share) == pytest.approx(expected, rel=1e-5)


def test_the_wasserstein_error_matches_simulation() -> None:
    mechanism = window_table(2.0, 16, 33, 0.4)
    bounds = no.Interval(0, 180)
    plan = expect(mechanism, 20_000, bounds, SKEWED)
    rng = np.random.default_rng(9)
    chances = SKEWED @ mechanism.transition(64)
    counts = rng.multinomial(20_000, chances / chances.sum(), size=100).tolist()
    found = no.estimate_distribution(
        mechanism, [no.Tally(mechanism.fingerprint, tuple(row)) for row in counts], method="gp"
    )
    rows = np.array([estimate.probabilities for estimate in found])
    errors = np.asarray(no.wasserstein(rows, SKEWED, bounds))
    assert plan.wasserstein_error == pytest.approx(errors.mean(), rel=0.25)
    assert plan.wasserstein_errors == (("prior", plan.wasserstein_error),)


def test_a_prior_of_any_size_is_cut_into_bins() -> None:
    mechanism = window_table(2.0, 16, 33, 0.4)
    small = expect(mechanism, 10_000, no.Interval(-1, 1), np.array([0.75, 0.25]))
    large = expect(mechanism, 10_000, no.Interval(-1, 1), np.repeat([0.75, 0.25], 64) / 64)
    assert small.wasserstein_error == pytest.approx(large.wasserstein_error, rel=1e-6)
    assert small.standard_error == pytest.approx(large.standard_error, rel=1e-12)


def test_units_scale_every_error() -> None:
    mechanism = window_table(2.0, 16, 33, 0.4)
    unit = expect(mechanism, 10_000, no.Interval(-1, 1))
    other = expect(mechanism, 10_000, no.Interval(100, 120))
    for name in ("half_width", "worst_half_width", "respondents_error", "wasserstein_error"):
        assert getattr(other, name) == pytest.approx(10.0 * getattr(unit, name))

"""The lower bound and its checker: true, tight, and never fooled."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from noutput.designs import certificate as checker
from noutput.designs.bound import Bound, lower_bound
from noutput.designs.certificate import Certificate, check, verify
from noutput.designs.optimal import optimize

LISTED = {1.0: 3.99054, 2.0: 0.86534, 4.0: 0.12682}
DESIGNS = {("worst", 1.0): 3.9912, ("average", 1.0): 3.8866, ("worst", 4.0): 0.12722}


@cache
def bound(objective: Literal["worst", "average"], epsilon: float) -> Bound:
    return lower_bound(epsilon, objective)


def minimum_of_c(certificate: Certificate, points: NDArray[np.float64]) -> float:
    growth = math.expm1(certificate.epsilon)
    total = np.zeros_like(points)
    for weight, nu, mu in zip(certificate.lambdas, certificate.nus, certificate.mus, strict=True):
        phi = weight * points**2 - nu * points - mu
        total += phi + growth * np.minimum(phi, 0)
    return float(total.min())


@pytest.mark.parametrize("epsilon", LISTED)
def test_listed_bounds_are_reached(epsilon: float) -> None:
    assert bound("worst", epsilon).value >= LISTED[epsilon] * (1 - 5e-4)


@pytest.mark.parametrize("objective", ["worst", "average"])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 3.0])
def test_bound_is_below_designs_and_close(
    objective: Literal["worst", "average"], epsilon: float
) -> None:
    found = lower_bound(epsilon, objective)
    table = optimize(epsilon, 8, objective)
    value = table.worst_variance if objective == "worst" else table.average_variance()
    assert found.value <= value <= found.value * (1.06 if epsilon == 3.0 else 1.01)


def test_skewed_prior_has_its_own_bound() -> None:
    prior = np.array([3.0, 2, 0, 0, 1])
    found = lower_bound(1.0, "average", prior)
    value = optimize(1.0, 8, "average", prior).average_variance(prior / prior.sum())
    assert found.value <= value <= found.value * 1.01
    assert sum(found.certificate.lambdas) == pytest.approx(1)


@pytest.mark.parametrize("objective", ["worst", "average"])
def test_c_is_nonnegative_on_a_fine_grid(objective: Literal["worst", "average"]) -> None:
    certificate = bound(objective, 4.0).certificate
    assert minimum_of_c(certificate, np.linspace(-6, 6, 300_001)) >= -1e-11


def test_checker_agrees_with_brute_force() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        k = 4
        lambdas = rng.uniform(0.1, 1, k)
        lambdas /= lambdas.sum()
        certificate = Certificate(
            epsilon=float(rng.uniform(0.1, 3)),
            inputs=tuple(rng.uniform(-1, 1, k)),
            lambdas=tuple(lambdas),
            nus=tuple(rng.normal(size=k)),
            mus=tuple(rng.normal(size=k)),
        )
        x = np.array(certificate.inputs)
        claimed = float(np.sum(certificate.mus + certificate.nus * x - lambdas * x**2))
        lowest = minimum_of_c(certificate, np.linspace(-40, 40, 800_001))
        expected = claimed + min(0.0, lowest)
        assert expected - 1e-5 <= check(certificate) <= expected + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["worst", "average"])
def test_corrupted_certificates_prove_nothing_false(
    objective: Literal["worst", "average"],
) -> None:
    found = bound(objective, 1.0)
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(100):
        name = str(rng.choice(["inputs", "lambdas", "nus", "mus"]))
        numbers = list(getattr(found.certificate, name))
        k = int(rng.integers(len(numbers)))
        size = 10.0 ** rng.uniform(-2.5, 1)
        sign = float(rng.choice([-1.0, 1.0]))
        numbers[k] += sign * size * max(abs(numbers[k]), 0.02)
        changes: Any = {name: tuple(numbers)}
        corrupted = replace(found.certificate, **changes)
        try:
            proven = check(corrupted)
        except ValueError:
            rejected += 1
            continue
        assert proven <= DESIGNS[objective, 1.0]
        assert proven < found.value
        with pytest.raises(ValueError, match="claimed must be"):
            verify(corrupted, found.value)
    assert rejected > 10


def test_tiny_corruptions_cost_little_and_prove_nothing_false() -> None:
    found = bound("worst", 4.0)
    rng = np.random.default_rng(8)
    for _ in range(20):
        mus = np.array(found.certificate.mus)
        mus[rng.integers(mus.size)] += rng.normal() * 1e-9
        proven = check(replace(found.certificate, mus=tuple(mus)))
        assert found.value - 1e-6 <= proven <= DESIGNS["worst", 4.0]


def test_verify_accepts_the_truth() -> None:
    found = bound("worst", 1.0)
    assert verify(found.certificate, found.value) == found.value
    with pytest.raises(ValueError, match="claimed must be at most"):
        verify(found.certificate, math.nextafter(found.value, 5))


def test_larger_epsilon_weakens_the_same_numbers() -> None:
    found = bound("worst", 1.0)
    assert check(replace(found.certificate, epsilon=1.001)) < found.value


@pytest.mark.parametrize("epsilon", [1e-300, 0.05, 1.0, 7.3, 50.0])
def test_exponential_is_rounded_up(epsilon: float) -> None:
    above = checker._exponential_above(Fraction(epsilon))
    assert above > 1
    # A partial sum of the series is below e^epsilon.
    term = total = Fraction(1)
    for n in range(1, 250):
        term = term * Fraction(epsilon) / n
        total += term
        term = Fraction(term.numerator * 2**400 // term.denominator, 2**400)
    assert total <= above <= total * (1 + Fraction(1, 2**60))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": math.nan}, "epsilon must"),
        ({"epsilon": -1.0}, "epsilon must"),
        ({"inputs": ()}, "inputs must not be empty"),
        ({"inputs": (0.0, 1.5)}, "inputs must be in"),
        ({"lambdas": (1.1, -0.1)}, "lambdas must be >= 0"),
        ({"lambdas": (0.9, 0.9)}, "lambdas must add up to 1"),
        ({"nus": (0.0,)}, "nus must have one entry per input"),
        ({"mus": (0.0, math.inf)}, "mus must be finite"),
        ({"objective": "median"}, "objective must"),
        ({"prior": (1.0,)}, "prior must be None"),
        ({"objective": "average", "prior": (0.0, 0.0)}, "prior must have a positive sum"),
        ({"objective": "average", "inputs": (-0.4, 0.5)}, "inputs must be the means"),
    ],
)
def test_malformed_certificates_are_refused(change: dict[str, object], message: str) -> None:
    good = Certificate(1.0, (-0.5, 0.5), (0.5, 0.5), (0.0, 0.0), (0.0, 0.0))
    assert math.isfinite(check(good))
    with pytest.raises(ValueError, match=message):
        check(replace(good, **change))  # type: ignore[arg-type]


def test_linear_terms_are_allowed_but_must_be_held() -> None:
    duchi = lower_bound(0.05).certificate
    assert 0.0 in duchi.lambdas
    # Without the squares that hold them, linear terms fall without end.
    loose = Certificate(1.0, (0.0, 1.0), (1.0, 0.0), (0.0, 1e200), (0.0, 0.0))
    assert check(loose) < -1e100


def test_whole_average_proof_by_hand() -> None:
    # phi = a^2 has c >= 0: the average variance is at least -E[x^2], which is all it says.
    certificate = Certificate(1.0, (0.0,), (1.0,), (0.0,), (0.0,), "average")
    assert check(certificate) == pytest.approx(-1 / 3)

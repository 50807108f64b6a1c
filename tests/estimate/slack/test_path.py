"""Ends of slack intervals: against another solver, and what holds for all of them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls

from noutput.estimate.slack import path
from noutput.estimate.slack.path import largest
from noutput.estimate.slack.program import BestFit, Program

Array: TypeAlias = NDArray[np.float64]

FIVE = np.array([5.0])


def random_fit(seed: int, *, rules: int = 1, reports: float = 2_000.0) -> BestFit:
    """A fit of a small table's shares; with two rules, atoms also have a given mean weight."""
    rng = np.random.default_rng(seed)
    atoms, outputs = int(rng.integers(4, 9)), int(rng.integers(3, 7))
    rows = rng.dirichlet(np.full(outputs, 2.0), atoms)
    sums, totals = None, None
    if rules == 2:
        weights = np.linspace(0.0, 2.0, atoms)
        sums, totals = np.array([np.ones(atoms), weights]), np.array([1.0, 0.9])
    shares = rng.multinomial(int(reports), rng.dirichlet(np.ones(atoms)) @ rows) / reports
    return BestFit(Program(rows, sums, totals), shares, reports)


def misfit(fit: BestFit, mixture: Array) -> float:
    residual = fit.weighted @ mixture - fit.observed
    return float(residual @ residual)


def by_another_solver(fit: BestFit, goal: Array, excess: float) -> float:
    """The largest value of a statistic, by sequential quadratic programming."""
    sums, totals = fit.program.rules
    limit = fit.least + excess
    rules: list[Any] = [
        {"type": "eq", "fun": lambda mixture: sums @ mixture - totals, "jac": lambda _: sums},
        {
            "type": "ineq",
            "fun": lambda mixture: (limit - misfit(fit, mixture)) / limit,
            "jac": lambda mixture: (
                -2.0 * fit.weighted.T @ (fit.weighted @ mixture - fit.observed) / limit
            ),
        },
    ]
    found: Any = minimize(  # type: ignore[call-overload]  # a list of two kinds of constraints
        lambda mixture: -goal @ mixture,
        fit.mixture,
        bounds=[(0.0, 1.0)] * len(goal),
        constraints=rules,
        method="SLSQP",
        options={"maxiter": 400, "ftol": 1e-12},
    )
    assert misfit(fit, found.x) <= limit * (1.0 + 1e-6)
    return float(goal @ found.x)


@pytest.mark.parametrize("rules", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_ends_are_those_of_another_solver(seed: int, rules: int) -> None:
    fit = random_fit(seed, rules=rules)
    goals = np.random.default_rng(100 + seed).normal(size=(3, len(fit.mixture)))
    ends = largest(fit, goals, FIVE)
    for goal, end in zip(goals, ends, strict=True):
        reference = by_another_solver(fit, goal, 5.0)
        width = reference - goal @ fit.mixture
        assert reference - 1e-6 <= end <= reference + 0.01 * width + 1e-6


@pytest.mark.parametrize("rules", [1, 2])
def test_the_best_fit_has_the_least_misfit(rules: int) -> None:
    for seed in range(6):
        fit = random_fit(seed, rules=rules)
        sums, totals = fit.program.rules
        np.testing.assert_allclose(sums @ fit.mixture, totals, atol=1e-8)
        assert fit.mixture.min() >= 0.0
        best = nnls(np.vstack([fit.weighted, 1e5 * sums]), np.append(fit.observed, 1e5 * totals))[0]
        assert fit.least <= misfit(fit, best) + 0.02


@given(seed=st.integers(0, 10_000), rules=st.sampled_from([1, 2]), excess=st.floats(0.5, 20.0))
@settings(max_examples=40, deadline=None)
def test_what_holds_for_all_ends(seed: int, rules: int, excess: float) -> None:
    fit = random_fit(seed, rules=rules)
    rng = np.random.default_rng(seed)
    goals = rng.normal(size=(4, len(fit.mixture)))
    ends = largest(fit, goals, np.array([excess]))
    assert np.all(np.isfinite(ends))
    assert np.all(ends >= goals @ fit.mixture - 1e-7)
    assert np.all(ends <= goals.max(axis=1) + 1e-9)
    wider = largest(fit, goals, np.array([2.0 * excess]))
    assert np.all(wider >= ends - 1e-7)
    np.testing.assert_array_equal(largest(fit, goals, np.array([excess])), ends)
    # no mixture that fits has more
    others = rng.dirichlet(np.ones(len(fit.mixture)), 200) if rules == 1 else fit.mixture[None]
    for share in (0.05, 0.2, 1.0):
        for mixture in fit.mixture + share * (others - fit.mixture):
            if misfit(fit, mixture) <= fit.least + excess:
                assert np.all(goals @ mixture <= ends + 1e-7)


def test_a_path_that_is_broken_off_gives_a_wider_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(12):
        fit = random_fit(seed)
        goals = np.random.default_rng(seed).normal(size=(6, len(fit.mixture)))
        ends = largest(fit, goals, FIVE)
        for rounds in (1, 2):
            monkeypatch.setattr(path, "_ROUNDS", rounds)
            assert np.all(largest(fit, goals, FIVE) >= ends - 1e-7)
        monkeypatch.undo()


def test_statistics_do_not_disturb_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = random_fit(5)
    goals = np.random.default_rng(5).normal(size=(9, len(fit.mixture)))
    together = largest(fit, goals, FIVE)
    monkeypatch.setattr(path, "_AT_ONCE", 2)
    np.testing.assert_allclose(largest(fit, goals, FIVE), together, rtol=1e-9, atol=1e-12)


def test_no_statistics() -> None:
    fit = random_fit(1)
    assert largest(fit, np.empty((0, len(fit.mixture))), FIVE).shape == (0,)


@pytest.mark.parametrize("reports", [2.0, 50.0, 1e6, 1e9, 1e12])
def test_any_number_of_reports(reports: float) -> None:
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.ones(5), 40)  # many more atoms than outputs: all fit perfectly
    for shares in (rows.mean(axis=0), np.eye(5)[0], rows[3]):
        fit = BestFit(Program(rows), shares, reports)
        goals = np.array([np.linspace(-1.0, 1.0, 40), -np.linspace(-1.0, 1.0, 40)])
        ends = largest(fit, goals, FIVE)
        assert np.all(np.isfinite(ends))
        assert np.all(ends >= goals @ fit.mixture - 1e-6)
        assert np.all(ends <= 1.0)

"""Two of epsilon, people and error give the third."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noutput as no
from noutput.planner import _find_epsilon, _round_up, ready_plans

MINUTES = no.Interval(0, 180)


def noise(epsilon: float) -> float:
    """Fall as the noise of the best designs does."""
    return 4.0 / epsilon**2 + 0.1 / epsilon


def test_people_are_just_enough() -> None:
    wanted = no.plan(epsilon=1.0, error=2.0, bounds=MINUTES)
    assert wanted.half_width <= 2.0
    fewer = no.plan(epsilon=1.0, people=wanted.people - 1, bounds=MINUTES)
    assert fewer.half_width > 2.0
    assert fewer.people_for(2.0) == wanted.people


def test_epsilon_is_just_enough() -> None:
    first = no.plan(epsilon=1.0, people=50_000, bounds=MINUTES)
    found = no.plan(people=50_000, error=first.half_width * (1.0 + 1e-9), bounds=MINUTES)
    assert found.epsilon == 1.0
    assert found.people == 50_000


@pytest.mark.slow
def test_an_epsilon_between_those_of_the_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOUTPUT_CACHE", str(tmp_path))
    for error in (0.6, 2.2):
        found = no.plan(people=50_000, error=error, bounds=MINUTES, objective="worst")
        assert 0.99 * error < found.half_width <= error
    assert len(list(tmp_path.iterdir())) <= 4


@settings(max_examples=50)
@given(st.floats(0.06, 11.9))
def test_epsilon_suffices_and_is_hardly_too_large(epsilon: float) -> None:
    asked: set[float] = set()

    def counted(value: float) -> float:
        asked.add(value)
        return noise(value)

    wanted = noise(epsilon)
    found = _find_epsilon(wanted, counted)
    assert found is not None
    assert noise(found) <= wanted
    assert found <= epsilon * 1.03 + 1e-9
    made = {value for value in asked if value % 0.25}
    assert len(made) <= 5


def test_epsilon_has_ends() -> None:
    assert _find_epsilon(noise(0.04), noise) == 0.05
    assert _find_epsilon(noise(12.5), noise) is None
    assert _find_epsilon(0.0, noise) is None


@given(st.floats(0.05, 12.0))
def test_rounding_up_keeps_three_digits(value: float) -> None:
    rounded = _round_up(value)
    assert value * (1.0 - 1e-9) <= rounded <= value * 1.0101
    assert float(f"{rounded:.3g}") == rounded


def test_more_epsilon_or_people_never_hurt() -> None:
    plans = ready_plans(
        no.plan(epsilon=1.0, people=50_000, bounds=MINUTES), (0.25, 0.5, 1, 2, 4, 8)
    )
    errors = [plan.half_width for plan in plans]
    assert errors == sorted(errors, reverse=True)
    assert [plan.epsilon for plan in plans] == sorted(plan.epsilon for plan in plans)
    more = no.plan(epsilon=1.0, people=200_000, bounds=MINUTES)
    once = next(plan for plan in plans if plan.epsilon == 1.0)
    assert more.standard_error == pytest.approx(once.standard_error / 2.0)
    assert more.wasserstein_error < once.wasserstein_error


def test_epsilons_that_are_not_ready_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOUTPUT_CACHE", str(tmp_path))
    plans = ready_plans(no.plan(epsilon=1.0, people=1_000), (0.9, 2.0))
    assert [plan.epsilon for plan in plans] == [1.0, 2.0]


def test_tables_for_distributions_are_planned_with() -> None:
    usual = no.plan(epsilon=1.0, people=5_000, n_outputs=16, objective="worst")
    found = no.plan(epsilon=1.0, people=5_000, n_outputs=64, objective="distribution")
    assert found.mechanism == no.design(1.0, 64, "distribution").mechanism
    assert found.wasserstein_error < usual.wasserstein_error
    assert found.standard_error > usual.standard_error
    others = ready_plans(found, (0.5, 1.1, 2.0), n_outputs=64, objective="distribution")
    assert [plan.epsilon for plan in others] == [0.5, 1.0, 2.0]


@pytest.mark.slow
def test_epsilons_for_distributions_are_those_of_the_catalog() -> None:
    first = no.plan(epsilon=1.25, people=50_000, n_outputs=16, objective="distribution")
    for error, epsilon in ((1.001 * first.half_width, 1.25), (0.999 * first.half_width, 1.5)):
        found = no.plan(people=50_000, error=error, n_outputs=16, objective="distribution")
        assert found.epsilon == epsilon
    with pytest.raises(no.InvalidArgumentError, match="error must exceed"):
        no.plan(people=50_000, error=1e-9, objective="distribution")


def test_equal_questions_have_equal_answers() -> None:
    first, second = (no.plan(epsilon=1.0, people=1_000) for _ in range(2))
    assert first == second
    with pytest.raises(AttributeError):
        first.people = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 1.0}, r"two at a time.*found \['epsilon'\]"),
        ({"epsilon": 1.0, "people": 5, "error": 0.1}, "two at a time"),
        ({}, "two at a time"),
        ({"epsilon": 1.0, "people": 1}, "people must be a whole number from 2"),
        ({"epsilon": 1.0, "people": 2.5}, "people must be a whole number"),
        ({"epsilon": 1.0, "error": 0.0}, "error must be a positive"),
        ({"epsilon": 1.0, "error": 1e-9}, "error must be reachable"),
        ({"epsilon": -1.0, "people": 9}, "epsilon must be a positive"),
        ({"people": 1000, "error": 1e-3}, "error must exceed 0.03578, which the choice of 1000"),
        ({"epsilon": 1.0, "people": 9, "prior": [1, -1]}, "prior must be nonnegative"),
        ({"epsilon": 1.0, "people": 9, "objective": "best"}, "objective must be one of"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(no.InvalidArgumentError, match=message):
        no.plan(**arguments)


def test_no_plan_expects_more_than_the_bounds_allow() -> None:
    few = no.plan(epsilon=0.25, people=2, bounds=MINUTES)
    assert few.half_width == few.worst_half_width == 90.0
    assert few.standard_error > 90.0
    many = few.people_for(1.0)  # does not start from what was cut off
    assert many == pytest.approx(no.plan(epsilon=0.25, error=1.0, bounds=MINUTES).people, rel=1e-9)

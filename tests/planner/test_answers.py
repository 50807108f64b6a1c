"""How many people for shares and mean scores of questions with answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import noutput as no
from noutput.planner.answers import unit_variance, worst_variance

COIN = np.array([[0.75, 0.25], [0.25, 0.75]])
STARS = no.Scale(1, 2, 3, 4, 5)


@pytest.fixture(scope="module")
def stars() -> no.AnswerPlan:
    found = no.plan(epsilon=1.0, question=STARS, shares_within=0.02)
    assert isinstance(found, no.AnswerPlan)
    return found


def test_randomized_response_has_its_textbook_variance() -> None:
    for share in (0.0, 0.2, 0.5):
        population, yes = np.array([1.0 - share, share]), np.array([0.0, 1.0])
        said = 0.25 + share / 2.0
        assert unit_variance(COIN, yes, population) == pytest.approx(said * (1.0 - said) * 4.0)
    assert worst_variance(COIN, yes) == pytest.approx(1.0)


def test_people_are_just_enough(stars: no.AnswerPlan) -> None:
    assert stars.worst_half_width <= 0.02
    fewer: Any = no.plan(epsilon=1.0, answers=[1, 2, 3, 4, 5], people=stars.people - 1)
    assert fewer.worst_half_width > 0.02
    assert fewer.epsilon == stars.epsilon == 1.0


def test_no_population_is_worse_than_the_worst(stars: no.AnswerPlan) -> None:
    table, rng = stars.mechanism.table(), np.random.default_rng(4)
    corners = [
        *np.eye(5),
        *(np.eye(5)[i] / 2 + np.eye(5)[j] / 2 for i in range(5) for j in range(i)),
    ]
    for target in (*np.eye(5), np.array(STARS.scores)):
        worst = worst_variance(table, target)
        found = [
            unit_variance(table, target, population)
            for population in (*corners, *rng.dirichlet(np.full(5, 0.5), 200))
        ]
        assert max(found) <= worst * (1.0 + 1e-9)


def test_scores_in_other_units_give_errors_in_these_units(stars: no.AnswerPlan) -> None:
    table = stars.mechanism.table()
    one, other = np.arange(5.0), 1e6 + 100.0 * np.arange(5.0)
    assert worst_variance(table, other) == pytest.approx(1e4 * worst_variance(table, one), rel=1e-6)


def test_half_widths_are_those_of_the_estimates() -> None:
    """Simulated campaigns of so many people find the intervals that the plan promised."""
    prior = np.array([0.1, 0.1, 0.2, 0.4, 0.2])
    found: Any = no.plan(epsilon=1.0, question=STARS, people=20_000, prior=prior)
    rng = np.random.default_rng(6)
    reports = found.mechanism.privatize(rng.choice(5, 20_000, p=prior), rng)
    summary: Any = no.summarize(found.mechanism, reports, STARS)
    for figure, half in zip(summary.shares, found.half_widths, strict=True):
        assert figure.high - figure.value == pytest.approx(half, rel=0.05)
    assert summary.mean.half == pytest.approx(found.mean_half_width, rel=0.05)
    assert found.half_width == max(found.half_widths) <= found.worst_half_width
    assert found.mean_half_width <= found.worst_mean_half_width


def test_the_mean_score_decides_where_an_error_is_given() -> None:
    found: Any = no.plan(epsilon=1.0, question=STARS, error=0.05)
    assert found.worst_mean_half_width == pytest.approx(0.05, rel=1e-3)
    assert found.worst_mean_half_width <= 0.05
    given: Any = no.plan(epsilon=1.0, question=STARS, error=0.05, prior=[0, 0, 1, 0, 0])
    assert given.people < found.people
    assert given.mean_half_width <= 0.05


def test_a_higher_level_takes_more_people(stars: no.AnswerPlan) -> None:
    more: Any = no.plan(epsilon=1.0, question=STARS, shares_within=0.02, level=0.99)
    assert more.people / stars.people == pytest.approx((2.5758 / 1.95996) ** 2, rel=1e-3)


def test_epsilon_is_found_for_people_and_shares() -> None:
    found: Any = no.plan(people=12_000, shares_within=0.02, question=no.YesNo())
    assert found.worst_half_width <= 0.02
    assert found.epsilon == 1.0
    with pytest.raises(
        no.InvalidArgumentError, match="shares_within must be larger, or the people"
    ):
        no.plan(people=50, shares_within=0.001, question=no.YesNo())


def test_numbers_may_be_a_question() -> None:
    found = no.plan(epsilon=1, people=50_000, question=no.Number(0, 180), objective="worst")
    assert found == no.plan(epsilon=1, people=50_000, bounds=(0, 180), objective="worst")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 1, "answers": [1, 2]}, "two at a time .*; found \\['epsilon'\\]"),
        ({"epsilon": 1, "people": 9, "answers": [1, 2], "error": 1}, "two at a time"),
        ({"epsilon": 1, "answers": ["a", "b"], "error": 0.1}, "error must be given for questions"),
        (
            {"epsilon": 1, "answers": [1, 2], "error": 0.1, "shares_within": 0.1},
            "error must be None where shares_within is given",
        ),
        ({"epsilon": 1, "answers": [1, 2], "shares_within": 2}, "shares_within must"),
        ({"epsilon": 1, "answers": [1, 2], "people": 9, "level": 1}, "level must"),
        ({"epsilon": 1, "answers": [1, 2], "people": 9, "prior": [1]}, "prior must have 2 entries"),
        ({"epsilon": 1, "answers": [1, 2], "people": 9, "bounds": (0, 1)}, "given one at a time"),
        ({"epsilon": 1, "people": 9, "question": "x"}, "question must be a Number"),
        ({"epsilon": 1, "people": 9, "level": 0.9}, "level must be given for questions with"),
        ({"epsilon": 1, "shares_within": 0.1}, "shares_within must be given for questions with"),
        ({"epsilon": 1, "answers": [1, 2], "shares_within": 1e-12}, "shares_within must need"),
    ],
)
def test_arguments_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(no.InvalidArgumentError, match=message):
        no.plan(**arguments)


def test_forty_answers_have_a_plan() -> None:
    table = np.full((40, 40), 1.0) + 1.7 * np.eye(40)
    table /= table.sum(axis=1, keepdims=True)
    worst = worst_variance(table, np.eye(40)[3])
    assert math.isfinite(worst)
    assert worst >= unit_variance(table, np.eye(40)[3], np.full(40, 1 / 40))

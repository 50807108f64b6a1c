"""`design` for questions with answers: what is asked for is what comes, with its proof."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import noutput as no
from noutput.designs.answers import shipped
from noutput.designs.answers.certificate import verify
from noutput.designs.answers.error import worst_error
from noutput.designs.answers.objective import OBJECTIVES
from noutput.designs.answers.request import solve_answers
from noutput.designs.answers.saddle import Aim
from noutput.errors import DocumentError, InvalidArgumentError, PrivacyError
from tools.build_answers import make

STARS = no.Scale(1, 2, 3, 4, 5, name="stars")
DESIGN = no.design(1.0, question=STARS)


@pytest.mark.parametrize(
    ("answers", "question", "objective"),
    [
        ([1, 2, 3], no.Scale(1, 2, 3), "cdf"),
        (["a", "b", "c"], no.Choice("a", "b", "c"), "shares"),
        ([False, True], no.YesNo(), "shares"),
        (np.arange(3), no.Scale(0, 1, 2), "cdf"),
    ],
)
def test_answers_are_short_for_a_question(
    answers: Any, question: no.Question, objective: str
) -> None:
    found = no.design(1.0, answers=answers)
    assert (found.question, found.objective.name) == (question, objective)
    assert found.mechanism == no.design(1.0, question=question).mechanism
    assert found.evaluated == "worst case over all populations"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"answers": 5}, "answers must be a list of numbers or of texts; found 5"),
        ({"answers": "abc"}, "answers must be a list"),
        ({"answers": [True, False]}, r"be \[False, True\]"),
        ({"answers": [1, "a"]}, "answers must be all numbers or all texts"),
        ({"answers": [1, 2], "question": STARS}, "answers must be None where a question is given"),
        ({"question": "stars"}, "question must be a Number, Scale, Choice or YesNo"),
        ({"question": STARS, "objective": "worst"}, "objective must be one of 'cdf', 'shares'"),
        ({"question": STARS, "method": "numerical"}, "method must be left at its default"),
        ({"question": STARS, "prior": [1.0]}, "prior must be None where the question has answers"),
        ({"question": STARS, "n_outputs": 4}, "n_outputs must be 5 at least, one per answer"),
        ({"question": STARS, "epsilon": 9.0}, r"epsilon must lie in \[0.05, 8.0\]"),
        ({"question": no.Choice("a", "b"), "objective": "cdf"}, "objective must be 'shares' where"),
        ({"question": no.Choice("a", "b"), "objective": "mean"}, "objective must be 'shares'"),
        ({"question": no.YesNo(), "objective": "balanced"}, "must be 'shares' or 'mean'"),
        ({"question": no.Scale("a", "b"), "objective": "mean"}, "must be 'cdf' or 'shares'"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        no.design(**{"epsilon": 1.0, **arguments})


def test_reports_are_counted_in_the_terms_of_the_question() -> None:
    reports = DESIGN.privatize(np.array([5, "1", 3.0], object), np.random.default_rng(1))
    places = DESIGN.mechanism.privatize(np.array([4, 0, 2]), np.random.default_rng(1))
    assert np.array_equal(reports, places)
    assert DESIGN.tally(reports) == no.Tally.of(DESIGN.mechanism, reports)
    with pytest.raises(InvalidArgumentError, match="be one of"):
        DESIGN.privatize([6])
    travel = no.design(1.0, answers=["train", "car", "other"])
    assert travel.privatize(["boat"], other="other").shape == (1,)


def test_a_number_has_its_question_too() -> None:
    minutes = no.Number(0, 180, unit="minutes")
    found = no.design(1.0, 16, "worst", question=minutes)
    plain = no.design(1.0, 16, "worst")
    assert found.question == minutes
    assert plain.question is None
    assert found.mechanism == plain.mechanism
    reports = found.privatize([0, 45, 180], np.random.default_rng(5))
    same = plain.privatize([-1.0, -0.5, 1.0], np.random.default_rng(5))
    assert np.array_equal(reports, same)
    assert found.tally(reports).total == 3
    with pytest.raises(InvalidArgumentError, match=r"lie in \[0.0, 180.0\]"):
        found.privatize([200.0])
    assert found.privatize([200.0], clip=True).shape == (1,)
    again = no.Design.from_json(found.to_json())
    assert again.question == minutes
    assert "question" not in json.loads(plain.to_json())
    document = json.loads(found.to_json()) | {"question": STARS.to_document()}
    with pytest.raises(DocumentError, match=r"question\.kind must be 'number'"):
        no.Design.from_json(json.dumps(document))


def test_value_and_bound_are_those_of_the_table() -> None:
    factor = DESIGN.objective.factor
    assert DESIGN.value == pytest.approx(
        worst_error(DESIGN.mechanism.table(), Aim(factor)), rel=1e-9
    )
    verify(1.0, factor, DESIGN.proof.certificate, DESIGN.lower_bound)
    assert 0.0 <= DESIGN.gap <= 0.01
    assert DESIGN.mechanism.privacy_loss() <= DESIGN.epsilon == 1.0


def _changed(**parts: Any) -> str:
    return json.dumps(json.loads(DESIGN.to_json()) | parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"value": DESIGN.value * 0.99}, "value must be that of the table"),
        ({"lower_bound": DESIGN.lower_bound * 1.001}, "certificate must prove the lower bound"),
        ({"lower_bound": -1.0}, "lower_bound must be a positive"),
        ({"objective": "worst"}, "objective must be one of"),
        ({"objective": "shares"}, "value must be that of the table"),
        ({"units": [1.0, 1.0]}, "units must be two numbers for 'balanced', else null"),
        ({"objective": "balanced", "units": [1.0]}, "units must be two positive numbers"),
        ({"certificate": {}}, "certificate must have the keys"),
        ({"mechanism": 7}, "mechanism must be a table"),
        ({"question": {"kind": "number", "lower": 0, "upper": 1, "unit": ""}}, "question.kind"),
        ({"question": {"kind": "scale", "answers": [1, 2]}}, "mechanism must have one row per"),
        ({"question": {"kind": "choice", "answers": list("abcde")}, "objective": "mean"}, "scores"),
        ({"more": 1}, "document must have the keys"),
    ],
)
def test_documents_that_claim_too_much_are_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        no.AnswerDesign.from_json(_changed(**parts))


def test_a_table_that_is_not_private_is_refused() -> None:
    table = json.loads(DESIGN.to_json())["mechanism"]
    with pytest.raises(PrivacyError):
        no.AnswerDesign.from_json(_changed(mechanism=table | {"epsilon": 0.9}))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_catalog_has_what_the_search_finds(objective: str) -> None:
    found = shipped.shipped(1.0, no.Scale(*range(4)), objective)
    assert found is not None
    made = make(1.0, 4, objective)
    assert made.lower_bound == pytest.approx(found.lower_bound, rel=1e-3)
    assert made.value == pytest.approx(found.value, rel=1e-2)
    assert no.AnswerDesign.from_json(found.to_json()) == found


def test_every_design_of_the_catalog_is_within_one_percent() -> None:
    for k in shipped.SIZES:
        for epsilon in shipped.EPSILONS:
            for objective in OBJECTIVES:
                found = shipped.shipped(epsilon, no.Scale(*range(k)), objective)
                assert found is not None
                assert 0.0 <= found.gap <= 0.0101
                assert k <= found.mechanism.n_outputs <= 64


def test_other_scores_are_not_in_the_catalog() -> None:
    assert shipped.shipped(1.0, no.Scale(1, 2, 9), "mean") is None
    assert shipped.shipped(1.0, no.Scale(0.1, 0.2, 0.3), "mean") is not None
    assert shipped.shipped(1.0, no.Scale(1, 2, 9), "cdf") is not None
    assert shipped.shipped(1.01, no.Scale(1, 2, 9), "cdf") is None


def test_progress_ends_at_one() -> None:
    seen: list[float] = []
    no.design(1.03, answers=[1, 2, 3], progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
@pytest.mark.parametrize(("k", "gap"), [(7, 0.005), (11, 0.005), (16, 0.01)])
def test_64_outputs_are_within_half_a_percent(
    k: int, gap: float, epsilon: float, objective: str
) -> None:
    question = no.Scale(*range(k))
    found = solve_answers(epsilon, question, 64, objective, lambda _share: None)
    assert found.mechanism.n_outputs <= 64
    assert found.gap <= gap


@pytest.mark.parametrize("asked", [no.Scale(1, 2, 3, epsilon=2.0), no.Number(0, 1, epsilon=2.0)])
def test_an_epsilon_against_that_of_the_question_is_refused(asked: no.Question) -> None:
    rule = "epsilon must be that of the question, 2.0; found"
    with pytest.raises(InvalidArgumentError, match=f"^{rule} 1.0"):
        no.design(1.0, question=asked)
    with pytest.raises(InvalidArgumentError, match=f"^{rule} 1.0"):
        no.plan(epsilon=1.0, question=asked, people=1000)
    with pytest.raises(InvalidArgumentError, match=f"^{rule} None"):
        no.plan(question=asked, people=1000, error=0.1)
    assert no.design(2, question=asked).epsilon == 2.0


def test_designs_have_short_names() -> None:
    assert repr(no.design(1.0, answers=["a", "b", "c"])) == (
        "AnswerDesign(epsilon=1.0, n_outputs=3, objective='shares', value=4.36, gap=0.0%, "
        "question=Choice(name='', label='', text='', epsilon=None, answers=('a', 'b', 'c')))"
    )
    assert repr(no.design(1.0)) == (
        "Design(epsilon=1.0, n_outputs=128, objective='balanced', method='balanced', "
        "value=4.374, question=None)"
    )

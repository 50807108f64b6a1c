"""Questions, segments and rounds."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import noutput as no
from noutput.amplification.composition import _extra, _optimal
from noutput.amplification.published import Task
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.answers import AnswerMechanism
from tests.amplification.truth import add_report

DUCHI = AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
WEAK = AnswerMechanism(0.6, [[5 << 29, 3 << 29], [3 << 29, 5 << 29]])


def test_each_segment_counts_its_own_reports() -> None:
    found = no.published_parts(DUCHI, reports={"large": 10**5, "small": 8})
    assert found.parts["large"] == no.published_privacy(DUCHI, reports=10**5)
    assert (found.weakest, found.unprotected) == ("small", ("small",))
    assert found.epsilon == DUCHI.privacy_loss()
    assert found.delta == 1e-8
    assert "too few reports" in str(found)


def test_each_question_has_its_own_table() -> None:
    found = no.published_parts({"a": DUCHI, "b": WEAK}, reports={"a": 10**4, "b": 10**4})
    assert found.weakest == "a"
    with pytest.raises(InvalidArgumentError, match=r"^mechanism must have one table per part"):
        no.published_parts({"a": DUCHI}, reports={"a": 10, "b": 10})
    with pytest.raises(InvalidArgumentError, match=r"^reports must name"):
        no.published_parts(DUCHI, reports={})
    with pytest.raises(InvalidArgumentError, match=r"^mechanisms must name"):
        no.planned_questions({}, reports=10)


@pytest.mark.parametrize("reports", [2, 3, 5])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_a_question_drawn_at_random_is_never_below_the_truth(reports: int, share: float) -> None:
    """Average over how many others drew the same question; all their values."""
    rows = DUCHI.table()
    epsilon = share * DUCHI.privacy_loss()
    bound = Task.of(DUCHI, reports, 1.0 / 3.0).delta(epsilon).delta
    truths = []
    for others in product((0, 1), repeat=reports - 1):
        total = 0.0
        for drawn in product((False, True), repeat=reports - 1):
            law = np.zeros(reports + 1)
            law[0] = 1.0
            for other, same in zip(others, drawn, strict=True):
                law = add_report(law, rows[other]) if same else law
            gap = add_report(law, rows[0]) - math.exp(epsilon) * add_report(law, rows[1])
            chance = math.prod(1 / 3 if same else 2 / 3 for same in drawn)
            total += chance * float(np.maximum(gap, 0.0).sum())
        truths.append(total)
    assert max(truths) <= bound * (1.0 + 1e-12)
    assert bound <= 1.6 * max(truths)


def test_planned_questions_are_about_as_private_as_their_share() -> None:
    planned = no.planned_questions({"a": DUCHI, "b": WEAK}, reports=20_000)
    exact = no.published_parts({"a": DUCHI, "b": WEAK}, reports={"a": 10_000, "b": 10_000})
    for name in "ab":
        assert planned.parts[name].epsilon == pytest.approx(exact.parts[name].epsilon, rel=0.02)
        assert planned.parts[name].epsilon < DUCHI.privacy_loss()


def randomized_responses(epsilon: float, count: int, total: float) -> float:
    """Return the exact delta of k randomized responses, by their privacy losses."""
    right = 1.0 / (1.0 + math.exp(-epsilon))
    result = 0.0
    for wrong in range(count + 1):
        loss = (count - 2 * wrong) * epsilon
        chance = math.comb(count, wrong) * right ** (count - wrong) * (1.0 - right) ** wrong
        result += chance * max(0.0, 1.0 - math.exp(total - loss))
    return result


@pytest.mark.parametrize("count", [2, 5, 12])
def test_the_composition_theorem_is_tight_for_randomized_response(count: int) -> None:
    for i in range(count // 2 + 1):
        exact = randomized_responses(0.3, count, (count - 2 * i) * 0.3)
        assert exact <= _extra(0.3, count, i) + 1e-15
        assert _extra(0.3, count, i) == pytest.approx(exact, rel=1e-6, abs=1e-15)


def test_many_rounds_cost_less_than_their_sum() -> None:
    year = no.published_rounds(DUCHI, reports=[10**5] * 52)
    added = math.fsum(part.epsilon for part in year.rounds)
    assert year.rule == "optimal"
    assert year.epsilon < 0.75 * added
    assert 52 * year.rounds[0].delta <= year.delta
    assert _optimal(0.1, 1e-10, 52, 1e-12) == pytest.approx(5.2)  # no delta left: the sum


def test_few_rounds_add_up() -> None:
    both = no.published_rounds(DUCHI, reports=[10**5, 10**4])
    assert both.rule == "sum"
    assert both.epsilon >= math.fsum(part.epsilon for part in both.rounds)
    assert math.fsum(part.delta for part in both.rounds) <= both.delta
    one = no.published_rounds(DUCHI, reports=[10**5])
    assert one.epsilon == pytest.approx(no.published_privacy(DUCHI, reports=10**5).epsilon)
    with pytest.raises(InvalidArgumentError, match=r"^reports must have from 1 to"):
        no.published_rounds(DUCHI, reports=[])

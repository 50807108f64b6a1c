"""Questions, segments and rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

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


def sequences(
    rows: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    people: tuple[int, ...],
    last_of_step: Callable[[tuple[int, ...], int], bool],
) -> dict[tuple[tuple[int, int], ...], float]:
    """Return the law of all published counts of a table with two outputs.

    People report one after the other. Counts are published where `last_of_step` says so, which
    sees what was published before, and how many reports came since.
    """
    found: dict[tuple[tuple[int, int], ...], float] = {}
    for outputs in product((0, 1), repeat=len(people)):
        chance = math.prod(
            float(rows[person, output]) for person, output in zip(people, outputs, strict=True)
        )
        published: list[tuple[int, int]] = []
        start = 0
        for end in range(1, len(people) + 1):
            before = tuple(ones for _, ones in published)
            if last_of_step(before, end - start):
                ones = sum(outputs[:end])
                published.append((end - ones, ones))
                start = end
        key = tuple(published)
        found[key] = found.get(key, 0.0) + chance
    return found


def divergence(laws: Sequence[dict[Any, float]], factor: float) -> float:
    """Return the true delta of two laws."""
    one, other = laws
    return math.fsum(max(0.0, p - factor * other.get(key, 0.0)) for key, p in one.items())


def pairs_of_steps(_: tuple[int, ...], new: int) -> bool:
    """Publish after every two reports."""
    return new == 2


def adaptive_steps(before: tuple[int, ...], new: int) -> bool:
    """Publish after two reports, or after three where the counts before were even."""
    return new == (3 if before and before[-1] % 2 == 0 else 2)


@pytest.mark.parametrize("last_of_step", [pairs_of_steps, adaptive_steps])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.6])
def test_a_sequence_of_published_counts_reveals_what_its_steps_do(
    last_of_step: Callable[[tuple[int, ...], int], bool], epsilon: float
) -> None:
    """Also where steps depend on what was published before. It is more than all reports do."""
    rows, factor, size = DUCHI.table(), math.exp(epsilon), 5
    bound = no.published_delta(DUCHI, reports=2, epsilon=epsilon).delta
    together = no.published_delta(DUCHI, reports=size, epsilon=epsilon).delta
    worst = 0.0
    for others in product((0, 1), repeat=size - 1):
        for place in range(size):
            laws = [
                sequences(rows, (*others[:place], own, *others[place:]), last_of_step)
                for own in (0, 1)
            ]
            worst = max(worst, divergence(laws, factor), divergence(laws[::-1], factor))
    assert worst <= bound * (1.0 + 1e-12)
    assert worst > together  # who claims the guarantee of all reports claims too much


def test_cumulative_counts_are_the_counts_of_the_steps() -> None:
    """A person in the second of two steps: the divergence is exactly that of the step alone."""
    rows = DUCHI.table()
    for others in product((0, 1), repeat=3):
        sequence, alone = (
            [sequences(rows, (*before, own, others[2]), pairs_of_steps) for own in (0, 1)]
            for before in (others[:2], ())
        )
        for factor in (1.0, 1.5, 2.5):
            assert divergence(sequence, factor) == pytest.approx(divergence(alone, factor))


def test_rounds_may_have_tables_of_their_own() -> None:
    found = no.published_rounds([DUCHI, WEAK], reports=[10**4, 10**4])
    parts = [no.published_privacy(each, reports=10**4, delta=5e-9) for each in (DUCHI, WEAK)]
    assert found.epsilon == pytest.approx(sum(part.epsilon for part in parts))
    assert found.rounds == tuple(parts)
    with pytest.raises(InvalidArgumentError, match=r"^mechanism must have one table per round"):
        no.published_rounds([DUCHI], reports=[10, 10])

"""From a question with answers to a design: default objective, search, certified table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput import _checks
from noutput.designs.answers.objective import OBJECTIVES, unit_scores
from noutput.designs.answers.result import AnswerDesign
from noutput.designs.answers.shipped import shipped
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.certified import MAX_OUTPUTS

if TYPE_CHECKING:
    from noutput.designs.solution import Progress
    from noutput.questions import Answers

__all__ = ["EPSILONS", "design_answers", "objective_name", "solve_answers"]

EPSILONS = (0.05, 8.0)
"""The least and the largest privacy loss of a design for answers."""


def objective_name(question: Answers, objective: object = None) -> str:
    """Return the objective that a design for a question has; refuse one that makes no sense.

    Examples
    --------
    >>> from noutput.questions import Choice, Scale, YesNo
    >>> [objective_name(q) for q in (Scale(1, 2, 3), Choice("a", "b"), YesNo())]
    ['cdf', 'shares', 'shares']
    """
    if objective is None:
        return "cdf" if question.ordered else "shares"
    if not isinstance(objective, str) or objective not in OBJECTIVES:
        options = ", ".join(map(repr, OBJECTIVES))
        rule = f"be one of {options} where the question has answers"
        raise InvalidArgumentError("objective", rule, objective)
    if objective in ("cdf", "balanced") and not question.ordered:
        rule = f"be 'shares' where the answers of a question ({question.kind}) have no order"
        if question.scores is not None:
            rule = f"be 'shares' or 'mean' where the question is {question.kind}"
        raise InvalidArgumentError("objective", rule, objective)
    if objective in ("mean", "balanced") and question.scores is None:
        rule = "be 'cdf' or 'shares' where the answers have no scores"
        if not question.ordered:
            rule = "be 'shares' where the answers have no order"
        raise InvalidArgumentError("objective", rule, objective)
    return objective


def design_answers(
    epsilon: float,
    question: Answers,
    n_outputs: int | None,
    objective: object,
    progress: Progress,
) -> AnswerDesign:
    """Return the best table for a question with answers; see `noutput.designs.design.design`."""
    name = objective_name(question, objective)
    lowest, highest = EPSILONS
    if not lowest <= epsilon <= highest:
        raise InvalidArgumentError("epsilon", f"lie in [{lowest}, {highest}]", epsilon)
    k = question.n_answers
    if n_outputs is not None and _checks.whole("n_outputs", n_outputs, 2, MAX_OUTPUTS) < k:
        rule = f"be {k} at least, one per answer, so that all shares can be estimated"
        raise InvalidArgumentError("n_outputs", rule, n_outputs)
    found = shipped(epsilon, question, name) if n_outputs is None else None
    if found is None:
        found = solve_answers(epsilon, question, n_outputs, name, progress)
    progress(1.0)
    return found


def solve_answers(
    epsilon: float, question: Answers, n_outputs: int | None, name: str, progress: Progress
) -> AnswerDesign:
    """Return a design that is made from nothing."""
    from noutput.designs.answers.bound import find_bound, make_objective
    from noutput.designs.answers.error import worst_error
    from noutput.designs.answers.saddle import Aim
    from noutput.designs.answers.search import find_table
    from noutput.mechanisms.quantize import quantize_answers

    scores = unit_scores(question) if name in ("mean", "balanced") else None
    objective = make_objective(epsilon, name, question.n_answers, scores)
    proof = find_bound(epsilon, objective)
    progress(0.3)
    table = find_table(epsilon, objective, proof.value, n_outputs, MAX_OUTPUTS, progress)
    mechanism = quantize_answers(epsilon, table)
    value = worst_error(mechanism.table(), Aim(objective.factor))
    return AnswerDesign(mechanism, question, objective, value, proof)

"""The `design` function: from a privacy budget and an objective to a certified table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

import numpy as np

from noutput import _checks
from noutput._progress import shown_progress
from noutput.designs import catalog
from noutput.designs.answers.request import design_answers
from noutput.designs.certificate import EPSILON_RANGE
from noutput.designs.objective import Objective
from noutput.designs.result import Design, certify
from noutput.errors import DesignError, InvalidArgumentError
from noutput.questions import Answers, Number, Question, question_from_answers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noutput.designs.answers.result import AnswerDesign
    from noutput.designs.solution import Progress, Solution

__all__ = ["Method", "check_own_epsilon", "design"]

Method: TypeAlias = Literal["optimal", "numerical", "analytical"]

_METHODS = ("optimal", "numerical", "analytical")
_LARGEST_SEARCHED = 16
_PAPER_RANGE = (0.001, 20.0)


@overload
def design(
    epsilon: float,
    n_outputs: int | None = None,
    objective: str | float | None = None,
    method: Method = "optimal",
    *,
    question: Number | None = None,
    answers: None = None,
    prior: ArrayLike | None = None,
    progress: Progress | None = None,
) -> Design: ...
@overload
def design(
    epsilon: float,
    n_outputs: int | None = None,
    objective: str | None = None,
    *,
    question: Answers,
    progress: Progress | None = None,
) -> AnswerDesign: ...
@overload
def design(
    epsilon: float,
    n_outputs: int | None = None,
    objective: str | None = None,
    *,
    answers: Sequence[float | str | bool],
    progress: Progress | None = None,
) -> AnswerDesign: ...
@overload
def design(
    epsilon: float,
    n_outputs: int | None = None,
    objective: str | float | None = None,
    *,
    question: Question,
    progress: Progress | None = None,
) -> Design | AnswerDesign: ...
def design(
    epsilon: float,
    n_outputs: int | None = None,
    objective: str | float | None = None,
    method: Method = "optimal",
    *,
    question: Question | None = None,
    answers: Sequence[float | str | bool] | None = None,
    prior: ArrayLike | None = None,
    progress: Progress | None = None,
) -> Design | AnswerDesign:
    r"""Design a mechanism, certify it, and prove how close to the limit it is.

    Parameters
    ----------
    epsilon : float
        The privacy loss that a report may have. Those of
        `noutput.designs.catalog.TRAINED_EPSILONS` are ready; for others a design takes seconds, or
        minutes where the objective is "balanced" or "distribution".
    n_outputs : int, optional
        How many different reports there may be, from 2 to 256. None is 128 where the objective is
        "balanced" (64 from epsilon 2 on), 64 for "distribution", and otherwise the smallest number
        up to 16 whose value is within 0.01% of the best ("numerical": that of the optimal design
        for the worst case at the nearest epsilon of the catalog, whatever the objective is;
        "analytical": the best). Balanced tables and those for the distribution need a few outputs:
        an error names the least number. Designs of the paper ("numerical" and "analytical") with
        an odd number have one output less where that in the middle would never be reported. All
        others have as many as asked for, some of which may tell the same: see `Design.twins`. For
        answers it is the largest number; None is the fewest that were found within 1% of the
        optimum, 256 at most.
    objective : "balanced", "worst", "average", "distribution" or a number r >= 1
        What is minimized. "balanced" serves the mean and the distribution with one table: among
        tables whose worst-case variance is at most 10% above the lower bound, the least
        Wasserstein error of the estimated distribution (see `noutput.designs.balanced`). "worst",
        "average" and numbers are norms of the variance over the inputs; numbers need the method
        "numerical". "distribution" is the Wasserstein error alone, at any variance: see
        `noutput.designs.distribution`. None is "balanced" where the method is "optimal", and
        "worst" for the methods of the paper. (`Design.value` of a balanced design is its worst-case
        variance, `Design.wasserstein_error` its error.) For answers: "cdf" (the default for a
        `Scale`), "shares" (for a `Choice` and a `YesNo`), "mean" (of scores) or "balanced" (mean
        and CDF); see `noutput.designs.answers.objective.AnswerObjective`.
    method : "optimal", "numerical" or "analytical"
        The best table with any knots; the paper's nonlinear program; the paper's closed form
        (worst case only). Balanced tables and those for the distribution are always trained by
        gradients, which takes minutes for an epsilon outside the catalog: leave the default.
    question : Number, Scale, Choice or YesNo, optional
        What is asked. Without it, the design is for numbers of [-1, 1]. Where it has an epsilon
        of its own, `epsilon` must be the same.
    answers : sequence, optional
        Short for a question with these answers: numbers make a `Scale`, texts a `Choice`, which
        has no order: for ``["low", "middle", "high"]`` give the question ``Scale(...)``.
    prior : sequence of floats, optional
        Weights of equal bins of [-1, 1]: the expected distribution of the inputs, where the
        objective is a norm other than "worst". Uniform if not given.
    progress : callable, optional
        Called with the share of the work that is done, from 0 to 1. Without it, long work shows
        a bar in terminals and notebooks.

    Returns
    -------
    Design or AnswerDesign
        An `AnswerDesign` where the question has answers.

    Raises
    ------
    DesignError
        If no table of the wanted kind was found.

    Guarantees
    ----------
    The mechanism is :math:`\epsilon`-locally differentially private, whatever the solver did:
    its table is certified in whole numbers when it is constructed. `Design.lower_bound` is
    proven by a certificate that a separate checker has verified (for designs of the catalog when
    it was built, and whenever `noutput verify` is called).

    Examples
    --------
    >>> import noutput as no
    >>> d = no.design(epsilon=1.0)  # for the mean and the distribution
    >>> d.mechanism.bits, d.gap < 0.10
    (7, True)
    >>> d = no.design(epsilon=1.0, n_outputs=16, objective="worst")  # for the mean alone
    >>> round(d.value, 3), round(d.lower_bound, 3), d.gap < 0.0015
    (3.993, 3.991, True)
    >>> d = no.design(1.0, question=no.Scale(1, 2, 3, 4, 5))  # stars
    >>> d.mechanism.n_outputs, d.gap < 0.01
    (9, True)
    >>> no.design(1.0, answers=["train", "car", "other"]).question
    Choice(name='', label='', text='', epsilon=None, answers=('train', 'car', 'other'))
    """
    asked = _asked(question, answers)
    budget = _checks.positive("epsilon", epsilon)
    check_own_epsilon(asked, budget)
    if isinstance(asked, Answers):
        _refuse_for_answers(method, prior)
        with shown_progress("Designing", progress) as report:
            return design_answers(budget, asked, n_outputs, objective, report)
    found = _number_design(budget, n_outputs, objective, method, prior, progress)
    return found if asked is None else replace(found, question=asked)


def check_own_epsilon(question: Question | None, epsilon: float | None) -> None:
    """Refuse an epsilon that is not the one that the question has, if it has one."""
    own = None if question is None else question.epsilon
    if own is not None and epsilon != own:
        raise InvalidArgumentError("epsilon", f"be that of the question, {own}", epsilon)


def _asked(question: object, answers: object) -> Number | Answers | None:
    """Return what is asked, from one of the two arguments; None where none is given."""
    if answers is None:
        if question is None or isinstance(question, Number | Answers):
            return question
        raise InvalidArgumentError("question", "be a Number, Scale, Choice or YesNo", question)
    if question is not None:
        raise InvalidArgumentError("answers", "be None where a question is given", answers)
    return question_from_answers(answers)


def _refuse_for_answers(method: str, prior: object) -> None:
    if method != "optimal":
        rule = "be left at its default where the question has answers"
        raise InvalidArgumentError("method", rule, method)
    if prior is not None:
        rule = "be None where the question has answers: the worst population decides"
        raise InvalidArgumentError("prior", rule, prior)


def _number_design(
    epsilon: float,
    n_outputs: int | None,
    objective: str | float | None,
    method: Method,
    prior: ArrayLike | None,
    progress: Progress | None,
) -> Design:
    _checks.choice("method", method, _METHODS)
    if objective is None:
        objective = "balanced" if method == "optimal" else "worst"
    goal = Objective.parse(objective, prior)
    if n_outputs is not None:
        n_outputs = _checks.whole("n_outputs", n_outputs, 2, 256)
    lowest, highest = EPSILON_RANGE if method == "optimal" else _PAPER_RANGE
    if not lowest <= epsilon <= highest:
        rule = f"lie in [{lowest}, {highest}] where the method is {method!r}"
        raise InvalidArgumentError("epsilon", rule, epsilon)
    kind = _kind(goal, method)
    if kind == "analytical":
        return certify(epsilon, _analytical(epsilon, n_outputs), goal, kind)
    size = n_outputs or catalog.default_size(goal, epsilon)
    found = catalog.find(epsilon, size, goal, kind)
    with shown_progress("Designing", progress) as report:
        if found is None:
            found = certify(epsilon, _SOLVERS[kind](epsilon, size, goal, report), goal, kind)
            catalog.keep(found, size)
        report(1.0)
    return found


def _kind(goal: Objective, method: Method) -> str:
    """Return the method that a design will have; refuse one that does not know the objective."""
    if goal.r is None:
        if method != "optimal":
            rule = f"be left at its default where the objective is {goal.name!r}"
            raise InvalidArgumentError("method", rule, method)
        return catalog.method_for(goal)
    if method == "analytical" and goal.name != "worst":
        rule = "be 'worst' where the method is 'analytical'"
        raise InvalidArgumentError("objective", rule, goal.spelling)
    if method == "optimal" and goal.variance_norm is None:
        rule = "be 'worst' or 'average' where the method is 'optimal'"
        raise InvalidArgumentError("objective", rule, goal.spelling)
    return method


def _analytical(epsilon: float, n_outputs: int | None) -> Solution:
    from noutput.designs.paper import analytical

    return analytical.solve(epsilon, n_outputs or analytical.best_size(epsilon, _LARGEST_SEARCHED))


def _numerical(
    epsilon: float, n_outputs: int | None, goal: Objective, _progress: Progress
) -> Solution:
    from noutput.designs.paper import numerical

    size = n_outputs or _numerical_size(epsilon)
    return numerical.solve(epsilon, size, goal.r or np.inf, goal.weights)


def _numerical_size(epsilon: float) -> int:
    """Return how many outputs pay, as the nearest worst-case design of the catalog has them.

    The objective does not matter: averages and other norms take the same number. Solving the
    paper's program for every number of outputs would take minutes.
    """
    best = catalog.nearest(epsilon, None, Objective.parse("worst"))
    return _LARGEST_SEARCHED if best is None else best.mechanism.n_outputs


def _optimal(
    epsilon: float, n_outputs: int | None, goal: Objective, progress: Progress
) -> Solution:
    from noutput.designs.optimal import optimize, optimize_sizes

    norm = goal.variance_norm or "worst"
    if n_outputs is not None:
        near = catalog.nearest(epsilon, n_outputs, replace(goal, prior=None))
        start = None if near is None else near.mechanism.outputs
        return optimize(epsilon, n_outputs, norm, goal.weights, start=start, progress=progress)
    solutions = optimize_sizes(epsilon, norm, goal.weights, progress=progress)
    values = {
        size: found.worst_variance if norm == "worst" else found.average_variance(goal.weights)
        for size, found in solutions.items()
    }
    return solutions[catalog.smallest(values)]


def _trained(
    epsilon: float, n_outputs: int | None, goal: Objective, progress: Progress
) -> Solution:
    from noutput.designs import distribution

    size = _trained_size(n_outputs, goal, distribution.SIZES)
    return distribution.solve(epsilon, size, progress=progress)


def _balanced(
    epsilon: float, n_outputs: int | None, goal: Objective, progress: Progress
) -> Solution:
    from noutput.designs import balanced

    size = _trained_size(n_outputs, goal, balanced.SIZES)
    best = _number_design(
        epsilon, balanced.base_size(size, epsilon), "worst", "optimal", None, None
    )
    bound = best.lower_bound
    if bound is None:
        raise DesignError(f"no lower bound of the variance is known for epsilon {epsilon}")
    return balanced.solve(best.mechanism, bound, size, progress=progress)


def _trained_size(n_outputs: int | None, goal: Objective, sizes: tuple[int, int]) -> int:
    """Return a number of outputs that can be trained; refuse others."""
    lowest, highest = sizes
    if n_outputs is None or not lowest <= n_outputs <= highest:
        rule = (
            f"lie between {lowest} and {highest} where the objective is {goal.name!r} "
            "('worst' and 'average' take fewer)"
        )
        raise InvalidArgumentError("n_outputs", rule, n_outputs)
    return n_outputs


_SOLVERS = {
    "optimal": _optimal,
    "numerical": _numerical,
    "trained": _trained,
    "balanced": _balanced,
}

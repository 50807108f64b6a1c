"""Plans: how many people and how much epsilon for what error, before anybody is asked."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, overload

from noutput import _checks
from noutput.designs import catalog
from noutput.designs.certificate import EPSILON_RANGE
from noutput.designs.design import check_own_epsilon, design
from noutput.designs.objective import Objective
from noutput.errors import InvalidArgumentError
from noutput.interval import UNIT, Interval, IntervalLike, as_interval
from noutput.planner.answers import AnswerPlan, plan_answers
from noutput.planner.expectation import (
    EVEN,
    LEVEL,
    MOST_PEOPLE,
    SCORE,
    SHAPES,
    Plan,
    expect,
    expected_half_width,
    histogram_variance,
    people_for,
)
from noutput.questions import Answers, Number, Question, question_from_answers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noutput.designs.solution import Progress
    from noutput.mechanisms.table import TableMechanism

__all__ = ["SHAPES", "AnswerPlan", "Plan", "plan", "ready_plans"]

_DIGITS = 3  # of an epsilon that is solved for
_DESIGNS = 4  # made on demand at most while solving
_OBJECTIVES = ("balanced", *catalog.OBJECTIVES, "distribution")


@overload
def plan(
    *,
    epsilon: float | None = None,
    people: int | None = None,
    error: float | None = None,
    bounds: IntervalLike | None = None,
    question: Number | None = None,
    prior: ArrayLike | None = None,
    n_outputs: int | None = None,
    objective: str | None = None,
    progress: Progress | None = None,
) -> Plan: ...
@overload
def plan(
    *,
    epsilon: float | None = None,
    people: int | None = None,
    error: float | None = None,
    shares_within: float | None = None,
    bounds: IntervalLike | None = None,
    question: Question | None = None,
    answers: object = None,
    prior: ArrayLike | None = None,
    level: float = LEVEL,
    n_outputs: int | None = None,
    objective: str | None = None,
    progress: Progress | None = None,
) -> Plan | AnswerPlan: ...
def plan(
    *,
    epsilon: float | None = None,
    people: int | None = None,
    error: float | None = None,
    shares_within: float | None = None,
    bounds: IntervalLike | None = None,
    question: Question | None = None,
    answers: object = None,
    prior: ArrayLike | None = None,
    level: float = LEVEL,
    n_outputs: int | None = None,
    objective: str | None = None,
    progress: Progress | None = None,
) -> Plan | AnswerPlan:
    r"""Say what to expect of a campaign; given two of epsilon, people and error, find the third.

    Parameters
    ----------
    epsilon : float, optional
        The privacy loss of a report.
    people : int, optional
        How many people report.
    error : float, optional
        Half the width of the 95% interval for the mean that is wanted, in the units of the
        bounds, for numbers distributed as the prior. Of answers: for the mean score.
    shares_within : float, optional
        Of answers, in place of `error`: half the width of the interval for the share of any
        answer, such as 0.02 for two points.
    bounds : Interval or pair of numbers, optional
        The user's units; [-1, 1] by default.
    question : Number, Scale, Choice or YesNo, optional
        What is asked, in place of bounds.
    answers : list of answers, optional
        Short for a question: see `noutput.design`.
    prior : sequence of floats, optional
        Weights of equal bins of the bounds: how people's numbers are thought to be distributed.
        Even if not given. Of answers: one weight per answer; without it, `error` and
        `shares_within` are kept whatever people answer.
    level : float
        Of answers: the level of every interval on its own. Plans for numbers are of 95%.
    n_outputs, objective
        Which table is used; see `noutput.design`.
    progress : callable, optional
        Called with the share of a design that is done, where one must be made.

    Returns
    -------
    Plan or AnswerPlan
        An `AnswerPlan` where the question has answers.

    Raises
    ------
    InvalidArgumentError
        If not exactly two of the three are given, or no third one does it.

    Notes
    -----
    The error falls as epsilon grows. Epsilon is found between two of the catalog by interpolation
    and rounded up to three digits, so that the plan's half width is at most the wanted error, and
    close to it. No epsilon below 0.05 is proposed. Balanced tables and those for distributions
    take longer to make: the smallest epsilon of the catalog that does it is proposed, from 0.25
    to 6.

    Examples
    --------
    >>> import noutput as no
    >>> minutes = (0, 180)
    >>> found = no.plan(epsilon=1, people=50_000, bounds=minutes, objective="worst")
    >>> round(found.half_width, 2), found.bits
    (1.64, 4)
    >>> 536_000 < no.plan(epsilon=1, error=0.5, bounds=minutes, objective="worst").people < 537_000
    True

    How many people for all shares of a rating within two points:

    >>> stars = no.Scale(1, 2, 3, 4, 5)
    >>> found = no.plan(epsilon=1, question=stars, shares_within=0.02)
    >>> found.worst_half_width <= 0.02, found.bits
    (True, 4)
    """
    asked = _asked(bounds, question, answers)
    check_own_epsilon(question, epsilon)
    if isinstance(asked, Answers):
        return plan_answers(
            asked,
            epsilon=epsilon,
            people=people,
            shares_within=shares_within,
            error=error,
            level=level,
            prior=prior,
            n_outputs=n_outputs,
            objective=objective,
            progress=progress,
        )
    for name, given in (("shares_within", shares_within), ("level", level)):
        if given not in (None, LEVEL):
            raise InvalidArgumentError(name, "be given for questions with answers only", given)
    return _plan_number(
        epsilon, people, error, asked, prior, n_outputs, objective or "balanced", progress
    )


def _asked(bounds: IntervalLike | None, question: object, answers: object) -> Interval | Answers:
    """Return what is asked, of the three arguments that may say it."""
    names = {"bounds": bounds, "question": question, "answers": answers}
    given = [name for name, value in names.items() if value is not None]
    if len(given) > 1:
        rule = "be given one at a time"
        raise InvalidArgumentError("bounds, question and answers", rule, given)
    if answers is not None:
        return question_from_answers(answers)
    if isinstance(question, Answers):
        return question
    if isinstance(question, Number):
        return Interval(question.lower, question.upper)
    if question is not None:
        raise InvalidArgumentError("question", "be a Number, Scale, Choice or YesNo", question)
    return UNIT if bounds is None else as_interval(bounds)


def _plan_number(
    epsilon: float | None,
    people: int | None,
    error: float | None,
    bounds: Interval,
    prior: ArrayLike | None,
    n_outputs: int | None,
    objective: str,
    progress: Progress | None,
) -> Plan:
    weights = None if prior is None else _checks.histogram("prior", prior)
    choice = _checks.choice("objective", objective, _OBJECTIVES)

    @cache
    def table(loss: float) -> TableMechanism:
        return design(loss, n_outputs, choice, progress=progress).mechanism

    assumed = EVEN if weights is None else weights
    if epsilon is not None and people is not None and error is None:
        loss, count = epsilon, _checks.whole("people", people, 2, MOST_PEOPLE)
    elif epsilon is not None and people is None and error is not None:
        loss, count = epsilon, people_for(error, table(epsilon), bounds, assumed)
    elif epsilon is None and people is not None and error is not None:
        count = _checks.whole("people", people, 2, MOST_PEOPLE)
        wanted = _checks.positive("error", error) / bounds.half_width
        # the variance of a report that no table can remove, and what would be as bad as the noise
        known = histogram_variance(assumed)
        most = count * (wanted / SCORE) ** 2 - known

        def noise(loss: float) -> float:
            return count * (expected_half_width(table(loss), count, assumed) / SCORE) ** 2 - known

        find = _find_epsilon if choice in catalog.OBJECTIVES else _find_ready_epsilon
        found = find(most, noise)
        if found is None:
            least = math.sqrt(known / count) * SCORE * bounds.half_width
            rule = f"exceed {least:.4g}, which the choice of {count} people alone causes"
            raise InvalidArgumentError("error", rule, error)
        loss = found
    else:
        names = {"epsilon": epsilon, "people": people, "error": error}
        given = [name for name, value in names.items() if value is not None]
        rule = "be given two at a time (the third is computed)"
        raise InvalidArgumentError("epsilon, people and error", rule, given)
    return expect(table(loss), count, bounds, weights)


def ready_plans(
    found: Plan,
    epsilons: tuple[float, ...],
    *,
    prior: ArrayLike | None = None,
    n_outputs: int | None = None,
    objective: str = "balanced",
) -> tuple[Plan, ...]:
    """Return a plan among those for the same people at other epsilons whose designs are ready."""
    goal = Objective.parse(objective)
    weights = None if prior is None else _checks.histogram("prior", prior)
    plans = {found.epsilon: found}
    for epsilon in map(float, epsilons):
        ready = catalog.find(epsilon, n_outputs, goal, catalog.method_for(goal))
        if ready is not None and epsilon not in plans:
            plans[epsilon] = expect(ready.mechanism, found.people, found.bounds, weights)
    return tuple(plans[epsilon] for epsilon in sorted(plans))


def _find_ready_epsilon(wanted: float, noise: Callable[[float], float]) -> float | None:
    """Return the smallest epsilon of trained tables whose noise is at most as large as wanted."""
    grid = catalog.TRAINED_EPSILONS
    place = bisect.bisect_left(range(len(grid)), True, key=lambda i: noise(grid[i]) <= wanted)
    return grid[place] if place < len(grid) else None


def _find_epsilon(wanted: float, noise: Callable[[float], float]) -> float | None:
    """Return an epsilon, hardly above the smallest, whose noise is at most as large as wanted."""
    lowest, highest = EPSILON_RANGE
    grid = catalog.EPSILONS
    if wanted <= 0.0:
        return None
    place = bisect.bisect_left(range(len(grid)), True, key=lambda i: noise(grid[i]) <= wanted)
    low = grid[place - 1] if place else lowest
    high = grid[place] if place < len(grid) else highest
    if noise(low) <= wanted:
        return low
    if noise(high) > wanted:
        return None
    for _ in range(_DESIGNS):
        guess = _round_up(_interpolate(low, high, wanted, noise))
        if guess >= high:
            break
        if noise(guess) <= wanted:
            return guess
        low = guess
    return high


def _interpolate(low: float, high: float, wanted: float, noise: Callable[[float], float]) -> float:
    """Interpolate the noise between two epsilons, both on logarithmic scales."""
    first, last = math.log(noise(low)), math.log(noise(high))
    share = (first - math.log(wanted)) / (first - last)
    return float(low * (high / low) ** share)


def _round_up(value: float) -> float:
    """Round up to a few digits, so that people can say the number."""
    scale = 10.0 ** (_DIGITS - 1 - math.floor(math.log10(value)))
    return math.ceil(value * scale - 1e-9) / scale

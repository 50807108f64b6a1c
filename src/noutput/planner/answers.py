r"""Plans for questions with answers: how many people for shares and mean scores of what error.

Notes
-----
Let :math:`\pi` be the shares of the answers among all people, W the table and
:math:`q = \pi W` the chances of the outputs. The unbiased estimate of :math:`b'\pi` with the
smallest variance has, of n reports, the variance

.. math:: \frac{1}{n} \left( b' J(\pi)^{-1} b - (b'\pi)^2 \right),
          \qquad J(\pi) = W \, \mathrm{diag}(q)^{-1} \, W' ,

and `noutput.estimate_answers` reaches it as n grows. It counts both the noise of the reports and
the choice of the people. The first term is the least value of functions that are linear in
:math:`\pi`, so the whole is concave: its maximum over all populations is found for certain, and a
tangent plane there bounds it from above. That bound is what plans state.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import LinearConstraint, minimize

from noutput import _checks
from noutput.designs import catalog
from noutput.designs.design import design
from noutput.errors import InvalidArgumentError
from noutput.planner.expectation import MOST_PEOPLE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noutput.designs.answers.result import AnswerDesign
    from noutput.designs.solution import Progress
    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.questions import Answers

__all__ = ["AnswerPlan", "plan_answers", "unit_variance", "worst_variance"]


@dataclass(frozen=True)
class AnswerPlan:
    """What to expect of a question with answers.

    Parameters
    ----------
    mechanism : AnswerMechanism
        The table that is used.
    question : Scale, Choice or YesNo
    people : int
        How many people report.
    level : float
        The level of every interval on its own.
    prior : tuple of float
        Shares of the answers that are assumed; even where none were given.

    Examples
    --------
    >>> import noutput as no
    >>> found = no.plan(epsilon=1.0, question=no.YesNo(), shares_within=0.02)
    >>> found.people, round(found.worst_half_width, 4)
    (11243, 0.02)
    >>> found.epsilon, found.bits, round(found.half_width, 4), len(found.half_widths)
    (1.0, 1, 0.02, 2)
    >>> round(found.mean_half_width, 4), round(found.worst_mean_half_width, 4)
    (0.02, 0.02)
    """

    mechanism: AnswerMechanism
    question: Answers
    people: int
    level: float
    prior: tuple[float, ...]

    @property
    def epsilon(self) -> float:
        """The privacy loss of a report."""
        return self.mechanism.epsilon

    @property
    def bits(self) -> int:
        """How many bits a report needs."""
        return self.mechanism.bits

    @cached_property
    def half_widths(self) -> tuple[float, ...]:
        """Half the width of every share's interval, for answers as the prior says."""
        return tuple(map(self._half, _units(self.mechanism, _shares(self.question), self.prior)))

    @property
    def half_width(self) -> float:
        """The largest of `half_widths`."""
        return max(self.half_widths)

    @cached_property
    def worst_half_width(self) -> float:
        """The largest half width of a share, whatever people answer."""
        return self._half(_worst(self.mechanism, _shares(self.question)))

    @cached_property
    def mean_half_width(self) -> float | None:
        """Half the width of the mean score's interval, for answers as the prior says."""
        if self.question.scores is None:
            return None
        return self._half(max(_units(self.mechanism, _scores(self.question), self.prior)))

    @cached_property
    def worst_mean_half_width(self) -> float | None:
        """Half the width of the mean score's interval at most, whatever people answer."""
        if self.question.scores is None:
            return None
        return self._half(_worst(self.mechanism, _scores(self.question)))

    def _half(self, variance: float) -> float:
        return _critical(self.level) * math.sqrt(variance / self.people)


def plan_answers(
    question: Answers,
    *,
    epsilon: float | None,
    people: int | None,
    shares_within: float | None,
    error: float | None,
    level: float,
    prior: ArrayLike | None,
    n_outputs: int | None,
    objective: str | None,
    progress: Progress | None,
) -> AnswerPlan:
    """Return a plan for a question with answers; see `noutput.plan`."""
    level = _checks.inner_share("level", level)
    weights = None if prior is None else _prior(prior, question)
    wanted, targets = _target(question, shares_within, error)
    _check_two(epsilon, people, wanted, shares_within, error)
    count = None if people is None else _checks.whole("people", people, 2, MOST_PEOPLE)
    designs: dict[float, AnswerDesign] = {}

    def table(loss: float) -> AnswerMechanism:
        if loss not in designs:
            designs[loss] = design(loss, n_outputs, objective, question=question, progress=progress)
        return designs[loss].mechanism

    def needed(loss: float) -> int:
        return _people(_unit(table(loss), targets, weights), wanted or 1.0, level)

    if epsilon is None:
        loss = _find_epsilon(needed, count or 0, shares_within, error)
    else:
        loss = _checks.positive("epsilon", epsilon)
    if count is None:
        count = needed(loss)
        if count > MOST_PEOPLE:
            name = "error" if shares_within is None else "shares_within"
            raise InvalidArgumentError(name, f"need at most {MOST_PEOPLE:,} people", wanted)
    even = np.full(question.n_answers, 1.0 / question.n_answers)
    assumed = tuple((even if weights is None else weights).tolist())
    return AnswerPlan(table(loss), question, count, level, assumed)


def _target(
    question: Answers, shares_within: float | None, error: float | None
) -> tuple[float | None, NDArray[np.float64]]:
    """Return the half width that is wanted, and of which combinations of shares."""
    if error is None:
        if shares_within is not None:
            _checks.inner_share("shares_within", shares_within)
        return shares_within, _shares(question)
    if shares_within is not None:
        raise InvalidArgumentError("error", "be None where shares_within is given", error)
    if question.scores is None:
        rule = "be given for questions with scores, which have a mean (shares_within for shares)"
        raise InvalidArgumentError("error", rule, error)
    return _checks.positive("error", error), _scores(question)


def _check_two(
    epsilon: object, people: object, wanted: object, shares_within: object, error: object
) -> None:
    if sum(value is not None for value in (epsilon, people, wanted)) == 2:
        return
    names = {
        "epsilon": epsilon, "people": people, "shares_within": shares_within, "error": error,
    }  # fmt: skip
    given = [name for name, value in names.items() if value is not None]
    rule = "be given two at a time (the third is computed)"
    raise InvalidArgumentError("epsilon, people and shares_within or error", rule, given)


def _find_epsilon(
    needed: Callable[[float], int], count: int, shares_within: float | None, error: float | None
) -> float:
    """Return the smallest epsilon of the catalog for which so many people are enough."""
    grid = catalog.TRAINED_EPSILONS
    place = bisect.bisect_left(range(len(grid)), True, key=lambda i: needed(grid[i]) <= count)
    if place < len(grid):
        return grid[place]
    name, found = ("error", error) if shares_within is None else ("shares_within", shares_within)
    rule = f"be larger, or the people more: at epsilon {grid[-1]:g} it takes {needed(grid[-1]):,}"
    raise InvalidArgumentError(name, rule, found)


def _prior(prior: ArrayLike, question: Answers) -> NDArray[np.float64]:
    weights = _checks.histogram("prior", prior)
    if weights.size != question.n_answers:
        rule = f"have {question.n_answers} entries, one per answer"
        raise InvalidArgumentError("prior", rule, weights.size)
    return np.asarray(weights / weights.sum(), np.float64)


def _critical(level: float) -> float:
    return NormalDist().inv_cdf((1.0 + level) / 2.0)


def _people(variance: float, wanted: float, level: float) -> int:
    return max(2, math.ceil(variance * (_critical(level) / wanted) ** 2 * (1.0 - 1e-12)))


def _shares(question: Answers) -> NDArray[np.float64]:
    return np.eye(question.n_answers)


def _scores(question: Answers) -> NDArray[np.float64]:
    scores = np.array(question.scores, np.float64)
    return scores[None, :]


def _unit(
    mechanism: AnswerMechanism,
    targets: NDArray[np.float64],
    prior: NDArray[np.float64] | None,
) -> float:
    """Return the variance of one report, the largest of several targets."""
    return _worst(mechanism, targets) if prior is None else max(_units(mechanism, targets, prior))


def _units(
    mechanism: AnswerMechanism, targets: NDArray[np.float64], population: ArrayLike
) -> list[float]:
    table, shares = mechanism.table(), np.asarray(population, np.float64)
    return [unit_variance(table, target, shares) for target in targets]


def _worst(mechanism: AnswerMechanism, targets: NDArray[np.float64]) -> float:
    return max(worst_variance(mechanism.table(), target) for target in targets)


def unit_variance(
    table: NDArray[np.float64], target: NDArray[np.float64], population: NDArray[np.float64]
) -> float:
    """Return n times the variance of the best unbiased estimate of ``target @ population``."""
    return _expand(table, target, population)[0]


def _expand(
    table: NDArray[np.float64], target: NDArray[np.float64], population: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the variance and its slopes in the shares."""
    scaled = table / (population @ table)
    scores = np.linalg.solve(scaled @ table.T, target) @ scaled
    mean = float(target @ population)
    squares = table @ np.square(scores)
    return float(population @ squares) - mean**2, squares - 2.0 * mean * target


def worst_variance(table: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    """Return an upper bound, hardly above it, of `unit_variance` over all populations.

    Examples
    --------
    >>> coin = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> round(worst_variance(coin, np.array([0.0, 1.0])), 6)  # one half each: 0.25 / 0.5^2
    1.0
    """
    size = len(table)
    # a target moved by a constant has the same variance, and numbers of the size of 1 are safer
    spread = float(np.ptp(target))
    unit = (target - target.min()) / spread

    def loss(shares: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slopes = _expand(table, unit, shares)
        return -value, -slopes

    found = minimize(
        loss, np.full(size, 1.0 / size), jac=True, method="SLSQP", bounds=[(0.0, 1.0)] * size,
        constraints=LinearConstraint(np.ones((1, size)), 1.0, 1.0),
        options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    shares = np.clip(found.x, 0.0, 1.0)
    value, slopes = _expand(table, unit, shares / shares.sum())
    # the plane that touches a concave function lies above it, and is largest at a corner
    bound = value + float(slopes.max() - slopes @ (shares / shares.sum()))
    return bound * spread**2

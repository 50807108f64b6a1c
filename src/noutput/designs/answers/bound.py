"""Lower bounds of the error of tables for answers, with their certificates."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.answers.certificate import AnswerBound, AnswerCertificate, prove
from noutput.designs.answers.objective import AnswerObjective
from noutput.designs.answers.relaxation import relaxed
from noutput.designs.answers.saddle import MOST_ENUMERATED, Aim, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.designs.answers.saddle import Saddle
    from noutput.designs.solution import Array

__all__ = ["certificate_of", "find_bound", "make_objective", "optimum"]

_DIGITS = 8


def make_objective(
    epsilon: float, name: str, n_answers: int, scores: tuple[float, ...] | None
) -> AnswerObjective:
    """Return an objective; the two bounds that "balanced" adds up are searched for."""
    if name != "balanced":
        return AnswerObjective(name, n_answers, scores if name == "mean" else None)
    mean = find_bound(epsilon, AnswerObjective("mean", n_answers, scores))
    cdf = find_bound(epsilon, AnswerObjective("cdf", n_answers))
    return AnswerObjective(name, n_answers, scores, (mean.value, cdf.value))


def find_bound(epsilon: float, objective: AnswerObjective) -> AnswerBound:
    """Return a proven lower bound.

    For "shares" it is that of the population in which all answers are as frequent. For the others
    above 16 answers it is the larger one of two: that of populations with 16 different answers, and
    a semidefinite relaxation for all.
    """
    factor = objective.factor
    bounds = [
        AnswerBound(prove(epsilon, factor, each), each)
        for each in _certificates(epsilon, objective)
    ]
    return max(bounds, key=lambda bound: bound.value)


@lru_cache(maxsize=4)
def optimum(epsilon: float, objective: AnswerObjective) -> Saddle:
    """Return the best table for an objective; the last ones are kept."""
    return solve(epsilon, Aim(objective.factor))


def _certificates(epsilon: float, objective: AnswerObjective) -> list[AnswerCertificate]:
    k = objective.n_answers
    if objective.name == "shares":
        return [_symmetric(epsilon, k)]
    if k <= MOST_ENUMERATED:
        return [_certificate(optimum(epsilon, objective), np.arange(k), k)]
    rows = np.linspace(0, k - 1, MOST_ENUMERATED).round().astype(np.intp)
    some = _certificate(solve(epsilon, Aim(objective.factor[rows])), rows, k)
    return [some, _relaxed(optimum(epsilon, objective))]


def _relaxed(found: Saddle) -> AnswerCertificate:
    influence, multipliers, diagonal = relaxed(found)
    return AnswerCertificate(
        tuple((found.population / found.population.sum()).tolist()),
        tuple(tuple(row) for row in influence.tolist()),
        tuple(multipliers.tolist()),
        tuple(diagonal.tolist()),
    )


def _certificate(found: Saddle, rows: NDArray[np.intp], k: int) -> AnswerCertificate:
    """Round the numbers of a solution for some of k answers; all others get zeros."""
    some = certificate_of(found)
    population, multipliers = np.zeros(k), np.zeros(k)
    influence = np.zeros((k, found.aim.factor.shape[1]))
    population[rows], multipliers[rows] = some.population, some.multipliers
    influence[rows] = some.influence
    return AnswerCertificate(
        tuple(population.tolist()),
        tuple(map(tuple, influence.tolist())),
        tuple(multipliers.tolist()),
    )


def certificate_of(found: Saddle) -> AnswerCertificate:
    """Round the numbers of a solution."""
    return AnswerCertificate(
        tuple(_rounded(np.maximum(found.population, 0.0) / found.population.sum())),
        tuple(tuple(_rounded(row)) for row in found.influence),
        tuple(_rounded(found.multipliers)),
    )


def _symmetric(epsilon: float, k: int) -> AnswerCertificate:
    r"""Return the certificate for the shares of k answers, in closed form.

    In the population in which all answers are as frequent, nothing changes when answers are
    exchanged. So the best table has all subsets of one size d alike (Ye and Barg, IEEE
    Transactions on Information Theory 64, 2018, doi:10.1109/TIT.2018.2809790). Its information is
    k in the direction of the ones, and in all others that of the variance of a column's entries.
    """
    sizes = np.arange(1, k)
    spread = sizes * (k - sizes) * (np.expm1(epsilon) / (k + sizes * np.expm1(epsilon))) ** 2
    between = 1.0 / (k * float(spread.max()) / (k - 1))
    shift = (1.0 / k - between) / k
    influence = np.full((k, k), _round(shift))
    np.fill_diagonal(influence, _round(between + shift))
    multiplier = _round((1.0 / k + (k - 1) * between) / k)
    rows = tuple(tuple(row) for row in influence.tolist())
    return AnswerCertificate((1.0 / k,) * k, rows, (multiplier,) * k)


def _rounded(values: Array) -> list[float]:
    return [_round(value) for value in values.tolist()]


def _round(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")

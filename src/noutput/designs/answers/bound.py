"""Lower bounds of the error of tables for answers, with their certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.answers.certificate import AnswerBound, AnswerCertificate, prove
from noutput.designs.answers.objective import AnswerObjective
from noutput.designs.answers.saddle import MOST_ENUMERATED, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.designs.answers.saddle import Saddle
    from noutput.designs.solution import Array

__all__ = ["find_bound", "make_objective"]

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

    Above 16 answers it is that of populations with 16 different answers, or, for "shares", that of
    the population in which all answers are as frequent.
    """
    k, factor = objective.n_answers, objective.factor
    if objective.name == "shares":
        certificate = _symmetric(epsilon, k)
    else:
        rows = np.unique(np.linspace(0, k - 1, min(k, MOST_ENUMERATED)).round().astype(np.intp))
        certificate = _certificate(solve(epsilon, factor[rows]), rows, k)
    return AnswerBound(prove(epsilon, factor, certificate), certificate)


def _certificate(found: Saddle, rows: NDArray[np.intp], k: int) -> AnswerCertificate:
    """Round the numbers of a solution for some of k answers; all others get zeros."""
    population, multipliers = np.zeros(k), np.zeros(k)
    influence = np.zeros((k, found.factor.shape[1]))
    population[rows] = np.maximum(found.population, 0.0) / found.population.sum()
    multipliers[rows], influence[rows] = found.multipliers, found.influence
    return AnswerCertificate(
        tuple(_rounded(population)),
        tuple(tuple(_rounded(row)) for row in influence),
        tuple(_rounded(multipliers)),
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

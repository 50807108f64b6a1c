"""The objective of a table for answers: which squared error of an unbiased estimate counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.designs.solution import Array
    from noutput.questions import Answers

__all__ = ["OBJECTIVES", "AnswerObjective", "unit_scores"]

OBJECTIVES = ("cdf", "shares", "mean", "balanced")
_DIGITS = 12  # of scores: those of 0, 0.1, 0.2 and of 0, 1, 2 are the same


@dataclass(frozen=True, slots=True)
class AnswerObjective:
    r"""What a table for answers minimizes, in the worst case over all populations.

    Parameters
    ----------
    name : str
        "cdf": the mean over the k - 1 edges between ordered answers of the squared error of the
        share at or below. "shares": the squared errors of the shares of all answers, added up.
        "mean": the squared error of the mean score. "balanced": the sum of "mean" and "cdf", each
        divided by its own lower bound.
    n_answers : int
    scores : tuple of floats, optional
        The scores of the answers, mapped to [-1, 1]; None where they do not matter.
    units : pair of floats, optional
        Of "balanced": the lower bounds of "mean" and of "cdf".

    Examples
    --------
    >>> objective = AnswerObjective("cdf", 3)
    >>> (objective.factor @ objective.factor.T).tolist()  # doctest: +NUMBER
    [[1.0, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    """

    name: str
    n_answers: int
    scores: tuple[float, ...] | None = None
    units: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        _checks.choice("objective", self.name, OBJECTIVES)
        if (self.scores is not None) != (self.name in ("mean", "balanced")):
            rule = f"be given for 'mean' and 'balanced' only, not for {self.name!r}"
            raise InvalidArgumentError("scores", rule, self.scores)
        if (self.units is not None) != (self.name == "balanced"):
            rule = "be given for 'balanced' only, and needs to be"
            raise InvalidArgumentError("units", rule, self.units)

    @property
    def factor(self) -> Array:
        """A matrix B of k rows: an estimate of the shares that is wrong by d costs ``|B'd|^2``."""
        if self.name == "shares":
            return np.eye(self.n_answers)
        edges = np.tril(np.ones((self.n_answers, self.n_answers)))[:-1].T
        edges /= np.sqrt(self.n_answers - 1)
        if self.name == "cdf":
            return np.asarray(edges)
        scores = np.array(self.scores)[:, None]
        if self.units is None:
            return scores
        mean, cdf = self.units
        return np.hstack([scores / np.sqrt(mean), edges / np.sqrt(cdf)])


def unit_scores(question: Answers) -> tuple[float, ...]:
    """Return the scores of a question's answers, mapped to [-1, 1].

    Examples
    --------
    >>> from noutput.questions import Scale
    >>> unit_scores(Scale(1, 2, 3))
    (-1.0, 0.0, 1.0)
    """
    if question.scores is None:
        rule = "have answers that are numbers, or scores, where a mean is asked for"
        raise InvalidArgumentError("question", rule, list(question.labels))
    first, last = question.scores[0], question.scores[-1]
    half = last / 2.0 - first / 2.0
    shares = ((score / 2.0 - first / 2.0) / half for score in question.scores)
    return tuple(round(2.0 * share - 1.0, _DIGITS) for share in shares)

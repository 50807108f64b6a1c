"""The result of a design for answers: a certified table, its question, and its proven gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from noutput.designs.answers import document
from noutput.encoding import encode
from noutput.errors import InvalidArgumentError
from noutput.tally import Tally

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noutput.designs.answers.certificate import AnswerBound
    from noutput.designs.answers.objective import AnswerObjective
    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.questions import Answers

__all__ = ["AnswerDesign"]


@dataclass(frozen=True, slots=True)
class AnswerDesign:
    """A certified table for a question with answers, and a proof of how good it is.

    Parameters
    ----------
    mechanism : AnswerMechanism
    question : Scale, Choice or YesNo
    objective : AnswerObjective
        What was minimized; `name` is "cdf", "shares", "mean" or "balanced".
    value : float
        The squared error that privacy adds per report, in the worst case over all populations: of
        n reports it is 1/n of this. It is that of an unbiased estimate from the certified table.
        Scores are mapped to [-1, 1] for it.
    proof : AnswerBound
        The lower bound and its certificate.

    Examples
    --------
    >>> import noutput as no
    >>> d = no.design(1.0, question=no.Scale(1, 2, 3, 4, 5))
    >>> d.objective.name, d.mechanism.n_outputs, d.gap < 0.01
    ('cdf', 9, True)
    >>> d.epsilon, round(d.value, 2), round(d.lower_bound, 2)
    (1.0, 2.42, 2.41)
    >>> reports = d.privatize([5, 4, 1], rng=np.random.default_rng(7))
    >>> d.tally(reports).total
    3
    >>> no.AnswerDesign.from_json(d.to_json()) == d
    True
    """

    evaluated: ClassVar[str] = "worst case over all populations"
    method: ClassVar[str] = "optimal"

    mechanism: AnswerMechanism
    question: Answers
    objective: AnswerObjective
    value: float
    proof: AnswerBound

    def __post_init__(self) -> None:
        sizes = self.mechanism.n_answers, self.question.n_answers, self.objective.n_answers
        if len(set(sizes)) > 1:
            rule = "have as many answers as mechanism and objective"
            raise InvalidArgumentError("question", rule, sizes)

    def __repr__(self) -> str:
        return (
            f"AnswerDesign(epsilon={self.epsilon!r}, n_outputs={self.mechanism.n_outputs}, "
            f"objective={self.objective.name!r}, value={self.value:.4g}, gap={self.gap:.1%}, "
            f"question={self.question!r})"
        )

    @property
    def epsilon(self) -> float:
        """The privacy loss that the table claims and has been certified for."""
        return self.mechanism.epsilon

    @property
    def lower_bound(self) -> float:
        """What no private mechanism with any number of outputs can be below."""
        return self.proof.value

    @property
    def gap(self) -> float:
        """By how much the value exceeds the lower bound, as a share of it."""
        return self.value / self.lower_bound - 1.0

    def privatize(
        self,
        values: ArrayLike,
        rng: np.random.Generator | None = None,
        *,
        clip: bool = False,
        other: str | None = None,
        threads: int = 1,
    ) -> NDArray[np.uint8]:
        """Turn answers into private reports.

        Parameters
        ----------
        values : array, list or column
            Answers, each by itself or by its label.
        rng : numpy Generator, optional
            For simulations; secure randomness without it.
        clip : bool
            For questions about numbers only.
        other : str, optional
            The label of the answer that stands for all values that are none.
        threads : int
            How many threads share the work; the reports do not depend on it.
        """
        places = encode(self.question, values, clip=clip, other=other)
        return np.asarray(self.mechanism.privatize(np.atleast_1d(places), rng, threads=threads))

    def tally(self, reports: ArrayLike) -> Tally:
        """Count reports."""
        return Tally.of(self.mechanism, reports)

    def to_json(self) -> str:
        """Return the design as a JSON document with its question, its table and its proof."""
        return document.write(self.mechanism, self.question, self.objective, self.value, self.proof)

    @staticmethod
    def from_json(text: str | bytes) -> AnswerDesign:
        """Read a design; its table is certified, and value and lower bound are computed again."""
        return AnswerDesign(*document.read(text))

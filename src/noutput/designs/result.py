"""The result of a design: a certified table, how it was found, and how close to the limit it is."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs import document
from noutput.designs.certificate import EPSILON_RANGE, Bound
from noutput.encoding import encode
from noutput.mechanisms.quantize import quantize
from noutput.questions import Number
from noutput.tally import Tally

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noutput.designs.objective import Objective
    from noutput.designs.solution import Solution
    from noutput.mechanisms.table import TableMechanism

__all__ = ["Design", "certify", "contents", "search_bound"]

_UNIT = Number(-1.0, 1.0)
_SAME_NUMBER = 1e-5  # of the largest output; the solver keeps outputs a little apart


@dataclass(frozen=True, slots=True)
class Design:
    """A certified table and how it was found.

    Parameters
    ----------
    mechanism : TableMechanism
    objective : Objective
        What was minimized.
    method : str
        How: "optimal", "numerical", "analytical", "trained" (for the distribution) or "balanced".
    value : float
        The objective at the certified table (not at the solver's real numbers); the worst-case
        variance of a balanced one.
    iterations : int
        Steps of the solver that found it; 0 for a closed form.
    converged : bool
        Whether the solver met its own stopping rule.
    bound : Bound, optional
        A lower bound that is known already; it is computed when asked for otherwise.
    question : Number, optional
        What is asked: its bounds are those of the values that `privatize` takes.

    Examples
    --------
    >>> import noutput as no
    >>> d = no.design(1.0, 4, "worst")
    >>> d.method, d.mechanism.n_outputs, round(d.value, 4), round(d.lower_bound, 4)
    ('optimal', 4, 4.1539, 3.9906)
    >>> f"{d.gap:.1%}", d.proof.certificate.epsilon
    ('4.1%', 1.0)
    >>> no.Design.from_json(d.to_json()).mechanism == d.mechanism
    True
    """

    mechanism: TableMechanism
    objective: Objective
    method: str
    value: float
    iterations: int
    converged: bool
    bound: Bound | None = None
    question: Number | None = None

    def __repr__(self) -> str:
        return (
            f"Design(epsilon={self.epsilon!r}, n_outputs={self.mechanism.n_outputs}, "
            f"objective={self.objective.spelling!r}, method={self.method!r}, "
            f"value={self.value:.4g}, question={self.question!r})"
        )

    @property
    def epsilon(self) -> float:
        """The privacy loss that the table claims and has been certified for."""
        return self.mechanism.epsilon

    def privatize(
        self,
        values: ArrayLike,
        rng: np.random.Generator | None = None,
        *,
        clip: bool = False,
        other: str | None = None,
        threads: int = 1,
    ) -> NDArray[np.uint8]:
        """Turn numbers into private reports.

        Parameters
        ----------
        values : array, list or column
            Numbers in the bounds of the question; in [-1, 1] where there is none.
        rng : numpy Generator, optional
            For simulations; secure randomness without it.
        clip : bool
            Move numbers outside the bounds to the nearer one instead of refusing them.
        other : str, optional
            For questions with answers only.
        threads : int
            How many threads share the work; the reports do not depend on it.

        Examples
        --------
        >>> import noutput as no
        >>> d = no.design(1.0, 16, "worst", question=no.Number(0, 180, unit="minutes"))
        >>> d.tally(d.privatize([12.5, 60.0, 180.0])).total
        3
        """
        units = encode(self.question or _UNIT, values, clip=clip, other=other)
        return self.mechanism.privatize(np.atleast_1d(units), rng, threads=threads)

    def tally(self, reports: ArrayLike) -> Tally:
        """Count reports."""
        return Tally.of(self.mechanism, reports)

    @property
    def proof(self) -> Bound | None:
        """The lower bound and the certificate that proves it.

        It is that of the worst case for balanced designs. None for "distribution" and for norms
        other than the average and the worst case, and for epsilons outside [0.05, 12], where no
        bound is known.
        """
        return self.bound or search_bound(self.mechanism.epsilon, self.objective)

    @property
    def lower_bound(self) -> float | None:
        """A number that no unbiased private mechanism with any number of outputs can beat."""
        proof = self.proof
        return None if proof is None else proof.value

    @property
    def gap(self) -> float | None:
        """By how much the value exceeds the lower bound, as a share of it."""
        bound = self.lower_bound
        return None if bound is None else self.value / bound - 1.0

    @property
    def wasserstein_error(self) -> float:
        """The mean error of the estimated distribution, as an area between CDFs over [-1, 1].

        Of collections of 5,000 people, simulated when asked for, which may take a second. It is
        the value of a design for the distribution.

        Examples
        --------
        >>> import noutput as no
        >>> balanced, mean = no.design(1.0, 64), no.design(1.0, 16, "worst")
        >>> balanced.wasserstein_error < 0.65 * mean.wasserstein_error
        True
        """
        if self.objective.name == "distribution":
            return self.value
        from noutput.designs.distribution.error import expected_error

        return expected_error(self.mechanism)

    @property
    def twins(self) -> tuple[tuple[int, int], ...]:
        r"""Neighboring outputs that tell the same: which of the two is reported is pure chance.

        They stand for the same number and their columns are proportional,
        :math:`P(i \mid x) = c\,P(j \mid x)` for all x, up to rounding. Merged into one
        output they would keep the privacy loss, the mean and everything that can be estimated, so
        a design with one output less is as good. Where an even number is asked for and an odd one
        is best, as 15 at epsilon 1, the two outputs in the middle become twins; the table has as
        many outputs as were asked for all the same.

        Examples
        --------
        >>> import noutput as no
        >>> no.design(1.0, 16, "worst").twins, no.design(1.0, 15, "worst").twins
        (((7, 8),), ())
        """
        weights = self.mechanism.weights.astype(np.float64)
        totals = weights.sum(axis=0)
        unlike = np.abs(weights[:, :-1] * totals[1:] - weights[:, 1:] * totals[:-1]).max(axis=0)
        proportional = unlike <= totals[:-1] + totals[1:]  # one unit of a weight
        outputs = self.mechanism.outputs
        together = np.diff(outputs) <= _SAME_NUMBER * np.abs(outputs).max()
        places = np.flatnonzero(proportional & together)
        return tuple((index, index + 1) for index in places.tolist())

    def to_json(self) -> str:
        """Return the design as a JSON document with its table and its proof."""
        return document.write(contents(self, self.proof))

    @staticmethod
    def from_json(text: str | bytes) -> Design:
        """Read a design; its table is certified and its lower bound is proven again."""
        return Design(**document.read(text))


def certify(epsilon: float, solution: Solution, objective: Objective, method: str) -> Design:
    """Quantize and certify a solution, and evaluate the certified table."""
    mechanism = quantize(epsilon, solution.outputs, solution.probabilities)
    return Design(
        mechanism=mechanism,
        objective=objective,
        method=method,
        value=objective.value(mechanism),
        iterations=solution.iterations,
        converged=solution.converged,
    )


def contents(design: Design, bound: Bound | None) -> document.Contents:
    """Return what a document of the design holds, with this bound or none."""
    return {field.name: getattr(design, field.name) for field in fields(design)} | {"bound": bound}


def search_bound(epsilon: float, objective: Objective) -> Bound | None:
    """Return a lower bound; None where none is known.

    That is for "distribution" and for norms other than the average and the worst case, and for
    epsilons outside [0.05, 12].
    """
    lowest, highest = EPSILON_RANGE
    norm = objective.variance_norm
    if norm is None or not lowest <= epsilon <= highest:
        return None
    from noutput.designs.bound import lower_bound  # needs scipy, which takes long to load

    return lower_bound(epsilon, norm, objective.prior)

"""What a design is: a certified table, how it was found, and how close to the limit it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from noutput.designs.certificate import EPSILON_RANGE, Bound

if TYPE_CHECKING:
    from noutput.designs.objective import Objective
    from noutput.mechanisms.table import TableMechanism

__all__ = ["Design"]


@dataclass(frozen=True, slots=True)
class Design:
    """A certified table and how it was found.

    Parameters
    ----------
    mechanism : TableMechanism
    objective : Objective
        What was minimized.
    method : str
        How: "optimal", "numerical", "analytical" or "trained".
    value : float
        The objective at the certified table (not at the solver's real numbers).
    iterations : int
        Steps of the solver that found it; 0 for a closed form.
    converged : bool
        Whether the solver met its own stopping rule.
    bound : Bound, optional
        A lower bound that is known already; it is computed when asked for otherwise.
    """

    mechanism: TableMechanism
    objective: Objective
    method: str
    value: float
    iterations: int
    converged: bool
    bound: Bound | None = None

    @property
    def proof(self) -> Bound | None:
        """The lower bound and the certificate that proves it.

        None for other objectives than the average and the worst case, and for epsilons outside
        [0.05, 12], where no bound is known.
        """
        if self.bound is not None or not self._has_bound:
            return self.bound
        from noutput.designs.bound import lower_bound

        objective: Literal["worst", "average"] = (
            "worst" if self.objective.name == "worst" else "average"
        )
        return lower_bound(self.mechanism.epsilon, objective, self.objective.prior)

    @property
    def _has_bound(self) -> bool:
        lowest, highest = EPSILON_RANGE
        return self.objective.r in (1.0, math.inf) and lowest <= self.mechanism.epsilon <= highest

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

    def to_json(self) -> str:
        """Return the design as a JSON document with its table and its proof."""
        from noutput.designs.document import dump

        return dump(self)

    @staticmethod
    def from_json(text: str | bytes) -> Design:
        """Read a design; its table is certified and its lower bound is proven again."""
        from noutput.designs.document import load

        return load(text)

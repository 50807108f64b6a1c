"""What a design is: a certified table, how it was found, and how close to the limit it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noutput.designs.certificate import Certificate
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
        How: "optimal", "numerical" or "analytical".
    value : float
        The objective at the certified table (not at the solver's real numbers).
    iterations : int
        Steps of the solver that found it; 0 for a closed form.
    converged : bool
        Whether the solver met its own stopping rule.
    certificate : Certificate, optional
        What proves the lower bound.
    proven : float, optional
        The lower bound that the certificate proves.
    """

    mechanism: TableMechanism
    objective: Objective
    method: str
    value: float
    iterations: int
    converged: bool
    certificate: Certificate | None = None
    proven: float | None = None

    @property
    def lower_bound(self) -> float | None:
        """A number that no unbiased private mechanism with any number of outputs can beat.

        None for norms other than the average and the worst case, for which no bound is known.
        """
        return self.proven

    @property
    def gap(self) -> float | None:
        """By how much the value exceeds the lower bound, as a share of it."""
        return None if self.proven is None else self.value / self.proven - 1.0

    def to_json(self) -> str:
        """Return the design as a JSON document with its table and its proof."""
        from noutput.designs.document import dump

        return dump(self)

    @staticmethod
    def from_json(text: str | bytes) -> Design:
        """Read a design; its table is certified and its lower bound is proven again."""
        from noutput.designs.document import load

        return load(text)

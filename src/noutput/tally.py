"""Counts of reports, tied to the mechanism that made them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noutput.mechanisms.table import TableMechanism

__all__ = ["Tally"]


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each output was reported. Tallies of one mechanism can be added.

    Parameters
    ----------
    fingerprint : str
        The fingerprint of the mechanism.
    counts : tuple of int
        One count an output, of any size.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> Tally.of(m, [0, 1, 1]) + Tally.of(m, [1])
    Tally(fingerprint='...', counts=(1, 3))
    """

    fingerprint: str
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        for count in self.counts:
            if type(count) is not int or count < 0:
                raise InvalidArgumentError("counts", "be whole numbers, none negative", count)

    @classmethod
    def of(cls, mechanism: TableMechanism, reports: ArrayLike) -> Tally:
        """Count reports (indexes of outputs) of a mechanism."""
        flat = mechanism.cells(reports).reshape(-1)
        counts = np.bincount(flat, minlength=mechanism.n_outputs)
        return cls(mechanism.fingerprint, tuple(counts.tolist()))

    @property
    def total(self) -> int:
        """How many reports were counted."""
        return sum(self.counts)

    @staticmethod
    def sum(tallies: Iterable[Tally]) -> Tally:
        """Add up tallies of one mechanism (at least one)."""
        first, *others = tallies
        for tally in others:
            first = first + tally
        return first

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if other.fingerprint != self.fingerprint:
            rule = f"be a tally of the same mechanism ({self.fingerprint[:12]})"
            raise InvalidArgumentError("tally", rule, other.fingerprint[:12])
        pairs = zip(self.counts, other.counts, strict=True)
        return Tally(self.fingerprint, tuple(a + b for a, b in pairs))

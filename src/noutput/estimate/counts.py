"""Counts of outputs as arrays, and the matrix from bins to outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noutput.errors import InvalidArgumentError
from noutput.mechanisms.base import CellModel, check_channel
from noutput.mechanisms.table import TableMechanism, unit_mechanism
from noutput.tally import Tally

if TYPE_CHECKING:
    from noutput.interval import Interval
    from noutput.mechanisms.answers import AnswerMechanism

__all__ = [
    "Array",
    "CellModel",
    "Counts",
    "check_table",
    "check_tally",
    "check_unit",
    "on_unit",
    "supported",
    "transition_matrix",
]

Array: TypeAlias = NDArray[np.float64]

_WANTED = "be a Tally, as Tally.of(mechanism, reports) makes"
_MOST_REPORTS = 10**300  # what a float can count, with room for squares of small numbers


@dataclass(frozen=True)
class Counts:
    """Several tallies of one mechanism as arrays.

    Parameters
    ----------
    shares : array of shape (B, J)
        The share of every output in a tally; every row adds up to 1.
    totals : array of shape (B,)
        How many reports each tally has, as floats.
    """

    shares: Array
    totals: Array

    @classmethod
    def of(cls, tallies: Sequence[Tally]) -> Counts:
        """Convert tallies; whole numbers of any size are rounded once, as shares."""
        totals = [tally.total for tally in tallies]
        for index, total in enumerate(totals):
            if total < 1:
                raise InvalidArgumentError(f"tally[{index}]", "have at least one report", total)
        pairs = zip(tallies, totals, strict=True)
        shares = [[count / total for count in tally.counts] for tally, total in pairs]
        return cls(np.array(shares, np.float64), np.array(totals, np.float64))

    def __len__(self) -> int:
        return len(self.totals)


@dataclass(frozen=True)
class _Key:
    """A mechanism is known by its fingerprint, so equal ones share a matrix."""

    fingerprint: str
    bins: int
    channel: CellModel = field(compare=False)


@lru_cache(maxsize=64)
def _matrix(key: _Key) -> Array:
    theta = np.array(key.channel.transition(key.bins), np.float64, order="C")
    theta.flags.writeable = False
    return theta


def transition_matrix(channel: CellModel, bins: int) -> Array:
    """Return the mechanism's transition matrix (read-only), computed once and remembered."""
    check_channel(channel, "fingerprint", "transition")
    check_unit(channel)
    return _matrix(_Key(channel.fingerprint, bins, channel))


def check_table(mechanism: object) -> None:
    """Refuse a mechanism that is not a table."""
    if not isinstance(mechanism, TableMechanism):
        rule = "be a TableMechanism (for any other, average what its `decode` makes of the reports)"
        raise InvalidArgumentError("mechanism", rule, type(mechanism).__name__)
    check_unit(mechanism)


def check_unit(mechanism: object) -> None:
    """Refuse a table of numbers whose knots are in another unit: results would be wrong."""
    if isinstance(mechanism, TableMechanism) and mechanism.bounds != (-1.0, 1.0):
        rule = "have knots from -1 to 1, or from and to the bounds that are given"
        raise InvalidArgumentError("mechanism", rule, mechanism.bounds)


def on_unit(mechanism: Any, bounds: Interval) -> Any:
    """Return a table of numbers between these bounds with its knots moved to [-1, 1].

    Any other mechanism is returned as it is.
    """
    ends = (bounds.lower, bounds.upper)
    if isinstance(mechanism, TableMechanism) and mechanism.bounds == ends != (-1.0, 1.0):
        return unit_mechanism(mechanism.plain)
    return mechanism


def check_tally(channel: CellModel | AnswerMechanism, tally: Tally, n_outputs: int) -> None:
    """Refuse what is no tally, and a tally of another mechanism."""
    if not isinstance(tally, Tally):
        raise InvalidArgumentError("tally", _WANTED, type(tally).__name__)
    if tally.fingerprint != channel.fingerprint:
        rule = f"be a tally of the mechanism {channel.fingerprint[:12]}"
        raise InvalidArgumentError("tally", rule, tally.fingerprint[:12])
    if len(tally.counts) != n_outputs:
        raise InvalidArgumentError("tally", f"have {n_outputs} counts", len(tally.counts))
    if tally.total > _MOST_REPORTS:
        digits = f"more than 1e{tally.total.bit_length() * 3 // 10 - 1}"
        raise InvalidArgumentError("tally", "have at most 1e300 reports", digits)


def supported(shares: Array, theta: Array) -> tuple[Array, Array]:
    """Leave out the outputs that never happen, so that no logarithm of zero is taken.

    Raises
    ------
    InvalidArgumentError
        If such an output was counted.
    """
    possible = theta.max(axis=0) > 0.0
    if possible.all():
        return shares, theta
    wrong = np.flatnonzero((shares > 0.0).any(axis=0) & ~possible)
    if wrong.size:
        rule = "have no count of an output whose probability is zero"
        raise InvalidArgumentError("tally", rule, f"output {wrong[0]}")
    return shares[:, possible], np.ascontiguousarray(theta[:, possible])

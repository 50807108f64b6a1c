r"""Rows of whole numbers that are certified: what every table is made of, in plain Python."""

from __future__ import annotations

import secrets
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from noutput import _checks
from noutput.errors import DocumentError, InvalidArgumentError, PrivacyError
from noutput.mechanisms import document, exact

__all__ = ["FORMAT", "MAX_OUTPUTS", "CertifiedRows", "check_rows", "read_rows"]

FORMAT = "noutput-table"
MAX_OUTPUTS = 256


class CertifiedRows:
    r"""Rows of probabilities in units of :math:`2^{-32}`: the part that all tables share.

    Certificate, loss and draw are here and nowhere else. A subclass says which row an input is
    drawn from (`noutput.mechanisms.certified.CertifiedTable`: numbers between knots;
    `noutput.mechanisms.answer_table.AnswerTable`: one row per answer), sets both attributes once
    and calls `certify` before anything else can be done with it.

    Attributes
    ----------
    epsilon : float
        The privacy loss that the table claims.
    weights : tuple of K tuples of N whole numbers
        Every row adds up to :math:`2^{32}`.

    Guarantees
    ----------
    A report that is drawn from any mixture of certified rows is :math:`\epsilon`-locally
    differentially private: `certify` proves :math:`\max_k w_{k,i} \le e^\epsilon \min_k w_{k,i}`
    for every output i in whole-number arithmetic.
    """

    epsilon: float
    weights: tuple[tuple[int, ...], ...]

    def certify(self, epsilon: float) -> None:
        r"""Raise `PrivacyError` unless the table is :math:`\epsilon`-private for this epsilon.

        Guarantees
        ----------
        Returning proves the inequality as a statement about real numbers: see
        `noutput.mechanisms.exact.certify`.
        """
        violation = exact.certify(self._largest, self._smallest, epsilon)
        if violation is not None:
            column = [row[violation] for row in self.weights]
            high, low = max(column), min(column)
            rows = column.index(high), column.index(low)
            raise PrivacyError(violation, *rows, (high, low), epsilon)

    @cached_property
    def _largest(self) -> tuple[int, ...]:
        return tuple(map(max, zip(*self.weights, strict=True)))

    @cached_property
    def _smallest(self) -> tuple[int, ...]:
        return tuple(map(min, zip(*self.weights, strict=True)))

    @cached_property
    def _thresholds(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(accumulate(row)) for row in self.weights)

    @property
    def n_outputs(self) -> int:
        """How many different outputs there are."""
        return len(self.weights[0])

    @property
    def bits(self) -> int:
        """How many bits an output needs."""
        return (self.n_outputs - 1).bit_length()

    def privacy_loss(self) -> float:
        r"""Return the exact loss :math:`\max_i \ln(\max_k w_{k,i} / \min_k w_{k,i})`, rounded up.

        Guarantees
        ----------
        The result is a proven upper bound of the loss and never above `epsilon`.
        """
        return exact.privacy_loss(self._largest, self._smallest)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the table's canonical form, as 64 hexadecimal digits."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def draw_from_row(self, row: int, word: int) -> int:
        """Return the output that the lower 32 bits of a 64-bit word select in a row."""
        return bisect_right(self._thresholds[row], word & (exact.SCALE - 1))


def secure_word() -> int:
    """Return 64 bits of the operating system's secure source, for one draw."""
    return secrets.randbits(64)


def check_rows(
    rows: Sequence[Sequence[int]], size: int, most_rows: int
) -> tuple[tuple[int, ...], ...]:
    """Return rows of `size` positive whole numbers that add up to 2^32 each."""
    if not 2 <= len(rows) <= most_rows:
        raise InvalidArgumentError("weights", f"have from 2 to {most_rows} rows", len(rows))
    return tuple(_row(f"weights[{k}]", tuple(row), size) for k, row in enumerate(rows))


def _row(name: str, row: tuple[int, ...], size: int) -> tuple[int, ...]:
    if len(row) != size:
        raise InvalidArgumentError(name, f"have {size} entries", len(row))
    if set(map(type, row)) != {int} or min(row) < 1 or max(row) >= exact.SCALE:
        # numbers of other types overflow where the certificate shifts them
        row = tuple(
            _checks.whole(f"{name}[{i}]", weight, 1, exact.SCALE - 1)
            for i, weight in enumerate(row)
        )
    if sum(row) != exact.SCALE:
        raise InvalidArgumentError(name, f"add up to {exact.SCALE}", sum(row))
    return row


def read_rows(found: dict[str, Any], most_rows: int) -> tuple[tuple[int, ...], ...]:
    """Read the scale and the weights of a table's document."""
    if type(found["scale"]) is not int or found["scale"] != exact.SCALE:
        raise DocumentError("scale", f"be {exact.SCALE}", found["scale"])
    rows = document.entries("weights", found["weights"], most_rows)
    return tuple(
        tuple(document.entries(f"weights[{k}]", row, MAX_OUTPUTS)) for k, row in enumerate(rows)
    )

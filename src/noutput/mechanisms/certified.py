r"""The table that a device draws from: certified in whole numbers, without numpy."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

from noutput import _checks
from noutput.errors import InvalidArgumentError, PrivacyError
from noutput.mechanisms import document, exact

__all__ = ["CertifiedTable"]

_MEAN_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class CertifiedTable:
    r"""What `TableMechanism` is, for a device: plain tuples, one number at a time.

    Both classes accept the same documents, have the same fingerprint for the same table, and
    turn the same 64-bit word into the same output.

    Parameters
    ----------
    epsilon : float
        The privacy loss that the table claims.
    outputs : tuple of N increasing floats
        The value that each output stands for; 2 <= N <= 256.
    knots : tuple of K increasing floats from -1 to 1
        The mean output of every row.
    weights : tuple of K tuples of N whole numbers
        Every row adds up to :math:`2^{32}`.

    Raises
    ------
    PrivacyError
        If some output is more than :math:`e^\epsilon` times as likely at one knot as at another.
    InvalidArgumentError
        If the parts do not make a table.

    Guarantees
    ----------
    Every object of this class is :math:`\epsilon`-locally differentially private for all real
    inputs: the constructor has proven :math:`\max_k w_{k,i} \le e^\epsilon \min_k w_{k,i}` for
    every output in whole-number arithmetic, whoever wrote the table.

    Examples
    --------
    >>> quarter = 1 << 30
    >>> rows = ((3 * quarter, quarter), (quarter, 3 * quarter))
    >>> table = CertifiedTable(1.1, (-2.0, 2.0), (-1.0, 1.0), rows)
    >>> table.draw(1.0, 0xFFFF_FFFF), table.privatize(0.25) in (0, 1)
    (1, True)
    >>> table.privacy_loss()
    1.0986122886681098
    >>> table.n_outputs, table.bits, len(table.fingerprint)
    (2, 1, 64)
    >>> CertifiedTable.from_json(table.to_json()) == table
    True
    >>> import json
    >>> CertifiedTable.from_document(json.loads(table.to_json())) == table
    True
    >>> table.certify(1.0)  # a smaller epsilon than the table has
    Traceback (most recent call last):
        ...
    noutput.errors.PrivacyError: weights must satisfy max <= e^epsilon * min in every column ...
    """

    epsilon: float
    outputs: tuple[float, ...]
    knots: tuple[float, ...]
    weights: tuple[tuple[int, ...], ...]
    _thresholds: tuple[tuple[int, ...], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        set_part = object.__setattr__
        set_part(self, "epsilon", _checks.positive("epsilon", self.epsilon))
        outputs = _increasing("outputs", self.outputs, 2, document.MAX_OUTPUTS)
        set_part(self, "outputs", tuple(value + 0.0 for value in outputs))  # no negative zero
        set_part(self, "weights", _rows(self.weights, len(outputs)))
        knots = _increasing("knots", self.knots, 2, document.MAX_KNOTS)
        set_part(self, "knots", tuple(value + 0.0 for value in knots))
        set_part(self, "_thresholds", tuple(tuple(accumulate(row)) for row in self.weights))
        self.certify(self.epsilon)
        self._check_knots()

    def _check_knots(self) -> None:
        if len(self.knots) != len(self.weights):
            rule = f"have {len(self.weights)} entries, one a row of weights"
            raise InvalidArgumentError("knots", rule, len(self.knots))
        if self.knots[0] != -1.0 or self.knots[-1] != 1.0:
            raise InvalidArgumentError("knots", "reach from -1 to 1", self.knots)
        for index, (knot, row) in enumerate(zip(self.knots, self.weights, strict=True)):
            mean = sum(map(mul, self.outputs, row)) / exact.SCALE
            if not abs(mean - knot) <= _MEAN_TOLERANCE:
                rule = f"be the mean output of its row, {mean}"
                raise InvalidArgumentError(f"knots[{index}]", rule, knot)

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

    @property
    def n_outputs(self) -> int:
        """How many different outputs there are."""
        return len(self.outputs)

    @property
    def bits(self) -> int:
        """How many bits an output needs."""
        return (self.n_outputs - 1).bit_length()

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical form: that of the equal `TableMechanism`."""
        return document.fingerprint_of(self.epsilon, self.outputs, self.knots, self.weights)

    def privacy_loss(self) -> float:
        """Return the exact loss, rounded up; it is never above `epsilon`."""
        return exact.privacy_loss(self._largest, self._smallest)

    def draw(self, x: float, word: int) -> int:
        """Return the output for one number of [-1, 1] and one 64-bit word."""
        return exact.draw(self.knots, self._thresholds, x, word)

    def privatize(self, x: float) -> int:
        """Return a private output for one number of [-1, 1].

        Guarantees
        ----------
        The output is drawn with one 64-bit word of the operating system's secure source, which
        is used for nothing else and kept nowhere.
        """
        return exact.draw(self.knots, self._thresholds, x, secrets.randbits(64))

    def to_json(self) -> str:
        """Return the table as a JSON document, as `TableMechanism.to_json` does."""
        return document.dump(
            epsilon=self.epsilon,
            outputs=list(self.outputs),
            knots=list(self.knots),
            weights=[list(row) for row in self.weights],
            fingerprint=self.fingerprint,
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> CertifiedTable:
        """Read a table from JSON, and certify it before it is returned.

        Raises
        ------
        InvalidArgumentError
            If the text is not such a document (then a DocumentError), a part of it breaks a
            rule, or a fingerprint does not match.
        PrivacyError
            If the table is not as private as it claims.
        """
        return cls.from_document(document.parse(text))

    @classmethod
    def from_document(cls, found: dict[str, Any]) -> CertifiedTable:
        """Read a table from parsed JSON, as `from_json` does from text."""
        parts = document.load(found, document.MAX_OUTPUTS, document.MAX_KNOTS)
        rows = tuple(tuple(row) for row in parts.weights)
        table = cls(parts.epsilon, tuple(parts.outputs), tuple(parts.knots), rows)
        document.check_fingerprint(parts, table.fingerprint)
        return table

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CertifiedTable):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild through the constructor, so that a pickle is certified too."""
        return type(self), (self.epsilon, self.outputs, self.knots, self.weights)


def _increasing(name: str, values: tuple[float, ...], low: int, high: int) -> tuple[float, ...]:
    result = tuple(_checks.finite(f"{name}[{i}]", value) for i, value in enumerate(values))
    if not low <= len(result) <= high:
        raise InvalidArgumentError(name, f"have from {low} to {high} entries", len(result))
    for pair in pairwise(result):
        if not pair[0] < pair[1]:
            raise InvalidArgumentError(name, "increase from entry to entry", list(pair))
    return result


def _rows(rows: tuple[tuple[int, ...], ...], size: int) -> tuple[tuple[int, ...], ...]:
    result = tuple(tuple(row) for row in rows)
    if not 2 <= len(result) <= document.MAX_KNOTS:
        rule = f"have from 2 to {document.MAX_KNOTS} rows"
        raise InvalidArgumentError("weights", rule, len(result))
    for k, row in enumerate(result):
        if len(row) != size:
            raise InvalidArgumentError(f"weights[{k}]", f"have {size} entries", len(row))
        if set(map(type, row)) != {int} or not 1 <= min(row) <= max(row) < exact.SCALE:
            for i, weight in enumerate(row):
                _checks.whole(f"weights[{k}][{i}]", weight, 1, exact.SCALE - 1)
        if sum(row) != exact.SCALE:
            raise InvalidArgumentError(f"weights[{k}]", f"add up to {exact.SCALE}", sum(row))
    return result

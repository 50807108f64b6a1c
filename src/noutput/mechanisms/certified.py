r"""Table of whole numbers that is certified at construction, in plain Python."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import mul
from typing import Any

from noutput import _checks
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms import document, exact
from noutput.mechanisms.rows import (
    FORMAT,
    MAX_OUTPUTS,
    CertifiedRows,
    check_rows,
    read_rows,
    secure_word,
)

__all__ = ["MAX_KNOTS", "MAX_OUTPUTS", "CertifiedTable", "dump", "fingerprint_of", "row_means"]

VERSION = 1
MAX_KNOTS = 4096
_KEYS = ("epsilon", "scale", "outputs", "knots", "weights", "fingerprint")
_MEAN_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class CertifiedTable(CertifiedRows):
    r"""A mechanism with finitely many outputs, as plain tuples: what a device draws from.

    It is the core of `TableMechanism`, which adds arrays and moments: certificate, fingerprint,
    draw and document of both are this class's own.

    Parameters
    ----------
    epsilon : float
        The privacy loss that the table claims.
    outputs : tuple of N increasing floats
        The value that each output stands for; 2 <= N <= 256.
    knots : tuple of K increasing floats from -1 to 1
        The mean output of every row, up to 1e-9.
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
    inputs, whoever wrote the table. Whatever the input, a report is drawn from one of the K rows,
    so its distribution is a mixture of rows; and the constructor has proven
    :math:`\max_k w_{k,i} \le e^\epsilon \min_k w_{k,i}` for every output i in whole-number
    arithmetic (`CertifiedRows.certify`). The object cannot be changed afterwards.

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

    def __post_init__(self) -> None:
        self._fill(self.epsilon, self.outputs, self.weights, lambda _: self.knots)

    def _fill(
        self,
        epsilon: float,
        outputs: Sequence[float],
        weights: Sequence[Sequence[int]],
        place_knots: Callable[[Sequence[float]], Sequence[float]],
    ) -> None:
        """Check and set all parts; `place_knots` gets the means of the rows."""
        set_part = object.__setattr__
        set_part(self, "epsilon", _checks.positive("epsilon", epsilon))
        set_part(self, "outputs", _outputs(outputs))
        set_part(self, "weights", check_rows(weights, len(self.outputs), MAX_KNOTS))
        self.certify(self.epsilon)
        means = row_means(self.outputs, self.weights)
        set_part(self, "knots", _knots(place_knots(means), means))

    @classmethod
    def from_rows(
        cls,
        epsilon: float,
        outputs: Sequence[float],
        weights: Sequence[Sequence[int]],
        knots: Sequence[float] | None = None,
    ) -> CertifiedTable:
        """Return the table of these rows; its first and last knot are moved to -1 and 1.

        Parameters
        ----------
        epsilon, outputs, weights
            As in the constructor.
        knots : sequence of K floats, optional
            The mean outputs of the rows if not given. Ends that are off by more than 1e-9 stay
            where they are, and the constructor refuses them.

        Examples
        --------
        >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
        >>> CertifiedTable.from_rows(1.1, (-2.0, 2.0 + 1e-10), rows).knots
        (-1.0, 1.0)
        """

        def place_knots(means: Sequence[float]) -> Sequence[float]:
            places = list(means if knots is None else knots)
            for index, end in ((0, -1.0), (-1, 1.0)):
                if places and abs(places[index] - end) <= _MEAN_TOLERANCE:
                    places[index] = end
            return places

        table = cls.__new__(cls)
        cls._fill(table, epsilon, outputs, weights, place_knots)
        return table

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical form that `fingerprint_of` describes."""
        return fingerprint_of(self.epsilon, self.outputs, self.knots, self.weights)

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
        return self.draw(x, secure_word())

    def to_json(self) -> str:
        """Return the table as a JSON document with a format version and its fingerprint."""
        parts = (self.epsilon, self.outputs, self.knots, self.weights)
        return dump(*parts, fingerprint=self.fingerprint)

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
        document.read(found, FORMAT, VERSION, _KEYS)
        rows = read_rows(found, MAX_KNOTS)
        table = cls(
            document.number("epsilon", found["epsilon"]),
            tuple(document.numbers("outputs", found["outputs"], MAX_OUTPUTS)),
            tuple(document.numbers("knots", found["knots"], MAX_KNOTS)),
            rows,
        )
        if found["fingerprint"] != table.fingerprint:
            raise DocumentError("fingerprint", f"be {table.fingerprint}", found["fingerprint"])
        return table

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild through the constructor, so that a pickle is certified too."""
        return type(self), (self.epsilon, self.outputs, self.knots, self.weights)


def row_means(outputs: Sequence[float], weights: Sequence[Sequence[int]]) -> tuple[float, ...]:
    """Return the mean output of every row: exact in whole numbers, then rounded once."""
    ratios = [value.as_integer_ratio() for value in outputs]
    unit = max(denominator for _, denominator in ratios)  # all are powers of two
    wholes = [numerator * (unit // denominator) for numerator, denominator in ratios]
    total = unit << exact.SCALE_BITS
    return tuple(sum(map(mul, wholes, row)) / total for row in weights)


def dump(
    epsilon: float,
    outputs: Sequence[float],
    knots: Sequence[float],
    weights: Sequence[Sequence[int]],
    *,
    fingerprint: str,
) -> str:
    """Write the parts of a table as a document, one row of weights per line."""
    rows = ",\n  ".join(json.dumps(row) for row in weights)
    return (
        "{\n"
        f' "format": "{FORMAT}",\n'
        f' "version": {VERSION},\n'
        f' "epsilon": {json.dumps(epsilon)},\n'
        f' "scale": {exact.SCALE},\n'
        f' "outputs": {json.dumps(outputs)},\n'
        f' "knots": {json.dumps(knots)},\n'
        f' "weights": [\n  {rows}\n ],\n'
        f' "fingerprint": "{fingerprint}"\n'
        "}\n"
    )


def fingerprint_of(
    epsilon: float,
    outputs: Sequence[float],
    knots: Sequence[float],
    weights: Sequence[Sequence[int]],
) -> str:
    """Return the SHA-256 of the canonical form of a table, as 64 hexadecimal digits.

    Notes
    -----
    The canonical form is the ASCII text ``noutput-table 1`` and a line feed, then in
    little-endian order: epsilon (float64), N and K (uint32), outputs and knots (float64),
    weights row by row (uint32).
    """
    size = len(outputs)
    parts = [
        b"noutput-table 1\n",
        struct.pack("<dII", epsilon, size, len(weights)),
        struct.pack(f"<{size}d", *outputs),
        struct.pack(f"<{len(knots)}d", *knots),
    ]
    parts += [struct.pack(f"<{size}I", *row) for row in weights]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _outputs(values: Sequence[float]) -> tuple[float, ...]:
    if not 2 <= len(values) <= MAX_OUTPUTS:
        rule = f"have from 2 to {MAX_OUTPUTS} entries"
        raise InvalidArgumentError("outputs", rule, len(values))
    result = _checks.increasing("outputs", values)
    if max(-result[0], result[-1]) > _checks.LARGEST:
        rule = f"lie between -{_checks.LARGEST:g} and {_checks.LARGEST:g}"
        raise InvalidArgumentError("outputs", rule, result)
    return result


def _knots(values: Sequence[float], means: Sequence[float]) -> tuple[float, ...]:
    if len(values) != len(means):
        rule = f"have {len(means)} entries, one per row of weights"
        raise InvalidArgumentError("knots", rule, len(values))
    result = _checks.increasing("knots", values)
    for index, (knot, mean) in enumerate(zip(result, means, strict=True)):
        if not abs(mean - knot) <= _MEAN_TOLERANCE:
            rule = f"be the mean output of its row, {mean}"
            raise InvalidArgumentError(f"knots[{index}]", rule, knot)
    if (result[0], result[-1]) != (-1.0, 1.0):
        raise InvalidArgumentError("knots", "reach from -1 to 1", (result[0], result[-1]))
    return result

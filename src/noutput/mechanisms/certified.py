r"""Table of whole numbers that is certified at construction, in plain Python."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from noutput import _checks
from noutput.errors import DocumentError, InvalidArgumentError, PrivacyError
from noutput.mechanisms import document, exact

__all__ = [
    "MAX_ANSWERS",
    "MAX_AXES",
    "MAX_OUTPUTS",
    "MAX_ROWS",
    "Axis",
    "Table",
    "check_rows",
    "dump",
    "fingerprint_of",
    "secure_word",
]

FORMAT = "noutput-table"
VERSION = 1
MAX_AXES = 2
MAX_ANSWERS = 64
MAX_ROWS = 4096
MAX_OUTPUTS = 256
Axis: TypeAlias = int | tuple[float, ...]
_SEVERAL = (tuple, list)  # a union of both would be made anew at every draw


@dataclass(frozen=True, eq=False)
class Table:
    r"""A mechanism with finitely many outputs, as plain tuples: what a device draws from.

    Parameters
    ----------
    epsilon : float
        The privacy loss that the table claims.
    axes : tuple
        One entry per coordinate of the question: one, or two for a pair. A whole number k is a
        list of k answers, with one row per answer; 2 <= k <= 64. A tuple holds the knots of a
        number, in the question's own unit, with one row per knot. An inner knot that is listed
        twice is a jump: its first row is that of numbers just below, its second that of the
        number itself and of those above.
    weights : tuple of tuples of N whole numbers
        One row per combination of rows of the axes, those of the last axis next to each other;
        at most 4096. Every row adds up to :math:`2^{32}`; 2 <= N <= 256.

    Raises
    ------
    PrivacyError
        If some output is more than :math:`e^\epsilon` times as likely in one row as in another.
    InvalidArgumentError
        If the parts do not make a table.

    Guarantees
    ----------
    Every object of this class is :math:`\epsilon`-locally differentially private, whoever wrote
    the table. Whatever the input, a report is drawn from one of the rows, so its distribution is
    a mixture of rows; and the constructor has proven :math:`\max_k w_{k,i} \le e^\epsilon \min_k
    w_{k,i}` for every output i in whole-number arithmetic (`certify`). Privacy depends neither on
    the knots nor on the floating-point arithmetic that chooses the row: only accuracy does. The
    object cannot be changed afterwards.

    Examples
    --------
    Randomized response, the truth three times of four, and a number from 0 to 180:

    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> table, minutes = Table(1.1, (2,), rows), Table(1.1, ((0.0, 180.0),), rows)
    >>> table.draw(1, 0xFFFF_FFFF), minutes.draw(180.0, 0xFFFF_FFFF), minutes.privatize(45) < 2
    (1, 1, True)
    >>> minutes.n_rows, minutes.n_outputs, minutes.bits, len(minutes.fingerprint)
    (2, 2, 1, 64)
    >>> minutes.knots, minutes.described, table.described
    ((0.0, 180.0), 'a table of a number', 'a table of 2 answers')
    >>> minutes.privacy_loss()
    1.0986122886681098
    >>> Table.from_json(minutes.to_json()) == minutes
    True
    >>> import json
    >>> Table.from_document(json.loads(table.to_json())) == table
    True
    >>> table.certify(1.0)  # a smaller epsilon than the table has
    Traceback (most recent call last):
        ...
    noutput.errors.PrivacyError: weights must satisfy max <= e^epsilon * min in every column ...

    With a jump at 45, a report tells whether a number is below it; a pair takes two values and
    two words:

    >>> jump = Table(1.1, ((0.0, 45.0, 45.0, 180.0),), (*rows[:1] * 2, *rows[1:] * 2))
    >>> jump.draw(44.9, 1 << 30), jump.draw(45.0, 1 << 30)
    (0, 1)
    >>> jump.jumps, jump.rescaled(-1.0, 1.0).axes
    ((45.0,), ((-1.0, -0.5, -0.5, 1.0),))
    >>> Table(1.1, (2, (0.0, 180.0)), rows * 2).draw((1, 180.0), (0xFFFF_FFFF, 0))
    1
    """

    epsilon: float
    axes: tuple[Axis, ...]
    weights: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        set_part = object.__setattr__
        set_part(self, "epsilon", _checks.positive("epsilon", self.epsilon))
        set_part(self, "axes", _axes(self.axes))
        set_part(self, "weights", check_rows(self.weights, math.prod(map(_size, self.axes))))
        self.certify(self.epsilon)

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

    def privacy_loss(self) -> float:
        r"""Return the exact loss :math:`\max_i \ln(\max_k w_{k,i} / \min_k w_{k,i})`, rounded up.

        Guarantees
        ----------
        The result is a proven upper bound of the loss and never above `epsilon`.
        """
        return exact.privacy_loss(self._largest, self._smallest)

    @property
    def n_rows(self) -> int:
        """How many rows there are: the product over the axes."""
        return len(self.weights)

    @property
    def n_outputs(self) -> int:
        """How many different outputs there are."""
        return len(self.weights[0])

    @property
    def bits(self) -> int:
        """How many bits an output needs."""
        return (self.n_outputs - 1).bit_length()

    @property
    def knots(self) -> tuple[float, ...]:
        """The knots of a table of one number; any other table raises an error."""
        if len(self.axes) != 1 or isinstance(self.axes[0], int):
            raise InvalidArgumentError("table", "be one of a number", self.described)
        return self.axes[0]

    @property
    def jumps(self) -> tuple[float, ...]:
        """The knots that a table of one number lists twice."""
        return tuple(left for left, right in pairwise(self.knots) if left == right)

    @property
    def described(self) -> str:
        """What the table is for, in a few words."""
        parts = (f"{axis} answers" if isinstance(axis, int) else "a number" for axis in self.axes)
        return "a table of " + " and ".join(parts)

    def rescaled(self, lower: float, upper: float) -> Table:
        """Return a table of a number with its knots moved to other bounds; the rows stay.

        The ends are exact, and the table is the same object where it has these bounds.
        """
        knots = self.knots
        first, width = knots[0], knots[-1] - knots[0]
        if (first, knots[-1]) == (lower, upper):
            return self
        inner = [lower + (knot - first) / width * (upper - lower) for knot in knots[1:-1]]
        moved = (lower, *inner, upper)
        apart = [left < right for left, right in pairwise(knots)]
        if [left < right for left, right in pairwise(moved)] != apart:
            rule = f"be far enough apart for {len(set(knots))} different knots"
            raise InvalidArgumentError("bounds", rule, (lower, upper))
        return Table(self.epsilon, (moved,), self.weights)

    def draw(self, x: float | Sequence[float], word: int | Sequence[int]) -> int:
        """Return the output for one value and one 64-bit word, or for a pair of both.

        A value is a number between the first and the last knot, or the index of an answer; an
        error never repeats it.
        """
        values: Any = x if isinstance(x, _SEVERAL) else (x,)
        words: Any = word if isinstance(word, _SEVERAL) else (word,)
        if not len(values) == len(words) == len(self.axes):
            rule = f"be {len(self.axes)} values with {len(self.axes)} words, one per axis"
            raise InvalidArgumentError("x", rule, (len(values), len(words)))
        for axis, value in zip(self.axes, values, strict=True):
            if isinstance(axis, int):
                if type(value) is not int or not 0 <= value < axis:
                    rule = f"be the index of an answer, from 0 to {axis - 1}"
                    raise InvalidArgumentError("x", rule, type(value).__name__)
            elif not axis[0] <= value <= axis[-1]:
                rule = f"be a number from {axis[0]} to {axis[-1]}"
                raise InvalidArgumentError("x", rule, type(value).__name__)
        return exact.draw(self.axes, self._thresholds, values, words)

    def privatize(self, x: float | Sequence[float]) -> int:
        """Return a private output for one value, or for a pair of values.

        Guarantees
        ----------
        The output is drawn with one 64-bit word per value of the operating system's secure
        source, which is used for nothing else and kept nowhere.
        """
        if isinstance(x, _SEVERAL):
            return self.draw(x, [secure_word() for _ in x])
        return self.draw(x, secure_word())

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical form that `fingerprint_of` describes."""
        return fingerprint_of(self.epsilon, self.axes, self.weights)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def to_json(self) -> str:
        """Return the table as a JSON document with a format version and its fingerprint."""
        return dump(self.epsilon, self.axes, self.weights, fingerprint=self.fingerprint)

    @classmethod
    def from_json(cls, text: str | bytes) -> Table:
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
    def from_document(cls, content: dict[str, Any]) -> Table:
        """Read a table from parsed JSON, as `from_json` does from text."""
        keys = ("epsilon", "scale", "axes", "weights", "fingerprint")
        document.read(content, FORMAT, VERSION, keys)
        if type(content["scale"]) is not int or content["scale"] != exact.SCALE:
            raise DocumentError("scale", f"be {exact.SCALE}", content["scale"])
        epsilon = document.number("epsilon", content["epsilon"])
        axes = document.entries("axes", content["axes"], MAX_AXES)
        rows = document.entries("weights", content["weights"], MAX_ROWS)
        table = cls(
            epsilon,
            tuple(_read_axis(f"axes[{index}]", axis) for index, axis in enumerate(axes)),
            tuple(
                tuple(document.entries(f"weights[{k}]", row, MAX_OUTPUTS))
                for k, row in enumerate(rows)
            ),
        )
        if content["fingerprint"] != table.fingerprint:
            raise DocumentError("fingerprint", f"be {table.fingerprint}", content["fingerprint"])
        return table

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild through the constructor, so that a pickle is certified too."""
        return type(self), (self.epsilon, self.axes, self.weights)


def secure_word() -> int:
    """Return 64 bits of the operating system's secure source, for one value of one draw."""
    return secrets.randbits(64)


def dump(
    epsilon: float,
    axes: Sequence[int | Sequence[float]],
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
        f' "axes": {json.dumps(axes)},\n'
        f' "weights": [\n  {rows}\n ],\n'
        f' "fingerprint": "{fingerprint}"\n'
        "}\n"
    )


def fingerprint_of(
    epsilon: float, axes: Sequence[int | Sequence[float]], weights: Sequence[Sequence[int]]
) -> str:
    """Return the SHA-256 of the canonical form of a table, as 64 hexadecimal digits.

    Notes
    -----
    The canonical form is the ASCII text ``noutput-table 1`` and a line feed, then in
    little-endian order: epsilon (float64), N and the number of axes (uint32); per axis its number
    of rows and 1 if knots follow, else 0 (uint32), and the knots (float64); weights row by row
    (uint32).
    """
    size = len(weights[0])
    parts = [b"noutput-table 1\n", struct.pack("<dII", epsilon, size, len(axes))]
    for axis in axes:
        if isinstance(axis, int):
            parts.append(struct.pack("<II", axis, 0))
        else:
            parts.append(struct.pack(f"<II{len(axis)}d", len(axis), 1, *axis))
    parts += [struct.pack(f"<{size}I", *row) for row in weights]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _size(axis: Axis) -> int:
    return axis if isinstance(axis, int) else len(axis)


def _axes(value: object) -> tuple[Axis, ...]:
    if not isinstance(value, Sequence) or not 1 <= len(value) <= MAX_AXES:
        raise InvalidArgumentError("axes", f"have from 1 to {MAX_AXES} entries", value)
    axes = tuple(
        _knots(f"axes[{index}]", axis)
        if isinstance(axis, Sequence) and not isinstance(axis, str)
        else _checks.whole(f"axes[{index}]", axis, 2, MAX_ANSWERS)
        for index, axis in enumerate(value)
    )
    if (rows := math.prod(map(_size, axes))) > MAX_ROWS:
        raise InvalidArgumentError("axes", f"have at most {MAX_ROWS} rows in all", rows)
    return axes


def _knots(name: str, values: Sequence[object]) -> tuple[float, ...]:
    if not 2 <= len(values) <= MAX_ROWS:
        raise InvalidArgumentError(name, f"have from 2 to {MAX_ROWS} knots", len(values))
    # adding 0.0 turns -0.0 into 0.0, so that equal tables have equal fingerprints
    knots = tuple(_checks.finite(f"{name}[{i}]", value) + 0.0 for i, value in enumerate(values))
    for index, (left, right) in enumerate(pairwise(knots), start=1):
        if not left <= right:
            raise InvalidArgumentError(f"{name}[{index}]", f"not be below {left}", right)
        # neither end may be listed twice, nor an inner knot three times
        if left == right and (index in (1, len(knots) - 1) or knots[index - 2] == right):
            rule = "be listed once at an end and at most twice inside"
            raise InvalidArgumentError(f"{name}[{index}]", rule, right)
    if not knots[-1] - knots[0] < math.inf:
        raise InvalidArgumentError(name, "have a finite width", (knots[0], knots[-1]))
    return knots


def check_rows(
    rows: Sequence[Sequence[int]], count: int, size: int | None = None
) -> tuple[tuple[int, ...], ...]:
    """Return `count` rows of `size` positive whole numbers that add up to 2^32 each.

    Without a size it is that of the first row.
    """
    if len(rows) != count:
        raise InvalidArgumentError("weights", f"have {count} rows, as the axes have", len(rows))
    size = len(rows[0]) if size is None else size
    if not 2 <= size <= MAX_OUTPUTS:
        raise InvalidArgumentError("weights", f"have from 2 to {MAX_OUTPUTS} columns", size)
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


def _read_axis(name: str, value: object) -> Axis:
    if isinstance(value, list):
        return tuple(document.numbers(name, value, MAX_ROWS))
    if type(value) is not int:
        raise DocumentError(name, "be a list of knots or a number of answers", value)
    return value

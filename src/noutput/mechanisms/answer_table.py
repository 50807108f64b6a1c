r"""Table with one row per answer, certified at construction, in plain Python."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass
from functools import cached_property
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

__all__ = ["MAX_ANSWERS", "VERSION", "AnswerTable"]

VERSION = 1
MAX_ANSWERS = 64
_KEYS = ("epsilon", "scale", "weights", "fingerprint")


@dataclass(frozen=True, eq=False)
class AnswerTable(CertifiedRows):
    r"""A mechanism for one of k answers, as plain tuples: what a device draws from.

    Parameters
    ----------
    epsilon : float
        The privacy loss that the table claims.
    weights : tuple of k tuples of N whole numbers
        Row j gives the probabilities of the N outputs where the answer is the j-th, in units of
        :math:`2^{-32}`; 2 <= k <= 64, 2 <= N <= 256.

    Raises
    ------
    PrivacyError
        If some output is more than :math:`e^\epsilon` times as likely for one answer as for
        another.
    InvalidArgumentError
        If the parts do not make a table.

    Guarantees
    ----------
    Every object of this class is :math:`\epsilon`-locally differentially private, whoever wrote
    the table: a report is drawn from one of the rows, and the constructor has certified them
    (`noutput.mechanisms.rows.CertifiedRows`). The object cannot be changed afterwards.

    Examples
    --------
    Randomized response to a yes/no question, the truth three times of four:

    >>> table = AnswerTable(1.1, ((3 << 30, 1 << 30), (1 << 30, 3 << 30)))
    >>> table.draw(1, 0xFFFF_FFFF), table.privatize(1) in (0, 1)
    (1, True)
    >>> table.privacy_loss()
    1.0986122886681098
    >>> table.n_answers, table.n_outputs, table.bits, len(table.fingerprint)
    (2, 2, 1, 64)
    >>> AnswerTable.from_json(table.to_json()) == table
    True
    >>> import json
    >>> AnswerTable.from_document(json.loads(table.to_json())) == table
    True
    """

    epsilon: float
    weights: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        set_part = object.__setattr__
        set_part(self, "epsilon", _checks.positive("epsilon", self.epsilon))
        rows = tuple(self.weights)
        size = len(rows[0]) if rows else 0
        if not 2 <= size <= MAX_OUTPUTS:
            raise InvalidArgumentError("weights", f"have from 2 to {MAX_OUTPUTS} columns", size)
        set_part(self, "weights", check_rows(rows, size, MAX_ANSWERS))
        self.certify(self.epsilon)

    @property
    def n_answers(self) -> int:
        """How many answers there are: one per row."""
        return len(self.weights)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical form, as 64 hexadecimal digits.

        Notes
        -----
        The canonical form is the ASCII text ``noutput-table 1`` and a line feed, then in
        little-endian order: epsilon (float64), N and k (uint32), weights row by row (uint32).
        That of a `CertifiedTable` with the same N and k is longer: no text is of both.
        """
        size = self.n_outputs
        parts = [b"noutput-table 1\n", struct.pack("<dII", self.epsilon, size, self.n_answers)]
        parts += [struct.pack(f"<{size}I", *row) for row in self.weights]
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def draw(self, answer: int, word: int) -> int:
        """Return the output for the place of an answer (from 0) and one 64-bit word.

        The lower 32 bits of the word select it, as the last step of every table's draw does.
        """
        self._check_place(answer)
        return self.draw_from_row(answer, word)

    def privatize(self, answer: int) -> int:
        """Return a private output for the place of an answer.

        Guarantees
        ----------
        The output is drawn with one 64-bit word of the operating system's secure source, which
        is used for nothing else and kept nowhere.
        """
        self._check_place(answer)
        return self.draw_from_row(answer, secure_word())

    def _check_place(self, answer: int) -> None:
        """Refuse what is no place of an answer; the message never repeats it."""
        if type(answer) is not int or not 0 <= answer < self.n_answers:
            rule = f"be the place of an answer, from 0 to {self.n_answers - 1}"
            raise InvalidArgumentError("answer", rule, type(answer).__name__)

    def to_json(self) -> str:
        """Return the table as a JSON document with a format version and its fingerprint."""
        rows = ",\n  ".join(json.dumps(row) for row in self.weights)
        return (
            "{\n"
            f' "format": "{FORMAT}",\n'
            f' "version": {VERSION},\n'
            f' "epsilon": {json.dumps(self.epsilon)},\n'
            f' "scale": {exact.SCALE},\n'
            f' "weights": [\n  {rows}\n ],\n'
            f' "fingerprint": "{self.fingerprint}"\n'
            "}\n"
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> AnswerTable:
        """Read a table from JSON, and certify it; errors as in `CertifiedTable.from_json`."""
        return cls.from_document(document.parse(text))

    @classmethod
    def from_document(cls, found: dict[str, Any]) -> AnswerTable:
        """Read a table from parsed JSON, as `from_json` does from text."""
        document.read(found, FORMAT, VERSION, _KEYS)
        epsilon = document.number("epsilon", found["epsilon"])
        table = cls(epsilon, read_rows(found, MAX_ANSWERS))
        if found["fingerprint"] != table.fingerprint:
            raise DocumentError("fingerprint", f"be {table.fingerprint}", found["fingerprint"])
        return table

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild through the constructor, so that a pickle is certified too."""
        return type(self), (self.epsilon, self.weights)

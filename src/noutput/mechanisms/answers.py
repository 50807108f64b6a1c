r"""Answer mechanism: a certified table with one row per answer, with arrays."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput.errors import InvalidArgumentError
from noutput.mechanisms import sampling
from noutput.mechanisms.array_rows import ArrayRows, frozen, one_word, whole_rows
from noutput.mechanisms.certified import Table
from noutput.mechanisms.kernel import RowKernel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["AnswerMechanism"]


class AnswerMechanism(ArrayRows):
    r"""A mechanism for one of k answers, as a table whose privacy anyone can verify.

    Parameters
    ----------
    epsilon : float
        The privacy loss that the table claims.
    weights : k rows of N positive whole numbers
        Row j gives the probabilities of the outputs where the answer is the j-th, in units of
        :math:`2^{-32}`: every row adds up to :math:`2^{32}`.

    Raises
    ------
    PrivacyError, InvalidArgumentError
        As `Table` does.

    Guarantees
    ----------
    Every object of this class is :math:`\epsilon`-locally differentially private, as its `plain`
    table is: `Table` proves it in whole-number arithmetic when it is made. The object cannot
    be changed afterwards.

    Examples
    --------
    >>> m = AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> m.n_answers, m.n_outputs, m.bits, m.exact
    (2, 2, 1, True)
    >>> m.privatize([0, 1, 1], rng=np.random.default_rng(7)).shape
    (3,)
    >>> m.table().tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    >>> AnswerMechanism.from_json(m.to_json()) == m == AnswerMechanism.of(m.plain)
    True
    >>> m.draw(1, 0xFFFF_FFFF), m.log_likelihood([0], [1]).round(3).tolist()
    (1, [-1.386])
    >>> import json
    >>> AnswerMechanism.from_document(json.loads(m.to_json())) == m
    True
    """

    def __init__(self, epsilon: float, weights: ArrayLike) -> None:
        rows = tuple(tuple(row) for row in whole_rows(weights))
        self._wrap(Table(epsilon, (len(rows),), rows))

    @classmethod
    def of(cls, plain: Table) -> AnswerMechanism:
        """Return the mechanism of a certified table; no document is written or read."""
        if not isinstance(plain, Table):
            raise InvalidArgumentError("plain", "be a Table", type(plain).__name__)
        if len(plain.axes) != 1 or not isinstance(plain.axes[0], int):
            raise InvalidArgumentError("plain", "be a table of answers", plain.described)
        mechanism = cls.__new__(cls)
        cls._wrap(mechanism, plain)
        return mechanism

    def _wrap(self, plain: Table) -> None:
        self._weights = frozen(plain.weights, np.int64)
        self._plain = plain

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        return self._plain.n_rows

    def privatize(
        self, answers: ArrayLike, rng: np.random.Generator | None = None, *, threads: int = 1
    ) -> NDArray[np.uint8] | int:
        """Turn places of answers (from 0) into reports.

        Parameters
        ----------
        answers : int or array of int
            `noutput.encoding.encode` makes them of answers themselves.
        rng : numpy Generator, optional
            For reproducible simulation. By default the randomness is secure.
        threads : int
            How many threads share the work on an array; the reports do not depend on it.

        Returns
        -------
        int, or array of uint8 of the same shape as `answers`
            Indexes of outputs. The i-th answer uses the i-th 64-bit word.
        """
        if isinstance(answers, int | np.integer) and not isinstance(answers, bool):
            sampling.check_threads(threads)
            return self._plain.draw(int(answers), one_word(rng))
        values = np.asarray(answers)
        if values.dtype.kind not in "iu" and values.size:
            raise InvalidArgumentError("answers", "be places of answers", answers)
        reports = np.empty(values.shape, np.uint8)
        draw = self._kernel.draw_from_rows
        sampling.fill(values, reports.reshape(-1), rng, draw, self._places, threads=threads)
        return reports

    def _places(self, part: NDArray[Any], start: int) -> NDArray[np.int64]:
        bad = np.flatnonzero((part < 0) | (part >= self.n_answers))
        if bad.size:
            rule = f"be a place from 0 to {self.n_answers - 1}"
            raise InvalidArgumentError(f"answers[{start + bad[0]}]", rule, int(part[bad[0]]))
        return part.astype(np.int64)  # a copy: the kernel writes into it

    def draw(self, answer: int, word: int) -> int:
        """Return the output for the place of an answer and one 64-bit word, in plain Python."""
        return self._plain.draw(answer, word)

    @cached_property
    def _kernel(self) -> RowKernel:
        return RowKernel(self._weights)

    def log_likelihood(self, reports: ArrayLike, answers: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each report given the place of an answer."""
        places, indexes = np.broadcast_arrays(np.asarray(answers), self.cells(reports))
        result: NDArray[np.float64] = np.log(self.table()[places, indexes])
        return result

    @classmethod
    def from_json(cls, text: str | bytes) -> AnswerMechanism:
        """Read a table from JSON, and certify it first: see `Table.from_json`."""
        return cls.of(Table.from_json(text))

    @classmethod
    def from_document(cls, found: dict[str, Any]) -> AnswerMechanism:
        """Read a table from parsed JSON, as `from_json` does from text."""
        return cls.of(Table.from_document(found))

    def __repr__(self) -> str:
        rows, columns = self._weights.shape
        return f"AnswerMechanism(epsilon={self.epsilon!r}, n_answers={rows}, n_outputs={columns})"

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild through the constructor, so that a pickle is certified too."""
        return type(self), (self.epsilon, self._weights)

r"""Table mechanism: a certified table of whole numbers, with arrays and moments."""

from __future__ import annotations

from functools import cached_property
from operator import mul
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError, PrivacyError
from noutput.mechanisms import exact, moments, sampling
from noutput.mechanisms.answers import AnswerMechanism
from noutput.mechanisms.array_rows import ArrayRows, frozen, one_word, whole_rows
from noutput.mechanisms.certified import MAX_OUTPUTS, Table, check_rows
from noutput.mechanisms.kernel import TableKernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["TableMechanism", "row_means", "unit_mechanism"]

_MEAN_TOLERANCE = 1e-9  # of half the width of the knots
_RANK_TOLERANCE = 1e-12  # of the largest singular value
_SCORE_TOLERANCE = 1e-8  # of half the width of the knots


class TableMechanism(ArrayRows):
    r"""A mechanism for numbers with finitely many outputs, whose privacy anyone can verify.

    Parameters
    ----------
    epsilon : float
        The privacy loss that the table claims.
    outputs : sequence of N increasing floats, or None
        The value that each output stands for in the unbiased mean; 2 <= N <= 256. Where None,
        they are computed from rows and knots.
    weights : K rows of N positive whole numbers
        Row k gives the probabilities at knot k in units of :math:`2^{-32}`: every row adds up
        to :math:`2^{32}`.
    knots : sequence of K floats that do not decrease, optional
        The inputs at which the rows hold, in any unit; an inner knot that is listed twice is a
        jump, as in `Table`. Given outputs must have these means, up to 1e-9; without knots they
        are the means, from -1 to 1. Ends that are off by at most 1e-9 are moved to -1 and 1.

    Raises
    ------
    PrivacyError, InvalidArgumentError
        As `Table` does.

    Notes
    -----
    With :math:`S = 2^{32}`, the probability of output i is :math:`w_{k,i} / S` at knot
    :math:`x_k` and linear in every cell :math:`[x_k, x_{k+1})`. Sampling has two steps: round x
    at random to one end of its cell, then draw an output from that end's row. Both steps together
    use one 64-bit random word.

    Outputs that are not given are the numbers b with :math:`\sum_i b_i w_{k,i} / S = x_k` for all
    rows whose variance is the least where all rows are equally frequent.

    The probabilities are piecewise linear as in Baek and Chung, "N-output Mechanism: Estimating
    Statistical Information from Numerical Data under Local Differential Privacy", but the number
    of knots does not depend on the number of outputs.

    Guarantees
    ----------
    Every object of this class is :math:`\epsilon`-locally differentially private for all real
    inputs, as its `plain` table is: `Table` proves it in whole-number arithmetic when it is made.
    The object cannot be changed afterwards.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> m.knots
    array([-1.,  1.])
    >>> m.privacy_loss()
    1.0986122886681098
    >>> m.privatize([-1.0, 0.2, 1.0], rng=np.random.default_rng(7)).shape
    (3,)

    The report of a number is the index of an output; `decode` says what it stands for.

    >>> m.n_outputs, m.bits, m.outputs.tolist(), m.decode([0, 1]).tolist()
    (2, 1, [-2.0, 2.0], [-2.0, 2.0])
    >>> m.probabilities(0.5).tolist(), m.mean(0.5).tolist()
    ([0.375, 0.625], 0.5)
    >>> m.weights[0].tolist() == [3 << 30, 1 << 30], m.scale == 1 << 32, m.exact, m.epsilon
    (True, True, True, 1.1)
    >>> m.variance([0.0, 1.0]).tolist(), m.worst_variance(), round(m.average_variance(), 4)
    ([4.0, 3.0], 4.0, 3.6667)
    >>> m.transition(2).tolist()
    [[0.625, 0.375], [0.375, 0.625]]
    >>> m.draw(1.0, 0xFFFF_FFFF)  # one report from one random word
    1
    >>> TableMechanism.from_json(m.to_json()) == m, len(m.fingerprint)
    (True, 64)
    >>> import json
    >>> TableMechanism.from_document(json.loads(m.to_json())) == m
    True
    >>> TableMechanism.of(m.plain) == m, m.in_own_unit is m  # what a device has, and back
    (True, True)

    What a tally counts, and the inputs whose rows of probabilities span all others:

    >>> m.n_cells, m.cells([1, 0, 1]).tolist(), m.corners().tolist()
    (2, [1, 0, 1], [-1.0, 1.0])

    A table of minutes with a jump at 45, whose outputs are computed:

    >>> rows = [[2 << 30, 1 << 30, 1 << 30], [1 << 30, 2 << 30, 1 << 30],
    ...         [1 << 30, 2 << 30, 1 << 30], [1 << 30, 1 << 30, 2 << 30]]
    >>> minutes = TableMechanism(0.7, None, rows, [0.0, 45.0, 45.0, 90.0])
    >>> minutes.probabilities([44.0, 45.0]).round(3).tolist(), minutes.outputs.round(6).tolist()
    ([[0.256, 0.494, 0.25], [0.25, 0.5, 0.25]], [-135.0, 45.0, 225.0])
    >>> minutes.bounds, minutes.given_outputs is None
    ((0.0, 90.0), True)
    """

    def __init__(
        self,
        epsilon: float,
        outputs: ArrayLike | None,
        weights: ArrayLike,
        knots: ArrayLike | None = None,
    ) -> None:
        rows = whole_rows(weights)
        places = None if knots is None else _checks.vector("knots", knots).tolist()
        values = None if outputs is None else _outputs(_checks.vector("outputs", outputs).tolist())
        if values is not None:
            check_rows(rows, len(rows), len(values))
            places = _ends_moved(row_means(values, rows) if places is None else places)
            if knots is None and (places[0], places[-1]) != (-1.0, 1.0):
                raise InvalidArgumentError("knots", "reach from -1 to 1", (places[0], places[-1]))
        elif places is None:
            raise InvalidArgumentError("knots", "be given where outputs are not", None)
        if len(places) != len(rows):
            rule = f"have {len(rows)} entries, one per row of weights"
            raise InvalidArgumentError("knots", rule, len(places))
        try:
            plain = Table(epsilon, (tuple(places),), rows)  # type: ignore[arg-type]
        except PrivacyError:
            raise
        except InvalidArgumentError as error:  # here the only axis is called knots
            name = error.name.replace("axes[0]", "knots")
            raise InvalidArgumentError(name, error.rule, error.found) from None
        self._wrap(plain, values)

    @classmethod
    def of(cls, plain: Table, outputs: Sequence[float] | None = None) -> TableMechanism:
        """Return the mechanism of a certified table; no document is written or read."""
        if not isinstance(plain, Table):
            raise InvalidArgumentError("plain", "be a Table", type(plain).__name__)
        mechanism = cls.__new__(cls)
        cls._wrap(mechanism, plain, None if outputs is None else _outputs(outputs))
        return mechanism

    def _wrap(self, plain: Table, outputs: Sequence[float] | None) -> None:
        self._knots = frozen(plain.knots, np.float64)
        self._weights = frozen(plain.weights, np.int64)
        self._given = None if outputs is None else frozen(outputs, np.float64)
        if outputs is not None:
            if len(outputs) != plain.n_outputs:
                rule = f"have {plain.n_outputs} entries, one per column of weights"
                raise InvalidArgumentError("outputs", rule, len(outputs))
            _check_means(plain.knots, row_means(outputs, plain.weights))
        self._plain = plain

    @property
    def given_outputs(self) -> NDArray[np.float64] | None:
        """The outputs that the constructor got; None where `outputs` are computed."""
        return self._given

    @cached_property
    def outputs(self) -> NDArray[np.float64]:
        """The value each output stands for in the unbiased mean (read-only).

        Raises
        ------
        InvalidArgumentError
            If no numbers have the knots as their means: then the table does not tell the mean.
        """
        if self._given is not None:
            return self._given
        return frozen(_scores(self._weights / exact.SCALE, self._knots), np.float64)

    @property
    def knots(self) -> NDArray[np.float64]:
        """The inputs at which the rows hold; a jump is listed twice (read-only)."""
        return self._knots

    @property
    def in_own_unit(self) -> TableMechanism:
        """The mechanism in the unit of its question: this one, unless its knots were moved."""
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest input: the first and the last knot."""
        return self._plain.knots[0], self._plain.knots[-1]

    @overload
    def privatize(
        self, x: float, rng: np.random.Generator | None = None, *, clip: bool = False
    ) -> int: ...
    @overload
    def privatize(
        self,
        x: ArrayLike,
        rng: np.random.Generator | None = None,
        *,
        clip: bool = False,
        threads: int = 1,
    ) -> NDArray[np.uint8]: ...
    def privatize(
        self,
        x: ArrayLike,
        rng: np.random.Generator | None = None,
        *,
        clip: bool = False,
        threads: int = 1,
    ) -> NDArray[np.uint8] | int:
        """Turn private numbers into reports: see `Mechanism.privatize`.

        Parameters
        ----------
        x, rng, clip
            As for every mechanism.
        threads : int
            How many threads share the work on an array; the reports do not depend on it.

        Returns
        -------
        int, or array of uint8 of the same shape as x
            Indexes into `outputs`. The i-th number uses the i-th 64-bit word.
        """
        if isinstance(x, float | int | np.number):
            sampling.check_threads(threads)
            number = _checks.bounded("x", x, self.bounds, clip=clip)
            return self._plain.draw(number, one_word(rng))
        return sampling.report(
            x, rng, self._kernel.draw, np.dtype(np.uint8), clip=clip, bounds=self.bounds,
            threads=threads,
        )  # fmt: skip

    def draw(self, x: float, word: int) -> int:
        """Return the output for one number and one 64-bit word, in plain Python.

        This is the definition of the sampler: `privatize` gives the same output for the same
        word. Other languages must agree with it too.
        """
        x = _checks.bounded("x", x, self.bounds)
        word = _checks.whole("word", word, 0, (1 << 64) - 1)
        return self._plain.draw(x, word)

    @cached_property
    def _kernel(self) -> TableKernel:
        return TableKernel(self._knots, self._weights)

    def probabilities(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return P(output | x), of shape ``x.shape + (N,)``.

        At a jump it is the row of the numbers above. The sampler rounds in steps of 2^-32, so its
        own probabilities differ from these by less than that.
        """
        return moments.interpolate(self._inputs(x), self._knots, self._weights / exact.SCALE)

    def _inputs(self, x: ArrayLike) -> NDArray[np.float64]:
        return sampling.bounded_array(x, self.bounds)

    def log_likelihood(self, reports: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each report given x (arrays broadcast).

        Examples
        --------
        >>> m = TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
        >>> np.exp(m.log_likelihood([0, 1], -1.0)).round(6).tolist()
        [0.75, 0.25]
        """
        numbers, indexes = np.broadcast_arrays(self._inputs(x), self.cells(reports))
        rows = self.probabilities(numbers)
        result: NDArray[np.float64] = np.log(
            np.take_along_axis(rows, indexes[..., None], axis=-1)[..., 0]
        )
        return result

    def corners(self) -> NDArray[np.float64]:
        """Return inputs whose rows of `probabilities` span all others: the knots.

        A table with jumps has none: no number has the row that numbers below a jump approach.
        """
        if self._plain.jumps:
            rule = "be a table without jumps: rows below a jump belong to no number"
            raise InvalidArgumentError("mechanism", rule, f"jumps at {self._plain.jumps}")
        return self._knots

    def decode(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return the value that each report stands for in the unbiased mean."""
        return self.outputs[self.cells(reports)]

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the decoded report at every x: x itself."""
        return self._inputs(x)

    @cached_property
    def _second_moments(self) -> NDArray[np.float64]:
        result: NDArray[np.float64] = self._weights @ self.outputs**2 / exact.SCALE
        return result

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the variance of the decoded report at every x."""
        numbers = self._inputs(x)
        squares = moments.interpolate(numbers, self._knots, self._second_moments[:, None])
        result: NDArray[np.float64] = squares[..., 0] - numbers**2
        return result

    def worst_variance(self) -> float:
        """Return the largest variance over all inputs.

        Between two knots the variance is a parabola that opens downward, so its maximum is at
        a knot or at a vertex.
        """
        return moments.largest_variance(self._knots, self._second_moments)

    def average_variance(self, prior: ArrayLike | None = None) -> float:
        """Return the variance averaged over a histogram of inputs: see `Mechanism`."""
        bins = _checks.histogram("prior", [1.0] if prior is None else prior)
        return moments.average_variance(self._knots, self._second_moments, bins)

    def transition(self, bins: int = 64) -> NDArray[np.float64]:
        """Return P(output | x uniform in a bin), of shape (bins, N), for equal bins."""
        count = _checks.whole("bins", bins, 1, 1 << 16)
        edges = np.linspace(*self.bounds, count + 1)
        return moments.bin_means(self._knots, self._weights / exact.SCALE, edges)

    @classmethod
    def from_json(cls, text: str | bytes) -> TableMechanism:
        """Read a table from JSON, and certify it first: see `Table.from_json`."""
        return cls.of(Table.from_json(text))

    @classmethod
    def from_document(cls, found: dict[str, Any]) -> TableMechanism:
        """Read a table from parsed JSON, as `from_json` does from text."""
        return cls.of(Table.from_document(found))

    def __repr__(self) -> str:
        rows, columns = self._weights.shape
        return f"TableMechanism(epsilon={self.epsilon!r}, n_outputs={columns}, n_knots={rows})"

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild through the constructor, so that a pickle is certified too."""
        return type(self), (self.epsilon, self._given, self._weights, self._knots)


class _UnitMechanism(TableMechanism):
    """The table of a campaign with its knots moved to [-1, 1]: its tallies are of that table."""

    _table: Table

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the campaign's table."""
        return self._table.fingerprint

    @property
    def in_own_unit(self) -> TableMechanism:
        """The mechanism of the campaign's table."""
        return TableMechanism.of(self._table)

    def to_json(self) -> str:
        """Return the campaign's table as a JSON document."""
        return self._table.to_json()

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild from the campaign's table."""
        return unit_mechanism, (self._table,)


def unit_mechanism(table: Table) -> TableMechanism | AnswerMechanism:
    """Return the mechanism of a campaign's table as estimators take it, with its fingerprint.

    The knots of a number are moved to [-1, 1]; the bounds of its question lead back.

    Examples
    --------
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> minutes = Table(1.1, ((0.0, 180.0),), rows)
    >>> m = unit_mechanism(minutes)
    >>> m.knots.tolist(), m.fingerprint == minutes.fingerprint
    ([-1.0, 1.0], True)
    >>> unit_mechanism(Table(1.1, (2,), rows)).n_answers
    2
    """
    if isinstance(table.axes[0], int):
        return AnswerMechanism.of(table)
    moved = table.rescaled(-1.0, 1.0)
    if moved is table:
        return TableMechanism.of(table)
    mechanism = _UnitMechanism.__new__(_UnitMechanism)
    mechanism._table = table  # noqa: SLF001 (its own module)
    mechanism._wrap(moved, None)  # noqa: SLF001
    return mechanism


def row_means(outputs: Sequence[float], weights: Sequence[Sequence[int]]) -> tuple[float, ...]:
    """Return the mean output of every row: exact in whole numbers, then rounded once."""
    ratios = [value.as_integer_ratio() for value in outputs]
    unit = max(denominator for _, denominator in ratios)  # all are powers of two
    wholes = [numerator * (unit // denominator) for numerator, denominator in ratios]
    total = unit << exact.SCALE_BITS
    return tuple(sum(map(mul, wholes, row)) / total for row in weights)


def _outputs(values: Sequence[float]) -> tuple[float, ...]:
    if not 2 <= len(values) <= MAX_OUTPUTS:
        rule = f"have from 2 to {MAX_OUTPUTS} entries"
        raise InvalidArgumentError("outputs", rule, len(values))
    result = _checks.increasing("outputs", values)
    if max(-result[0], result[-1]) > _checks.LARGEST:
        rule = f"lie between -{_checks.LARGEST:g} and {_checks.LARGEST:g}"
        raise InvalidArgumentError("outputs", rule, result)
    return result


def _ends_moved(knots: Sequence[float]) -> list[float]:
    """Move ends that rounding has left next to -1 and 1."""
    result = list(knots)
    for index, end in ((0, -1.0), (-1, 1.0)):
        if result and abs(result[index] - end) <= _MEAN_TOLERANCE:
            result[index] = end
    return result


def _check_means(knots: Sequence[float], means: Sequence[float]) -> None:
    tolerance = _MEAN_TOLERANCE * (knots[-1] - knots[0]) / 2.0
    for index, (knot, mean) in enumerate(zip(knots, means, strict=True)):
        if not abs(mean - knot) <= tolerance:
            rule = f"be the mean output of its row, {mean}"
            raise InvalidArgumentError(f"knots[{index}]", rule, knot)


def _scores(rows: NDArray[np.float64], knots: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return numbers with the knots as their means, of least variance for equal shares of rows.

    With :math:`q_i` the mean probability of output i, they are the shortest :math:`\sqrt{q_i} b_i`
    that solve the equations.
    """
    middle, half = (knots[0] + knots[-1]) / 2.0, (knots[-1] - knots[0]) / 2.0
    roots = np.sqrt(rows.mean(axis=0))
    # centered first: a large offset of the bounds would hide the differences of the knots
    goal = (knots - middle) / half
    solution = np.linalg.lstsq(rows / roots, goal, rcond=_RANK_TOLERANCE)[0] / roots
    missed = float(np.abs(rows @ solution - goal).max())
    if not missed <= _SCORE_TOLERANCE:
        rule = "tell the mean: some outputs must have the knots as their means"
        raise InvalidArgumentError("mechanism", rule, f"rows that miss them by {missed:.2g}")
    result: NDArray[np.float64] = middle + half * solution
    return result

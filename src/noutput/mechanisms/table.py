r"""The one object that everything deployable is made of: a table of whole numbers."""

from __future__ import annotations

import secrets
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

import numpy as np

from noutput import _checks
from noutput._random import word_source
from noutput.errors import InvalidArgumentError, PrivacyError
from noutput.mechanisms import document, exact, moments, sampling
from noutput.mechanisms.document import MAX_KNOTS, MAX_OUTPUTS
from noutput.mechanisms.kernel import TableKernel
from noutput.mechanisms.sampling import unit_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MAX_KNOTS", "MAX_OUTPUTS", "TableMechanism"]

_MEAN_TOLERANCE = 1e-9
_LARGEST_OUTPUT = 1e100  # squares stay finite
_Scalar = TypeVar("_Scalar", bound=np.generic)


class TableMechanism:
    r"""A mechanism with finitely many outputs, as a table whose privacy anyone can verify.

    Parameters
    ----------
    epsilon : float
        The privacy loss that the table claims.
    outputs : sequence of N increasing floats
        The value that each output stands for in the unbiased mean; 2 <= N <= 256.
    weights : K rows of N positive whole numbers
        Row k gives the probabilities at knot k in units of :math:`2^{-32}`: every row adds up
        to :math:`2^{32}`.
    knots : sequence of K increasing floats from -1 to 1, optional
        The inputs at which the rows hold. They must be the mean outputs of the rows, and are
        computed from them if not given.

    Raises
    ------
    PrivacyError
        If some output is more than :math:`e^\epsilon` times as likely at one knot as at another.
    InvalidArgumentError
        If the parts do not make a table.

    Notes
    -----
    With :math:`S = 2^{32}`, the probability of output i is :math:`w_{k,i} / S` at knot
    :math:`x_k = \sum_i a_i w_{k,i} / S` and linear between neighbouring knots. Sampling has two
    steps: round x at random to one of its two neighbouring knots, then draw an output from that
    knot's row. Both steps together use one 64-bit random word.

    The probabilities are piecewise linear as in Baek and Chung, "N-output Mechanism: Estimating
    Statistical Information from Numerical Data under Local Differential Privacy", but the number
    of knots does not depend on the number of outputs.

    Guarantees
    ----------
    Every object of this class is :math:`\epsilon`-locally differentially private for all real
    inputs. Whatever the input, a report is drawn from one of the K rows, so its distribution is
    a mixture of rows; and the constructor has proven
    :math:`\max_k w_{k,i} \le e^\epsilon \min_k w_{k,i}` for every output i in whole-number
    arithmetic (`noutput.mechanisms.exact.certify`). The object cannot be changed afterwards.

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
    >>> m.probabilities(0.5).tolist(), m.mean(0.5).tolist(), m.unbiased
    ([0.375, 0.625], 0.5, True)
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

    What a tally counts, and the inputs whose rows of probabilities span all others:

    >>> m.n_cells, m.cells([1, 0, 1]).tolist(), m.corners().tolist()
    (2, [1, 0, 1], [-1.0, 1.0])
    """

    def __init__(
        self,
        epsilon: float,
        outputs: ArrayLike,
        weights: ArrayLike,
        knots: ArrayLike | None = None,
    ) -> None:
        self._epsilon = _checks.positive("epsilon", epsilon)
        self._outputs = _freeze(_increasing("outputs", outputs, 2, MAX_OUTPUTS) + 0.0)
        if np.abs(self._outputs).max() > _LARGEST_OUTPUT:
            rule = f"lie between -{_LARGEST_OUTPUT:g} and {_LARGEST_OUTPUT:g}"
            raise InvalidArgumentError("outputs", rule, self._outputs.tolist())
        self._weights = _freeze(_rows(weights, len(self._outputs)))
        self._largest = tuple(self._weights.max(axis=0).tolist())
        self._smallest = tuple(self._weights.min(axis=0).tolist())
        self._certify()
        means = row_means(self._outputs, self._weights)
        self._knots = _freeze(_clean_knots(means if knots is None else knots, means) + 0.0)

    def _certify(self) -> None:
        violation = exact.certify(self._largest, self._smallest, self._epsilon)
        if violation is not None:
            column = self._weights[:, violation]
            raise PrivacyError(
                violation,
                int(column.argmax()),
                int(column.argmin()),
                (self._largest[violation], self._smallest[violation]),
                self._epsilon,
            )

    @property
    def epsilon(self) -> float:
        """The privacy loss that the table claims and has been certified for."""
        return self._epsilon

    @property
    def outputs(self) -> NDArray[np.float64]:
        """The value each output stands for, increasing (read-only)."""
        return self._outputs

    @property
    def knots(self) -> NDArray[np.float64]:
        """The inputs at which the rows hold, from -1 to 1 (read-only)."""
        return self._knots

    @property
    def weights(self) -> NDArray[np.int64]:
        """Whole numbers, one row a knot; every row adds up to `scale` (read-only)."""
        return self._weights

    @property
    def scale(self) -> int:
        """What every row of weights adds up to: 2^32."""
        return exact.SCALE

    @property
    def n_outputs(self) -> int:
        """How many different reports there are."""
        return len(self._outputs)

    @property
    def n_cells(self) -> int:
        """How many cells reports are counted in: one an output."""
        return self.n_outputs

    @property
    def bits(self) -> int:
        """How many bits a report needs."""
        return (self.n_outputs - 1).bit_length()

    @property
    def exact(self) -> bool:
        """True: what is drawn has exactly the certified probabilities."""
        return True

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical form that `document.fingerprint_of` describes."""
        return document.fingerprint_of(
            self._epsilon, self._outputs.tolist(), self._knots.tolist(), self._weights.tolist()
        )

    def privacy_loss(self) -> float:
        r"""Return the exact loss :math:`\max_i \ln(\max_k w_{k,i} / \min_k w_{k,i})`, rounded up.

        Guarantees
        ----------
        The result is a proven upper bound of the loss and never above `epsilon`.
        """
        return exact.privacy_loss(self._largest, self._smallest)

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
        """Turn private numbers into reports.

        Parameters
        ----------
        x : float or array of floats
            Numbers in [-1, 1], in any shape.
        rng : numpy Generator, optional
            For reproducible simulation. By default the randomness is secure.
        clip : bool
            Move numbers outside [-1, 1] to the nearer end instead of refusing them.
        threads : int
            How many threads share the work on an array; the reports do not depend on it.

        Returns
        -------
        int, or array of uint8 of the same shape as x
            Indexes into `outputs`.

        Guarantees
        ----------
        The i-th number uses the i-th 64-bit word of a stream that serves nothing else. Without
        `rng` this is the keystream of AES-256 under a fresh key from the operating system.
        """
        if isinstance(x, float | int | np.number):
            sampling.check_threads(threads)
            return self.draw(_checks.unit_value("x", x, clip=clip), _one_word(rng))
        dtype = np.dtype(np.uint8)
        return sampling.report(x, rng, self._kernel.draw, dtype, clip=clip, threads=threads)

    def draw(self, x: float, word: int) -> int:
        """Return the output for one number of [-1, 1] and one 64-bit word, in plain Python.

        This is the definition of the sampler: `privatize` gives the same output for the same
        word. Other languages must agree with it too.
        """
        x = _checks.unit_value("x", x)
        word = _checks.whole("word", word, 0, (1 << 64) - 1)
        return exact.draw(self._knot_list, self._thresholds, x, word)

    @cached_property
    def _kernel(self) -> TableKernel:
        return TableKernel(self._knots, self._weights)

    @cached_property
    def _knot_list(self) -> list[float]:
        knots: list[float] = self._knots.tolist()
        return knots

    @cached_property
    def _thresholds(self) -> list[list[int]]:
        sums: list[list[int]] = np.cumsum(self._weights, axis=1).tolist()
        return sums

    def probabilities(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return P(output | x), of shape ``x.shape + (N,)``.

        The sampler rounds in steps of 2^-32, so its own probabilities differ from these by less
        than that.
        """
        return moments.interpolate(unit_array(x), self._knots, self._weights / exact.SCALE)

    def log_likelihood(self, reports: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each report given x (arrays broadcast).

        Examples
        --------
        >>> m = TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
        >>> np.exp(m.log_likelihood([0, 1], -1.0)).round(6).tolist()
        [0.75, 0.25]
        """
        numbers, indexes = np.broadcast_arrays(unit_array(x), self.cells(reports))
        rows = self.probabilities(numbers)
        result: NDArray[np.float64] = np.log(
            np.take_along_axis(rows, indexes[..., None], axis=-1)[..., 0]
        )
        return result

    @property
    def unbiased(self) -> bool:
        """True: every table decodes to an unbiased mean, since knots are the means of rows."""
        return True

    def corners(self) -> NDArray[np.float64]:
        """Return inputs whose rows of `probabilities` span all others: the knots."""
        return self._knots

    def cells(self, reports: ArrayLike) -> NDArray[np.intp]:
        """Return the column of `probabilities` and `transition` that each report counts for."""
        array = np.asarray(reports)
        if array.dtype.kind not in "iu" and array.size:
            raise InvalidArgumentError("reports", "be indexes of outputs", reports)
        if array.size and not 0 <= array.min() <= array.max() < self.n_outputs:
            bad = array.min() if array.min() < 0 else array.max()
            rule = f"be indexes from 0 to {self.n_outputs - 1}"
            raise InvalidArgumentError("reports", rule, int(bad))
        return array.astype(np.intp, copy=False)

    def decode(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return the value that each report stands for in the unbiased mean."""
        return self._outputs[self.cells(reports)]

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the decoded report at every x: x itself."""
        return unit_array(x)

    @cached_property
    def _second_moments(self) -> NDArray[np.float64]:
        result: NDArray[np.float64] = self._weights @ self._outputs**2 / exact.SCALE
        return result

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the variance of the decoded report at every x."""
        numbers = unit_array(x)
        return np.interp(numbers, self._knots, self._second_moments) - numbers**2

    def worst_variance(self) -> float:
        """Return the largest variance over all inputs.

        Between two knots the variance is a parabola that opens downward, so its maximum is at
        a knot or at a vertex.
        """
        return moments.largest_variance(self._knots, self._second_moments)

    def average_variance(self, prior: ArrayLike | None = None) -> float:
        """Return the variance averaged over a histogram of inputs.

        Parameters
        ----------
        prior : sequence of floats, optional
            Weights of equal bins of [-1, 1], uniform within a bin. Uniform if not given.
        """
        bins = _checks.histogram("prior", [1.0] if prior is None else prior)
        return moments.average_variance(self._knots, self._second_moments, bins)

    def transition(self, bins: int = 64) -> NDArray[np.float64]:
        """Return P(output | x uniform in a bin), of shape (bins, N), for equal bins of [-1, 1]."""
        count = _checks.whole("bins", bins, 1, 1 << 16)
        edges = np.linspace(-1.0, 1.0, count + 1)
        return moments.bin_means(self._knots, self._weights / exact.SCALE, edges)

    def to_json(self) -> str:
        """Return the table as a JSON document with a format version and its fingerprint."""
        return document.dump(
            epsilon=self._epsilon,
            outputs=self._outputs.tolist(),
            knots=self._knots.tolist(),
            weights=self._weights.tolist(),
            fingerprint=self.fingerprint,
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> TableMechanism:
        """Read a table from JSON, and certify it before it is returned.

        Raises
        ------
        DocumentError
            If the text is not such a document, or its fingerprint does not match.
        PrivacyError
            If the table is not as private as it claims.
        """
        return cls.from_document(document.parse(text))

    @classmethod
    def from_document(cls, found: dict[str, Any]) -> TableMechanism:
        """Read a table from parsed JSON, as `from_json` does from text."""
        parts = document.load(found, MAX_OUTPUTS, MAX_KNOTS)
        table = cls(parts.epsilon, parts.outputs, parts.weights, parts.knots)
        document.check_fingerprint(parts, table.fingerprint)
        return table

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableMechanism):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        rows, columns = self._weights.shape
        return f"TableMechanism(epsilon={self._epsilon!r}, n_outputs={columns}, n_knots={rows})"

    def __setattr__(self, name: str, value: object) -> None:
        if "_knots" in self.__dict__:  # the last part that the constructor sets
            _refuse(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        _refuse(name)

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild through the constructor, so that a pickle is certified too."""
        return type(self), (self._epsilon, self._outputs, self._weights, self._knots)


def row_means(outputs: NDArray[np.float64], weights: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean output of every row: exact in whole numbers, then rounded once."""
    ratios = [value.as_integer_ratio() for value in outputs.tolist()]
    unit = max(denominator for _, denominator in ratios)  # all are powers of two
    wholes = [numerator * (unit // denominator) for numerator, denominator in ratios]
    return np.array(
        [
            sum(a * w for a, w in zip(wholes, row, strict=True)) / (unit << exact.SCALE_BITS)
            for row in weights.tolist()
        ]
    )


def _refuse(name: str) -> NoReturn:
    raise AttributeError(f"a TableMechanism cannot be changed: {name!r}")


def _freeze(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Copy into memory that cannot be made writable again."""
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)


def _increasing(name: str, values: ArrayLike, low: int, high: int) -> NDArray[np.float64]:
    array = _checks.vector(name, values)
    if not low <= array.size <= high:
        raise InvalidArgumentError(name, f"have from {low} to {high} entries", array.size)
    steps = np.flatnonzero(np.diff(array) <= 0.0)
    if steps.size:
        pair = array[steps[0] : steps[0] + 2].tolist()
        raise InvalidArgumentError(name, "increase from entry to entry", pair)
    return array


def _rows(weights: ArrayLike, n_outputs: int) -> NDArray[np.int64]:
    try:
        array = np.asarray(weights)
    except (ValueError, OverflowError):
        raise InvalidArgumentError("weights", "be rows of whole numbers", weights) from None
    if array.dtype.kind not in "iu":
        raise InvalidArgumentError("weights", "be whole numbers", weights)
    if array.ndim != 2 or array.shape[1] != n_outputs or not 2 <= len(array) <= MAX_KNOTS:
        rule = f"have from 2 to {MAX_KNOTS} rows of {n_outputs} numbers"
        raise InvalidArgumentError("weights", rule, array.shape)
    bad = np.argwhere((array < 1) | (array >= exact.SCALE))
    if bad.size:
        row, column = bad[0].tolist()
        rule = f"be a whole number from 1 to {exact.SCALE - 1}"
        raise InvalidArgumentError(f"weights[{row}][{column}]", rule, array[row, column].item())
    result = array.astype(np.int64)
    sums = result.sum(axis=1)
    wrong = np.flatnonzero(sums != exact.SCALE)
    if wrong.size:
        rule = f"add up to {exact.SCALE}"
        raise InvalidArgumentError(f"weights[{wrong[0]}]", rule, int(sums[wrong[0]]))
    return result


def _clean_knots(knots: ArrayLike, means: NDArray[np.float64]) -> NDArray[np.float64]:
    array = _increasing("knots", knots, len(means), len(means))
    off = np.abs(array - means)
    if off.max() > _MEAN_TOLERANCE:
        row = int(off.argmax())
        rule = f"be the mean output of its row, {means[row]}"
        raise InvalidArgumentError(f"knots[{row}]", rule, float(array[row]))
    if max(abs(array[0] + 1.0), abs(array[-1] - 1.0)) > _MEAN_TOLERANCE:
        raise InvalidArgumentError("knots", "reach from -1 to 1", array[[0, -1]].tolist())
    array[0], array[-1] = -1.0, 1.0
    return array


def _one_word(rng: np.random.Generator | None) -> int:
    if rng is None:
        return secrets.randbits(64)
    word = np.empty(1, np.uint64)
    word_source(rng).fill(word)
    return int(word[0])

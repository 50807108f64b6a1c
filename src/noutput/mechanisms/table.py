r"""Table mechanism: a certified table of whole numbers, with arrays and moments."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.mechanisms import exact, moments, sampling
from noutput.mechanisms.array_rows import ArrayRows, frozen, one_word, whole_rows
from noutput.mechanisms.certified import CertifiedTable
from noutput.mechanisms.kernel import TableKernel
from noutput.mechanisms.sampling import unit_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["TableMechanism"]


class TableMechanism(ArrayRows[CertifiedTable]):
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
        computed from them if not given. Ends that are off by at most 1e-9 are moved to -1 and 1.

    Raises
    ------
    PrivacyError, InvalidArgumentError
        As `CertifiedTable` does.

    Notes
    -----
    With :math:`S = 2^{32}`, the probability of output i is :math:`w_{k,i} / S` at knot
    :math:`x_k = \sum_i a_i w_{k,i} / S` and linear between neighboring knots. Sampling has two
    steps: round x at random to one of its two neighboring knots, then draw an output from that
    knot's row. Both steps together use one 64-bit random word.

    The probabilities are piecewise linear as in Baek and Chung, "N-output Mechanism: Estimating
    Statistical Information from Numerical Data under Local Differential Privacy", but the number
    of knots does not depend on the number of outputs.

    Guarantees
    ----------
    Every object of this class is :math:`\epsilon`-locally differentially private for all real
    inputs, as its `plain` table is: `CertifiedTable` proves it in whole-number arithmetic when it
    is made. The object cannot be changed afterwards.

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
    >>> TableMechanism.of(m.plain) == m  # what a device has, and back
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
        values = _checks.vector("outputs", outputs).tolist()
        places = None if knots is None else _checks.vector("knots", knots).tolist()
        self._wrap(CertifiedTable.from_rows(epsilon, values, whole_rows(weights), places))

    @classmethod
    def of(cls, plain: CertifiedTable) -> TableMechanism:
        """Return the mechanism of a certified table; no document is written or read."""
        if not isinstance(plain, CertifiedTable):
            raise InvalidArgumentError("plain", "be a CertifiedTable", type(plain).__name__)
        mechanism = cls.__new__(cls)
        cls._wrap(mechanism, plain)
        return mechanism

    def _wrap(self, plain: CertifiedTable) -> None:
        self._outputs = frozen(plain.outputs, np.float64)
        self._knots = frozen(plain.knots, np.float64)
        self._weights = frozen(plain.weights, np.int64)
        self._plain = plain

    @property
    def outputs(self) -> NDArray[np.float64]:
        """The value each output stands for, increasing (read-only)."""
        return self._outputs

    @property
    def knots(self) -> NDArray[np.float64]:
        """The inputs at which the rows hold, from -1 to 1 (read-only)."""
        return self._knots

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
            return self._plain.draw(_checks.unit_value("x", x, clip=clip), one_word(rng))
        dtype = np.dtype(np.uint8)
        return sampling.report(x, rng, self._kernel.draw, dtype, clip=clip, threads=threads)

    def draw(self, x: float, word: int) -> int:
        """Return the output for one number of [-1, 1] and one 64-bit word, in plain Python.

        This is the definition of the sampler: `privatize` gives the same output for the same
        word. Other languages must agree with it too.
        """
        x = _checks.unit_value("x", x)
        word = _checks.whole("word", word, 0, (1 << 64) - 1)
        return self._plain.draw(x, word)

    @cached_property
    def _kernel(self) -> TableKernel:
        return TableKernel(self._knots, self._weights)

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

    def corners(self) -> NDArray[np.float64]:
        """Return inputs whose rows of `probabilities` span all others: the knots."""
        return self._knots

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
        """Return the variance averaged over a histogram of inputs: see `Mechanism`."""
        bins = _checks.histogram("prior", [1.0] if prior is None else prior)
        return moments.average_variance(self._knots, self._second_moments, bins)

    def transition(self, bins: int = 64) -> NDArray[np.float64]:
        """Return P(output | x uniform in a bin), of shape (bins, N), for equal bins of [-1, 1]."""
        count = _checks.whole("bins", bins, 1, 1 << 16)
        edges = np.linspace(-1.0, 1.0, count + 1)
        return moments.bin_means(self._knots, self._weights / exact.SCALE, edges)

    @classmethod
    def from_json(cls, text: str | bytes) -> TableMechanism:
        """Read a table from JSON, and certify it first: see `CertifiedTable.from_json`."""
        return cls.of(CertifiedTable.from_json(text))

    @classmethod
    def from_document(cls, found: dict[str, Any]) -> TableMechanism:
        """Read a table from parsed JSON, as `from_json` does from text."""
        return cls.of(CertifiedTable.from_document(found))

    def __repr__(self) -> str:
        rows, columns = self._weights.shape
        return f"TableMechanism(epsilon={self.epsilon!r}, n_outputs={columns}, n_knots={rows})"

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild through the constructor, so that a pickle is certified too."""
        return type(self), (self.epsilon, self._outputs, self._weights, self._knots)

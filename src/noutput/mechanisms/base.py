"""Protocols of mechanisms: what each of them offers, whatever its reports look like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CellModel",
    "Channel",
    "ExactMechanism",
    "Mechanism",
    "check_channel",
    "check_mechanism",
    "missing_parts",
]


_PARTS = (
    "epsilon", "exact", "bits", "privatize", "decode", "mean", "variance", "worst_variance",
    "average_variance",
)  # fmt: skip


@runtime_checkable
class Mechanism(Protocol):
    r"""A way to turn numbers of [-1, 1] into :math:`\epsilon`-locally private reports.

    Notes
    -----
    A report decodes to a number. Its mean given x is `mean` and its variance is `variance`; for
    a mechanism made for numbers the mean is x itself, for one made for categories it is the
    middle of the bin that holds x. Any object that has these parts is a mechanism: it inherits
    nothing, and is registered nowhere. The table that `quantize` returns has them all.

    Examples
    --------
    >>> import numpy as np, noutput as no
    >>> duchi = no.mechanism("duchi", 1.0)
    >>> isinstance(duchi, no.Mechanism)
    True
    >>> duchi.epsilon, duchi.exact, duchi.bits, duchi.privacy_loss() <= 1.0
    (1.0, True, 1, True)
    >>> reports = duchi.privatize([0.25, 0.5], np.random.default_rng(1))
    >>> bool(np.all(np.abs(duchi.decode(reports)) > 1.0))
    True
    >>> float(duchi.mean(0.25)), round(float(duchi.variance(0.25)), 2)
    (0.25, 4.62)
    >>> round(duchi.worst_variance(), 2), round(duchi.average_variance(), 2)
    (4.68, 4.35)
    >>> bool(np.all(duchi.log_likelihood(reports, 0.25) < 0.0))
    True
    """

    @property
    def epsilon(self) -> float:
        """The privacy loss that the mechanism claims."""

    @property
    def exact(self) -> bool:
        """Whether the claim covers the sampler itself and not only its real-number model."""

    @property
    def bits(self) -> int:
        """How many bits a report needs."""

    def privatize(
        self, x: ArrayLike, rng: np.random.Generator | None = None, *, clip: bool = False
    ) -> Any:
        """Turn private numbers into reports, one per number.

        Parameters
        ----------
        x : float or array of floats
            Numbers in [-1, 1], in any shape.
        rng : numpy Generator, optional
            For reproducible simulation. By default the randomness is secure.
        clip : bool
            Move numbers outside [-1, 1] to the nearer end instead of refusing them.

        Returns
        -------
        report, or array of reports of the same shape as x

        Raises
        ------
        InvalidArgumentError
            If an entry of x is NaN, no number, or (without `clip`) outside [-1, 1].

        Guarantees
        ----------
        The words that draw a report serve nothing else. Without `rng` they are the keystream of
        AES-256 under a fresh key from the operating system.
        """

    def decode(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return the number that each report stands for."""

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the decoded report at every x."""

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the variance of the decoded report at every x."""

    def worst_variance(self) -> float:
        """Return the largest variance over all inputs."""

    def average_variance(self, prior: ArrayLike | None = None) -> float:
        """Return the variance averaged over a histogram of inputs.

        Parameters
        ----------
        prior : sequence of floats, optional
            Weights of equal bins of [-1, 1], uniform within a bin. Uniform if not given.
        """


@runtime_checkable
class ExactMechanism(Mechanism, Protocol):
    r"""A mechanism whose `exact` is true: it knows the probability of every report it can draw.

    Notes
    -----
    The loss of a report r between two inputs is ``log_likelihood(r, x) - log_likelihood(r, y)``.
    It is at most `privacy_loss` for every report and all inputs, and no report is impossible for
    one input and possible for another.
    """

    def privacy_loss(self) -> float:
        """Return the exact loss, rounded up."""

    def log_likelihood(self, reports: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each whole report given x.

        The shapes of reports and inputs broadcast; a row of bits is one report.
        """


@runtime_checkable
class CellModel(Protocol):
    """The chances of the cells that reports fall into, given a number of [-1, 1].

    Everything that estimates a distribution works on any of these: on a mechanism, and on several
    tables at once.
    """

    @property
    def fingerprint(self) -> str:
        """What ties tallies to the model."""

    @property
    def n_cells(self) -> int:
        """How many cells there are."""

    def probabilities(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return P(cell | x), of shape ``x.shape + (cells,)``."""

    def corners(self) -> NDArray[np.float64]:
        """Return inputs of which the row of `probabilities` of every other one is a mixture."""

    def transition(self, bins: int = 64) -> NDArray[np.float64]:
        """Return P(cell | x uniform in a bin), of shape (bins, cells).

        Parameters
        ----------
        bins : int
            How many equal bins of [-1, 1] the inputs fall into.
        """


@runtime_checkable
class Channel(Mechanism, CellModel, Protocol):
    """A mechanism whose reports fall into few cells, so that a matrix describes it.

    Examples
    --------
    >>> import noutput as no
    >>> isinstance(no.mechanism("pm", 1.0), no.Channel)
    True
    >>> isinstance(no.mechanism("oue", 1.0), no.Channel)  # its reports are rows of bits
    False
    >>> no.mechanism("duchi", 1.0).cells([0, 1, 1])
    array([0, 1, 1])
    """

    def cells(self, reports: ArrayLike) -> NDArray[np.intp]:
        """Return the cell that each report falls into."""


def missing_parts(value: object, *parts: str) -> list[str]:
    """Return which parts an object lacks, of those named or of all that a `Mechanism` has.

    Examples
    --------
    >>> missing_parts(3, "real", "epsilon")
    ['epsilon']
    """
    own = getattr(value, "__dict__", {})
    return [part for part in parts or _PARTS if not (hasattr(type(value), part) or part in own)]


def check_mechanism(name: str, value: object) -> Mechanism:
    """Refuse what is no mechanism, and name what it lacks."""
    missing = missing_parts(value)
    if isinstance(value, Mechanism) and not missing:
        return value
    rule = f"be a mechanism, which also has {', '.join(missing)}"
    raise InvalidArgumentError(name, rule, type(value).__name__)


def check_channel(mechanism: object, *parts: str) -> None:
    """Refuse a mechanism that lacks some of the parts of a `Channel`."""
    missing = missing_parts(mechanism, *parts)
    if not missing:
        return
    rule = (
        "have reports that fall into cells, as all tables, windows, Hybrid and direct encoding do "
        f"(OUE and SUE have an `estimate` of their own), and so have {', '.join(missing)}"
    )
    raise InvalidArgumentError("mechanism", rule, type(mechanism).__name__)

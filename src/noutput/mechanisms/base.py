"""Protocols of mechanisms: what each of them offers, whatever its reports look like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Channel", "ExactMechanism", "Mechanism", "check_channel"]


@runtime_checkable
class Mechanism(Protocol):
    r"""A way to turn numbers of [-1, 1] into :math:`\epsilon`-locally private reports.

    Notes
    -----
    A report decodes to a number. Its mean given x is `mean` and its variance is `variance`; for
    a mechanism made for numbers the mean is x itself, for one made for categories it is the
    middle of the bin that holds x.
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
class Channel(Mechanism, Protocol):
    """A mechanism whose reports fall into few cells, so that a matrix describes it.

    Everything that estimates a distribution works on any of these.
    """

    @property
    def fingerprint(self) -> str:
        """What ties tallies to the mechanism."""

    @property
    def n_cells(self) -> int:
        """How many cells there are."""

    def cells(self, reports: ArrayLike) -> NDArray[np.intp]:
        """Return the cell that each report falls into."""

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


def check_channel(mechanism: object, *parts: str) -> None:
    """Refuse a mechanism that lacks some of the parts of a `Channel`."""
    if all(hasattr(type(mechanism), part) for part in parts):
        return
    rule = (
        "have reports that fall into cells, as all tables, windows, Hybrid and direct encoding do "
        "(OUE and SUE have an `estimate` of their own)"
    )
    raise InvalidArgumentError("mechanism", rule, type(mechanism).__name__)

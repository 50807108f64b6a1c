r"""Privacy of published counts, for one table: epsilon for a delta, and delta for an epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from noutput import _checks
from noutput.amplification.law import UNIT_ROUNDOFF, Blanket
from noutput.amplification.pairs import PairBound, Problem
from noutput.amplification.result import PublishedPrivacy
from noutput.amplification.search import largest_delta, smallest_c
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.array_rows import ArrayRows
from noutput.mechanisms.certified import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DELTA", "MOST_REPORTS", "Certified", "Designed", "published_delta", "published_privacy"]

DELTA = 1e-8
MOST_REPORTS = 10**12
_WORTHWHILE = 0.99  # of the local epsilon: a bound above it is not worth its delta


class Certified(Protocol):
    """Any certified table, plain or with arrays."""

    @property
    def weights(self) -> NDArray[np.int64] | tuple[tuple[int, ...], ...]: ...  # noqa: D102
    def privacy_loss(self) -> float: ...  # noqa: D102


class Designed(Protocol):
    """A design: what has a certified table."""

    @property
    def mechanism(self) -> Certified: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Task:
    """A table with its number of reports, checked; `share` of them are counted together."""

    problem: Problem
    loss: float
    places: tuple[int, ...]  # of the different rows in the table

    @classmethod
    def of(
        cls,
        mechanism: Certified | Designed,
        reports: int,
        share: float = 1.0,
        lattice: int | None = None,
    ) -> Task:
        """Check the arguments, and keep the different rows."""
        table = getattr(mechanism, "mechanism", mechanism)
        if not isinstance(table, ArrayRows | Table):
            rule = "be a certified table, or a design that has one"
            raise InvalidArgumentError("mechanism", rule, type(mechanism).__name__)
        count = _checks.whole("reports", reports, 1, MOST_REPORTS)
        if lattice is not None:
            _checks.whole("lattice", lattice, 64, 1 << 24)
        weights = np.asarray(table.weights, np.int64)
        _, first = np.unique(weights, axis=0, return_index=True)
        problem = Problem(Blanket.of(weights, share), count, lattice)
        return cls(problem, table.privacy_loss(), tuple(first.tolist()))

    def result(self, epsilon: float, delta: float, bound: PairBound) -> PublishedPrivacy:
        """Return the guarantee that a bound proves."""
        return PublishedPrivacy(
            epsilon=epsilon,
            delta=delta,
            reports=self.problem.reports,
            local_epsilon=self.loss,
            method="lattice" if bound.lattice else "normal",
            rows=(self.places[bound.first], self.places[bound.second]),
            gamma=self.problem.blanket.gamma,
            tilt=bound.tilt,
            lattice=bound.lattice,
            step=bound.step,
            errors=bound.errors,
        )

    def local(self) -> PublishedPrivacy:
        """Return the guarantee of the report itself: the rows that need it, and no delta."""
        rows = self.problem.blanket.rows.astype(np.float64)
        column = int((rows.max(axis=0) / rows.min(axis=0)).argmax())
        pair = int(rows[:, column].argmax()), int(rows[:, column].argmin())
        return PublishedPrivacy(
            epsilon=self.loss,
            delta=0.0,
            reports=self.problem.reports,
            local_epsilon=self.loss,
            method="local",
            rows=(self.places[pair[0]], self.places[pair[1]]),
            gamma=self.problem.blanket.gamma,
        )

    def privacy(self, delta: float) -> PublishedPrivacy:
        """Return epsilon for a delta."""
        highest = math.expm1(_WORTHWHILE * self.loss)
        found = smallest_c(self.problem, delta, highest) if highest > 0.0 else None
        if found is None:
            return self.local()
        epsilon = math.log1p(found.c) * (1.0 + 8.0 * UNIT_ROUNDOFF)  # rounded up
        return self.result(epsilon, delta, found.bound)

    def delta(self, epsilon: float) -> PublishedPrivacy:
        """Return delta for an epsilon."""
        if epsilon >= self.loss:
            return self.local()
        bound = largest_delta(self.problem, math.expm1(epsilon) * (1.0 - 8.0 * UNIT_ROUNDOFF))
        delta = math.exp(min(bound.log_delta, 0.0)) * (1.0 + 1e-12)
        return self.result(epsilon, min(delta, 1.0), bound)


def published_privacy(
    mechanism: Certified | Designed,
    *,
    reports: int,
    delta: float = DELTA,
    lattice: int | None = None,
) -> PublishedPrivacy:
    r"""Return what published counts of reports reveal about one person, as an upper bound.

    Parameters
    ----------
    mechanism : TableMechanism, AnswerMechanism, a plain table or a design
        The table that every report is drawn from.
    reports : int
        How many honest reports are counted together, the person's own included; at most
        :math:`10^{12}`.
    delta : float
        The probability with which epsilon may fail, 1e-8 by default.
    lattice : int, optional
        Points of the lattice. By default as many as are needed, or none.

    Returns
    -------
    PublishedPrivacy
        Its `epsilon` is the smallest that was proven, or the local one.

    Raises
    ------
    InvalidArgumentError
        If an argument breaks its rule.

    Guarantees
    ----------
    Let n people each send one report drawn from the certified table, and let only the number of
    reports per output be published. Then for every two values of one person, for all values of the
    others, and for every set of counts, the two probabilities satisfy
    :math:`P \le e^\epsilon P' + \delta`. `noutput.amplification.law` has the theorem, and
    `tilt`, `normal`, `lattice` and `screening` beside it bound every numerical step.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(4.0, 16, "worst").mechanism
    >>> found = no.published_privacy(m, reports=1_000_000, delta=1e-8)
    >>> round(found.epsilon, 3), found.local_epsilon < 4.0001
    (0.044, True)
    >>> no.published_privacy(m, reports=10).amplified  # ten people hide nobody
    False
    """
    task = Task.of(mechanism, reports, lattice=lattice)
    return task.privacy(_checks.inner_share("delta", delta))


def published_delta(
    mechanism: Certified | Designed,
    *,
    reports: int,
    epsilon: float,
    lattice: int | None = None,
) -> PublishedPrivacy:
    r"""Return the delta that published counts of reports need for a given epsilon.

    Parameters
    ----------
    mechanism, reports, lattice
        As in `published_privacy`.
    epsilon : float
        Not negative.

    Returns
    -------
    PublishedPrivacy
        Its `delta` is an upper bound; 0 where epsilon is not below the loss of a report.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(4.0, 16, "worst").mechanism
    >>> no.published_delta(m, reports=1_000_000, epsilon=0.05).delta < 1e-9
    True
    """
    wanted = _checks.finite("epsilon", epsilon)
    if wanted < 0.0:
        raise InvalidArgumentError("epsilon", "not be negative", epsilon)
    return Task.of(mechanism, reports, lattice=lattice).delta(wanted)

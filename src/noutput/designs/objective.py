"""The objective of a design: a norm of the variance, or the error of the distribution."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noutput.mechanisms.table import TableMechanism

__all__ = ["MOST_BINS", "Objective", "VarianceNorm"]

VarianceNorm: TypeAlias = Literal["worst", "average"]
"""The norms of the variance for which optimal tables and lower bounds are known."""

MOST_BINS = 1 << 16
"""The largest number of bins of a prior."""

_NAMES: dict[str, float | None] = {"worst": math.inf, "average": 1.0, "distribution": None}
_ROUNDING = 1e-12
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass(frozen=True, slots=True)
class Objective:
    r"""The norm :math:`(\int \mathrm{Var}[Y|x]^r f(x)\,dx)^{1/r}` and the density f.

    Parameters
    ----------
    r : float or None
        1 is the average, infinity the worst case. None is no norm of the variance, but the
        Wasserstein error of the estimated distribution.
    prior : tuple of floats, optional
        Probabilities of equal bins of [-1, 1]; None is uniform.
    """

    r: float | None
    prior: tuple[float, ...] | None = None

    @classmethod
    def parse(cls, objective: str | float, prior: ArrayLike | None = None) -> Objective:
        """Read a name or a number r >= 1, and an optional histogram."""
        if isinstance(objective, str) and objective in _NAMES:
            r = _NAMES[objective]
        else:
            r = _norm(objective)
        if prior is None:
            return cls(r)
        if r is None or math.isinf(r):
            rule = f"be None where the objective is {objective!r}"
            raise InvalidArgumentError("prior", rule, prior)
        return cls(r, _histogram(prior))

    @property
    def name(self) -> str:
        """How people call it: "worst", "average", "distribution", or "norm 2"."""
        for name, r in _NAMES.items():
            if r == self.r:
                return name
        return f"norm {self.r:g}"

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The prior as an array; None is uniform."""
        return None if self.prior is None else np.array(self.prior)

    @property
    def variance_norm(self) -> VarianceNorm | None:
        """Its name among the norms with optimal tables and lower bounds; None for all others."""
        if self.r == 1.0:
            return "average"
        return "worst" if self.r == math.inf else None

    @property
    def spelling(self) -> str | float:
        """What `parse` reads: a name or the number r."""
        return self.r if self.r is not None and self.variance_norm is None else self.name

    def value(self, mechanism: TableMechanism) -> float:
        """Return the norm of a table's variance, or its error."""
        if self.r is None:
            from noutput.designs.distribution.error import expected_error

            return expected_error(mechanism)
        if math.isinf(self.r):
            return mechanism.worst_variance()
        if self.r == 1.0:
            return mechanism.average_variance(self.prior)
        return self._norm(mechanism, self.r)

    def _norm(self, mechanism: TableMechanism, r: float) -> float:
        """Integrate on every piece between knots and bin edges, where the variance is smooth."""
        prior = np.array([1.0] if self.prior is None else self.prior)
        edges = np.linspace(-1.0, 1.0, len(prior) + 1)
        grid = np.union1d(edges, mechanism.knots)
        middle, half = (grid[1:] + grid[:-1]) / 2.0, np.diff(grid) / 2.0
        x = np.clip(middle[:, None] + half[:, None] * _NODES, -1.0, 1.0)
        density = prior[np.searchsorted(edges, middle) - 1] * len(prior) / 2.0
        largest = mechanism.worst_variance()  # powers of shares of it do not overflow
        pieces = ((mechanism.variance(x) / largest) ** r) @ _NODE_WEIGHTS
        return largest * float((pieces * half * density).sum() ** (1.0 / r))


def _histogram(prior: ArrayLike) -> tuple[float, ...]:
    """Return probabilities; those that add up to 1 already stay as they are, to the last bit.

    So a prior that was written to a document is the same prior when it is read.
    """
    weights = _checks.vector("prior", prior)
    if weights.size > MOST_BINS:
        raise InvalidArgumentError("prior", f"have at most {MOST_BINS} bins", weights.size)
    probabilities = _checks.histogram("prior", weights)
    same = abs(math.fsum(weights) - 1.0) <= _ROUNDING
    return tuple((weights if same else probabilities).tolist())


def _norm(objective: str | float) -> float:
    """Return a number r >= 1."""
    with suppress(InvalidArgumentError):
        r = _checks.finite("objective", objective)
        if r >= 1.0:
            return r
    rule = "be 'worst', 'average', 'distribution' or a number not below 1"
    raise InvalidArgumentError("objective", rule, objective)

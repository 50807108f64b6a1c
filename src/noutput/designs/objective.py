"""The objective of a design: a norm of the variance, the error of the distribution, or both."""

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

_NAMES: dict[str, float | None] = {
    "balanced": None,
    "worst": math.inf,
    "average": 1.0,
    "distribution": None,
}
_ROUNDING = 1e-12
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass(frozen=True, slots=True)
class Objective:
    r"""What a design minimizes; `parse` makes it from a name or a number.

    Parameters
    ----------
    name : str
        "worst", "average" and "norm R" are norms of the variance,
        :math:`(\int \mathrm{Var}[Y|x]^r f(x)\,dx)^{1/r}` with the density f. "distribution" is the
        Wasserstein error of the estimated distribution. "balanced" is that error, too, among
        tables whose worst-case variance is at most 10% above the lower bound.
    r : float or None
        Of the norm: 1 is the average, infinity the worst case. None where it is no norm.
    prior : tuple of floats, optional
        Probabilities of equal bins of [-1, 1]; None is uniform.
    """

    name: str
    r: float | None
    prior: tuple[float, ...] | None = None

    @classmethod
    def parse(cls, objective: str | float, prior: ArrayLike | None = None) -> Objective:
        """Read a name or a number r >= 1, and an optional histogram."""
        if isinstance(objective, str) and objective in _NAMES:
            name, r = objective, _NAMES[objective]
        else:
            r = _norm(objective)
            name = "average" if r == 1.0 else f"norm {r:g}"
        if prior is None:
            return cls(name, r)
        if r is None or math.isinf(r):
            rule = f"be None where the objective is {objective!r}"
            raise InvalidArgumentError("prior", rule, prior)
        return cls(name, r, _histogram(prior))

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The prior as an array; None is uniform."""
        return None if self.prior is None else np.array(self.prior)

    @property
    def variance_norm(self) -> VarianceNorm | None:
        """The norm that `value` returns, where lower bounds of it are known; None otherwise.

        "balanced" tables are judged by the worst case, which is what their bound is for.
        """
        if self.name == "average":
            return "average"
        return "worst" if self.name in ("worst", "balanced") else None

    @property
    def spelling(self) -> str | float:
        """What `parse` reads: a name or the number r."""
        return self.name if self.name in _NAMES or self.r is None else self.r

    def value(self, mechanism: TableMechanism) -> float:
        """Return the norm of a table's variance, or its error."""
        if self.variance_norm == "worst":
            return mechanism.worst_variance()
        if self.r is None:
            from noutput.designs.distribution.error import expected_error

            return expected_error(mechanism)
        if self.variance_norm == "average":
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
    rule = "be 'balanced', 'worst', 'average', 'distribution' or a number not below 1"
    raise InvalidArgumentError("objective", rule, objective)

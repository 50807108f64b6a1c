r"""What a design minimizes: an r-norm of the variance over the inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noutput.mechanisms.table import TableMechanism

__all__ = ["Objective"]

_NAMES = {"worst": math.inf, "average": 1.0}
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass(frozen=True, slots=True)
class Objective:
    r"""The norm :math:`(\int \mathrm{Var}[Y|x]^r f(x)\,dx)^{1/r}` and the density f.

    Parameters
    ----------
    r : float
        1 is the average, infinity the worst case.
    prior : tuple of floats, optional
        Probabilities of equal bins of [-1, 1]; None is uniform.
    """

    r: float
    prior: tuple[float, ...] | None = None

    @classmethod
    def parse(cls, objective: str | float, prior: ArrayLike | None = None) -> Objective:
        """Read "worst", "average" or a number r >= 1, and an optional histogram."""
        r = _NAMES.get(objective) if isinstance(objective, str) else None
        if r is None:
            try:
                r = _checks.finite("objective", objective)
            except InvalidArgumentError:
                r = 0.0
            if r < 1.0:
                rule = "be 'worst', 'average' or a number not below 1"
                raise InvalidArgumentError("objective", rule, objective)
        if prior is None:
            return cls(r)
        if math.isinf(r):
            raise InvalidArgumentError("prior", "be None where the objective is 'worst'", prior)
        return cls(r, tuple(_checks.histogram("prior", prior).tolist()))

    @property
    def name(self) -> str:
        """How people call it: "worst", "average", or "norm 2"."""
        names = {r: name for name, r in _NAMES.items()}
        return names.get(self.r, f"norm {self.r:g}")

    @property
    def spelling(self) -> str | float:
        """What `parse` reads: "worst", "average" or the number r."""
        return self.name if self.r in _NAMES.values() else self.r

    def value(self, mechanism: TableMechanism) -> float:
        """Return the norm of a table's variance."""
        if math.isinf(self.r):
            return mechanism.worst_variance()
        if self.r == 1.0:
            return mechanism.average_variance(self.prior)
        return self._norm(mechanism)

    def _norm(self, mechanism: TableMechanism) -> float:
        """Integrate on every piece between knots and bin edges, where the variance is smooth."""
        prior = np.array([1.0] if self.prior is None else self.prior)
        edges = np.linspace(-1.0, 1.0, len(prior) + 1)
        grid = np.union1d(edges, mechanism.knots)
        middle, half = (grid[1:] + grid[:-1]) / 2.0, np.diff(grid) / 2.0
        x = np.clip(middle[:, None] + half[:, None] * _NODES, -1.0, 1.0)
        density = prior[np.searchsorted(edges, middle) - 1] * len(prior) / 2.0
        pieces = (mechanism.variance(x) ** self.r) @ _NODE_WEIGHTS
        return float((pieces * half * density).sum() ** (1.0 / self.r))

r"""Weights on extreme columns, and the linear constraints on them.

Notes
-----
A column of an :math:`\epsilon`-LDP table is *extreme* when its entries are m and
:math:`e^\epsilon m` only. It is a subset S of the rows, an output a and a weight
:math:`\theta = m`: its entries are :math:`\theta\,v_S(k)`, where :math:`v_S(k)` is
:math:`e^\epsilon` for rows in S and 1 for all others. Extreme columns suffice. Let a column lie
between m and :math:`e^\epsilon m`, and let :math:`t_1 > t_2 > \dots` be the values of
:math:`(P_k - m) / ((e^\epsilon - 1)\,m)` in [0, 1]. Then the column is the mixture of the columns
:math:`m\,v_{S_j}` with the shares :math:`t_j - t_{j+1}`, where :math:`S_j` has the rows whose value
is :math:`t_j` at least. (The rest, :math:`1 - t_1`, goes to the empty set.) Splitting the output
so, every part with the same a, leaves all moments as they are, and tells at least as much.

Rows that add up to 1, means and second moments are linear in :math:`\theta`:

.. math::

   \sum \theta\,v_S(k) = 1, \qquad \sum \theta\,a\,v_S(k) = x_k, \qquad
   \sum \theta\,a^2\,v_S(k) \le q_k + V .
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noutput import _checks
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.designs.columns.criterion import Criterion
    from noutput.designs.solution import Array

__all__ = ["Columns", "Members", "Moments", "Problem"]

Members: TypeAlias = NDArray[np.bool_]
"""Subsets of the rows, of shape (columns, rows)."""


@dataclass(frozen=True)
class Columns:
    """Extreme columns: subsets of the rows, and what the outputs stand for.

    Parameters
    ----------
    members : array of bool, of shape (M, K)
    outputs : array of shape (M,)
        Zeros where no mean is asked for.
    """

    members: Members
    outputs: Array

    def __len__(self) -> int:
        return len(self.outputs)

    def __add__(self, others: Columns) -> Columns:
        return Columns(
            np.concatenate([self.members, others.members]),
            np.concatenate([self.outputs, others.outputs]),
        )

    def __getitem__(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Columns:
        return Columns(self.members[chosen], self.outputs[chosen])


@dataclass(frozen=True)
class Moments:
    r"""What is required of the decoded output in every row.

    Parameters
    ----------
    inputs : array of shape (K,)
        The means :math:`x_k`.
    squares : array of shape (K,)
        The numbers :math:`q_k`: the second moment of a row is at most :math:`q_k + V`.
    variance : float, optional
        The limit V. None: V is a variable, and is minimized.
    """

    inputs: Array
    squares: Array
    variance: float | None = None

    def __post_init__(self) -> None:
        if self.inputs.shape != self.squares.shape or self.inputs.ndim != 1:
            rule = f"have one number per input, {self.inputs.size}"
            raise InvalidArgumentError("squares", rule, self.squares.shape)
        if self.variance is not None:
            _checks.positive("variance", self.variance)


@dataclass(frozen=True)
class Problem:
    """A convex problem over the weights of all extreme columns.

    Parameters
    ----------
    epsilon : float
    n_rows : int
        How many rows the table has, 2 at least.
    criterion : Criterion, optional
        The convex function of the weights that is minimized; None: nothing but the variance.
    moments : Moments, optional
        None: outputs are labels and stand for no number.
    """

    epsilon: float
    n_rows: int
    criterion: Criterion | None = None
    moments: Moments | None = None

    def __post_init__(self) -> None:
        _checks.positive("epsilon", self.epsilon)
        _checks.whole("n_rows", self.n_rows, 2, 256)
        if self.moments is not None and self.moments.inputs.size != self.n_rows:
            rule = f"have one input per row, {self.n_rows}"
            raise InvalidArgumentError("moments", rule, self.moments.inputs.size)
        if self.criterion is None and not self.minimizes_variance:
            rule = "be given where the variance is not minimized"
            raise InvalidArgumentError("criterion", rule, None)

    @property
    def minimizes_variance(self) -> bool:
        """Whether the variance V is a variable with cost 1."""
        return self.moments is not None and self.moments.variance is None

    def entries(self, members: Members) -> Array:
        """Return the entries v of columns with weight 1, of shape (M, K)."""
        result: Array = 1.0 + np.expm1(self.epsilon) * members
        return result

    def table(self, columns: Columns, weights: Array) -> Array:
        """Return the probabilities, of shape (K, M)."""
        return (self.entries(columns.members) * weights[:, None]).T

    def constraints(self, columns: Columns) -> tuple[Array, Array]:
        r"""Return A and b of the constraints :math:`A z = b`.

        The variables z >= 0 are the weights, then, where there are moments, one slack per second
        moment, and last V if it is minimized.
        """
        entries = self.entries(columns.members).T
        ones = np.ones(self.n_rows)
        if self.moments is None:
            return entries, ones
        k, outputs = self.n_rows, columns.outputs
        n_free = 1 if self.minimizes_variance else 0
        matrix = np.zeros((3 * k, len(columns) + k + n_free))
        matrix[:, : len(columns)] = np.concatenate(
            [entries, entries * outputs, entries * outputs**2]
        )
        matrix[2 * k :, len(columns) : len(columns) + k] = np.eye(k)
        matrix[2 * k :, len(columns) + k :] = -1.0
        limits = self.moments.squares + (self.moments.variance or 0.0)
        return matrix, np.concatenate([ones, self.moments.inputs, limits])

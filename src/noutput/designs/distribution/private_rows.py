r"""Rows of probabilities that are private and unbiased whatever their parameters are.

Notes
-----
Row k belongs to an input :math:`x_k`, and output j stands for :math:`a_j`. The rows are

.. math:: P_{kj} = s_j (1 + (e^\epsilon - 1)\,\sigma(u_{kj} + \lambda_k + \kappa_k a_j)),

with :math:`\lambda_k` and :math:`\kappa_k` such that the row adds up to 1 and has the mean
:math:`x_k`. Every entry of column j lies between :math:`s_j` and :math:`e^\epsilon s_j`, so the
table is private. The sum of all :math:`s_j` lies between :math:`e^{-\epsilon}` and 1; its place
there (a logistic function of one number) and the shares of the :math:`s_j` (a softmax of N) are
free, and so are the :math:`u_{kj}`.

Both numbers of a row minimize a convex function, :math:`\sum_j s_j (z_j + (e^\epsilon - 1)
\ln(1 + e^{z_j})) - \lambda - \kappa x` with :math:`z_j = u_j + \lambda + \kappa a_j`: its
derivatives are the two conditions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy import special

from noutput.designs.solution import Array

__all__ = ["Gradient", "Parameters", "Rows", "Shape"]

Gradient: TypeAlias = tuple[Array, ...]
"""Derivatives in the three parts of `Parameters`, or changes of them."""

_LARGEST_LOGIT = 12.0
_START_LOGIT = 3.0
_MET = 1e-12
_ROUNDS = 100
_LEAST_SLOPE = 1e-9
_LARGEST_CHANGE = 4.0  # of a logit, per round


@dataclass(frozen=True)
class Shape:
    """What stays fixed: epsilon, the inputs of the rows, and what outputs stand for."""

    epsilon: float
    inputs: Array
    outputs: Array


@dataclass(frozen=True)
class Parameters:
    """What is free.

    Parameters
    ----------
    logits : array of shape (K, N)
        One for every entry.
    columns : array of shape (N,)
        The logarithms of the shares of the minima of the columns.
    total : array of shape (1,)
        Where their sum lies, as a logit.
    """

    logits: Array
    columns: Array
    total: Array

    @classmethod
    def near(cls, rows: Array, epsilon: float) -> Parameters:
        """Return parameters whose rows are close to the given ones, inside all constraints.

        No logit is large: those at a bound could not be moved by a gradient.
        """
        factor = math.exp(epsilon)
        return cls.above(np.sqrt(rows.min(axis=0) * rows.max(axis=0) / factor), rows, epsilon)

    @classmethod
    def above(
        cls, least: Array, rows: Array, epsilon: float, largest: float = _START_LOGIT
    ) -> Parameters:
        """Return parameters of rows whose columns have these least entries, and a largest logit."""
        factor = math.exp(epsilon)
        room = 1e-3 * (1.0 - 1.0 / factor)
        total = float(np.clip(least.sum(), 1.0 / factor + room, 1.0 - room))
        shares = least / least.sum()
        place = (rows / (total * shares) - 1.0) / (factor - 1.0)
        edge = float(special.expit(largest))
        return cls(
            special.logit(np.clip(place, 1.0 - edge, edge)),
            np.log(shares),
            np.log([(total - 1.0 / factor) / (1.0 - total)]),
        )

    @property
    def parts(self) -> Gradient:
        """The three of them."""
        return self.logits, self.columns, self.total

    def moved(self, change: Gradient) -> Parameters:
        """Return the parameters after a step; logits stay where they can still turn back."""
        return Parameters(
            np.clip(self.logits + change[0], -_LARGEST_LOGIT, _LARGEST_LOGIT),
            self.columns + change[1],
            self.total + change[2],
        )

    def towards(self, other: Parameters, share: float) -> Parameters:
        """Return the parameters a share of the way to others."""
        return Parameters(
            self.logits + share * (other.logits - self.logits),
            self.columns + share * (other.columns - self.columns),
            self.total + share * (other.total - self.total),
        )

    def symmetric(self) -> Parameters:
        """Return parameters whose table is its own mirror image in inputs and outputs."""
        return Parameters(
            (self.logits + self.logits[::-1, ::-1]) / 2.0,
            (self.columns + self.columns[::-1]) / 2.0,
            self.total,
        )

    def least(self, epsilon: float) -> Array:
        """Return the least entries of the columns."""
        lowest = math.exp(-epsilon)
        total = lowest + (1.0 - lowest) * float(special.expit(self.total[0]))
        return np.asarray(total * special.softmax(self.columns))

    def rows(self, shape: Shape, *, linear: bool = False) -> Rows:
        """Return the table.

        Parameters
        ----------
        shape : Shape
        linear : bool
            Keep the balance of a row linear in the outputs at all costs, as `Rows.by_outputs`
            supposes. Otherwise single entries may be cut on the way, which is as good where the
            balance is taken into the logits.
        """
        least = self.least(shape.epsilon)
        logits = _balance(self.logits, least, shape, linear=linear)
        return Rows(replace(self, logits=logits), special.expit(logits), least, shape, self.logits)


def _balance(logits: Array, least: Array, shape: Shape, *, linear: bool) -> Array:
    """Give every row its sum and its mean: Newton's method, with shorter steps where needed."""
    excess = math.expm1(shape.epsilon)
    unit = np.abs(shape.outputs).max()
    values, means = shape.outputs / unit, shape.inputs / unit
    length = np.ones(len(logits))
    found, misses, slopes = logits, *_misses(logits, least, values, means, excess)
    for _ in range(_ROUNDS):
        size = np.abs(misses).max(axis=1)
        if size.max() < _MET:
            break
        step = _solve(slopes, values, misses)
        change = (step[:, :1] + step[:, 1:] * values) * length[:, None]
        if linear:
            largest = np.maximum(np.abs(change).max(axis=1), _LARGEST_CHANGE)
            change *= (_LARGEST_CHANGE / largest)[:, None]
        else:
            change = np.clip(change, -_LARGEST_CHANGE, _LARGEST_CHANGE)
        tried = found - change
        new_misses, new_slopes = _misses(tried, least, values, means, excess)
        better = np.abs(new_misses).max(axis=1) < size
        found = np.where(better[:, None], tried, found)
        misses = np.where(better[:, None], new_misses, misses)
        slopes = np.where(better[:, None], new_slopes, slopes)
        length = np.where(better, np.minimum(2.0 * length, 1.0), length / 4.0)
    return found


def _misses(
    logits: Array, least: Array, values: Array, means: Array, excess: float
) -> tuple[Array, Array]:
    """Return by how much sums and means of the rows are off, and the slopes of the entries."""
    levels = special.expit(logits)
    rows = least * (1.0 + excess * levels)
    misses = np.stack([rows.sum(axis=1) - 1.0, rows @ values - means], axis=1)
    return misses, least * excess * levels * (1.0 - levels)


def _solve(slopes: Array, values: Array, right: Array) -> Array:
    """Solve the 2 x 2 systems of all rows, whose matrices are moments of the slopes."""
    zeroth, first, second = slopes.sum(axis=1), slopes @ values, slopes @ values**2
    zeroth, second = zeroth + _LEAST_SLOPE, second + _LEAST_SLOPE
    determinant = zeroth * second - first**2
    sums, means = right[:, 0], right[:, 1]
    solved = np.stack([second * sums - first * means, zeroth * means - first * sums], axis=1)
    result: Array = solved / determinant[:, None]
    return result


@dataclass(frozen=True)
class Rows:
    """A table with what its gradient needs.

    Parameters
    ----------
    parameters : Parameters
        Those of the table, with the balance of the rows taken into the logits.
    levels : array of shape (K, N)
        Where each entry lies between the least and the largest of its column.
    least : array of shape (N,)
    shape : Shape
    unbalanced : array of shape (K, N)
        The logits before the balance.
    """

    parameters: Parameters
    levels: Array
    least: Array
    shape: Shape
    unbalanced: Array

    @property
    def probabilities(self) -> Array:
        """The rows, of shape (K, N)."""
        return self.least * (1.0 + math.expm1(self.shape.epsilon) * self.levels)

    @property
    def slopes(self) -> Array:
        """The derivatives of the entries in their logits."""
        return self.least * math.expm1(self.shape.epsilon) * self.levels * (1.0 - self.levels)

    def gradient(self, by_rows: Array) -> Gradient:
        """Return the gradient in the parameters, given that in the probabilities.

        What would change the sum or the mean of a row is taken out of it first.
        """
        slopes, values = self.slopes, self.shape.outputs
        shared = self._shared(by_rows)
        free = by_rows - shared[:, :1] - shared[:, 1:] * values
        by_least = (self.probabilities / self.least * free).sum(axis=0)
        return slopes * free, *self.by_columns(by_least)

    def by_columns(self, by_least: Array) -> tuple[Array, Array]:
        """Return the gradient in `columns` and `total`, given that in the least entries."""
        total = float(self.least.sum())
        by_total = float(by_least @ self.least) / total
        place = float(special.expit(self.parameters.total[0]))
        return (
            self.least * (by_least - by_total),
            np.array([by_total * -math.expm1(-self.shape.epsilon) * place * (1.0 - place)]),
        )

    def by_outputs(self, by_rows: Array) -> Array:
        """Return the gradient in what the outputs stand for, with the unbalanced logits held."""
        shared = self._shared(by_rows)
        free = by_rows - shared[:, :1] - shared[:, 1:] * self.shape.outputs
        result: Array = self._tilts @ (self.slopes * free) - shared[:, 1] @ self.probabilities
        return result

    @property
    def _tilts(self) -> Array:
        """The factors of the outputs in the balance, one per row."""
        balance = self.parameters.logits - self.unbalanced
        low, high = np.argmin(self.shape.outputs), np.argmax(self.shape.outputs)
        width = self.shape.outputs[high] - self.shape.outputs[low]
        result: Array = (balance[:, high] - balance[:, low]) / width
        return result

    def _shared(self, by_rows: Array) -> Array:
        """Return the multipliers of the sums and the means of the rows, of shape (K, 2)."""
        slopes, values = self.slopes, self.shape.outputs
        pulls = np.stack([(slopes * by_rows).sum(axis=1), (slopes * by_rows) @ values], axis=1)
        return _solve(slopes, values, pulls)

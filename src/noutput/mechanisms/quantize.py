r"""Quantization: from real probabilities to a certified table of whole numbers.

Notes
-----
For every output i let :math:`l_i` be the smallest whole number for which
:math:`\lfloor e^\epsilon l_i \rfloor` reaches the largest probability of the column, in units of
:math:`1/S`. All weights of the column are rounded into :math:`[l_i, \lfloor e^\epsilon l_i
\rfloor]`, so the certificate holds whatever happens next inside these bounds. Rows that do not
add up to S after rounding are repaired by moving the difference to entries that have room.

Rounding moves the mean of a row a little. Two degrees of freedom undo that: the outputs are
shifted and stretched so that the first and the last row have mean -1 and 1, and the knots are
defined as the exact means of the rows. The mechanism stays unbiased for every x.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noutput import _checks
from noutput.errors import DesignError, InvalidArgumentError
from noutput.mechanisms.answers import AnswerMechanism
from noutput.mechanisms.exact import SCALE, exponential_floor
from noutput.mechanisms.moments import largest_variance
from noutput.mechanisms.table import TableMechanism, row_means

__all__ = ["quantize", "quantize_answers"]

Floats: TypeAlias = NDArray[np.float64]
Wholes: TypeAlias = NDArray[np.int64]

_SLACK = 1e-6  # by how much a solver may break a constraint
_CLOSEST_KNOTS = 1e-7
_MOST_LOST = 1e-4


def quantize(epsilon: float, outputs: ArrayLike, probabilities: ArrayLike) -> TableMechanism:
    r"""Return a certified table close to a real-valued design.

    Parameters
    ----------
    epsilon : float
    outputs : sequence of N increasing floats
    probabilities : array of shape (K, N)
        Rows that add up to 1 and whose means increase from -1 to 1. Solvers' small violations
        of these and of the ratio :math:`e^\epsilon` (up to 1e-6) are repaired.

    Returns
    -------
    TableMechanism
        Outputs that get no weight and rows that coincide are dropped. A design that is
        symmetric in x gives a table that is exactly symmetric.

    Raises
    ------
    DesignError
        If epsilon is so small that 32-bit weights would lose 0.01% of the worst-case variance.
        (For 2 to 16 outputs and epsilon from 0.05 to 10 less than one part in a million is lost,
        for 64 outputs and epsilon up to 12 less than one in a hundred thousand.)

    Examples
    --------
    >>> import noutput as no
    >>> table = no.quantize(1.1, [-2.0, 2.0], [[0.75, 0.25], [0.25, 0.75]])
    >>> table.weights.tolist()
    [[3221225472, 1073741824], [1073741824, 3221225472]]
    """
    epsilon = _checks.positive("epsilon", epsilon)
    values, rows = _clean(epsilon, outputs, probabilities)
    symmetric = _is_symmetric(values, rows)
    if symmetric:
        values = (values - values[::-1]) / 2.0
        rows = (rows + rows[::-1, ::-1]) / 2.0
    weights, low, high = _round(epsilon, rows)
    if symmetric:
        _mirror(weights, rows, low, high)
    stretched = _stretch(values, weights)
    means = np.array(row_means(stretched.tolist(), weights.tolist()))
    keep = _distinct(means)
    table = TableMechanism(epsilon, stretched, weights[keep], means[keep])
    before = largest_variance(rows[keep] @ values, rows[keep] @ values**2)
    if not table.worst_variance() <= before * (1.0 + _MOST_LOST):
        raise DesignError(f"epsilon = {epsilon} is too small for weights that add up to 2^32")
    return table


def quantize_answers(epsilon: float, probabilities: ArrayLike) -> AnswerMechanism:
    r"""Return a certified table of answers close to real probabilities.

    Parameters
    ----------
    epsilon : float
    probabilities : array of shape (k, N)
        One row per answer; rows add up to 1. Solvers' small violations of this and of the ratio
        :math:`e^\epsilon` (up to 1e-6) are repaired.

    Returns
    -------
    AnswerMechanism
        Outputs that get no weight are dropped.

    Raises
    ------
    DesignError
        If epsilon is too small for weights that add up to :math:`2^{32}`.

    Examples
    --------
    >>> table = quantize_answers(1.1, [[0.75, 0.25], [0.25, 0.75]])
    >>> table.weights.tolist()
    [[3221225472, 1073741824], [1073741824, 3221225472]]
    """
    epsilon = _checks.positive("epsilon", epsilon)
    rows = np.asarray(probabilities, np.float64)
    if rows.ndim != 2:
        raise InvalidArgumentError("probabilities", "be rows of numbers", rows.shape)
    weights, _, _ = _round(epsilon, _clean_rows(epsilon, rows)[0])
    return AnswerMechanism(epsilon, weights)


def _clean(epsilon: float, outputs: ArrayLike, probabilities: ArrayLike) -> tuple[Floats, Floats]:
    values = _checks.vector("outputs", outputs)
    rows = np.asarray(probabilities, np.float64)
    if rows.ndim != 2 or rows.shape[1] != values.size:
        rule = f"be rows of {values.size} numbers"
        raise InvalidArgumentError("probabilities", rule, rows.shape)
    rows, used = _clean_rows(epsilon, rows)
    return values[used], rows


def _clean_rows(epsilon: float, rows: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the columns that get weight, with rows that add up to 1, and which these are."""
    if not np.all(np.isfinite(rows)) or rows.min() < -_SLACK:
        raise InvalidArgumentError("probabilities", "be nonnegative numbers", rows)
    sums = rows.sum(axis=1)
    if np.abs(sums - 1.0).max() > _SLACK:
        worst = float(sums[np.abs(sums - 1.0).argmax()])
        raise InvalidArgumentError("probabilities", "add up to 1 in every row", worst)
    rows = np.maximum(rows, 0.0)
    used = rows.max(axis=0) * SCALE > 1.0
    rows = rows[:, used]
    largest = rows.max(axis=0)
    excess = largest - np.exp(min(epsilon, 32.0)) * rows.min(axis=0)
    if np.any(excess > _SLACK * np.maximum(largest, 1e-3)):
        output = int(excess.argmax())
        found = f"{largest[output]} / {rows[:, output].min()} at output {output}"
        raise InvalidArgumentError("probabilities", "have ratios up to e^epsilon", found)
    result: Floats = rows / rows.sum(axis=1, keepdims=True)
    return result, used


def _round(epsilon: float, rows: Floats) -> tuple[Wholes, Wholes, Wholes]:
    """Return rows of whole numbers, and the bounds of the columns that they keep."""
    low, high = _column_bounds(epsilon, rows)
    if int(low.sum()) > SCALE or int(high.sum()) < SCALE:
        raise DesignError(f"epsilon = {epsilon} is too small for weights that add up to 2^32")
    return np.stack([_round_row(row, low, high) for row in rows]), low, high


def _is_symmetric(outputs: Floats, rows: Floats) -> bool:
    spread = np.abs(outputs + outputs[::-1]).max() <= 1e-9 * np.abs(outputs).max()
    return bool(spread and np.abs(rows - rows[::-1, ::-1]).max() <= 1e-9)


def _column_bounds(epsilon: float, rows: Floats) -> tuple[Wholes, Wholes]:
    floor = exponential_floor(epsilon)
    tops = [int(top) for top in np.rint(rows.max(axis=0) * SCALE)]
    low = [max(1, -(-(top << 64) // floor)) for top in tops]
    high = [min(SCALE - 1, bottom * floor >> 64) for bottom in low]
    return np.array(low, np.int64), np.array(high, np.int64)


def _round_row(row: Floats, low: Wholes, high: Wholes) -> Wholes:
    """Round one row into its bounds, and make it add up."""
    weights = np.clip(np.rint(row * SCALE).astype(np.int64), low, high)
    missing = SCALE - int(weights.sum())
    while missing:
        room = high - weights if missing > 0 else weights - low
        place = int(room.argmax())
        move = min(abs(missing), int(room[place]))
        weights[place] += move if missing > 0 else -move
        missing -= move if missing > 0 else -move
    return weights


def _mirror(weights: Wholes, rows: Floats, low: Wholes, high: Wholes) -> None:
    """Make the table exactly symmetric: the upper half of the rows decides."""
    half = len(weights) // 2
    weights[:half] = weights[::-1][:half, ::-1]
    if len(weights) % 2:
        weights[half] = _round_symmetric_row(rows[half], low, high)


def _round_symmetric_row(row: Floats, low: Wholes, high: Wholes) -> Wholes:
    """Round a row that equals its mirror image: pairs move together, the middle takes the rest.

    Where the bounds leave no symmetric row, the plain rounding does: it is as private.
    """
    weights = np.clip(np.rint(row * SCALE).astype(np.int64), low, high)
    pairs, odd = divmod(len(row), 2)
    missing = SCALE - int(weights.sum())
    if missing % 2:  # only the middle can make it even, by one step in either direction
        step = 1 if weights[pairs] < high[pairs] else -1
        if weights[pairs] + step < low[pairs]:
            return _round_row(row, low, high)
        weights[pairs] += step
        missing -= step
    while missing:
        sign = 1 if missing > 0 else -1
        room = high - weights if missing > 0 else weights - low
        place = int(room[:pairs].argmax())
        move = min(abs(missing) // 2, int(room[place]))
        if move:
            weights[[place, -1 - place]] += sign * move
            missing -= 2 * sign * move
        elif odd and room[pairs] >= abs(missing):
            weights[pairs] += missing
            missing = 0
        else:
            return _round_row(row, low, high)
    return weights


def _stretch(outputs: Floats, weights: Wholes) -> Floats:
    """Shift and stretch the outputs so that the outer rows have mean -1 and 1."""
    for _ in range(2):  # the second pass removes the rounding of the first
        first, last = row_means(outputs.tolist(), weights[[0, -1]].tolist())
        if not last - first > 1e-6:
            raise DesignError("the first and the last row of probabilities coincide")
        middle = 0.0 if first == -last else (first + last) / 2.0
        outputs = (outputs - middle) * (2.0 / (last - first))
    return outputs


def _distinct(means: Floats) -> list[int]:
    """Drop rows whose mean does not lie clearly above that of the row before."""
    keep = [0]
    last = len(means) - 1
    for k in range(1, last):
        if means[k] - means[keep[-1]] > _CLOSEST_KNOTS and means[last] - means[k] > _CLOSEST_KNOTS:
            keep.append(k)
    return [*keep, last]

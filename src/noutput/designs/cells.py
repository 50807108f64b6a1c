r"""Tables for numbers with cells: rows that jump at the edges, and are linear inside.

Notes
-----
A number's cells lie between edges. A table has one row per end of each cell, so two per inner edge,
one for each side, and one per knot inside a cell. Since rows are linear between neighboring knots,
all people act as shares of these rows, whatever their numbers look like inside. The share below an
edge is then a linear statistic of the shares, with an unbiased estimate, as the mean is: both are
columns of the matrix B of `noutput.designs.answers.saddle.Aim`, each divided by the square root of
its own limit, that of the best table for it alone.

A cell so wide that numbers inside it would add much to the error of the mean gets knots inside:
numbers in the middle of a span of width w add :math:`w^2 / 4`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.designs.answers.bound import certificate_of, find_bound
from noutput.designs.answers.certificate import MOST_ROWS, prove
from noutput.designs.answers.error import worst_error
from noutput.designs.answers.fewer import reduced
from noutput.designs.answers.objective import AnswerObjective
from noutput.designs.answers.saddle import Aim, solve
from noutput.designs.bound import lower_bound
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.quantize import quantize_answers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noutput.designs.answers.saddle import Saddle
    from noutput.designs.solution import Array
    from noutput.mechanisms.answers import AnswerMechanism

__all__ = ["OBJECTIVES", "CellTable", "Knots", "design_cells", "n_cells", "round_edges"]

OBJECTIVES = {
    "balanced": {"mean": 1.0, "cdf": 1.0, "squares": 0.1},
    "mean": {"mean": 1.0},
    "cdf": {"cdf": 1.0},
}
"""The weights of the statistics, each relative to its own limit."""

MAX_CELLS = 32
_FEWEST_CELLS, _MOST_CELLS = 3, 12
_CELLS_BY_EPSILON = ((1.0, 8), (2.0, 10), (math.inf, 12))
_ROUND_DIGITS = tuple(map(Decimal, ("1", "1.5", "2", "2.5", "3", "5", "6")))
_HALF = Decimal("0.5")
_ALL_SHARES = 1e-4  # of each row, so that the table can tell all rows apart
_INSIDE = 0.15  # how much numbers inside a span may add to the error of the mean, as a share of it
_MAX_INNER = 6
_TOLERANCE = 3e-3
_NUMBERS = 9
_SIZES = (64, 128, 256)
_WITHIN = 0.01


def n_cells(epsilon: float, people: int | None = None) -> int:
    r"""How many cells a question has that names no edges: from 3 to 12.

    Parameters
    ----------
    epsilon : float
    people : int, optional
        How many reports are expected.

    Notes
    -----
    The share of one cell has a variance of about
    :math:`V = 0.1 + 5.1 e^\epsilon / (e^\epsilon - 1)^2` per report. With
    :math:`\sqrt{n / V} / 2` cells the interval of a bar is as long as a bar is high on average.

    Examples
    --------
    >>> n_cells(1.0), n_cells(4.0), n_cells(1.0, 200), n_cells(1.0, 2_000)
    (8, 12, 3, 10)
    """
    if people is None:
        return next(count for limit, count in _CELLS_BY_EPSILON if epsilon <= limit)
    variance = 0.1 + 5.1 * math.exp(-epsilon) / math.expm1(-epsilon) ** 2
    return min(max(math.floor(math.sqrt(people / variance) / 2.0), _FEWEST_CELLS), _MOST_CELLS)


def round_edges(lower: float, upper: float, cells: int) -> tuple[float, ...]:
    """Round numbers that cut the numbers between two bounds into about so many cells, never more.

    Cells of equal width are preferred where at least half as many of them fit as asked for.
    Otherwise the first and the last cell differ from the others by up to half of their width.

    Examples
    --------
    >>> round_edges(0, 180, 12)
    (15.0, 30.0, 45.0, 60.0, 75.0, 90.0, 105.0, 120.0, 135.0, 150.0, 165.0)
    >>> round_edges(0, 500_000, 12)[:3], round_edges(17, 90, 8)
    ((50000.0, 100000.0, 150000.0), (30.0, 40.0, 50.0, 60.0, 70.0, 80.0))
    """
    low, high = Decimal(repr(float(lower))), Decimal(repr(float(upper)))
    magnitude = (high - low).adjusted() - 2
    widths = sorted(
        digits.scaleb(magnitude + power) for digits in _ROUND_DIGITS for power in range(4)
    )
    cuts = [cut for width in widths if (cut := _cuts(low, high, width)) and len(cut) < cells]
    even = [
        cut
        for cut in cuts
        if len({high - cut[-1], cut[0] - low, *(b - a for a, b in pairwise(cut))}) == 1
    ]
    best = max(cuts, key=len)
    regular = max(even, key=len, default=[])
    if 1 + len(regular) >= max(_FEWEST_CELLS, cells / 2.0):
        best = regular
    return tuple(map(float, best))


def _cuts(low: Decimal, high: Decimal, width: Decimal) -> list[Decimal]:
    """The multiples of a width that are half of it away from both bounds, at least."""
    first, last = math.ceil(low / width + _HALF), math.floor(high / width - _HALF)
    return [number * width for number in range(first, last + 1)] if last - first < 99 else []


@dataclass(frozen=True)
class Knots:
    """Cells of [-1, 1] with knots inside them.

    Parameters
    ----------
    edges : tuple of m + 1 increasing floats from -1 to 1
    inner : tuple of m whole numbers
        How many equally spaced knots each cell has inside.

    Examples
    --------
    >>> knots = Knots((-1.0, 0.0, 1.0), (0, 1))
    >>> knots.numbers.tolist(), knots.cells.tolist()
    ([-1.0, 0.0, 0.0, 0.5, 1.0], [0, 0, 1, 1, 1])
    >>> knots.spans.tolist()
    [[0, 1], [2, 3], [3, 4]]
    >>> knots.statistic("cdf").ravel().tolist()
    [1.0, 1.0, 0.0, 0.0, 0.0]
    """

    edges: tuple[float, ...]
    inner: tuple[int, ...]

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.inner)

    @cached_property
    def numbers(self) -> Array:
        """The number of each row."""
        ends = zip(self.edges, self.edges[1:], self.inner, strict=False)
        return np.concatenate([np.linspace(low, high, 2 + count) for low, high, count in ends])

    @cached_property
    def cells(self) -> NDArray[np.intp]:
        """The cell of each row."""
        return np.repeat(np.arange(self.n_cells), np.add(self.inner, 2))

    @cached_property
    def spans(self) -> NDArray[np.intp]:
        """The rows at both ends of each span between neighboring knots of one cell."""
        lower = np.flatnonzero(np.diff(self.cells) == 0)
        return np.column_stack([lower, lower + 1])

    def statistic(self, name: str) -> Array:
        """The vectors of a statistic, of shape (rows, r); squares of several add up."""
        if name == "cdf":
            below = self.cells[:, None] <= np.arange(self.n_cells - 1)
            return np.asarray(below / np.sqrt(self.n_cells - 1))
        return self.numbers[:, None] ** (2 if name == "squares" else 1)

    def aim(self, weights: dict[str, float], limits: dict[str, float]) -> Aim:
        """The statistics with these weights, each divided by its limit."""
        scales = {name: weight / limits[name] for name, weight in weights.items()}
        columns = [np.sqrt(scale) * self.statistic(name) for name, scale in scales.items()]
        factor = np.hstack([*columns, _ALL_SHARES * np.eye(len(self.numbers))])
        widths = np.diff(self.numbers[self.spans])[:, 0]
        return Aim(factor, self.spans, scales.get("mean", 0.0) * widths**2)


@dataclass(frozen=True)
class CellTable:
    """A certified table for numbers with cells, and what each statistic costs.

    Parameters
    ----------
    mechanism : AnswerMechanism
        One row per row of `knots`.
    knots : Knots
    limits : dict
        By statistic ("mean", "cdf", "squares"): the error that no table is below.
    errors : dict
        By statistic: its error in the worst case over all populations, relative to its limit.
    gap : float or None
        By how much the objective exceeds what is proven for all tables with these knots, as a
        share of that. None where there are too many rows for a proof.
    """

    mechanism: AnswerMechanism
    knots: Knots
    limits: dict[str, float]
    errors: dict[str, float]
    gap: float | None


def design_cells(epsilon: float, edges: ArrayLike, objective: str = "balanced") -> CellTable:
    """Return the best table for numbers with cells, for the worst population.

    Parameters
    ----------
    epsilon : float
    edges : sequence of increasing floats from -1 to 1
        Both bounds, and the edges between them; at most 32 cells.
    objective : "balanced", "mean" or "cdf"

    Examples
    --------
    >>> found = design_cells(1.0, [-1.0, -0.5, 0.0, 0.5, 1.0])
    >>> found.mechanism.n_outputs, [round(found.errors[name], 1) for name in ("mean", "cdf")]
    (64, [1.3, 1.4])
    """
    epsilon = _checks.positive("epsilon", epsilon)
    _checks.choice("objective", objective, tuple(OBJECTIVES))
    points = tuple(_checks.vector("edges", edges).tolist())
    if not 3 <= len(points) <= MAX_CELLS + 1 or points[0] != -1.0 or points[-1] != 1.0:
        raise InvalidArgumentError("edges", f"make 2 to {MAX_CELLS} cells of [-1, 1]", points)
    if not all(low < high for low, high in pairwise(points)):
        raise InvalidArgumentError("edges", "increase", points)
    mean = lower_bound(epsilon).value
    knots = Knots(points, _inner(points, mean))
    limits = _limits(epsilon, knots, mean)
    aim = knots.aim(OBJECTIVES[objective], limits)
    found = solve(epsilon, aim, tolerance=_TOLERANCE)
    mechanism = quantize_answers(epsilon, _fewer(found).table)
    gap = None
    if len(knots.numbers) <= MOST_ROWS:
        proven = prove(epsilon, aim.factor, certificate_of(found), aim.spans, aim.rises)
        gap = worst_error(mechanism.table(), aim) / proven - 1.0
    errors = {
        name: worst_error(mechanism.table(), knots.aim({name: 1.0}, limits)) for name in limits
    }
    return CellTable(mechanism, knots, limits, errors, gap)


def _inner(edges: tuple[float, ...], mean: float) -> tuple[int, ...]:
    """How many knots each cell needs inside, where the mean's error can be `mean`."""
    widest = np.sqrt(4.0 * _INSIDE * mean)
    counts = np.ceil(np.diff(edges) / widest).astype(int) - 1
    return tuple(np.minimum(counts, _MAX_INNER).tolist())


def _limits(epsilon: float, knots: Knots, mean: float) -> dict[str, float]:
    """The limit of every statistic, in the worst case over all populations."""
    cdf = find_bound(epsilon, AnswerObjective("cdf", knots.n_cells)).value
    return {"mean": mean, "cdf": cdf, "squares": _squares_limit(epsilon)}


@lru_cache(maxsize=16)
def _squares_limit(epsilon: float) -> float:
    """The limit of the mean square, from populations at a few numbers of [-1, 1]."""
    scores = tuple((np.linspace(-1.0, 1.0, _NUMBERS) ** 2).tolist())
    return find_bound(epsilon, AnswerObjective("mean", _NUMBERS, scores)).value


def _fewer(found: Saddle) -> Saddle:
    """The table with the fewest of 64, 128 and 256 outputs that loses at most 1%."""
    limit = (1.0 + _WITHIN) * found.value
    for size in _SIZES:
        smaller = reduced(found, size)
        if worst_error(smaller.table, found.aim) <= limit:
            break
    return smaller

r"""The paper's numerical design: sequential least squares from many starts.

Notes
-----
The program (:mod:`noutput.designs.paper.nonlinear_program`) is not convex, and SLSQP ends in the
local optimum next to its start. The starts are PM-sub cut into N outputs, as in the paper; the
same with other windows and unequal outputs; the analytical design where it exists; and the
solution for N - 2 outputs with one atom and its mirror image split in two, or that for N - 1 with
the middle output added or split. A finite r starts from the worst-case solution too, and a prior
that is not symmetric from the solution for its symmetric part. A short run from each start tells
which are worth a long one (PM-sub always is). What counts in the end is the true objective of the
repaired table, never what the solver reports.

References
----------
Baek and Chung, "N-output Mechanism: Estimating Statistical Information from Numerical Data under
Local Differential Privacy", section 4.3 and appendix "Additional Preliminaries".
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

from noutput.designs.paper import analytical
from noutput.designs.paper.nonlinear_program import NonlinearProgram, norm, row_count
from noutput.designs.solution import Array, Solution
from noutput.errors import DesignError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["solve"]

_SHORT = 40
_LONG = 400
_SMALL = 8  # up to this many outputs, time allows for more starts
_TOLERANCE = 1e-9
_FEASIBLE = 1e-5  # what is left is repaired, and the repaired table is judged

# zeta = e^(share * epsilon), and the power that spaces the outputs: PM-sub comes first
_PIECEWISE = [(share, power) for power in (1.0, 0.7, 1.4) for share in (1 / 3, 0.0, 0.6)]


@dataclass(frozen=True, slots=True)
class _Run:
    variables: Array
    solution: Solution
    value: float
    violation: float

    @property
    def rank(self) -> float:
        """What short runs are sorted by: infinity where the solver went astray."""
        promise = self.value * (1.0 + self.violation)
        return math.inf if math.isnan(promise) else promise


def solve(
    epsilon: float, n_outputs: int, r: float = math.inf, prior: Array | None = None
) -> Solution:
    r"""Return the best table with this many outputs that SLSQP finds.

    Parameters
    ----------
    epsilon : float
    n_outputs : int
    r : float
        The objective is :math:`(\int \mathrm{Var}[Y|x]^r f(x) dx)^{1/r}`: the average variance
        for r = 1, the worst case for r = infinity.
    prior : array, optional
        Probabilities f of equal bins of [-1, 1]; uniform by default. The worst case is over
        all of [-1, 1], whatever the prior.

    Returns
    -------
    Solution
        Never worse than the analytical design with as many outputs. Its table is private up to
        the rounding of floats.

    Raises
    ------
    DesignError
        If no start leads to a feasible table.

    Examples
    --------
    >>> solution = solve(1.0, 5)
    >>> print(solution.outputs[3:].round(2), round(solution.worst_variance, 4))
    [1.85 2.57] 4.0488
    """
    solved: dict[int, Solution] = {}
    for size in _chain(n_outputs):
        smaller = [solved[n] for n in (size - 1, size - 2) if n in solved]
        starts = [*_known(epsilon, size), *_grown(size, smaller)]
        solved[size] = _solve(epsilon, size, math.inf, np.ones(1), starts)
    worst = solved[n_outputs]
    if math.isinf(r):
        return worst
    weights = np.ones(1) if prior is None else prior
    mirrored = (weights + weights[::-1]) / 2.0
    starts = [*_known(epsilon, n_outputs), worst]
    symmetric = _solve(epsilon, n_outputs, r, mirrored, starts)
    if np.allclose(weights, mirrored, rtol=0.0, atol=1e-12):
        return symmetric
    starts = [_piecewise(epsilon, n_outputs, *_PIECEWISE[0]), symmetric]
    return _solve(epsilon, n_outputs, r, weights, starts)


def _chain(n_outputs: int) -> list[int]:
    """Return the sizes to solve, each a start for the next: all small ones, then every second."""
    large = range(n_outputs, _SMALL, -2)
    return [*range(2, min(n_outputs, _SMALL) + 1), *reversed(large)]


def _solve(
    epsilon: float, n_outputs: int, r: float, prior: Array, starts: list[Solution]
) -> Solution:
    values = [_value(start, r, prior) for start in starts]
    program = NonlinearProgram(epsilon, n_outputs, r, prior, typical=values[0])
    short = [_run(program, program.encode(start), _SHORT) for start in starts]
    promising = sorted(short[1:], key=lambda run: run.rank)
    chosen = promising[: 3 if n_outputs <= _SMALL else 1]
    long = [_continue(program, run) for run in [short[0], *chosen]]
    feasible = [run for run in long + short if run.violation <= _FEASIBLE]
    best = min(feasible, key=lambda run: run.value, default=None)
    if best is None or math.isinf(best.value):
        least = min(run.violation for run in long)
        raise DesignError(
            f"no start of the numerical design converged to a feasible table at epsilon = "
            f"{epsilon}, n_outputs = {n_outputs}: constraints are violated by {least:.1e}"
        )
    if min(values) < best.value * (1.0 - _TOLERANCE):  # every start is feasible
        return replace(starts[int(np.argmin(values))], iterations=0, converged=False)
    return best.solution


def _continue(program: NonlinearProgram, run: _Run) -> _Run:
    if run.solution.converged:
        return run
    # an iteration takes a time that grows with the cube of the number of variables
    most = min(_LONG, 25_000 // len(run.variables))
    return _run(program, run.variables, most, run.solution.iterations)


def _run(program: NonlinearProgram, variables: Array, most: int, before: int = 0) -> _Run:
    # the type stubs know scalar constraints only
    constraints: Any = [
        {"type": "eq", "fun": program.equations, "jac": program.equations_jacobian},
        {"type": "ineq", "fun": program.inequalities, "jac": program.inequalities_jacobian},
    ]
    found = minimize(
        program.objective,
        variables,
        jac=True,
        method="SLSQP",
        bounds=program.bounds,
        constraints=constraints,
        options={"maxiter": most, "ftol": _TOLERANCE},
    )
    table = _repair(program.table(found.x), program.floor)
    violation = max(
        float(np.abs(program.equations(found.x)).max()),
        -float(program.inequalities(found.x).min(initial=0.0)),
    )
    value = _value(table, program.r, program.prior)
    iterations = before + int(found.nit)
    solution = replace(table, iterations=iterations, converged=bool(found.success))
    return _Run(found.x, solution, value, violation)


def _tidy(table: Solution) -> Solution:
    """Make rows add up to 1 and the outer means -1 and 1."""
    rows = _add_up(table.probabilities)
    first, last = rows[0] @ table.outputs, rows[-1] @ table.outputs
    if not last > first:
        return table  # the solver went astray: out of order, so its value is infinite
    outputs = (table.outputs - (first + last) / 2.0) * (2.0 / (last - first))
    return Solution(outputs, rows)


def _add_up(rows: Array) -> Array:
    result: Array = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)
    return result


def _repair(table: Solution, floor: float) -> Solution:
    r"""Make a table that is nearly feasible feasible: row sums, ratios, then outer means.

    Notes
    -----
    Dividing rows by their sums can push ratios of a column past :math:`e^\epsilon`. Mixing every
    row with the mean row, by as little as is needed, brings them back.
    """
    rows = _add_up(table.probabilities)
    mean = rows.mean(axis=0)
    excess = np.maximum(floor * rows.max(axis=0) - rows.min(axis=0), 0.0)
    mixed = excess / np.maximum(excess + (1.0 - floor) * mean, 1e-300)
    return _tidy(Solution(table.outputs, rows + mixed.max() * (mean - rows)))


def _value(table: Solution, r: float, prior: Array) -> float:
    """Return the true objective; infinity where outputs or knots are out of order."""
    if not (np.all(np.diff(table.outputs) > 0.0) and np.all(np.diff(table.knots) > 1e-9)):
        return math.inf
    if math.isinf(r):
        return table.worst_variance
    return norm(table.knots, table.second_moments, r, prior)[0]


def _known(epsilon: float, n_outputs: int) -> Iterator[Solution]:
    """Yield PM-sub, its relatives and the analytical design."""
    for share, power in _PIECEWISE[: None if n_outputs <= _SMALL else 4]:
        yield _piecewise(epsilon, n_outputs, share, power)
    # the structure may have no solution with so many outputs; the other starts remain
    with contextlib.suppress(DesignError):
        yield analytical.solve(epsilon, n_outputs)


def _grown(n_outputs: int, smaller: list[Solution]) -> Iterator[Solution]:
    """Yield solutions with one or two outputs less, with what they lack added."""
    for table in smaller:
        widths = np.diff(table.knots)[: len(table.probabilities) // 2]
        cells = range(len(widths)) if n_outputs <= _SMALL else [int(widths.argmax())]
        if len(table.outputs) == n_outputs - 2:
            atoms = range(len(table.outputs) // 2)
            yield from (_split(table, atom, cell) for atom in atoms for cell in cells)
        elif n_outputs % 2:
            yield _with_zero(table)
        else:
            yield from (_without_zero(table, cell) for cell in cells)


def _piecewise(epsilon: float, n_outputs: int, share: float, power: float) -> Solution:
    r"""Cut a piecewise mechanism into outputs: PM-sub is share = 1/3, power = 1.

    Notes
    -----
    Its density is :math:`e^\epsilon q` on a window around :math:`x` and q elsewhere. An output
    stands for an interval of the continuous output; ratios of integrals keep the privacy.
    """
    c, zeta = math.exp(epsilon), math.exp(share * epsilon)
    radius = (c + zeta) / (zeta * (c - 1.0))
    even = np.linspace(-1.0, 1.0, n_outputs + 1)
    edges = radius * (zeta + 1.0) * np.sign(even) * np.abs(even) ** power
    center = radius * zeta * np.linspace(-1.0, 1.0, row_count(n_outputs))[:, None]
    inside = np.minimum(edges[1:], center + radius) - np.maximum(edges[:-1], center - radius)
    rows = np.diff(edges) + (c - 1.0) * np.maximum(inside, 0.0)
    return _tidy(Solution((edges[1:] + edges[:-1]) / 2.0, rows))


def _split(table: Solution, atom: int, cell: int) -> Solution:
    """Split an atom and its mirror image in two, and halve a cell and its mirror image."""
    outputs, rows = table.outputs, table.probabilities
    atoms = np.array([atom, len(outputs) - 1 - atom])
    gaps = np.diff(outputs, prepend=-np.inf, append=np.inf)
    room = np.minimum(gaps[atoms], gaps[atoms + 1])
    apart = np.minimum(0.025 * (outputs[-1] - outputs[0]), 0.4 * room)
    lower, halved = outputs.copy(), rows.copy()
    lower[atoms] -= apart
    halved[:, atoms] /= 2.0
    split = np.insert(halved, atoms + 1, halved[:, atoms], axis=1)
    return Solution(np.insert(lower, atoms + 1, outputs[atoms] + apart), _halve(split, cell))


def _with_zero(table: Solution) -> Solution:
    """Add an unlikely output in the middle."""
    middle = len(table.outputs) // 2
    center = (table.outputs[middle - 1] + table.outputs[middle]) / 2.0
    rows = np.insert(0.98 * table.probabilities, middle, 0.02, axis=1)
    return _tidy(Solution(np.insert(table.outputs, middle, center), rows))


def _without_zero(table: Solution, cell: int) -> Solution:
    """Split the output in the middle in two, and halve a cell and its mirror image."""
    middle = len(table.outputs) // 2
    apart = 0.05 * np.diff(table.outputs)[[middle - 1, middle]].min()
    center = table.outputs[middle] + np.array([-apart, apart])
    outputs = np.r_[table.outputs[:middle], center, table.outputs[middle + 1 :]]
    rows = np.insert(table.probabilities, middle, table.probabilities[:, middle], axis=1)
    rows[:, [middle, middle + 1]] /= 2.0
    return Solution(outputs, _halve(rows, cell))


def _halve(rows: Array, cell: int) -> Array:
    """Insert the mean of two neighboring rows, and of the two opposite ones."""
    cells = np.array([cell, len(rows) - 2 - cell])
    return np.insert(rows, cells + 1, (rows[cells] + rows[cells + 1]) / 2.0, axis=0)

r"""A lower bound on the variance of every unbiased epsilon-LDP mechanism, with its certificate.

Notes
-----
The statement and its proof are in `noutput.designs.certificate`, which also checks what this
module finds. Here is how good numbers are found. The linear program of
`noutput.designs.optimal.linear_program`, on a fine grid of outputs with spacing :math:`\Delta`,
is the design problem for very many outputs, and the bound is its dual: a multiplier of a window
(l, r) at input x gives :math:`\varphi(a) = \lambda (a - a_l)(a - a_r)`, one of the reach of
:math:`\pm 1` gives a linear :math:`\varphi` with :math:`\lambda = 0`. Dual feasibility says
:math:`c(a_i) \ge 0` at every grid point. Between two grid points c is a quadratic whose leading
coefficient is :math:`D(a) = \sum_k \lambda_k (1 + (E - 1) [\varphi_k(a) < 0])`, so it may dip by
:math:`D \Delta^2 / 4` below zero. Adding :math:`d\,\lambda_k` to every :math:`\varphi_k` lifts c
by at least :math:`d\,D(a)` in the same place: :math:`d \approx \Delta^2 / 4` repairs c
everywhere, and the bound loses only d, however large E is.

For the average, the inputs are the means of cells of the prior, and :math:`\lambda_k` their
masses.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.designs.certificate import Bound, Certificate, check
from noutput.designs.optimal.density import Density, check_request
from noutput.designs.optimal.linear_program import Layout, Multipliers, solve_fixed
from noutput.designs.solution import Array
from noutput.errors import DesignError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noutput.designs.objective import VarianceNorm

__all__ = ["Bound", "lower_bound"]

Quadratics = tuple[Array, Array, Array, Array]

_COARSE = 28
_FAR = (1.7, 2.2, 3.0, 5.0)
_LEVELS = 16
_CELL_LOSS = 1.5e-4
_LIFTS = 12


def lower_bound(
    epsilon: float,
    objective: VarianceNorm = "worst",
    prior: ArrayLike | None = None,
) -> Bound:
    r"""Return the best lower bound found, valid for any number of outputs.

    Parameters
    ----------
    epsilon : float
        Privacy parameter, in [0.05, 12].
    objective : {"worst", "average"}
        Worst-case variance over [-1, 1], or average variance under ``prior``.
    prior : ndarray, optional
        Histogram on equal bins of [-1, 1], for the average only. Default uniform.

    Returns
    -------
    Bound
        The value proven by `noutput.designs.certificate.check`, and the certificate.

    Examples
    --------
    >>> round(lower_bound(1.0).value, 2)
    3.99
    """
    epsilon = _checks.positive("epsilon", epsilon)
    check_request(epsilon, objective, prior)
    weights = None if prior is None else tuple(_checks.histogram("prior", prior).tolist())
    return _prove(epsilon, objective, weights)


@lru_cache(maxsize=256)
def _prove(epsilon: float, objective: VarianceNorm, prior: tuple[float, ...] | None) -> Bound:
    density = Density.of(prior) if objective == "average" else None
    x, lambdas, nus, mus = _search(epsilon, density)
    order = np.argsort(x, kind="stable")
    certificate = Certificate(
        epsilon=epsilon,
        inputs=tuple(x[order].tolist()),
        lambdas=tuple(lambdas[order].tolist()),
        nus=tuple(nus[order].tolist()),
        mus=tuple(mus[order].tolist()),
        objective=objective,
        prior=prior,
    )
    return Bound(check(certificate), certificate)


def _search(epsilon: float, density: Density | None) -> Quadratics:
    """Refine the grid of outputs where c dips, and return the lifted certificate's numbers."""
    symmetric = density is None or density.symmetric
    duchi = 1.0 / float(np.tanh(epsilon / 2))
    tolerance, most_steps = (1e-4, 240) if density is None else (_CELL_LOSS, 170)
    steps = np.concatenate([np.linspace(0.0, 1.45, _COARSE + 1)[1:], _FAR]) * duchi
    guess: tuple[Array, Array] | None = None
    seeds: Multipliers | None = None
    best_value, best = -np.inf, (np.zeros(1), np.ones(1), np.zeros(1), np.zeros(1))
    for level in range(_LEVELS):
        free = steps if symmetric else np.concatenate([-steps[::-1], [0.0], steps])
        layout = Layout(epsilon, 2 * steps.size + 1, symmetric)
        inputs, masses = None, None
        if density is not None:
            inputs, masses = density.cells(_n_cells(epsilon, level))
        start: Array | None
        if guess is not None:
            start = _spread(*guess, layout.outputs(free), layout)
        else:
            worst = solve_fixed(layout, free, tolerance=1e-3)
            start = None if worst is None else worst.minima
        optimum = solve_fixed(
            layout, free, start, seeds=seeds, inputs=inputs, masses=masses, tolerance=3e-5
        )

        if optimum is None:
            raise DesignError(f"no lower bound was found for epsilon = {epsilon!r}")
        guess = layout.outputs(free), layout.minima(optimum.minima)
        seeds = optimum.multipliers
        numbers = _quadratics(seeds)
        if inputs is not None and masses is not None:
            numbers = _with_masses(numbers, inputs, masses, symmetric=symmetric)
        lifts = _lifts(epsilon, *numbers[1:])
        lift = _lift(epsilon, *numbers[1:])
        x, lambdas, nus, mus = numbers
        lifted = (x, lambdas, nus, mus - lambdas * lift)
        value = optimum.value - lift
        if value > best_value:
            best_value, best = value, lifted
        wanted = tolerance * optimum.value
        steps = _refined(steps, *lifts, max(wanted, 0.2 * float(lifts[1].max())))
        if lift <= 1.5 * wanted or steps.size > most_steps:
            break
    return best


def _n_cells(epsilon: float, level: int) -> int:
    """Return the number of cells on [0, 1]: the bound loses about their width squared / 12."""
    scale = 3.0 / float(np.expm1(epsilon * 2 / 3))
    finest = int(np.clip(1.0 / np.sqrt(12 * _CELL_LOSS * scale), 60, 140))
    return _COARSE if level == 0 else finest


def _refined(steps: Array, places: Array, lifts: Array, wanted: float) -> Array:
    """Split the cells between outputs in which more than the wanted lift is needed."""
    edges = np.concatenate([[0.0], steps, [4 * steps[-1]]])
    cells = np.searchsorted(edges, np.abs(places)) - 1
    new = [steps]
    for cell in np.unique(cells[lifts > wanted]):
        if 0 <= cell < edges.size - 1:
            left, right = edges[cell], edges[cell + 1]
            deepest = np.abs(places[cells == cell][np.argmax(lifts[cells == cell])])
            new.append(np.clip([deepest], 0.7 * left + 0.3 * right, 0.3 * left + 0.7 * right))
    return np.unique(np.concatenate(new))


def _spread(outputs: Array, minima: Array, finer: Array, layout: Layout) -> Array:
    """Spread minima over a finer grid."""

    def edges(points: Array) -> Array:
        middles = (points[1:] + points[:-1]) / 2
        return np.concatenate(
            [[2 * points[0] - middles[0]], middles, [2 * points[-1] - middles[-1]]]
        )

    total = np.concatenate([[0.0], np.cumsum(minima)])
    spread = np.diff(np.interp(edges(finer), edges(outputs), total))
    spread *= minima.sum() / spread.sum()
    half = layout.n_outputs // 2
    return np.asarray(spread[half:] if layout.symmetric else spread)


def _totals(groups: NDArray[np.int64], values: Array) -> Array:
    return np.bincount(groups, weights=values).astype(np.float64)


def _quadratics(multipliers: Multipliers) -> Quadratics:
    """Return inputs, lambdas, nus and mus, one for each distinct input, of both signs."""
    weights, lows, highs = multipliers.weights, multipliers.lows, multipliers.highs
    rays, points, sides = (
        multipliers.reach_weights,
        multipliers.reach_points,
        multipliers.reach_sides,
    )
    inputs = np.concatenate([multipliers.inputs, sides])
    lambdas = np.concatenate([weights, np.zeros(rays.size)])
    nus = np.concatenate([weights * (lows + highs), rays * sides])
    mus = np.concatenate([-weights * lows * highs, -rays * sides * points])
    inputs, groups = np.unique(inputs, return_inverse=True)
    lambdas, nus, mus = (_totals(groups, column) for column in (lambdas, nus, mus))
    if multipliers.symmetric:
        inputs = np.concatenate([inputs, -inputs])
        lambdas = np.concatenate([lambdas, lambdas]) / 2
        nus = np.concatenate([nus, -nus]) / 2
        mus = np.concatenate([mus, mus]) / 2
    return inputs, lambdas / lambdas.sum(), nus, mus


def _with_masses(
    numbers: Quadratics, inputs: Array, masses: Array, *, symmetric: bool
) -> Quadratics:
    """Replace the solver's rounded multipliers by the exact masses of the prior's cells."""
    x, lambdas, nus, mus = numbers
    exact = dict(zip(inputs.tolist(), (masses / (2 if symmetric else 1)).tolist(), strict=True))
    cells = [exact.get(abs(at) if symmetric else at, 0.0) for at in x.tolist()]
    if np.count_nonzero(cells) != len(exact) * (2 if symmetric else 1):
        return numbers  # some cell got no multiplier: its neighbors have taken its mass
    return x, np.where(lambdas > 0.0, cells, 0.0), nus, mus


def _lift(epsilon: float, lambdas: Array, nus: Array, mus: Array) -> float:
    """Return d such that c >= 0, up to rounding, after adding d * lambdas to phi."""
    lift = 0.0
    for _ in range(_LIFTS):
        more = float(_lifts(epsilon, lambdas, nus, mus - lift * lambdas)[1].max())
        if more <= 1e-15 * max(1.0, lift):
            break
        lift += more
    return lift


def _lifts(epsilon: float, lambdas: Array, nus: Array, mus: Array) -> tuple[Array, Array]:
    """Return where c has its minimum between neighboring roots, and the lift needed there."""
    growth = float(np.expm1(epsilon))
    curved = lambdas > 0
    roots = np.sqrt(np.maximum(nus**2 + 4 * lambdas * mus, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        breaks = np.concatenate(
            [
                ((nus - roots) / (2 * lambdas))[curved],
                ((nus + roots) / (2 * lambdas))[curved],
                (-mus / nus)[~curved & (nus != 0)],
            ]
        )
    breaks = np.unique(breaks)
    span = 100 * (breaks[-1] - breaks[0] + 1.0)
    breaks = np.concatenate([[breaks[0] - span], breaks, [breaks[-1] + span]])
    left, right = breaks[:-1], breaks[1:]
    middle = ((left + right) / 2)[:, None]
    negative = lambdas * middle**2 - nus * middle - mus < 0
    factors = 1.0 + growth * negative
    square, linear, constant = factors @ lambdas, factors @ nus, factors @ mus
    at = np.clip(linear / (2 * square), left, right)
    return at, (constant + (linear - square * at) * at) / square

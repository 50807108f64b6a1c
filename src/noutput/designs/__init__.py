"""Designs: which table is best for a privacy budget, a number of outputs and an objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from noutput import _checks
from noutput.designs import analytical, catalog, numerical
from noutput.designs.bound import lower_bound
from noutput.designs.design import Design
from noutput.designs.objective import Objective
from noutput.designs.optimal import optimize
from noutput.errors import DesignError, InvalidArgumentError
from noutput.mechanisms.quantize import quantize

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Design", "Method", "Progress", "design"]

Method: TypeAlias = Literal["optimal", "numerical", "analytical"]
Progress: TypeAlias = Callable[[float], None]

_METHODS = ("optimal", "numerical", "analytical")
_LARGEST_SEARCHED = 16
_SAME = 1e-4  # values this close count as equal, and the smaller table wins


def design(
    epsilon: float,
    n_outputs: int | None = None,
    objective: str | float = "worst",
    method: Method = "optimal",
    *,
    prior: ArrayLike | None = None,
    progress: Progress | None = None,
) -> Design:
    r"""Design a mechanism, certify it, and prove how close to the limit it is.

    Parameters
    ----------
    epsilon : float
        The privacy loss that a report may have.
    n_outputs : int, optional
        How many different reports there may be, from 2 to 256. None takes the smallest number up
        to 16 whose value is within 0.01% of the best.
    objective : "worst", "average" or a number r >= 1
        The norm of the variance over the inputs that is minimized. Numbers need the method
        "numerical".
    method : "optimal", "numerical" or "analytical"
        The best table with any knots; the paper's nonlinear programme; the paper's closed form
        (worst case only).
    prior : sequence of floats, optional
        Weights of equal bins of [-1, 1]: the expected distribution of the inputs, where the
        objective is not "worst". Uniform if not given.
    progress : callable, optional
        Called with the share of the work that is done, from 0 to 1.

    Returns
    -------
    Design

    Raises
    ------
    DesignError
        If no table of the wanted kind was found.

    Guarantees
    ----------
    The mechanism is :math:`\epsilon`-locally differentially private, whatever the solver did:
    its table is certified in whole numbers when it is constructed. `Design.lower_bound` is
    proven by a certificate that a separate checker has verified.

    Examples
    --------
    >>> import noutput as no
    >>> d = no.design(epsilon=1.0, n_outputs=16)
    >>> round(d.value, 3), round(d.lower_bound, 3), d.gap < 0.0015
    (3.994, 3.991, True)
    """
    epsilon = _checks.positive("epsilon", epsilon)
    goal = Objective.parse(objective, prior)
    _checks.choice("method", method, _METHODS)
    if n_outputs is not None:
        n_outputs = _checks.whole("n_outputs", n_outputs, 2, 256)
    report = progress or (lambda _share: None)
    if method == "analytical":
        return _analytical(epsilon, n_outputs, goal)
    make = _optimal if method == "optimal" else _numerical
    if method == "optimal" and goal.r not in (1.0, np.inf):
        raise InvalidArgumentError(
            "objective", "be 'worst' or 'average' where the method is 'optimal'", goal.spelling
        )
    if n_outputs is not None:
        return make(epsilon, n_outputs, goal, report)
    return _smallest(make, epsilon, goal, report)


def _smallest(
    make: Callable[[float, int, Objective, Progress], Design],
    epsilon: float,
    goal: Objective,
    progress: Progress,
) -> Design:
    """Return the smallest design whose value is within 0.01% of the best with 16 outputs.

    Values do not increase with the number of outputs, so bisection finds it.
    """
    best = make(epsilon, _LARGEST_SEARCHED, goal, lambda share: progress(share / 5.0))
    low, high, found = 2, best.mechanism.n_outputs, best
    step = 1
    while low < high:
        middle = (low + high) // 2
        try:
            candidate = make(epsilon, middle, goal, lambda _share: None)
        except DesignError:
            candidate = None
        if candidate is not None and candidate.value <= best.value * (1.0 + _SAME):
            high, found = middle, candidate
        else:
            low = middle + 1
        step += 1
        progress(min(1.0, step / 5.0))
    return found


def _analytical(epsilon: float, n_outputs: int | None, goal: Objective) -> Design:
    if goal.name != "worst":
        rule = "be 'worst' where the method is 'analytical'"
        raise InvalidArgumentError("objective", rule, goal.spelling)
    size = n_outputs or analytical.best_size(epsilon, _LARGEST_SEARCHED)
    table = analytical.solve(epsilon, size)
    return _finish(epsilon, table.outputs, table.probabilities, goal, "analytical")


def _numerical(epsilon: float, n_outputs: int, goal: Objective, progress: Progress) -> Design:
    prior = None if goal.prior is None else np.array(goal.prior)
    found = numerical.solve(epsilon, n_outputs, goal.r, prior)
    progress(1.0)
    return _finish(
        epsilon,
        found.table.outputs,
        found.table.probabilities,
        goal,
        "numerical",
        found.iterations,
        converged=found.converged,
    )


def _optimal(epsilon: float, n_outputs: int, goal: Objective, progress: Progress) -> Design:
    ready = catalog.shipped(epsilon, n_outputs, goal) or catalog.cached(epsilon, n_outputs, goal)
    if ready is not None:
        progress(1.0)
        return ready
    found = optimize(
        epsilon,
        n_outputs,
        "worst" if goal.name == "worst" else "average",
        None if goal.prior is None else np.array(goal.prior),
        start=_neighbor(epsilon, n_outputs, goal),
        progress=lambda share: progress(0.8 * share),
    )
    made = _finish(
        epsilon,
        found.outputs,
        found.probabilities,
        goal,
        "optimal",
        found.iterations,
        converged=found.converged,
    )
    catalog.keep(made, n_outputs)
    progress(1.0)
    return made


def _neighbor(epsilon: float, n_outputs: int, goal: Objective) -> NDArray[np.float64] | None:
    """Return the outputs of the nearest design of the catalog, to start from."""
    nearest = min(catalog.EPSILONS, key=lambda other: abs(other - epsilon))
    near = catalog.shipped(nearest, n_outputs, Objective(goal.r))
    return None if near is None else near.mechanism.outputs


def _finish(
    epsilon: float,
    outputs: NDArray[np.float64],
    probabilities: NDArray[np.float64],
    goal: Objective,
    method: str,
    iterations: int = 0,
    *,
    converged: bool = True,
) -> Design:
    """Quantize and certify, evaluate the certified table, and add the lower bound."""
    mechanism = quantize(epsilon, outputs, probabilities)
    bound = None
    if goal.r in (1.0, np.inf):
        bound = lower_bound(epsilon, "worst" if goal.name == "worst" else "average", goal.prior)
    return Design(
        mechanism=mechanism,
        objective=goal,
        method=method,
        value=goal.value(mechanism),
        iterations=iterations,
        converged=converged,
        certificate=bound and bound.certificate,
        proven=bound and bound.value,
    )

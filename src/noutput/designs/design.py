"""Designs: which table is best for a privacy budget, a number of outputs and an objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from noutput import _checks
from noutput.designs import catalog
from noutput.designs.certificate import EPSILON_RANGE
from noutput.designs.objective import Objective
from noutput.designs.result import Design
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.quantize import quantize

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Design", "Method", "Progress", "design"]

Method: TypeAlias = Literal["optimal", "numerical", "analytical"]
Progress: TypeAlias = Callable[[float], None]

_METHODS = ("optimal", "numerical", "analytical")
_LARGEST_SEARCHED = 16
_PAPER_RANGE = (0.001, 20.0)
_TRAINED_SIZE = 64


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
        to 16 whose value is within 0.01% of the best ("numerical": that of the optimal design for
        the worst case at the nearest epsilon of the catalog, whatever the objective is;
        "analytical": the best). For distributions from 8 on, and None is 64. Designs of the paper
        ("numerical" and "analytical") with an odd number have one output less where that in the
        middle would never be reported. All others have as many as asked for, some of which may
        tell the same: see `Design.twins`.
    objective : "worst", "average", "distribution" or a number r >= 1
        The norm of the variance over the inputs that is minimized; numbers need the method
        "numerical". "distribution" is no norm, but the Wasserstein error of the estimated
        distribution: see `noutput.designs.distribution`.
    method : "optimal", "numerical" or "analytical"
        The best table with any knots; the paper's nonlinear programme; the paper's closed form
        (worst case only). Tables for distributions are always trained by gradients: leave the
        default.
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
    proven by a certificate that a separate checker has verified (for designs of the catalog when
    it was built, and whenever `noutput verify` is called).

    Examples
    --------
    >>> import noutput as no
    >>> d = no.design(epsilon=1.0, n_outputs=16)
    >>> round(d.value, 3), round(d.lower_bound, 3), d.gap < 0.0015
    (3.993, 3.991, True)
    """
    epsilon = _checks.positive("epsilon", epsilon)
    goal = Objective.parse(objective, prior)
    _checks.choice("method", method, _METHODS)
    if n_outputs is not None:
        n_outputs = _checks.whole("n_outputs", n_outputs, 2, 256)
    lowest, highest = EPSILON_RANGE if method == "optimal" else _PAPER_RANGE
    if not lowest <= epsilon <= highest:
        rule = f"lie in [{lowest}, {highest}] where the method is {method!r}"
        raise InvalidArgumentError("epsilon", rule, epsilon)
    report = progress or (lambda _share: None)
    if goal.r is None:
        return _trained(epsilon, n_outputs, goal, method, report)
    if method == "analytical":
        return _analytical(epsilon, n_outputs, goal)
    if method == "numerical":
        return _numerical(epsilon, n_outputs, goal, goal.r, report)
    return _optimal(epsilon, n_outputs, goal, report)


def _analytical(epsilon: float, n_outputs: int | None, goal: Objective) -> Design:
    if goal.name != "worst":
        rule = "be 'worst' where the method is 'analytical'"
        raise InvalidArgumentError("objective", rule, goal.spelling)
    from noutput.designs import analytical

    size = n_outputs or analytical.best_size(epsilon, _LARGEST_SEARCHED)
    table = analytical.solve(epsilon, size)
    return _finish(epsilon, table.outputs, table.probabilities, goal, "analytical")


def _numerical(
    epsilon: float, n_outputs: int | None, goal: Objective, r: float, progress: Progress
) -> Design:
    from noutput.designs import numerical

    ready = catalog.shipped(epsilon, n_outputs, goal, "numerical") or catalog.cached(
        epsilon, n_outputs, goal, "numerical"
    )
    if ready is None:
        prior = None if goal.prior is None else np.array(goal.prior)
        size = n_outputs or _numerical_size(epsilon)
        found = numerical.solve(epsilon, size, r, prior)
        ready = _finish(
            epsilon,
            found.table.outputs,
            found.table.probabilities,
            goal,
            "numerical",
            found.iterations,
            converged=found.converged,
        )
        catalog.keep(ready, n_outputs)
    progress(1.0)
    return ready


def _numerical_size(epsilon: float) -> int:
    """Return how many outputs pay, as the nearest worst-case design of the catalog has them.

    The objective does not matter: averages and other norms take the same number. Solving the
    paper's programme for every number of outputs would take minutes.
    """
    nearest = min(catalog.EPSILONS, key=lambda other: abs(other - epsilon))
    best = catalog.shipped(nearest, None, Objective.parse("worst"))
    return _LARGEST_SEARCHED if best is None else best.mechanism.n_outputs


def _optimal(epsilon: float, n_outputs: int | None, goal: Objective, progress: Progress) -> Design:
    if goal.r not in (1.0, np.inf):
        rule = "be 'worst' or 'average' where the method is 'optimal'"
        raise InvalidArgumentError("objective", rule, goal.spelling)
    ready = catalog.shipped(epsilon, n_outputs, goal) or catalog.cached(
        epsilon, n_outputs, goal, "optimal"
    )
    if ready is None:
        ready = _search(epsilon, n_outputs, goal, progress)
        catalog.keep(ready, n_outputs)
    progress(1.0)
    return ready


def _search(epsilon: float, n_outputs: int | None, goal: Objective, progress: Progress) -> Design:
    from noutput.designs.optimal import optimize, optimize_sizes

    name: Literal["worst", "average"] = "worst" if goal.name == "worst" else "average"
    prior = None if goal.prior is None else np.array(goal.prior)
    if n_outputs is None:
        solutions = optimize_sizes(epsilon, name, prior, progress=progress)
        values = {size: solution.value for size, solution in solutions.items()}
        found = solutions[catalog.smallest(values)]
    else:
        start = _neighbor(epsilon, n_outputs, goal)
        found = optimize(epsilon, n_outputs, name, prior, start=start, progress=progress)
    return _finish(
        epsilon,
        found.outputs,
        found.probabilities,
        goal,
        "optimal",
        found.iterations,
        converged=found.converged,
    )


def _trained(
    epsilon: float, n_outputs: int | None, goal: Objective, method: Method, progress: Progress
) -> Design:
    from noutput.designs import distribution

    if method != "optimal":
        rule = "be left at its default where the objective is 'distribution'"
        raise InvalidArgumentError("method", rule, method)
    size = _checks.whole("n_outputs", n_outputs or _TRAINED_SIZE, *distribution.SIZES)
    ready = catalog.shipped(epsilon, size, goal, "trained") or catalog.cached(
        epsilon, size, goal, "trained"
    )
    if ready is None:
        found = distribution.solve(epsilon, size, progress=progress)
        ready = _finish(
            epsilon, found.outputs, found.probabilities, goal, "trained", found.iterations
        )
        catalog.keep(ready, size)
    progress(1.0)
    return ready


def _neighbor(epsilon: float, n_outputs: int, goal: Objective) -> NDArray[np.float64] | None:
    """Return the outputs of the nearest design of the catalog, to start from."""
    nearest = min(catalog.EPSILONS, key=lambda other: abs(other - epsilon))
    near = catalog.shipped(nearest, n_outputs, Objective(goal.r))
    if near is None or near.mechanism.n_outputs != n_outputs:
        return None
    return near.mechanism.outputs


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
    """Quantize and certify, and evaluate the certified table."""
    mechanism = quantize(epsilon, outputs, probabilities)
    return Design(
        mechanism=mechanism,
        objective=goal,
        method=method,
        value=goal.value(mechanism),
        iterations=iterations,
        converged=converged,
    )

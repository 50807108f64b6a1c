"""Designs: which table is best for a privacy budget, a number of outputs and an objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from noutput import _checks
from noutput.designs import analytical
from noutput.designs.objective import Objective
from noutput.designs.quantize import quantize
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noutput.mechanisms.table import TableMechanism

__all__ = ["Design", "Method", "design"]

Method = Literal["analytical", "numerical"]

_METHODS = ("analytical", "numerical")
_LARGEST_SEARCHED = 16
_SAME = 1e-4  # values this close count as equal, and the smaller table wins


@dataclass(frozen=True, slots=True)
class Design:
    """A certified table and how it was found.

    Parameters
    ----------
    mechanism : TableMechanism
    objective : Objective
        What was minimized.
    method : str
        How: "analytical" or "numerical".
    value : float
        The objective at the certified table (not at the solver's real numbers).
    iterations : int
        Steps of the solver that found it; 0 for a closed form.
    converged : bool
        Whether the solver met its own stopping rule.
    """

    mechanism: TableMechanism
    objective: Objective
    method: str
    value: float
    iterations: int
    converged: bool


def design(
    epsilon: float,
    n_outputs: int | None = None,
    objective: str | float = "worst",
    method: Method = "numerical",
    *,
    prior: ArrayLike | None = None,
) -> Design:
    r"""Design a mechanism and certify it.

    Parameters
    ----------
    epsilon : float
        The privacy loss that a report may have.
    n_outputs : int, optional
        How many different reports there are, from 2 to 256. None takes the number up to 16
        with the smallest value.
    objective : "worst", "average" or a number r >= 1
        The norm of the variance over the inputs that is minimized.
    method : "analytical" or "numerical"
        The paper's closed form, or the paper's nonlinear programme.
    prior : sequence of floats, optional
        Weights of equal bins of [-1, 1]: the expected distribution of the inputs, where the
        objective is not "worst". Uniform if not given.

    Guarantees
    ----------
    The mechanism is :math:`\epsilon`-locally differentially private, whatever the solver did:
    its table is certified in whole numbers when it is constructed.

    Examples
    --------
    >>> import noutput as no
    >>> d = no.design(1.0, 2, method="analytical")
    >>> d.mechanism.outputs.round(4)
    array([-2.164,  2.164])
    """
    epsilon = _checks.positive("epsilon", epsilon)
    goal = Objective.parse(objective, prior)
    _checks.choice("method", method, _METHODS)
    if n_outputs is not None:
        n_outputs = _checks.whole("n_outputs", n_outputs, 2, 256)
    if method == "analytical":
        return _analytical(epsilon, n_outputs, goal)
    raise NotImplementedError


def _analytical(epsilon: float, n_outputs: int | None, goal: Objective) -> Design:
    if goal.name != "worst":
        rule = "be 'worst' where the method is 'analytical'"
        raise InvalidArgumentError("objective", rule, goal.name)
    size = n_outputs or analytical.best_size(epsilon, _LARGEST_SEARCHED)
    table = analytical.solve(epsilon, size)
    mechanism = quantize(epsilon, table.outputs, table.probabilities)
    return Design(mechanism, goal, "analytical", goal.value(mechanism), 0, converged=True)

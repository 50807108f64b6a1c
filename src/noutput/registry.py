"""Names for every mechanism: those of the paper's evaluation, and our designs."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.direct_encoding import DirectEncoding
from noutput.mechanisms.duchi import duchi
from noutput.mechanisms.hybrid import Hybrid
from noutput.mechanisms.piecewise import pm, pm_opt, pm_sub
from noutput.mechanisms.square_wave import square_wave
from noutput.mechanisms.three_output import three_output
from noutput.mechanisms.unary_encoding import oue, sue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from noutput.designs.result import Design
    from noutput.mechanisms.base import Mechanism

__all__ = ["MECHANISMS", "RegisteredMechanism", "mechanism"]


@dataclass(frozen=True, slots=True)
class RegisteredMechanism:
    """A mechanism that can be had by its name.

    Parameters
    ----------
    label : str
        What figures and tables call it.
    make : callable
        Takes epsilon and the options of the mechanism.
    """

    label: str
    make: Callable[..., Mechanism]

    @property
    def options(self) -> tuple[str, ...]:
        """What can be chosen besides epsilon."""
        return tuple(inspect.signature(self.make).parameters)[1:]


def _designed(**choices: Any) -> Callable[..., Mechanism]:
    def make(epsilon: float, n_outputs: int | None = None) -> Mechanism:
        from noutput.designs.design import design  # needs scipy, which the other mechanisms do not

        made: Design = design(epsilon, n_outputs, **choices)
        return made.mechanism

    return make


MECHANISMS: Mapping[str, RegisteredMechanism] = MappingProxyType(
    {
        "n-output": RegisteredMechanism("N-output", _designed(objective="worst")),
        "n-output-balanced": RegisteredMechanism(
            "N-output (balanced)", _designed(objective="balanced")
        ),
        "n-output-average": RegisteredMechanism(
            "N-output (average)", _designed(objective="average")
        ),
        "n-output-distribution": RegisteredMechanism(
            "N-output (distribution)", _designed(objective="distribution")
        ),
        "n-output-numerical": RegisteredMechanism(
            "N-output (numerical)", _designed(method="numerical")
        ),
        "n-output-analytical": RegisteredMechanism(
            "N-output (analytical)", _designed(method="analytical")
        ),
        "duchi": RegisteredMechanism("Duchi", duchi),
        "three-output": RegisteredMechanism("Three-output", three_output),
        "pm": RegisteredMechanism("PM", pm),
        "pm-sub": RegisteredMechanism("PM-sub", pm_sub),
        "pm-opt": RegisteredMechanism("PM-opt", pm_opt),
        "hybrid": RegisteredMechanism("Hybrid", Hybrid),
        "square-wave": RegisteredMechanism("Square Wave", square_wave),
        "direct-encoding": RegisteredMechanism("Direct encoding", DirectEncoding),
        "oue": RegisteredMechanism("OUE", oue),
        "sue": RegisteredMechanism("SUE", sue),
    }
)
"""Every mechanism by its name; read-only."""


def mechanism(name: str, epsilon: float, **options: Any) -> Mechanism:
    """Return a mechanism by its name.

    Parameters
    ----------
    name : str
        A key of `MECHANISMS`.
    epsilon : float
        The privacy loss that a report may have.
    **options
        ``n_outputs`` for the designs, ``bins`` for the mechanisms made for categories.

    Raises
    ------
    InvalidArgumentError
        If there is no such mechanism or option, or a value breaks a rule.

    Examples
    --------
    >>> import noutput as no
    >>> no.mechanism("three-output", epsilon=1.0).bits
    2
    >>> list(no.MECHANISMS)[-3:]
    ['direct-encoding', 'oue', 'sue']
    """
    registered = MECHANISMS[_checks.choice("name", name, MECHANISMS)]
    for option in options:
        if option not in registered.options:
            rule = f"be an option of {name} ({', '.join(registered.options) or 'it has none'})"
            raise InvalidArgumentError("options", rule, option)
    return registered.make(_checks.positive("epsilon", epsilon), **options)

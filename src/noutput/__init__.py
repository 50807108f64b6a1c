"""Statistics of numbers that nobody may see.

The names below are all that is public; each is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noutput.designs import Design, design
    from noutput.errors import (
        DesignError,
        DocumentError,
        InvalidArgumentError,
        MissingExtraError,
        NoutputError,
        PrivacyError,
    )
    from noutput.estimate.audit import Audit, audit
    from noutput.estimate.mean import MeanEstimate, estimate_mean
    from noutput.interval import Interval
    from noutput.mechanisms.table import TableMechanism
    from noutput.registry import MECHANISMS, mechanism
    from noutput.tally import Tally

__all__ = [
    "MECHANISMS",
    "Audit",
    "Design",
    "DesignError",
    "DocumentError",
    "Interval",
    "InvalidArgumentError",
    "MeanEstimate",
    "MissingExtraError",
    "NoutputError",
    "PrivacyError",
    "TableMechanism",
    "Tally",
    "audit",
    "design",
    "estimate_mean",
    "mechanism",
]

__version__ = "0.1.0"

_HOMES = {
    "MECHANISMS": "noutput.registry",
    "Audit": "noutput.estimate.audit",
    "Design": "noutput.designs",
    "DesignError": "noutput.errors",
    "DocumentError": "noutput.errors",
    "Interval": "noutput.interval",
    "InvalidArgumentError": "noutput.errors",
    "MeanEstimate": "noutput.estimate.mean",
    "MissingExtraError": "noutput.errors",
    "NoutputError": "noutput.errors",
    "PrivacyError": "noutput.errors",
    "TableMechanism": "noutput.mechanisms.table",
    "Tally": "noutput.tally",
    "audit": "noutput.estimate.audit",
    "design": "noutput.designs",
    "estimate_mean": "noutput.estimate.mean",
    "mechanism": "noutput.registry",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'noutput' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

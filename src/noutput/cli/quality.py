"""How close a table is to the proven limit, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noutput.designs.result import Design
    from noutput.mechanisms.table import TableMechanism

__all__ = ["limited_variance", "times_limit", "worst_case"]


def limited_variance(design: Design) -> str:
    """Return which variance the lower bound of a design limits, with its article."""
    norm = design.objective.variance_norm
    return "an average variance" if norm == "average" else "a worst-case variance"


def times_limit(value: float, limit: float) -> str:
    """Return a variance as a multiple of what no mechanism can beat.

    Examples
    --------
    >>> times_limit(4.372, 3.9906)
    '1.096 times the proven limit'
    """
    return f"{value / limit:.3f} times the proven limit"


def worst_case(mechanism: TableMechanism) -> str:
    """Return the worst-case variance of a table, and how close to the limit it is."""
    from noutput.designs.catalog import lower_bound

    value, limit = mechanism.worst_variance(), lower_bound(mechanism.epsilon)
    return f"{value:.4g}" if limit is None else f"{value:.4g}, {times_limit(value, limit)}"

"""Names that need no arithmetic: methods that fit histograms, and quartiles."""

from __future__ import annotations

__all__ = ["DEFAULT_METHOD", "METHODS", "QUARTILES"]

METHODS = ("em", "ems", "mle", "gp")
DEFAULT_METHOD = "gp"
"""Of Python, the command line, the collector and plans: the smallest error on real data."""

QUARTILES = {"Lower quartile": 0.25, "Median": 0.5, "Upper quartile": 0.75}
"""The quantiles that are named to people, by the share of people at or below."""

"""Names of the methods that fit histograms, and the one that is taken where nobody says."""

from __future__ import annotations

__all__ = ["DEFAULT_METHOD", "METHODS"]

METHODS = ("em", "ems", "mle", "gp")
DEFAULT_METHOD = "gp"
"""Of Python, the command line, the collector and plans: the smallest error on real data."""

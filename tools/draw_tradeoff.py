"""Draw the trade-off between mean and distribution: `python -m tools.draw_tradeoff`.

Writes `docs/images/tradeoff.csv`, `.svg` and `.png`. The limits take about ten minutes; with
`--mechanisms` those of the file stay, and only the mechanisms are evaluated again. What
`docs/theory.md` says about the figure is printed.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import noutput as no
from noutput.designs.bound import lower_bound
from noutput.designs.tradeoff import best_cdf, best_tradeoff, cdf_error, least_variance
from tools.tradeoff_figure import draw

__all__ = ["EPSILONS", "LIMIT", "NAMES", "POINTS", "Point", "evaluate", "limits", "read"]

FOLDER = Path(__file__).parents[1] / "docs" / "images"
POINTS = FOLDER / "tradeoff.csv"
EPSILONS = (1.0, 3.0)
LIMIT = "limit"
BEST = "best"

NAMES = {
    "pm": {},
    "pm-sub": {},
    "pm-opt": {},
    "hybrid": {},
    "square-wave": {},
    "duchi": {},
    "three-output": {},
    "n-output": {"n_outputs": 16},
    "n-output-distribution": {"n_outputs": 64},
    "n-output-balanced": {},
}
"""The mechanisms of the figure and their options; names that are not registered are left out."""

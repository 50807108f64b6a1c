"""Designs on demand, and from the catalog."""

from __future__ import annotations

import os
from collections.abc import Iterator
from unittest.mock import patch

from benchmarks.measure import Case, best_seconds
from noutput.designs.answers.objective import OBJECTIVES
from noutput.designs.design import design
from noutput.designs.optimal import optimize
from noutput.questions import Scale

__all__ = ["cases"]


def cases() -> Iterator[Case]:
    """Measure what the designs promise, the proof of the bound included; no cache is used."""
    with patch.dict(os.environ, {"NOUTPUT_CACHE": ""}):
        design(1.0, 16, "worst")
        shipped = best_seconds(lambda: design(2.25, 16, "worst"), 20)
        yield Case("design from the catalog, N = 16", shipped * 1e3, 20.0, "ms")
        for n_outputs, goal in ((16, 6.0), (64, 20.0)):
            for objective in ("worst", "average"):
                seconds = best_seconds(lambda: design(1.13, n_outputs, objective).gap, 1)  # noqa: B023 (called at once)
                yield Case(f"design on demand, N = {n_outputs}, {objective}", seconds, goal, "s")
        stars, ten = Scale(1, 2, 3, 4, 5), Scale(*range(11))
        design(1.0, question=stars)
        shipped = best_seconds(lambda: design(2.0, question=ten), 20)
        yield Case("design from the catalog, 11 answers", shipped * 1e3, 20.0, "ms")
        for objective in OBJECTIVES:
            seconds = best_seconds(lambda: design(1.13, objective=objective, question=ten).gap, 1)  # noqa: B023 (called at once)
            yield Case(f"design on demand, 11 answers, {objective}", seconds, 5.0, "s")
        yield Case("search alone, N = 16", best_seconds(lambda: optimize(1.13, 16), 2), 6.0, "s")

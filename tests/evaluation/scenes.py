"""Small scenarios without files."""

from __future__ import annotations

from noutput.evaluation.results import Results, Row
from noutput.evaluation.scenarios import FIGURES, Scenario

MECHANISMS = ("numerical-worst", "duchi", "square-wave", "oue")
"""One of each kind: a table, a mechanism for the mean alone, a window, and an oracle."""


def small(
    *figures: str, runs: int = 3, mechanisms: tuple[str, ...] = MECHANISMS, seed: int = 1
) -> Scenario:
    """Return a scenario of two synthetic datasets at one epsilon."""
    return Scenario(
        runs=runs,
        seed=seed,
        figures=figures or tuple(FIGURES),
        mechanisms=mechanisms,
        datasets=("uniform", "spike"),
        epsilons=(1.0,),
        curve=(1.0,),
    )


def made_up(*rows: Row) -> Results:
    """Return results with just these rows."""
    datasets = tuple(dict.fromkeys(row.dataset for row in rows))
    figures = tuple(dict.fromkeys(row.figure for row in rows))
    epsilons = tuple(sorted({row.epsilon for row in rows}))
    return Results(Scenario(figures=figures, datasets=datasets, epsilons=epsilons), rows)

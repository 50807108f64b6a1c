"""The paper's stopping rule, read in three ways: what that changes in errors and verdicts.

The paper's algorithm stops where the log-likelihood changes by at most tau = 1e-5, its text where
the *relative improvement* is small. So tau may be the limit of a change of the mean per report, of
the sum over all reports, or of a share of the log-likelihood. Every figure takes the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from noutput.evaluation.claims import CLAIMS
from noutput.evaluation.document import Block, Heading, Table, Text
from noutput.evaluation.results import BINNED, Results
from noutput.evaluation.scenarios import CONTENDERS, FIGURES, READING_RUNS, READINGS, TOLERANCE

__all__ = ["sections", "under"]

_FIRST, *_OTHERS = READINGS
_TAU = f"{TOLERANCE:g}".replace("e-0", "e-")
_AFFECTED = ("distribution", "variance")


def under(found: Results, reading: str) -> Results:
    """Return the results with the rows of another reading in the place of the paper's EM.

    A mechanism without such rows keeps its own: direct encoding and OUE have no stopping rule.
    """
    replaced = {row.mechanism for row in found.rows if row.estimator == reading}
    rows = [
        replace(row, estimator=_FIRST) if row.estimator == reading else row
        for row in found.rows
        if row.estimator != _FIRST or row.mechanism not in replaced or reading == _FIRST
    ]
    return Results(found.scenario, tuple(rows))


def sections(found: Results) -> Iterator[Block]:
    """Yield what the report says about the readings, where there are rows of them."""
    figures = [name for name in _AFFECTED if name in found.scenario.figures]
    if not any(row.estimator in _OTHERS for row in found.rows):
        return
    runs = min(READING_RUNS, found.scenario.runs)
    yield Heading(2, "The stopping rule, read in three ways")
    yield Text(
        f"The paper's algorithm stops where the log-likelihood changes by at most {_TAU}, "
        "its text where the relative improvement is small. That may be a limit of the mean per "
        "report (which all figures above use), of the relative improvement, or of the sum over "
        f"reports. The other two are computed from the same reports in the first {runs} runs. The "
        "verdicts by each reading:"
    )
    yield _verdicts(found, figures)
    for figure in figures:
        yield Text(
            f"{FIGURES[figure].title}: the error by each reading relative to that by the mean per "
            "report, as the geometric mean over datasets:"
        )
        yield _ratios(found, figure)


def _verdicts(found: Results, figures: list[str]) -> Table:
    results = [under(found, reading) for reading in READINGS]
    rows = [
        (claim.text, *(f"**{claim.check(result).verdict}**" for result in results))
        for claim in CLAIMS
        if claim.figure in figures
    ]
    return Table(("what the paper says", *READINGS.values()), tuple(rows))


def _ratios(found: Results, figure: str) -> Table:
    """Lay out relative errors: a line per mechanism and reading, a column per epsilon."""
    rows = [row for row in found.of(figure) if row.truth in ("", BINNED)]
    values = {(r.dataset, r.mechanism, r.estimator, r.epsilon): r.value for r in rows}
    lines = []
    for name in found.scenario.mechanisms:
        for reading in _OTHERS:
            logs: dict[float, list[float]] = {}  # without errors of exactly 0
            for (dataset, mechanism, estimator, epsilon), value in values.items():
                if (mechanism, estimator) == (name, reading):
                    base = values[dataset, mechanism, _FIRST, epsilon]
                    some = logs.setdefault(epsilon, [])
                    some += [math.log(value / base)] if value and base else []
            if logs:
                cells = (_geometric_mean(some) for some in logs.values())
                lines.append((CONTENDERS[name].label, READINGS[reading], *cells))
    epsilons = (f"ε = {epsilon:g}" for epsilon in found.scenario.epsilons)
    return Table(("mechanism", "reading", *epsilons), tuple(lines))


def _geometric_mean(logs: list[float]) -> str:
    return f"{math.exp(math.fsum(logs) / len(logs)):.2f}" if logs else ""

"""Output files: tables, figures, the report, and their provenance."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from noutput.evaluation import results, tables
from noutput.evaluation.provenance import commit, versions
from noutput.evaluation.report import PaperReport, compose
from noutput.evaluation.scenarios import command

if TYPE_CHECKING:
    from pathlib import Path

    from noutput.evaluation.run import FinishedRun

__all__ = ["publish"]


def publish(outcome: FinishedRun, folder: Path) -> PaperReport:
    """Write CSV files, figures, REPORT.md, index.html and metadata.json into a folder."""
    from noutput.evaluation import figures

    scenario = outcome.scenario
    found = results.tidy(outcome)
    for name in scenario.figures:
        rows = found.of(name)
        if rows:
            results.write_rows(folder / f"{name}.csv", scenario, rows)
    extra = tables.compute(scenario)
    for name, table in extra.items():
        results.write_csv(folder / f"{name}.csv", scenario, table.columns, table.rows)
    drawn = figures.draw(found, folder)
    report = compose(found, extra, outcome, drawn)
    (folder / "REPORT.md").write_text(report.markdown(), encoding="utf-8")
    (folder / "index.html").write_text(report.html(folder), encoding="utf-8")
    _write_metadata(outcome, folder)
    return report


def _write_metadata(outcome: FinishedRun, folder: Path) -> None:
    """Write what made the results; unlike the tables, it may differ between equal results."""
    scenario = outcome.scenario
    found = {
        "command": command(scenario),
        "commit": commit(),
        "computed_by_commits": sorted(name for name in outcome.commits if name),
        "versions": versions(),
        "seed": scenario.seed,
        "runs": scenario.runs,
        "epsilons": scenario.epsilons,
        "datasets": {
            name: {"people": data.people, "attributes": data.n_attributes, "digest": data.digest}
            for name, data in outcome.datasets.items()
        },
        "mechanisms": {
            f"{name} {epsilon:g}": getattr(mechanism, "fingerprint", repr(mechanism))[:16]
            for (name, epsilon), mechanism in sorted(outcome.mechanisms.items())
        },
    }
    text = json.dumps(found, indent=1) + "\n"
    (folder / "metadata.json").write_text(text, encoding="utf-8")

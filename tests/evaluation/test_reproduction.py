"""The committed reproduction is what the code makes of its tables."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path

import numpy as np
import pytest

from noutput.evaluation import claims
from noutput.evaluation.datasets import load
from noutput.evaluation.readings import under
from noutput.evaluation.results import BINNED, RAW, Results, Row, root_mean
from noutput.evaluation.scenarios import FULL, READINGS, make
from noutput.evaluation.units import BLOCK, Unit
from noutput.evaluation.verdicts import UNTESTED
from noutput.evaluation.work import compute

FOLDER = Path(__file__).parents[2] / "docs" / "reproduction"


def rows() -> list[Row]:
    found: list[Row] = []
    for name in FULL.figures:
        lines = (FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith("# seed 1, runs 100, commit ")
        found += [row_of(cells) for cells in csv.DictReader(lines[2:]) if "figure" in cells]
    return found


def row_of(cells: dict[str, str]) -> Row:
    return Row(
        cells["figure"],
        cells["dataset"],
        cells["mechanism"],
        cells["estimator"],
        float(cells["epsilon"]),
        float(cells["value"]),
        float(cells["standard_error"]),
        int(cells["runs"]),
        float(cells["predicted"] or math.nan),
        cells["truth"],
    )


def test_the_verdicts_follow_from_the_tables() -> None:
    report = (FOLDER / "REPORT.md").read_text(encoding="utf-8")
    findings = claims.check(Results(FULL, tuple(rows())))
    assert len(findings) == len(claims.CLAIMS)
    for claim, finding in findings:
        assert f"| {claim.text} | {claim.place} | **{finding.verdict}** |" in report


def test_every_claim_is_tested() -> None:
    """A full run has the data for all claims."""
    verdicts = {finding.verdict for _, finding in claims.check(Results(FULL, tuple(rows())))}
    assert UNTESTED not in verdicts


def test_other_readings_of_the_stopping_rule_are_in_the_tables() -> None:
    report = (FOLDER / "REPORT.md").read_text(encoding="utf-8")
    assert "## The stopping rule, read in three ways" in report
    found = Results(FULL, tuple(rows()))
    for claim in claims.CLAIMS:
        if claim.figure in ("distribution", "variance"):
            verdicts = [claim.check(under(found, reading)).verdict for reading in READINGS]
            assert f"| {claim.text} | **{'** | **'.join(verdicts)}** |" in report


def test_the_true_histogram_explains_the_error_against_the_numbers() -> None:
    """At a large epsilon the error on Beijing Housing is that of the bins, not of the reports."""
    found = Results(FULL, tuple(rows()))
    place: dict[str, str | float] = {
        "dataset": "beijing_housing",
        "mechanism": "pm",
        "estimator": "em",
        "epsilon": 5.0,
    }
    (raw,), (binned,) = (found.of("variance", truth=truth, **place) for truth in (RAW, BINNED))
    assert raw.value > 2.0 * binned.value


def test_measured_errors_agree_with_theory() -> None:
    """In 550 settings one or two pass 3 standard errors by chance, and none passes 4."""
    far = [r for r in rows() if r.figure in ("mean", "worst-case-rmse")]
    deviations = np.abs([r.deviation for r in far])
    assert len(far) >= 550
    assert (deviations > 3.0).sum() <= 5
    assert deviations.max() < 4.0


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.glob("*.csv")) < 5_000_000


@pytest.mark.skipif(
    not os.environ.get("NOUTPUT_DATA"),
    reason="NOUTPUT_DATA does not name a folder with the evaluation's datasets",
)
def test_a_cell_is_computed_again() -> None:
    data, mechanism = load("adult"), make("duchi", 1.0)
    errors: list[float] = []
    for first in range(0, FULL.runs, BLOCK):
        unit = Unit("collection", "adult", "duchi", 1.0, first, BLOCK, FULL.seed)
        errors += compute(unit, data, mechanism)["mean"]
    stored = Results(FULL, tuple(rows()))
    (row,) = stored.of("mean", dataset="adult", mechanism="duchi", epsilon=1.0)
    value, standard_error = root_mean(np.array(errors))
    assert row.value == pytest.approx(value, rel=1e-7)
    assert row.standard_error == pytest.approx(standard_error, rel=1e-7)

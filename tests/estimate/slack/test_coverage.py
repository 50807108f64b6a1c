"""Coverage of slack and guaranteed intervals in simulated campaigns; the page has the full grid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from benchmarks.coverage import (
    FILES,
    USUAL,
    covering,
    factor,
    load,
    main,
    rows,
    save,
    suspicious,
)  # fmt: skip
from benchmarks.covering import GROUPS, Cell, simulate
from noutput.errors import NoutputError
from noutput.estimate.slack.threshold import FACTOR
from tests.docs.blocks import ROOT

# those that come closest to missing: few atoms, exact ends, and a smooth one of each size
CELLS = [
    Cell("three spikes", "balanced", 0.5, 2_000),
    Cell("five stars", "distribution", 1.0, 2_000),
    Cell("low end", "balanced", 2.0, 2_000),
    Cell("30% at zero", "balanced", 2.0, 2_000),
    Cell("commute", "distribution", 1.0, 20_000),
    Cell("five stars", "worst", 4.0, 200_000),
    Cell("training shapes", "balanced", 1.0, 20_000),
]
AT_THE_END = Cell("lower end", "distribution", 4.0, 200_000)


def state(cells: list[Cell], campaigns: int, **options: Any) -> dict[str, dict[str, Any]]:
    """What the tool keeps, for few campaigns."""
    return {
        cell.key: {"campaigns": campaigns, "hits": simulate(cell, campaigns, **options).hits}
        for cell in cells
    }


@pytest.mark.slow
def test_no_cell_is_covered_too_seldom() -> None:
    found = state(CELLS, 50)
    assert suspicious(found) == []
    for group in GROUPS:
        covered = covering(found, group)
        assert sum(covered) / len(covered) > 0.95


@pytest.mark.slow
def test_the_threshold_of_one_degree_is_noticed() -> None:
    """3.84, whatever atoms the support has lost: too small for people who sit at one end."""
    assert suspicious(state([AT_THE_END], 60)) == []
    plain = np.array([chi2.ppf(0.95, 1)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("noutput.estimate.slack.intervals.thresholds", lambda _: plain)
        assert suspicious(state([AT_THE_END], 60)) != []


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.8, 0.99])
def test_other_levels(level: float) -> None:
    found = state(CELLS[1:3], 40, level=level)
    assert suspicious(found, wanted=level - 0.02) == []


@pytest.mark.slow
def test_guaranteed_intervals_cover_always() -> None:
    found = state([CELLS[0], AT_THE_END], 12, guaranteed=True, bins=4)
    assert suspicious(found, wanted=0.95) == []
    assert min(min(covering(found, group)) for group in GROUPS) >= 11 / 12


def test_another_factor_changes_the_thresholds() -> None:
    cell = Cell("uniform", "worst", 1.0, 2_000)
    usual = simulate(cell, 1, bins=2).widths["mean"]
    with factor(FACTOR / 4.0):
        assert simulate(cell, 1, bins=2).widths["mean"] < 0.7 * usual


def test_many_cells_together_notice_what_one_does_not() -> None:
    hits = {group: [27] if group == "mean" else [30] for group in GROUPS}
    cells = {
        f"uniform/{table}/{epsilon}/2000": {"campaigns": 30, "hits": hits}
        for table in ("balanced", "worst")
        for epsilon in (0.5, 1, 2, 4)
    }
    assert suspicious({"uniform/worst/1/2000": cells["uniform/worst/1/2000"]}, 0.98) == []
    found = suspicious(cells, 0.98)
    assert "uniform/*/*/* mean 0: 216 of 240" in found
    assert all(" mean 0: " in each for each in found)


def test_counts_of_another_kind_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    save({}, path, USUAL)
    assert load(path, USUAL) == {}
    with pytest.raises(NoutputError, match=r"counts.json counts .*'bins': 16.*not .*'bins': 64"):
        load(path, {**USUAL, "bins": 64})
    for arguments in (["--factor", "1.2"], ["--family", "calibration"]):
        with pytest.raises(SystemExit):
            main([*arguments, "--campaigns", "1"])


@pytest.mark.parametrize(("path", "name", "options"), FILES)
def test_the_page_has_the_tables_of_the_results(
    path: Path, name: str, options: dict[str, Any]
) -> None:
    page = (ROOT / "docs/estimation.md").read_text(encoding="utf-8")
    results = load(path, options)
    assert f"<!-- {name} -->\n" + "\n".join(rows(results)) + f"\n<!-- end of {name} -->" in page
    assert suspicious(results, 0.95 if options["guaranteed"] else 0.93) == []

"""`noutput verify` and adaptive campaigns: the second wave is computed again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noutput as no
from noutput.campaign import Campaign, NextWave
from noutput.cli.verify import command
from noutput.errors import InvalidArgumentError
from noutput.planner.successors import check_successor, next_campaign
from tests.campaign.examples import adaptive_campaign, late_campaign, next_wave


@pytest.fixture(scope="module")
def first() -> Campaign:
    table = no.design(2.0, 16).mechanism.plain
    late = adaptive_campaign().tables[1]
    return adaptive_campaign(tables=(table, late), next_wave=NextWave(4_000, 40_000))


@pytest.fixture(scope="module")
def second(first: Campaign) -> Campaign:
    rng = np.random.default_rng(7)
    mechanism, minutes = no.design(2.0, 16).mechanism, no.Interval(0, 600)
    drawn = mechanism.privatize(minutes.to_unit(rng.gamma(4.0, 10.0, 4_000), clip=True), rng)
    counts = [no.Tally.of(mechanism, drawn).counts, (2_000, 2_000)]
    return next_campaign(first, counts)


def run(tmp_path: Path, campaign: Campaign) -> tuple[int, str]:
    file = tmp_path / "campaign.json"
    file.write_text(campaign.to_json(), encoding="utf-8")
    done = CliRunner().invoke(command, [str(file)])
    return done.exit_code, done.output


def test_the_rule_finds_the_range(second: Campaign) -> None:
    ((lower, upper), late) = second.bounds  # type: ignore[misc]  # of a number
    assert lower == 0.0
    assert 70.0 <= upper <= 200.0
    assert late is None
    assert second.reasons[1] == ""
    assert check_successor(second) == second


def test_a_second_wave_by_the_rule_is_verified(tmp_path: Path, second: Campaign) -> None:
    status, text = run(tmp_path, second)
    assert status == 0
    assert f"Root        {second.root}" in text
    assert "Wave 1, commute: 0 to 600 minutes. As declared." in text
    assert "is what the rule 'range 1' gives for the 8,000 published reports" in text


def test_another_second_wave_is_not_by_the_rule(tmp_path: Path, first: Campaign) -> None:
    status, text = run(tmp_path, next_wave(first, 33.0, first.tables[0]))  # type: ignore[arg-type]
    assert status == 1
    assert "NOT BY THE RULE 'range 1': commute: the rule gives 0 to 600 minutes, and the " in text


def test_campaigns_of_one_wave_are_certified(tmp_path: Path, first: Campaign) -> None:
    status, text = run(tmp_path, first)
    assert status == 0
    assert "The second wave begins once 4,000 reports are published." in text
    status, text = run(tmp_path, late_campaign())
    assert status == 0
    assert "Root" not in text
    with pytest.raises(InvalidArgumentError, match=r"campaign must have a second wave"):
        check_successor(first)
    with pytest.raises(InvalidArgumentError, match=r"campaign must be the first wave of an adapt"):
        next_campaign(late_campaign(), [(1, 2)])


def test_reports_that_fit_nothing_stop_the_narrowing(first: Campaign) -> None:
    """Forgers who all send one output: the reports fit no distribution, and the range stays."""
    outputs = first.tables[0].n_outputs
    forged = tuple(4_000 if output == outputs // 2 else 100 for output in range(outputs))
    found = next_campaign(first, [forged, (2_000, 2_000)])
    assert found.bounds[0] == (0.0, 600.0)
    assert found.tables == first.tables
    assert "fit no distribution" in found.reasons[0]

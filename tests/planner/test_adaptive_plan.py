"""Forecasts of adaptive campaigns."""

from __future__ import annotations

import json
from functools import cache

import pytest
from click.testing import CliRunner

import noutput as no
from noutput.campaign.draft_adaptive import read_adaptive
from noutput.cli.plan import command
from noutput.planner import Plan
from noutput.planner.adaptive_plan import OCCUPANCIES, AdaptivePlan, plan_adaptive

ARGUMENTS = ["--epsilon", "1", "--people", "50000", "--lower", "0", "--upper", "600"]


@cache
def single() -> Plan:
    return no.plan(epsilon=1.0, people=50_000, bounds=(0, 600))


@cache
def waves() -> AdaptivePlan:
    return plan_adaptive(single(), 0.15)


def test_errors_fall_with_the_part_of_the_range_that_values_use() -> None:
    found = waves()
    assert found.first == 7_500
    assert tuple(each.occupancy for each in found.outlooks) == OCCUPANCIES
    assert found.outlooks[0].ratios[1] < 0.5
    assert found.outlooks[-1].ratios[1] == 1.0
    for each in found.outlooks:
        assert each.errors[0] <= each.errors[1]
        assert each.ratios[1] <= 1.05
        assert each.narrowest.half_width <= each.widest.half_width <= 300.0
        assert each.widest.upper >= 600.0 * each.occupancy * 0.6


def test_a_range_that_holds_everybody_has_the_error_of_its_width() -> None:
    """The formula for the error of people who use narrower bounds, against that of a plan."""
    found = waves().outlooks[0]
    narrow = no.plan(epsilon=1.0, people=42_500, bounds=(0, found.narrowest.upper))
    assert found.errors[0] == pytest.approx(narrow.standard_error, rel=0.15)


@pytest.mark.parametrize("first", [0.0, 0.04, 0.51, float("nan"), "a"])
def test_a_first_wave_has_a_share_of_the_people(first: float) -> None:
    with pytest.raises(no.InvalidArgumentError, match="first"):
        plan_adaptive(single(), first)


@pytest.mark.slow
def test_command_prints_a_line_per_occupancy() -> None:
    done = CliRunner().invoke(command, [*ARGUMENTS, "--adaptive"])
    assert done.exit_code == 0, done.output
    assert "10,000 people answer first, for values from 0 to 600" in done.output
    assert "the other 40,000" in done.output
    for occupancy in OCCUPANCIES:
        assert f" {100.0 * occupancy:g}% " in done.output


def test_a_first_wave_of_too_few_people_gains_nothing() -> None:
    """As the rule, which refuses to narrow anything for fewer than 500 reports."""
    found = plan_adaptive(no.plan(epsilon=1.0, people=2_000, bounds=(0, 600)), 0.15)
    assert (found.first, found.too_few) == (300, True)
    for each in found.outlooks:
        assert each.ratios == (1.0, 1.0)
        assert each.narrowest == each.widest == no.Interval(0, 600)
    assert not waves().too_few


@pytest.mark.slow
def test_command_says_that_too_few_come_first() -> None:
    few = [*ARGUMENTS[:3], "2000", *ARGUMENTS[4:], "--adaptive"]
    done = CliRunner().invoke(command, few)
    assert done.exit_code == 0, done.output
    assert "400 people answer first" in done.output
    assert "The rule needs 500 reports: with fewer, nothing is narrowed." in done.output


def test_the_plan_has_the_share_of_a_draft() -> None:
    following = read_adaptive(True)
    assert following is not None
    found = plan_adaptive(no.plan(epsilon=1.0, people=following.expected, bounds=(0, 600)))
    assert found.first == following.reports


@pytest.mark.slow
def test_command_answers_json() -> None:
    done = CliRunner().invoke(command, [*ARGUMENTS, "--adaptive", "--first", "0.15", "--json"])
    assert json.loads(done.output)["adaptive"] == waves().to_dict()


def test_command_refuses_what_has_no_range_and_no_waves() -> None:
    done = CliRunner().invoke(command, [*ARGUMENTS, "--first", "0.1"])
    assert done.exit_code == 2
    assert "--first needs --adaptive" in done.output
    answers = ["--epsilon", "1", "--people", "5000", "--yes-no", "--adaptive"]
    done = CliRunner().invoke(command, answers)
    assert done.exit_code == 2
    assert "answers have no range" in done.output

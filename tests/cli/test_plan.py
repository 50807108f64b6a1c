from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import noutput as no
from noutput.cli.plan import command
from noutput.planner.expectation import MOST_PEOPLE

ARGUMENTS = ["--epsilon", "1", "--people", "50000", "--lower", "0", "--upper", "180"]


def test_a_plan_in_words() -> None:
    done = CliRunner().invoke(command, ARGUMENTS)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("50,000 people, epsilon = 1, values from 0 to 180\n")
    for fact in (
        "within 1.7",
        "standard error 0.8",
        "7 bits, one of 128",
        "Wasserstein error 0.",
        "skewed: most frequent at the lower end",
        "share below 90",
        "equal bars can be told apart without assumptions",
    ):
        assert fact in done.output
    done = CliRunner().invoke(command, [*ARGUMENTS, "--objective", "worst"])
    for fact in ("within 1.64", "standard error 0.836", "4 bits, one of 15"):
        assert fact in done.output


def test_a_plan_as_json_is_what_the_function_returns() -> None:
    done = CliRunner().invoke(command, [*ARGUMENTS, "--json"])
    found = json.loads(done.output)
    plan = no.plan(epsilon=1.0, people=50_000, bounds=no.Interval(0, 180))
    assert found["half_width"] == plan.half_width
    assert found["wasserstein_errors"] == dict(plan.wasserstein_errors)
    assert found["other_epsilons"]
    assert found["interval_widths"] == {
        name: list(ends) for name, ends in plan.interval_widths.items()
    }
    assert found["wasserstein_range"] == list(plan.wasserstein_range)
    assert found["shapes"]["even"] == "all alike"


def test_a_number_of_people_beyond_reach_is_a_dash() -> None:
    people = MOST_PEOPLE // 2
    done = CliRunner().invoke(
        command,
        ["--epsilon", "8", "--people", str(people), "--objective", "worst", "--prior", "1"],
    )
    assert done.exit_code == 0, done.output
    row = next(line for line in done.output.splitlines() if line.split()[:1] == ["0.25"])
    assert row.split()[-1] == "-"
    own = next(line for line in done.output.splitlines() if line.split()[:1] == ["8"])
    assert own.split()[-1].replace(",", "").isdigit()


def test_people_are_solved_for() -> None:
    arguments = ["--epsilon", "1", "--error", "0.02", "--prior", "3,2,1", "--json"]
    done = CliRunner().invoke(command, arguments)
    plan = no.plan(epsilon=1.0, error=0.02, prior=[3, 2, 1])
    assert json.loads(done.output)["people"] == plan.people


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--people", "9"], "two at a time"), (["--prior", "1,x"], "not a list of numbers")],
)
def test_bad_arguments(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code != 0
    assert message in done.output + str(done.exception)

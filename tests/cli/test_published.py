from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import noutput as no
from noutput.cli.plan import command as plan
from noutput.cli.verify import command as verify


def test_verify_says_what_published_counts_reveal(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    table = no.design(4.0, 16, "worst").mechanism
    path.write_text(table.to_json(), encoding="utf-8")
    done = CliRunner().invoke(verify, [str(path), "--reports", "1000000", "--delta", "1e-6"])
    assert done.exit_code == 0, done.output
    found = no.published_privacy(table, reports=1_000_000, delta=1e-6)
    assert found.for_operator in done.output
    assert found.for_readers in done.output
    assert "except with probability 1e-06, if at least 999,999 others" in done.output
    assert "published" not in CliRunner().invoke(verify, [str(path)]).output


@pytest.mark.slow
def test_a_plan_finds_the_largest_epsilon_of_a_report() -> None:
    arguments = ["--people", "100000", "--published-epsilon", "0.1", "--objective", "worst"]
    done = CliRunner().invoke(plan, [*arguments, "--outputs", "16", "--json"])
    found = json.loads(done.output)
    assert found["epsilon"] == 3.25
    assert 0.08 < found["published"]["epsilon"] <= 0.1
    assert "Who sees only the published counts" in CliRunner().invoke(plan, arguments).output


@pytest.mark.slow
def test_a_plan_finds_the_people_that_are_needed() -> None:
    arguments = ["--epsilon", "1", "--published-epsilon", "0.01", "--objective", "worst", "--json"]
    found = json.loads(CliRunner().invoke(plan, arguments).output)
    assert found["people"] == found["published"]["reports"]
    assert 0.0098 < found["published"]["epsilon"] <= 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--people", "100"], "with 100 people no table of the catalog keeps to it"),
        (["--people", "100", "--epsilon", "1"], "one at a time with published_epsilon"),
        (["--people", "100", "--error", "1"], "takes --epsilon or --people, not --error"),
    ],
)
def test_what_cannot_be_planned_is_explained(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(
        plan, [*arguments, "--published-epsilon", "0.01", "--objective", "worst"]
    )
    assert done.exit_code != 0
    assert message in done.output + str(done.exception)

"""The command line with questions that have answers."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import noutput as no
from noutput import frames
from noutput.cli import noutput
from noutput.cli.answer_design import proof_text

PEOPLE = "stars,travel,crashed\n" + "5,car,true\n1,train,false\n4,boat,FALSE\n4,car,1\n" * 50
STARS = ("--answers", "1,2,3,4,5")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(noutput, list(map(str, arguments)), catch_exceptions=True)


def message(done: Result) -> str:
    assert done.exit_code != 0
    return done.output if isinstance(done.exception, SystemExit) else str(done.exception)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("answers")
    (place / "people.csv").write_text(PEOPLE)
    done = run("design", "--epsilon", 1, *STARS, "--json", place / "stars.json")
    assert done.exit_code == 0, done.output
    return place


def test_a_design_is_printed_with_its_proof_and_verified(folder: Path) -> None:
    done = run("design", "--epsilon", 1, "--yes-no")
    assert "yes/no, 2 answers" in done.output
    assert "2, 1 bit each" in done.output
    assert "Proven: no mechanism with this epsilon" in done.output
    checked = run("verify", folder / "stars.json").output
    assert "Private: " in checked
    assert "9 outputs, 5 answers" in checked
    assert "Answers: 1, 2, 3, 4, 5." in checked
    assert "this table adds" in checked


@pytest.mark.parametrize(
    ("answers", "gap", "loose"), [(24, 0.06, True), (20, 0.04, False), (16, 0.06, False)]
)
def test_a_loose_bound_is_said_to_be_loose(answers: int, gap: float, loose: bool) -> None:
    found: Any = SimpleNamespace(
        objective=SimpleNamespace(name="cdf"),
        question=no.Scale(*range(answers)),
        lower_bound=1.0,
        value=1.0 + gap,
        gap=gap,
    )
    note = " The bound is loose above 16 answers: the table may be better than that."
    assert proof_text(found).endswith(note) == loose


def test_tables_of_answers_are_verified(folder: Path) -> None:
    design = no.AnswerDesign.from_json((folder / "stars.json").read_text())
    table = folder / "table.json"
    table.write_text(design.mechanism.to_json())
    assert "Private: " in run("verify", table).output
    table.write_text(design.mechanism.to_json().replace('"epsilon": 1.0', '"epsilon": 0.9'))
    done = run("verify", table)
    assert done.exit_code == 1
    assert "NOT PRIVATE" in done.output


@pytest.mark.parametrize(
    ("column", "options", "question"),
    [
        ("stars", STARS, no.Scale(1, 2, 3, 4, 5)),
        ("stars", ("--answers", "1..5"), no.Scale(1, 2, 3, 4, 5)),
        (
            "travel",
            ("--choice", "car,train,other", "--other", "other"),
            no.Choice("car", "train", "other"),
        ),
        ("crashed", ("--yes-no",), no.YesNo()),
    ],
)
def test_from_a_column_to_its_shares(
    folder: Path, tmp_path: Path, column: str, options: tuple[str, ...], question: Any
) -> None:
    target = tmp_path / "reports.parquet"
    source = folder / "people.csv"
    done = run("privatize", source, "--column", column, "--epsilon", 4, *options, "-o", target)
    assert done.exit_code == 0, done.output
    assert frames.read_recipe(target).by_column == {column: question}
    shown = run("estimate", target).output
    assert shown.startswith(f"{column}: 200 reports, epsilon = 4\n")
    for label in question.labels[-1:]:
        assert f"\n{label}" in shown
    found = json.loads(run("estimate", target, "--json").output)["columns"][column]
    assert [each["label"] for each in found["answers"]] == list(question.labels)
    assert run("estimate", target, "--plot", tmp_path / "a.svg").exit_code == 0
    assert "200 reports" in shown


@pytest.mark.parametrize("option", [("--bins", 64), ("--method", "em")])
def test_options_for_numbers_are_refused_for_answers(
    folder: Path, tmp_path: Path, option: tuple[str, object]
) -> None:
    target = tmp_path / "reports.parquet"
    source = folder / "people.csv"
    run("privatize", source, "--column", "stars", "--epsilon", 1, *STARS, "-o", target)
    done = run("estimate", target, *option)
    assert done.exit_code == 2
    assert f"{option[0]} is for numbers, not for answers" in message(done)


def test_a_design_for_answers_knows_them(folder: Path, tmp_path: Path) -> None:
    common = ("privatize", folder / "people.csv", "--table", folder / "stars.json")
    done = run(*common, "--column", "stars", "-o", tmp_path / "r.csv")
    assert done.exit_code == 0, done.output
    assert frames.read_recipe(tmp_path / "r.csv").by_column == {"stars": no.Scale(1, 2, 3, 4, 5)}
    wrong = ("--column", "stars", "-o", tmp_path / "none.csv")
    assert "The design has other answers" in message(run(*common, "--answers", "0..4", *wrong))
    assert "--upper are for numbers" in message(run(*common, "--lower", 0, "--upper", 5, *wrong))


def test_what_is_no_answer_names_the_option(folder: Path, tmp_path: Path) -> None:
    done = run(
        "privatize", folder / "people.csv", "--column", "travel", "--choice", "car,train,other",
        "--epsilon", 1, "-o", tmp_path / "r.csv",
    )  # fmt: skip
    text = message(done)
    assert "column 'travel' at row 2 (one of 50 refused rows) must be one of" in text
    assert "(--other counts all else as one of them); found 'boat'" in text


def test_how_many_people_for_shares_within_two_points() -> None:
    shown = run("plan", "--epsilon", 1, *STARS, "--shares-within", 0.02).output
    assert shown.startswith("37,606 people, epsilon = 1, 5 answers: 1, 2, 3, 4, 5\n")
    assert "Any one share  within 2.00 points in 95% of campaigns, whatever" in shown
    assert "Mean score     within 0.0492" in shown
    back = json.loads(run("plan", "--epsilon", 1, *STARS, "--people", 37_606, "--json").output)
    assert back["worst_half_width"] == pytest.approx(0.02, rel=1e-4)
    given = ("plan", "--epsilon", 1, "--yes-no", "--people", 1000, "--prior", "9,1")
    assert "if answers are as the prior" in run(*given).output
    assert "Mean score" not in run(*given).output


@pytest.mark.slow
def test_a_computed_epsilon_is_said_to_be_of_the_catalog() -> None:
    told = "Epsilon        the smallest of the catalog that does it; try others with --epsilon"
    given = ("plan", "--choice", "a,b,c", "--people", 50_000)
    shown = run(*given, "--shares-within", 0.02).output
    assert shown.startswith("50,000 people, epsilon = 0.75, ")
    assert told in shown
    assert told not in run(*given, "--epsilon", 0.75).output
    numbers = ("plan", "--people", 10**6, "--error", 0.02)
    assert told in run(*numbers, "--outputs", 16).output
    assert told not in run(*numbers, "--outputs", 3, "--objective", "worst").output


def test_mechanisms_for_answers_are_compared() -> None:
    shown = run("compare", *STARS).output
    assert "5 answers, epsilon = 1" in shown
    for name in ("n-output", "direct-encoding", "subset-selection", "threshold", "oue", "sue"):
        assert name in shown
    assert "(proven)" in shown
    some = run("compare", "--yes-no", "--only", "direct-encoding").output
    assert "subset-selection" not in some
    assert "1.0000" in some


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--answers", "0..70"), "'0..70' has 71 answers, not 2 to 64."),
        (("--answers", "5..1"), "'5..1' must count up, as 1..5 does."),
        (("--answers", "5..5"), "'5..5' has 1 answer, not 2 to 64."),
        (("--answers", "1,,2"), "is not a list such as a,b,c"),
        (("--answers", "1,2", "--choice", "a,b"), "Give one of --answers, --choice and --yes-no."),
        (("--choice", "a,b", "--scores", "1,2"), "--scores belong to the texts of --answers"),
        (("--answers", "low,high", "--scores", "1,x"), "'x' is not a number"),
        (("--answers", "2,1"), "answers must increase"),
        (("--choice", "a,b", "--objective", "cdf"), "objective must be 'shares'"),
        (("--yes-no", "--plot", "x.png"), "--plot draws mechanisms for numbers"),
    ],
)
def test_questions_that_are_none(arguments: tuple[str, ...], text: str) -> None:
    assert text in message(run("design", "--epsilon", 1, *arguments))


def test_texts_with_commas_and_scores(tmp_path: Path) -> None:
    target = tmp_path / "d.json"
    done = run(
        "design", "--epsilon", 2, "--answers", '"low, or none",high', "--scores", "1.5,9",
        "--objective", "mean", "--json", target,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    question = no.AnswerDesign.from_json(target.read_text()).question
    assert question == no.Scale("low, or none", "high", scores=(1.5, 9))

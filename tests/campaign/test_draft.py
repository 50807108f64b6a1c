from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from noutput.campaign import Choice, Number, Scale, YesNo
from noutput.campaign.draft import CampaignDraft
from noutput.errors import InvalidArgumentError
from noutput.questions import Question
from tests.campaign.examples import answer_table, example_table
from tests.tables import jump_table

HEAD = """
id = "survey"
title = "Survey"
text = "How was it?"
epsilon = 1.0
opens = 2026-03-01T00:00:00Z
closes = 2026-04-01T00:00:00Z
"""
PAGE = Path(__file__).parents[2] / "docs" / "quickstart" / "campaign.md"


def read(*questions: str, more: str = "") -> CampaignDraft:
    return CampaignDraft.from_toml(
        HEAD + more + "".join(f"[[questions]]\n{q}\n" for q in questions)
    )


KINDS: dict[str, tuple[str, Question]] = {
    "number": ("lower = 0\nupper = 9", Number(0, 9, name="a")),
    "number with its unit": ("lower = 0\nupper = 9\nunit = 'km'", Number(0, 9, "km", name="a")),
    "values": ("values = [1, 2.5]", Scale(1, 2.5, name="a")),
    "a range": ("values = '0..10'", Scale(*range(11), name="a")),
    "a range with spaces": ("values = ' -1 .. 1 '", Scale(-1, 0, 1, name="a")),
    "answers that are numbers": ("answers = [1, 2]", Scale(1, 2, name="a")),
    "labels and values": (
        "labels = ['bad', 'good']\nvalues = '1..2'",
        Scale("bad", "good", scores=(1, 2), name="a"),
    ),
    "labels and scores": (
        "labels = ['bad', 'good']\nscores = [1, 5]",
        Scale("bad", "good", scores=(1, 5), name="a"),
    ),
    "ordered labels": ("kind = 'scale'\nlabels = ['bad', 'good']", Scale("bad", "good", name="a")),
    "choice": ("kind = 'choice'\nlabels = ['b', 'a']", Choice("b", "a", name="a")),
    "answers of a choice": ("kind = 'choice'\nanswers = ['b', 'a']", Choice("b", "a", name="a")),
    "yes/no": ("kind = 'yes/no'", YesNo(name="a")),
    "all of it": (
        "kind = 'yes/no'\nlabel = 'L'\ntext = 'T?'\nepsilon = 0.5",
        YesNo(name="a", label="L", text="T?", epsilon=0.5),
    ),
}


@pytest.mark.parametrize(("text", "question"), KINDS.values(), ids=KINDS.keys())
def test_the_keys_tell_the_kind(text: str, question: Question) -> None:
    draft = read(f"name = 'a'\n{text}")
    assert draft.parts["questions"] == (question,)


def test_designs_have_what_a_table_depends_on() -> None:
    scale = "values = '1..5'\n"
    draft = read(
        "name = 'a'\nlower = 0\nupper = 9",
        "name = 'b'\nlower = -1\nupper = 1\nunit = 'km'",
        "name = 'c'\nlower = 0\nupper = 9\nepsilon = 0.5\nobjective = 'mean'",
        f"name = 'd'\nlabel = 'D'\n{scale}",
        f"name = 'e'\n{scale}outputs = 12",
        f"name = 'f'\n{scale}objective = 'mean'\nepsilon = 2",
        f"name = 'g'\n{scale}",
        more="ask = 'all'\n",
    )
    balanced = {"epsilon": 1.0, "objective": "balanced"}
    stars: dict[str, Any] = {"epsilon": 1.0, "objective": "cdf", "question": Scale(*range(1, 6))}
    assert draft.designs == (
        balanced,
        balanced,
        {"epsilon": 0.5, "objective": "worst"},
        stars,
        {**stars, "n_outputs": 12},
        {**stars, "epsilon": 2.0, "objective": "mean"},
        stars,
    )
    assert draft.parts["ask"] == "all"
    assert draft.parts["objectives"] == (
        "balanced", "balanced", "mean", "cdf", "cdf", "mean", "cdf",
    )  # fmt: skip
    number, five = example_table((1.0, 3, 3, 0.4)), answer_table(1.0, 5)
    small, large = example_table((0.5, 3, 3, 0.4)), answer_table(2.0, 5)
    campaign = draft.campaign([number, number, small, five, five, large, five])
    assert (campaign.ask, campaign.epsilon) == ("all", 7.5)


def test_a_table_of_the_draft_is_for_numbers() -> None:
    number, other = "name = 'a'\nlower = 0\nupper = 9", "name = 'b'\nkind = 'yes/no'"
    table = "[table]\noutputs = 16\nobjective = 'average'"
    draft = read(number, other, table.replace("[table]", "name = 'c'\nvalues = '1..3'\n[table]"))
    assert draft.designs[0] == {"epsilon": 1.0, "n_outputs": 16, "objective": "average"}
    assert draft.parts["objectives"] == ("mean", "shares", "cdf")
    assert "n_outputs" not in draft.designs[1]


def test_edges_and_cells_of_numbers() -> None:
    number = "name = 'a'\nlower = 0\nupper = 180\n"
    draft = read(f"{number}edges = [15, 30]", number.replace("'a'", "'b'") + "cells = 4")
    first, second = draft.parts["questions"]
    assert (first.edges, second.edges) == ((15.0, 30.0), (45.0, 90.0, 135.0))
    assert [each["question"].edges for each in draft.designs] == [first.edges, second.edges]
    tables = [
        jump_table(1.0, (0, *(x for edge in each.edges for x in (edge, edge)), 180))
        for each in (first, second)
    ]
    assert draft.campaign(tables).tables == tuple(tables)
    assert read(f"{number}edges = []").designs == ({"epsilon": 1.0, "objective": "balanced"},)


BAD: list[tuple[str, str]] = [
    ("name = 'a'\nlower = 0\nupper = 9\nedges = [10]", "questions[0].edges[0] must lie strictly"),
    ("name = 'a'\nlower = 0\nupper = 9\nedges = '4'", "questions[0].edges must be a sequence"),
    ("name = 'a'\nlower = 0\nupper = 9\ncells = 1", "questions[0].cells must be a whole number"),
    (
        "name = 'a'\nlower = 0\nupper = 9\ncells = 2\nedges = [3]",
        "questions[0].cells must be absent where edges are given",
    ),
    ("name = 'a'\nkind = 'yes/no'\nedges = [3]", "key questions[0].edges must be"),
    ("kind = 'yes/no'", "questions[0].name must be given"),
    ("name = 'a'", "questions[0].kind must be one of"),
    ("name = 'a'\nkind = 'color'", "questions[0].kind must be one of"),
    ("name = 'a'\nkind = 3", "questions[0].kind must be one of"),
    ("name = 'a'\nlabels = ['x', 'y']", "questions[0].kind must be 'scale' (labels in their"),
    ("name = 'a'\nlower = 0", "questions[0].upper must be given"),
    ("name = 'a'\nlower = 0\nupper = 0", "questions[0].upper must be larger than lower"),
    ("name = 'a'\nlower = 0\nupper = 1\nlabels = ['x', 'y']", "key questions[0].labels must be"),
    ("name = 'a'\nvalues = [1]", "questions[0].values must have from 2 to 64 entries"),
    ("name = 'a'\nvalues = [2, 1]", "questions[0].values must increase"),
    ("name = 'a'\nanswers = [2, 1]", "questions[0].answers must increase"),
    ("name = 'a'\nanswers = '5..1'", "questions[0].answers must be a range of 2 to 64"),
    ("name = 'a'\nkind = 'choice'\nlabels = ['x']", "questions[0].labels must have from 2 to 64"),
    ("name = 'a'\nkind = 'choice'\nanswers = ['x']", "questions[0].answers must have from 2"),
    ("name = 'a'\nlabels = ['x', 'y']\nvalues = [2, 1]", "questions[0].values must increase"),
    ("name = 'a'\nlabels = ['x', 'y']\nscores = [2, 1]", "questions[0].scores must increase"),
    ("name = 'a'\nkind = 'choice'\nanswers = [1, 2]", "questions[0].answers[0] must be a text"),
    ("name = 'a'\nkind = 'yes/no'\nanswers = [1, 2]", "key questions[0].answers must be"),
    ("name = 'a'\nanswers = ['x', 'y']", "questions[0].kind must be 'scale' (answers in their"),
    ("name = 'a'\nkind = 'choice'", "questions[0].labels must be given"),
    ("name = 'a'\nlabels = ['x', 'y']\nkind = 'scale'\nanswers = ['x']", "answers must be absent"),
    ("name = 'a'\nvalues = 'x'", "questions[0].values must be a list, or a range such as '0..10'"),
    ("name = 'a'\nvalues = 3", "questions[0].values must be a list"),
    ("name = 'a'\nvalues = '5..1'", "questions[0].values must be a range of 2 to 64"),
    ("name = 'a'\nvalues = '0..64'", "questions[0].values must be a range of 2 to 64"),
    ("name = 'a'\nvalues = [1, 2]\nanswers = [1, 2]", "questions[0].answers must be absent"),
    ("name = 'a'\nvalues = [1, 2]\nscores = [1, 2]", "questions[0].scores must be given for"),
    ("name = 'a'\nlabels = [1, 2]\nscores = [1, 2]", "questions[0].labels[0] must be a text"),
    ("name = 'a'\nkind = 'yes/no'\nlabels = ['n', 'y']", "key questions[0].labels must be"),
    ("name = 'a'\nkind = 'yes/no'\nlable = 'x'", "key questions[0].lable must be 'label'"),
    ("name = 'a'\nkind = 'yes/no'\nepsilon = 0", "questions[0].epsilon must be a positive"),
    ("name = 'a'\nkind = 'yes/no'\noutputs = 1", "questions[0].outputs must be a whole number"),
    ("name = 'a'\nkind = 'yes/no'\nobjective = 'all'", "questions[0].objective must be one of"),
    ("name = 'a'\nlower = 0\nupper = 1\nobjective = 'cdf'", "questions[0].objective must be one"),
    (
        "name = 'a'\nkind = 'yes/no'\n[table]\noutputs = 2",
        "table must be absent: it is for numbers",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=range(len(BAD)))
def test_errors_name_the_key_and_the_rule(text: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        read(text)


def test_attributes_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="key attributes must be"):
        read("name = 'a'\nkind = 'yes/no'\n[[attributes]]\nname = 'b'\nlower = 0\nupper = 1")


def test_the_quick_start_shows_all_kinds() -> None:
    text = PAGE.read_text(encoding="utf-8")
    (survey,) = re.findall(r"```toml\n(# survey\.toml\n.*?)```", text, re.DOTALL)
    draft = CampaignDraft.from_toml(survey)
    kinds = [question.kind for question in draft.parts["questions"]]
    assert kinds == ["number", "scale", "scale", "choice", "yes/no"]

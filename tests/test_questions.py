from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noutput.errors import DocumentError, InvalidArgumentError
from noutput.questions import (
    MAX_ANSWERS,
    Answers,
    Choice,
    Number,
    Question,
    Scale,
    YesNo,
    question_from_answers,
    question_from_document,
)
from tests.campaign.examples import is_seen

_texts = st.text(
    st.characters(exclude_categories=("Cc", "Cs")).filter(is_seen), min_size=1, max_size=40
)
_labels = st.lists(_texts, min_size=2, max_size=12, unique=True)
_floats = st.floats(-1e12, 1e12).map(lambda x: x + 0.0)
_rising = st.lists(_floats, min_size=2, max_size=12, unique=True).map(sorted)
_common = st.fixed_dictionaries(
    {},
    optional={
        "name": st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True),
        "label": _texts,
        "text": _texts,
        "epsilon": st.floats(0.01, 10),
    },
)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    common: dict[str, Any] = draw(_common)
    kind = draw(st.sampled_from(["number", "numbers", "texts", "scores", "choice", "yes/no"]))
    if kind == "number":
        lower = draw(st.floats(-1e6, 1e6))
        return Number(lower, lower + draw(st.floats(0.1, 1e6)), unit="minutes", **common)
    if kind == "numbers":
        return Scale(*draw(_rising), **common)
    if kind == "yes/no":
        return YesNo(**common)
    labels = draw(_labels)
    if kind == "choice":
        return Choice(*labels, **common)
    return Scale(*labels, scores=range(len(labels)) if kind == "scores" else None, **common)


@settings(max_examples=30)
@given(questions())
def test_documents_and_pickles_give_the_same_question(question: Question) -> None:
    text = json.dumps(question.to_document(), allow_nan=False)
    found = question_from_document(json.loads(text))
    assert found == question
    assert hash(found) == hash(question)
    assert type(found) is type(question)
    assert pickle.loads(pickle.dumps(question)) == question  # noqa: S301


@settings(max_examples=30)
@given(questions())
def test_every_answer_is_found_by_itself_and_by_its_label(question: Question) -> None:
    if not isinstance(question, Answers):
        return
    for place, (answer, label) in enumerate(zip(question.answers, question.labels, strict=True)):
        assert question.encode(answer) == place
        assert question.encode(label) == place
    assert question.n_answers == len(question.answers) == len(question.labels)


@settings(max_examples=30)
@given(questions())
def test_scores_increase_where_there_are_some(question: Question) -> None:
    scores = getattr(question, "scores", None)
    if scores is not None:
        assert list(scores) == sorted(set(scores))


def test_a_truth_value_is_no_number_of_a_scale() -> None:
    for question in (Scale(0, 1), Choice("0", "1")):
        for value in (True, False, np.True_):
            assert question.find(value) is None


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (True, 1), (False, 0), (np.True_, 1), (np.int8(0), 0), (1, 1), (1.0, 1), (0.0, 0),
        ("yes", 1), ("no", 0), (0.5, None), (2, None), (math.nan, None), ("Yes", None),
        (None, None),
    ],
)  # fmt: skip
def test_yes_no_takes_truth_values_zero_and_one(value: object, place: int | None) -> None:
    assert YesNo().find(value) == place


def test_large_whole_numbers_are_compared_exactly() -> None:
    scale = Scale(1, 2**53)
    assert scale.find(2**53) == scale.find(np.int64(2**53)) == 1
    assert scale.find(2**53 + 1) is None
    assert scale.find(10**400) is None


def test_decimals_that_are_answers_are_found() -> None:
    scale = Scale(0.5, 1, 1.5)
    assert scale.find(Decimal("1.50")) == 2
    assert scale.find(Decimal("1.4")) is None
    assert Scale(0.1, 0.2).find(Decimal("0.10")) == 0
    assert Scale(1, 2**53).find(Decimal(2**53 + 1)) is None
    assert scale.find(Decimal("NaN")) is None
    assert scale.find(Decimal("sNaN")) is None


@pytest.mark.parametrize("value", [[1], {"a": 1}, b"1", object(), None, 1j, (1,), math.inf])
def test_what_is_of_no_kind_of_answer_is_not_found(value: object) -> None:
    for question in (Scale(1, 2), Choice("a", "b"), YesNo()):
        assert question.find(value) is None


def test_an_error_of_a_device_never_repeats_the_value() -> None:
    for question in (
        Scale(1, 2, name="stars"),
        Choice("a", "b", name="stars"),
        YesNo(name="stars"),
    ):
        with pytest.raises(InvalidArgumentError) as caught:
            question.encode("a secret")
        assert "secret" not in str(caught.value)
        assert "values['stars'] must be one of" in str(caught.value)
        assert caught.value.__context__ is None
    with pytest.raises(InvalidArgumentError, match="be a finite number; found 'str'"):
        Number(0, 1).encode("a secret")


@settings(max_examples=30)
@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.floats(0.0, 1.0))
def test_numbers_stay_in_their_own_unit(lower: float, width: float, share: float) -> None:
    question = Number(lower, lower + width)
    value = min(max(lower + share * width, question.lower), question.upper)
    assert question.encode(value) == value
    assert question.encode(question.upper + 1e12) == question.upper
    assert question.encode(question.lower - 1e12) == question.lower


def test_numbers_one_ulp_apart_stay_apart() -> None:
    question = Number(0, 180, edges=(45,))
    assert question.encode(math.nextafter(45.0, 0.0)) < question.encode(45) == 45.0


def test_edges_of_a_number() -> None:
    assert Number(0, 180).edges is None
    assert Number(0, 180, edges=()).edges == ()
    assert Number(0, 180, edges=[15, 30.5]).edges == (15.0, 30.5)
    assert Number(-1, 1, edges=[-0.0]).edges == (0.0,)
    array: Any = np.linspace(0.25, 0.75, 3)
    assert Number(0, 1, edges=array).edges == (0.25, 0.5, 0.75)
    assert len(Number(0, 32, edges=range(1, 32)).edges or ()) == 31
    assert Number(0, 180) != Number(0, 180, edges=())
    assert hash(Number(0, 180, edges=[15])) == hash(Number(0, 180, edges=(15.0,)))


@pytest.mark.parametrize("lower", [0.0, 0.1, -3.7, 1e15])
@pytest.mark.parametrize("cells", [2, 3, 7, 32])
def test_equal_cells(lower: float, cells: int) -> None:
    upper = lower + 97.0
    question = Number(lower, upper, cells=cells)
    expected = tuple(lower + (upper - lower) * k / cells for k in range(1, cells))
    assert question.edges == expected
    assert question == Number(lower, upper, edges=expected)


@pytest.mark.parametrize("edges", [None, (), (15, 30)])
def test_documents_have_edges_where_they_were_chosen(edges: tuple[float, ...] | None) -> None:
    question = Number(0, 180, "minutes", edges=edges, name="commute")
    document = question.to_document()
    assert ("edges" in document) is (edges is not None)
    assert question_from_document(json.loads(json.dumps(document))) == question
    assert replace(question, label="Commute").edges == question.edges


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"edges": (15, 200)}, r"edges\[1\] must lie strictly between 0.0 and 180.0; found 200"),
        ({"edges": (0, 15)}, r"edges\[0\] must lie strictly between 0.0 and 180.0; found 0"),
        ({"edges": (15, 180)}, r"edges\[1\] must lie strictly between"),
        ({"edges": (30, 15)}, r"edges must increase from entry to entry; found \(30.0, 15.0\)"),
        ({"edges": (15, 15)}, r"edges must increase from entry to entry; found \(15.0, 15.0\)"),
        ({"edges": (15, math.nan)}, r"edges\[1\] must be a finite number; found nan"),
        ({"edges": ("15",)}, r"edges\[0\] must be a finite number; found '15'"),
        ({"edges": "15"}, "edges must be a sequence of numbers; found '15'"),
        ({"edges": 15}, "edges must be a sequence of numbers; found 15"),
        ({"edges": range(1, 33)}, "edges must have at most 31 entries; found 32"),
        ({"cells": 1}, "cells must be a whole number from 2 to 32; found 1"),
        ({"cells": 33}, "cells must be a whole number from 2 to 32; found 33"),
        ({"cells": 2.0}, "cells must be a whole number from 2 to 32; found 2.0"),
        ({"cells": 2, "edges": (15,)}, "cells must be absent where edges are given; found 2"),
    ],
)
def test_wrong_edges_are_named(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Number(0, 180, **parts)


def test_cells_that_bounds_have_no_room_for_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="edges must increase"):
        Number(1e15, 1e15 + 1, cells=32)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scale(), "answers must have from 2 to 64 entries; found 0"),
        (lambda: Scale(1), "answers must have from 2 to 64 entries; found 1"),
        (lambda: Scale(*range(65)), "answers must have from 2 to 64 entries; found 65"),
        (lambda: Scale(1, "2"), "answers must be all numbers or all texts"),
        (lambda: Scale(2, 1), "answers must increase from entry to entry"),
        (lambda: Scale(1, 1), "answers must increase from entry to entry"),
        (lambda: Scale(1, math.nan), r"answers\[1\] must be"),
        (lambda: Scale(False, True), r"answers\[0\] must be"),
        (lambda: Scale(1, 2, scores=(1, 2)), "scores must be given for answers that are texts"),
        (lambda: Scale("a", "b", scores=(1,)), "scores must have 2 entries, one per answer"),
        (lambda: Scale("a", "b", scores=(2, 1)), "scores must increase"),
        (lambda: Scale("a", "a"), "answers must differ from each other"),
        (lambda: Choice("a", 1), r"answers\[1\] must be a text; found 1"),  # type: ignore[arg-type]
        (lambda: Choice("a", ""), r"answers\[1\] must have from 1 to 200 bytes"),
        (lambda: Choice("a", "b\n"), r"answers\[1\] must be text without control characters,"),
        (lambda: YesNo(name="Crash"), "name must be a letter a-z"),
        (lambda: YesNo(label="x" * 201), "label must have from 0 to 200 bytes"),
        (lambda: YesNo(epsilon=0), "epsilon must be"),
        (lambda: Number(1, 1), r"upper must be larger than lower \(1.0\)"),
        (lambda: Number(0, math.inf), "upper must be"),
        (lambda: Question(), "question must be a Number, a Scale, a Choice or a YesNo"),
    ],
)
def test_what_is_no_question_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        make()


def test_an_unknown_argument_is_named() -> None:
    for kind in (Scale, Choice, YesNo):
        with pytest.raises(TypeError, match=f"{kind.__name__} has no argument 'unit'"):
            kind(unit="stars")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([], "question must be a JSON object; found 'list'"),
        ({}, "question.kind must be one of 'number'"),
        ({"kind": ["scale"]}, "question.kind must be one of"),
        ({"kind": "color"}, "a newer version of noutput may know others"),
        ({"kind": "scale"}, r"question must have the keys \['answers'\]"),
        ({"kind": "yes/no", "answers": ["no", "yes"]}, "question must have the keys"),
        ({"kind": "scale", "answers": "12"}, "question.answers must be a list; found 'str'"),
        ({"kind": "scale", "answers": [1, None]}, r"question.answers\[1\] must be"),
        ({"kind": "choice", "answers": ["a", 1]}, r"question.answers\[1\] must be a text"),
        ({"kind": "number", "lower": 1, "upper": 0, "unit": ""}, "question.upper must be larger"),
        ({"kind": "yes/no", "name": 3}, "question.name must be"),
        ({"kind": "yes/no", "epsilon": "1"}, "question.epsilon must be"),
    ],
)
def test_documents_of_no_question_are_refused(found: object, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        question_from_document(found)


def test_a_list_of_answers_is_a_question() -> None:
    assert question_from_answers([1, 2, 3]) == Scale(1, 2, 3)
    assert question_from_answers(range(11)) == Scale(*range(11))
    assert question_from_answers(np.arange(3)) == Scale(0, 1, 2)
    assert question_from_answers(("train", "car")) == Choice("train", "car")
    assert question_from_answers([False, True]) == YesNo()
    assert len(question_from_answers(range(MAX_ANSWERS)).answers) == MAX_ANSWERS


@pytest.mark.parametrize(
    "answers", [5, "abc", None, {1, 2}, [1, "a"], [True, 2], [], [True, False]]
)
def test_what_is_no_list_of_answers_is_refused(answers: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="answers"):
        question_from_answers(answers)


def test_answers_may_come_as_one_list() -> None:
    assert Scale([1, 2, 3]) == Scale((1, 2, 3)) == Scale(range(1, 4)) == Scale(1, 2, 3)
    assert Scale(["low", "high"], scores=(1, 2)) == Scale("low", "high", scores=(1, 2))
    assert Choice(["a", "b"]) == Choice("a", "b")
    with pytest.raises(InvalidArgumentError, match=r"answers must have from 2 to 64 .* found 1"):
        Choice(["a"])
    with pytest.raises(InvalidArgumentError, match=r"answers\[0\] must be a text"):
        Choice(["a", "b"], "c")


@pytest.mark.parametrize("kind", ["scale", "choice"])
def test_a_list_inside_a_list_is_no_document(kind: str) -> None:
    with pytest.raises(DocumentError, match=r"^question.answers\[0\] must be"):
        question_from_document({"kind": kind, "answers": [["a", "b"]]})
    with pytest.raises(InvalidArgumentError, match=r"^answers\[0\] must be"):
        question_from_answers([[1, 2]])


def test_the_scores_of_numbers_are_refused_whatever_they_are() -> None:
    with pytest.raises(InvalidArgumentError, match="scores must be given for answers that are"):
        Scale(1, 2, scores=5)  # type: ignore[arg-type]  # from a document, anything may come
    with pytest.raises(DocumentError, match=r"question\.scores must be given for answers"):
        question_from_document({"kind": "scale", "answers": [1, 2], "scores": 5})


def test_the_squares_of_scores_are_finite() -> None:
    assert Scale(-1e100, 1e100).scores == (-1e100, 1e100)
    with pytest.raises(InvalidArgumentError, match=r"answers\[2\] must lie between -1e100 and"):
        Scale(0, 1, 1e101)
    with pytest.raises(InvalidArgumentError, match=r"scores\[0\] must lie between -1e100 and"):
        Scale("a", "b", scores=(-1e300, 0))


def test_a_huge_decimal_is_no_answer() -> None:
    assert Scale(1, 2).find(Decimal("1e999999999")) is None
    assert Scale(1, 2).find(Decimal("2.0")) == 1

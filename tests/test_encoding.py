from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noutput import encoding
from noutput.encoding import encode
from noutput.errors import InvalidArgumentError
from noutput.questions import Answers, Choice, Number, Scale, YesNo

STARS = Scale(1, 2, 3, 4, 5)
HALVES = Scale(-0.5, 0, 0.5, 2.0**53)
TRAVEL = Choice("train", "car", "other")
AGES = Scale("under 30", "30 and older")
QUESTIONS: tuple[Answers, ...] = (STARS, HALVES, TRAVEL, AGES, YesNo())

_values = st.one_of(
    st.booleans(),
    st.integers(-2, 6),
    st.sampled_from([2**53, 2**53 + 1, 10**400, -(10**400), 0.5, 1.0, 2.0, 1e300, math.inf]),
    st.sampled_from(["1", "2.0", "x", "train", "car", "30 and older", "yes", "no", "TRUE"]),
    st.sampled_from([b"1", frozenset({1}), {}, Decimal(2), Decimal("0.5")]),
)


@pytest.mark.parametrize("question", QUESTIONS, ids=repr)
@settings(max_examples=30)
@given(values=st.lists(_values, max_size=12))
def test_a_column_is_what_its_values_are_one_by_one(question: Answers, values: list[Any]) -> None:
    wanted = [encoding.place_of(question, value) for value in values]
    column = np.empty(len(values), object)
    column[:] = values
    for given_as in (values, column):
        if None in wanted:
            first = wanted.index(None)
            with pytest.raises(InvalidArgumentError, match=rf"values\[{first}\] must be one of"):
                encode(question, given_as)
            rest = encode(question, given_as, other=question.labels[-1]).tolist()
            assert rest == [len(question.labels) - 1 if at is None else at for at in wanted]
        else:
            assert encode(question, given_as).tolist() == wanted


@pytest.mark.parametrize("question", QUESTIONS, ids=repr)
@pytest.mark.parametrize("dtype", ["bool", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8"])
def test_arrays_of_every_type_agree_with_single_values(question: Answers, dtype: str) -> None:
    values = np.array([0, 1, 2, 5, 7, 100]).astype(dtype)
    for value in values:
        wanted = question.find(value.item())
        if wanted is None:
            with pytest.raises(InvalidArgumentError, match=r"values\[0\] must be one of"):
                encode(question, value[None])
        else:
            assert encode(question, value[None]).tolist() == [wanted]


def test_large_whole_numbers_are_exact_in_arrays() -> None:
    assert encode(HALVES, np.array([2**53, 0])).tolist() == [3, 1]
    for dtype in (np.int64, np.uint64):
        with pytest.raises(InvalidArgumentError, match=r"values\[1\] .* found 9007199254740993"):
            encode(HALVES, np.array([2**53, 2**53 + 1], dtype))
    with pytest.raises(InvalidArgumentError, match=r"values\[0\]"):
        encode(Scale(-1, 0), np.array([2**64 - 1], np.uint64))
    with pytest.raises(InvalidArgumentError, match=r"values\[0\]"):
        encode(Scale(0, 1e100), np.array([255], np.uint8))


def test_a_truth_value_is_not_the_number_one() -> None:
    with pytest.raises(InvalidArgumentError, match=r"values\[0\] must be one of .* found True"):
        encode(STARS, np.array([True]))
    with pytest.raises(InvalidArgumentError, match=r"values\[2\] must be one of .* found True"):
        encode(STARS, [1, 1.0, True])
    assert encode(YesNo(), [1, 1.0, True, "yes", False]).tolist() == [1, 1, 1, 1, 0]


def test_mixed_lists_keep_their_kinds() -> None:
    assert encode(STARS, [5, "4", 3.0, "2.0", Decimal(1)]).tolist() == [4, 3, 2, 1, 0]
    assert encode(Choice("1", "2"), ["1", "2"]).tolist() == [0, 1]
    with pytest.raises(InvalidArgumentError, match=r"values\[1\]"):
        encode(Choice("1", "2"), ["1", 2])


@pytest.mark.parametrize(
    ("question", "text", "place"),
    [
        (STARS, "4", 3), (STARS, "4.0", 3), (STARS, " 4 ", 3), (STARS, "4e0", 3),
        (STARS, "4,0", None), (STARS, "", None), (STARS, "nan", None), (STARS, "4_0", None),
        (HALVES, "9007199254740993", None), (HALVES, "-.5", 0), (Scale(0.1, 1e30), "0.10", 0),
        (Scale(0.1, 1e30), "1e30", 1), (Scale(0, 1), "1" * 500, None), (STARS, "٤", None),
        (YesNo(), "True", 1), (YesNo(), "FALSE", 0), (YesNo(), "1", 1), (YesNo(), "No", 0),
        (YesNo(), "2", None), (YesNo(), "y", None), (TRAVEL, "Train", None),
        (TRAVEL, "train ", None), (AGES, "1", None),
    ],
)  # fmt: skip
def test_texts_are_labels_or_are_read_as_numbers_and_truth_values(
    question: Answers, text: str, place: int | None
) -> None:
    assert encoding.place_of(question, text) == place
    if place is not None:
        assert encode(question, np.array([text, text])).tolist() == [place, place]


@pytest.mark.parametrize(
    "missing",
    [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN")],
)  # fmt: skip
def test_missing_values_are_refused_by_their_place_even_with_other(missing: Any) -> None:
    for question, value in ((STARS, 1), (TRAVEL, "car"), (YesNo(), True)):
        for other in (None, question.labels[-1]):
            with pytest.raises(InvalidArgumentError, match=r"values\[2\] must not be missing"):
                encode(question, [value, value, missing], other=other)


def test_missing_numbers_of_arrays_are_refused_even_with_other() -> None:
    for dtype in ("f2", "f4", "f8"):
        with pytest.raises(InvalidArgumentError, match=r"values\[1\] must not be missing"):
            encode(STARS, np.array([9, np.nan], dtype), other="5")
    with pytest.raises(InvalidArgumentError, match=r"values\[1\] must not be missing"):
        encode(TRAVEL, pd.Series(["car", None], dtype="category"), other="other")


@pytest.mark.parametrize(
    "make",
    [
        list, tuple, np.array, pd.Series, pd.Index, pl.Series, pa.array,
        lambda v: pa.chunked_array([v]),
        lambda v: pd.Series(v, dtype="category"),
        lambda v: pd.Categorical(v),
        lambda v: pd.Series(v, index=range(10, 10 + len(v))),
        lambda v: pa.array(v).dictionary_encode(),
    ],
)  # fmt: skip
def test_columns_of_all_kinds(make: Any) -> None:
    assert encode(STARS, make([5, 1, 2])).tolist() == [4, 0, 1]
    assert encode(TRAVEL, make(["car", "train", "car"])).tolist() == [1, 0, 1]
    assert encode(YesNo(), make([True, False, True])).tolist() == [1, 0, 1]
    with pytest.raises(InvalidArgumentError, match=r"values\[1\] must be one of .*; found 'boat'"):
        encode(TRAVEL, make(["car", "boat"]))
    assert encode(TRAVEL, make(["car", "boat"]), other="other").tolist() == [1, 2]


@pytest.mark.parametrize("dtype", ["Int64", "Int8", "int64[pyarrow]"])
def test_nullable_columns_of_pandas(dtype: str) -> None:
    assert encode(STARS, pd.Series([5, 1], dtype=dtype)).tolist() == [4, 0]
    with pytest.raises(InvalidArgumentError, match=r"values\[1\] must not be missing"):
        encode(STARS, pd.Series([5, None], dtype=dtype), other="1")


def test_categories_are_looked_up_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def find(question: Answers, value: object) -> int | None:
        asked.append(value)
        return question.find(value)

    monkeypatch.setattr(encoding, "place_of", find)
    column = pd.Series(["car", "train"] * 500, dtype="category")
    assert encode(TRAVEL, column).tolist() == [1, 0] * 500
    assert encode(TRAVEL, ["car", "train"] * 500).tolist() == [1, 0] * 500
    assert sorted(map(str, asked)) == ["car", "car", "train", "train"]


def test_shapes_are_kept_and_one_value_is_one_place() -> None:
    assert encode(STARS, np.array([[1, 2], [3, 4]])).tolist() == [[0, 1], [2, 3]]
    assert encode(STARS, [[1, "2"], [3.0, 4]]).tolist() == [[0, 1], [2, 3]]
    assert encode(STARS, 4).shape == ()
    assert encode(TRAVEL, "car").tolist() == 1
    empty: Any
    for empty in ([], np.array([]), np.array([], "U1"), pd.Series([], dtype="category")):
        assert encode(TRAVEL, empty).shape == (0,)
        assert encode(TRAVEL, empty).dtype == np.int64


def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="other must be given for answers only"):
        encode(Number(0, 1), [0], other="x")
    with pytest.raises(InvalidArgumentError, match="clip must be False where the question has"):
        encode(STARS, [1], clip=True)
    with pytest.raises(InvalidArgumentError, match=r"other must be one of \['train'"):
        encode(TRAVEL, ["car"], other="boat")
    with pytest.raises(InvalidArgumentError, match="question must be a Number"):
        encode(3, [1])  # type: ignore[arg-type]


def test_numbers_go_to_the_unit_interval() -> None:
    assert encode(Number(0, 180), [0, 45, 180]).tolist() == [-1.0, -0.5, 1.0]
    assert encode(Number(0, 180), [-5, 200], clip=True).tolist() == [-1.0, 1.0]
    with pytest.raises(InvalidArgumentError, match=r"values\[1\] must lie in"):
        encode(Number(0, 180), [0, 181])

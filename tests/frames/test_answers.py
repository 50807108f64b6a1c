"""Columns of answers: the same reports on every engine, and one rule for what is no answer."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noutput import (
    AnswerMechanism,
    Choice,
    InvalidArgumentError,
    Number,
    Scale,
    TableMechanism,
    YesNo,
    frames,
)
from noutput.encoding import encode
from noutput.frames.files import ENGINES
from noutput.questions import Answers
from tests.frames.conftest import Backend

STARS = Scale(1, 2, 3, 4, 5, name="stars")
TRAVEL = Choice("train", "car", "bicycle", "none", "other")
AGES = Scale("under 30", "30 to 39", "40 to 49", "50 to 59", "60 and older")
COLUMNS: dict[str, Answers] = {"stars": STARS, "travel": TRAVEL, "ages": AGES}


def direct_encoding(size: int) -> AnswerMechanism:
    """Report the truth e times as often as any other answer."""
    other = round(2**32 / (np.e + size - 1)) + 1
    weights = np.full((size, size), other)
    np.fill_diagonal(weights, 2**32 - other * (size - 1))
    return AnswerMechanism(1.0, weights)


FIVE, TWO = direct_encoding(5), direct_encoding(2)


@pytest.fixture(scope="module")
def answers() -> Any:
    places = np.random.default_rng(8).integers(0, 5, 300)
    return pa.table(
        {
            "stars": places + 1,
            "travel": [TRAVEL.labels[place] for place in places],
            "ages": pa.array([AGES.labels[place] for place in places]).dictionary_encode(),
            "crashed": places > 2,
        }
    )


def test_every_engine_draws_the_same_reports(ordered: Backend, answers: Any) -> None:
    reports = ordered.rows(
        ordered.privatize(
            answers, list(COLUMNS), mechanism=FIVE, question=COLUMNS, bounds=None, seed=7
        )
    )
    wanted = frames.privatize(answers, list(COLUMNS), mechanism=FIVE, question=COLUMNS, seed=7)
    assert reports.to_pydict() == wanted.to_pydict()
    truth = ordered.privatize(
        answers, "crashed", mechanism=TWO, question=YesNo(), bounds=None, seed=7
    )
    single = frames.privatize(answers, "crashed", mechanism=TWO, answers=[False, True], seed=7)
    assert ordered.rows(truth).to_pydict() == single.to_pydict()


def test_reports_of_answers_are_counted(backend: Backend, answers: Any) -> None:
    sure = direct_encoding(5)
    options = {"mechanism": sure, "question": COLUMNS, "bounds": None}
    reports = backend.privatize(answers, list(COLUMNS), **options)
    tallies = frames.tally(reports, list(COLUMNS), sure)
    assert {name: tally.total for name, tally in tallies.items()} == dict.fromkeys(COLUMNS, 300)
    one = backend.privatize(answers, list(COLUMNS), one_per_row=True, layout="long", **options)
    found = frames.tally(one, list(COLUMNS), SimpleNamespace(mechanism=sure), layout="long")
    assert sum(tally.total for tally in found.values()) == 300


def test_frequencies_fit_the_rows_of_the_table() -> None:
    many = pa.table({"stars": np.repeat([1, 5], 20_000)})
    reports = frames.privatize(many, "stars", mechanism=FIVE, question=STARS, seed=3)
    drawn = reports.column(0).to_numpy() % 1000
    for place, part in ((0, drawn[:20_000]), (4, drawn[20_000:])):
        expected = FIVE.table()[place] * 20_000
        chi2 = ((np.bincount(part, minlength=5) - expected) ** 2 / expected).sum()
        assert chi2 < 23.5  # four degrees of freedom, once in 10^4


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 5, 3], pa.int8()),
        pa.array([1, 5, 3], pa.uint64()),
        pa.array([1.0, 5.0, 3.0]),
        pa.array([1.0, 5.0, 3.0], pa.float32()),
        pa.array([Decimal("1.0"), Decimal("5.0"), Decimal("3.0")]),
        pa.array(["1", "5.0", " 3"]),
        pa.array(["1", "5", "3"], pa.large_string()).dictionary_encode(),
        pa.array([1, 5, 3]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_answers_of_all_types(ordered: Backend, column: Any) -> None:
    categories = pa.types.is_dictionary(column.type) and column.type.value_type == pa.int64()
    if categories and ordered.name.startswith("polars"):
        return  # Polars has no categories of numbers
    wanted = frames.privatize(
        pa.table({"x": [1, 5, 3]}), "x", mechanism=FIVE, question=STARS, seed=1
    )
    found = ordered.privatize(
        pa.table({"x": column}), "x", mechanism=FIVE, question=STARS, bounds=None, seed=1
    )
    assert ordered.rows(found).to_pydict() == wanted.to_pydict()


@pytest.mark.parametrize(
    ("question", "values", "found"),
    [
        (STARS, [1, 9], "9"),
        (STARS, [1.0, 1.5], "1.5"),
        (TRAVEL, ["car", "boat"], "'boat'"),
        (TRAVEL, ["car", "Car"], "'Car'"),
        (STARS, [True, True], "True"),
        (STARS, [2**53 + 1, 2**53 + 1], "9007199254740993"),
    ],
)
def test_what_is_no_answer_is_refused_by_name(
    ordered: Backend, question: Answers, values: list[Any], found: str
) -> None:
    table, options = pa.table({"x": values}), {"mechanism": FIVE, "question": question}
    with pytest.raises(InvalidArgumentError) as caught:
        ordered.rows(ordered.privatize(table, "x", bounds=None, **options))
    assert "column 'x'" in str(caught.value)
    assert f"must be one of {list(question.labels)}" in str(caught.value)
    assert f"found {found}" in str(caught.value)
    other = question.labels[4]
    reports = ordered.privatize(table, "x", bounds=None, other=other, **options)
    assert frames.tally(reports, "x", FIVE).total == 2


def test_other_is_the_answer_that_it_names(ordered: Backend) -> None:
    rest, named = (
        ordered.rows(
            ordered.privatize(
                pa.table({"x": values}), "x", mechanism=FIVE, question=TRAVEL, bounds=None,
                other="other", seed=2,
            )
        ).to_pydict()
        for values in (["boat", "car", "ship"] * 20, ["other", "car", "other"] * 20)
    )  # fmt: skip
    assert rest == named


def test_missing_answers(ordered: Backend) -> None:
    table = pa.table({"x": ["car", None, "train"]})
    for other in (None, "other"):
        with pytest.raises(InvalidArgumentError, match="be an answer"):
            ordered.rows(
                ordered.privatize(
                    table, "x", mechanism=FIVE, question=TRAVEL, bounds=None, other=other
                )
            )
    reports = ordered.privatize(
        table, "x", mechanism=FIVE, question=TRAVEL, bounds=None, skip_missing=True
    )
    assert frames.tally(reports, "x", FIVE).total == 2
    assert ordered.rows(reports).column(0).null_count == 1


def test_answers_in_spark(spark: Any) -> None:
    frame = spark.createDataFrame([("car",), ("boat",), (None,)], ["x"])
    options: dict[str, Any] = {"mechanism": FIVE, "question": TRAVEL, "skip_missing": True}
    with pytest.raises(Exception, match=r"column 'x' at row .* must be one of .*found 'boat'"):
        frames.privatize(frame, "x", **options).collect()
    reports = frames.privatize(frame, "x", other="other", **options)
    assert frames.tally(reports, "x", FIVE).total == 2


def test_truth_values_with_gaps_in_pandas() -> None:
    """Gaps make objects or floats of them."""
    for column in ([True, None, False], [1.0, None, 0.0], ["yes", None, "no"]):
        frame = pd.DataFrame({"x": pd.Series(column)})
        reports = frames.privatize(
            frame, "x", mechanism=TWO, question=YesNo(), skip_missing=True, seed=4
        )
        assert reports.iloc[:, 0].isna().tolist() == [False, True, False]


def test_columns_that_hold_no_answers_are_refused() -> None:
    options: dict[str, Any] = {"mechanism": FIVE, "question": STARS}
    for frame in (
        pd.DataFrame({"x": [1, "2", True]}),
        pa.table({"x": [[1], [2]]}),
        pl.DataFrame({"x": [b"1"]}),
    ):
        with pytest.raises(InvalidArgumentError, match="column 'x' must hold answers"):
            frames.privatize(frame, "x", **options)


def test_a_design_carries_mechanism_and_question() -> None:
    design: Any = SimpleNamespace(mechanism=FIVE, question=STARS)
    table = pa.table({"x": [1, 2, 3]})
    reports = frames.privatize(table, "x", design=design, seed=1)
    wanted = frames.privatize(table, "x", mechanism=FIVE, question=STARS, seed=1)
    assert reports.equals(wanted)
    recipe = frames.Recipe.from_json(reports.schema.metadata[b"noutput"])
    assert recipe.by_column == {"x": STARS}
    without: Any = SimpleNamespace(mechanism=FIVE, question=None)
    assert frames.privatize(table, "x", design=without, answers=range(1, 6), seed=1).num_rows == 3


def test_arguments_that_do_not_fit(five_outputs: TableMechanism) -> None:
    table = pa.table({"x": [1, 2]})
    design = SimpleNamespace(mechanism=FIVE, question=STARS)
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "mechanism and design must be given one at a time; found 'neither'"),
        ({"mechanism": FIVE, "design": design}, "mechanism and design .* found 'both'"),
        ({"design": design, "bounds": (0, 1)}, "bounds must be left out: the design has"),
        (
            {"design": {"stars": SimpleNamespace(mechanism=FIVE, question=STARS)}},
            r"^design must be one design for all columns .*; found \"a mapping of \['stars'\]\"",
        ),
        ({"mechanism": FIVE}, r"bounds, question and answers must be given one at a time"),
        (
            {"mechanism": FIVE, "bounds": (0, 1), "question": STARS},
            r"given one at a time; found \['bounds', 'question'\]",
        ),
        ({"mechanism": FIVE, "bounds": (0, 1)}, "of column 'x' must have 5 answers.* 'number'"),
        ({"mechanism": TWO, "question": STARS}, "must have 2 answers.*'scale with 5 answers'"),
        ({"mechanism": five_outputs, "question": STARS}, "of column 'x' must be a Number"),
        ({"mechanism": FIVE, "question": {"y": STARS}}, r"question must name columns of \['x'\]"),
        ({"mechanism": FIVE, "question": {}}, "question must have an entry for every column"),
        ({"mechanism": FIVE, "question": "stars"}, "question must be a Number, a Scale"),
        ({"mechanism": FIVE, "answers": 5}, "answers must be a list of numbers or of texts"),
        ({"mechanism": FIVE, "question": STARS, "other": "9"}, "other must be one of"),
        ({"mechanism": FIVE, "question": STARS, "clip": True}, "clip must be False"),
        (
            {"mechanism": five_outputs, "bounds": (0, 5), "other": "1"},
            "other must be given for answers only",
        ),
        ({"mechanism": 3, "bounds": (0, 1)}, "mechanism must be a TableMechanism or an Answer"),
    ]
    for options, message in cases:
        with pytest.raises(InvalidArgumentError, match=message):
            frames.privatize(table, "x", **options)


def test_recipes_keep_the_question() -> None:
    asked = (TRAVEL, Choice("a", "b", "c", "d", "other", label="Letter"))
    recipe = frames.Recipe(FIVE, ("x", "y"), asked, other="other", skip_missing=True)
    again = frames.Recipe.from_json(recipe.to_json())
    assert again == recipe
    assert again.by_column["y"].label == "Letter"
    assert again.answers["x"] == TRAVEL
    assert again.bounds == {}
    numbers = Number(0, 180, unit="minutes")
    table = json.loads(recipe.to_json()) | {"other": None}
    table["columns"] = [{"name": "x", "question": numbers.to_document()}]
    with pytest.raises(InvalidArgumentError, match="question of column 'x' must have 5 answers"):
        frames.Recipe.from_json(json.dumps(table))


CSV = "stars,travel,crashed,town\n1,car,true,A\n5.0,train,False,B\n 3,none,0,C\n4,,1,\n"
ASKED: dict[str, tuple[Answers, AnswerMechanism]] = {
    "stars": (STARS, FIVE),
    "travel": (TRAVEL, FIVE),
    "crashed": (YesNo(), TWO),
}


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
@pytest.mark.parametrize("column", list(ASKED))
def test_files_of_text(engine: str, column: str, tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    source.write_text(CSV)
    question, mechanism = ASKED[column]
    options: dict[str, Any] = {"mechanism": mechanism, "question": question, "seed": 6}
    for target in (tmp_path / "r.parquet", tmp_path / "r.csv"):
        recipe = frames.privatize_files(
            source, target, column, keep="town", skip_missing=True, engine=engine, **options
        )
        assert frames.read_recipe(target) == recipe
        assert frames.tally_files(target, engine=engine)[column].total == 3 + (column != "travel")
    truth = {"stars": [1, 5, 3, 4], "travel": ["car", "train", "none", None]}
    truth["crashed"] = [True, False, False, True]
    wanted = frames.privatize(
        pa.table({column: truth[column]}), column, skip_missing=True, **options
    )
    assert pq.read_table(tmp_path / "r.parquet").column(1).to_pylist() == (
        wanted.column(0).to_pylist()
    )


@pytest.mark.usefixtures("spark")
def test_files_with_spark(tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    source.write_text(CSV)
    for column, (question, mechanism) in ASKED.items():
        target = tmp_path / column
        frames.privatize_files(
            source, target, column, mechanism=mechanism, question=question,
            skip_missing=True, engine="spark",
        )  # fmt: skip
        counts = frames.tally_files(target, engine="spark")
        assert counts == frames.tally_files(target)
        assert counts[column].total == 3 + (column != "travel")


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "spark"])
def test_a_refused_text_has_its_row_and_how_many_there_are(engine: str, tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    source.write_text("travel,x\ncar,1\nboat,2\ntrain,3\nship,4\n")
    message = r"column 'travel' at row 1 \(one of 2 refused rows\) must be one of .* found 'boat'"
    with pytest.raises(InvalidArgumentError, match=message):
        frames.privatize_files(
            source, tmp_path / "r.csv", "travel", mechanism=FIVE, question=TRAVEL, engine=engine
        )
    assert not (tmp_path / "r.csv").exists()
    target = tmp_path / "other.parquet"
    frames.privatize_files(
        source, target, "travel", mechanism=FIVE, question=TRAVEL, engine=engine, other="other",
    )  # fmt: skip
    assert frames.tally_files(target)["travel"].total == 4


def test_streams_of_text(tmp_path: Path) -> None:
    target = tmp_path / "r.parquet"
    stream = io.BytesIO(b"travel\ncar\nNone\nNA\n\nnone\n")
    recipe = frames.privatize_files(
        stream, target, "travel", mechanism=FIVE, question=TRAVEL, skip_missing=True, other="other"
    )
    assert recipe.other == "other"
    # "none" is an answer, "None" is another text, and "NA" and the empty line are missing
    assert frames.tally_files(target)["travel"].total == 3


def test_seeded_frames_agree_with_the_mechanism_itself() -> None:
    """The words of a column are those of its stream, one per row."""
    values = ["car", "train", "other"] * 50
    drawn = frames.privatize(
        pa.table({"x": values}), "x", mechanism=FIVE, question=TRAVEL, seed=9
    ).column(0)
    key = np.random.SeedSequence((9, 0)).generate_state(2, np.uint64)
    rng = np.random.Generator(np.random.Philox(key=key))
    wanted = FIVE.privatize(encode(TRAVEL, values), rng)
    np.testing.assert_array_equal(drawn.to_numpy() % 1000, wanted)

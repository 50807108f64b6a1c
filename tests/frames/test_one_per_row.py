"""Several attributes: one drawn at random per row, in wide and long layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest, chisquare

from noutput import InvalidArgumentError, TableMechanism, frames
from tests.frames.conftest import BOUNDS, Backend

COLUMNS = ["minutes", "rating"]


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_every_row_gives_one_report(
    backend: Backend, layout: str, people: Any, five_outputs: TableMechanism
) -> None:
    frame = backend.privatize(
        people,
        COLUMNS,
        mechanism=five_outputs,
        bounds=BOUNDS,
        keep="id",
        one_per_row=True,
        layout=layout,
    )
    rows = backend.rows(frame)
    if layout == "long":
        assert rows.column_names == ["id", "attribute", frames.report_name("report", five_outputs)]
        assert sorted(rows["id"].to_pylist()) == list(range(1000))
        attributes = rows["attribute"].to_pylist()
    else:
        names = [frames.report_name(column, five_outputs) for column in COLUMNS]
        present = np.array([rows[name].is_valid().to_pylist() for name in names])
        assert present.sum(axis=0).tolist() == [1] * 1000
        attributes = [COLUMNS[index] for index in present.argmax(axis=0)]
    assert binomtest(attributes.count("minutes"), 1000).pvalue > 1e-9
    counted = frames.tally(frame, COLUMNS, five_outputs, layout=layout)
    assert {name: tally.total for name, tally in counted.items()} == {
        name: attributes.count(name) for name in COLUMNS
    }


@pytest.mark.parametrize("one_per_row", [False, True])
def test_both_layouts_hold_the_same_reports(
    ordered: Backend, one_per_row: bool, people: Any, five_outputs: TableMechanism
) -> None:
    options: dict[str, Any] = {
        "mechanism": five_outputs,
        "bounds": BOUNDS,
        "one_per_row": one_per_row,
        "seed": 3,
    }
    wide, long = (
        frames.tally(
            ordered.privatize(people, COLUMNS, layout=layout, **options),
            COLUMNS,
            five_outputs,
            layout=layout,
        )
        for layout in ("wide", "long")
    )
    expected = frames.privatize(people, COLUMNS, **options)
    assert wide == long == frames.tally(expected, COLUMNS, five_outputs)
    assert sum(tally.total for tally in wide.values()) == (1000 if one_per_row else 2000)


def test_the_choice_is_uniform_and_the_reports_fit(five_outputs: TableMechanism) -> None:
    """Seventy columns, each at its own value; more than numpy's `choose` can handle."""
    values = np.linspace(-1.0, 1.0, 70)
    table = pa.table({f"c{i}": np.full(50_000, value) for i, value in enumerate(values)})
    names = table.column_names
    frame = frames.privatize(
        table, names, mechanism=five_outputs, bounds=(-1, 1), one_per_row=True, seed=4
    )
    tallies = frames.tally(frame, names, five_outputs)
    assert chisquare([tally.total for tally in tallies.values()]).pvalue > 1e-4
    expected = sum(
        five_outputs.probabilities(value) * tallies[name].total
        for name, value in zip(names, values, strict=True)
    )
    counts = np.sum([tally.counts for tally in tallies.values()], axis=0)
    assert chisquare(counts, expected).pvalue > 1e-4


def test_a_missing_value_that_was_drawn_gives_no_report(five_outputs: TableMechanism) -> None:
    """Its turn is not passed on to another column: that would depend on what is missing."""
    table = pa.table({"a": pa.nulls(2000, pa.float64()), "b": np.zeros(2000)})
    for layout in ("wide", "long"):
        frame = frames.privatize(
            table,
            ["a", "b"],
            mechanism=five_outputs,
            bounds=(-1, 1),
            one_per_row=True,
            skip_missing=True,
            layout=layout,
            seed=1,
        )
        tallies = frames.tally(frame, ["a", "b"], five_outputs, layout=layout)
        assert tallies["a"].total == 0
        assert 900 < tallies["b"].total < 1100


def test_values_are_checked_whether_drawn_or_not(five_outputs: TableMechanism) -> None:
    table = pa.table({"a": [0.0], "b": [2.0]})
    for _ in range(10):
        with pytest.raises(InvalidArgumentError, match="column 'b' at row 0"):
            frames.privatize(
                table, ["a", "b"], mechanism=five_outputs, bounds=(-1, 1), one_per_row=True
            )


def test_the_long_layout_needs_its_own_names(five_outputs: TableMechanism) -> None:
    table = pa.table({"a": [0.0], "attribute": ["x"]})
    with pytest.raises(InvalidArgumentError, match="names that the result needs"):
        frames.privatize(
            table, "a", mechanism=five_outputs, bounds=(-1, 1), keep="attribute", layout="long"
        )

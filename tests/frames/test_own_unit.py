"""Tables in the unit of their question: columns are drawn without being mapped to [-1, 1]."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import noutput as no
from noutput import frames
from noutput.interval import Interval
from noutput.mechanisms.table import TableMechanism, unit_mechanism
from tests.tables import jump_table

LOWER, UPPER = 0.1, 25_000.7
EDGES = tuple(LOWER + (UPPER - LOWER) * k / 7 for k in range(1, 7))


def jumping() -> TableMechanism:
    """Return a table with jumps of which nearly every draw tells the row."""
    knots = (LOWER, *(x for edge in EDGES for x in (edge, edge)), UPPER)
    weights = np.full((len(knots),) * 2, 16)
    np.fill_diagonal(weights, (1 << 32) - 16 * (len(knots) - 1))
    return TableMechanism(20.0, None, weights, knots)


def test_numbers_next_to_an_edge_keep_their_side() -> None:
    mechanism = jumping()
    sides = [x for edge in EDGES for x in (math.nextafter(edge, 0.0), edge)]
    drawn = frames.privatize(
        pa.table({"x": sides}), "x", mechanism=mechanism, bounds=(LOWER, UPPER), seed=1
    )
    expected = [int(mechanism.probabilities(x).argmax()) for x in sides]
    assert len(set(expected)) == len(sides)
    counts = frames.tally(drawn, "x", mechanism).counts
    assert [index for index, count in enumerate(counts) if count == 1] == expected
    # mapped to [-1, 1], some numbers would change their side
    units = Interval(LOWER, UPPER).to_unit(sides)
    moved = unit_mechanism(mechanism.plain)
    assert isinstance(moved, TableMechanism)
    assert [int(row.argmax()) for row in moved.probabilities(units)] != expected


def test_recipes_of_such_tables_are_read_again() -> None:
    mechanism = jumping()
    recipe = frames.Recipe(mechanism, ("x",), (no.Number(LOWER, UPPER, edges=EDGES),))
    assert frames.Recipe.from_json(recipe.to_json()) == recipe


def test_bounds_that_the_table_does_not_have_are_refused() -> None:
    frame = pa.table({"x": [1.0]})
    with pytest.raises(no.InvalidArgumentError, match="have the bounds of the mechanism"):
        frames.privatize(frame, "x", mechanism=jumping(), bounds=(0, 25_000))
    with pytest.raises(no.InvalidArgumentError, match="pilot must be left out: the table is for"):
        frames.privatize(frame, "x", mechanism=jumping(), bounds=(LOWER, UPPER), pilot=0.2)


def test_estimates_take_the_unit_of_the_table() -> None:
    table = jump_table(2.0, (0.0, 90.0, 180.0))
    mechanism, values = TableMechanism.of(table), np.linspace(0.0, 120.0, 4_000)
    reports = mechanism.privatize(values, np.random.default_rng(3))
    tally = no.Tally.of(mechanism, reports)
    found = no.estimate_mean(mechanism, tally, (0, 180))
    assert abs(found.value - 60.0) < 4.0 * found.standard_error
    moved = unit_mechanism(table)
    assert isinstance(moved, TableMechanism)
    assert found == no.estimate_mean(moved, tally, (0, 180))
    question = no.Number(0, 180)
    assert (
        no.summarize(mechanism, tally, question).to_dict()
        == no.summarize(moved, tally, question).to_dict()
    )

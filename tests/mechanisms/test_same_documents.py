"""The table with numpy and the table without it accept exactly the same documents."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.campaign import Table
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.exact import SCALE
from noutput.mechanisms.table import TableMechanism
from tests.campaign.mutations import table_document
from tests.campaign.vectors import vectors
from tests.tables import tables

Document = dict[str, Any]
QUARTER = SCALE // 4
LEAST, MOST = 2.0**-40, 1e-9 + 2.0**-40


def verdicts(found: Document) -> list[str]:
    """Return what each reader makes of a document: a fingerprint, or the name of a refusal."""
    text = json.dumps(found)
    readers: list[Callable[[str], Any]] = [Table.from_json, TableMechanism.from_json]
    result = []
    for read in readers:
        try:
            table = read(text)
        except InvalidArgumentError as error:
            result.append(str(error))
        else:
            assert type(table).from_json(table.to_json()) == table
            result.append(table.fingerprint)
    return result


def assert_same(found: Document, *, accepted: bool) -> None:
    plain, mechanism = verdicts(found)
    assert plain == mechanism
    assert (plain == found["fingerprint"]) is accepted


def signed(found: Document) -> Document:
    """Return a document with the fingerprint of what it says."""
    parts = (found["epsilon"], found["axes"], found["weights"])
    return {**found, **table_document(*parts)}


@st.composite
def mutations(draw: st.DrawFn) -> Document:
    """Return the document of a table, one or two numbers of which have moved a little or a lot."""
    found: Document = json.loads(draw(tables(max_outputs=6)).to_json())
    for _ in range(draw(st.integers(1, 2))):
        part = draw(st.sampled_from(("epsilon", "axes", "weights")))
        size = draw(st.one_of(st.floats(LEAST, MOST), st.sampled_from((1e-6, 1.0, 1e101))))
        move = math.copysign(size, draw(st.sampled_from((-1.0, 1.0))))
        if part == "epsilon":
            found[part] += move
        elif part == "weights":
            row = draw(st.sampled_from(found[part]))
            places = draw(st.permutations(range(len(row))))[:2]
            units = draw(st.sampled_from((1, 2, 1 << 16)))
            row[places[0]] += units
            row[places[1]] -= units * draw(st.sampled_from((0, 1)))
        else:
            place = draw(st.sampled_from((0, 1, -2, -1)))
            found[part][0][place] += move
    try:
        return signed(found) if draw(st.booleans()) else found
    except struct.error:  # weights that no fingerprint can hold
        return found


@given(mutations())
def test_both_read_the_same_from_mutated_documents(found: Document) -> None:
    plain, mechanism = verdicts(found)
    assert plain == mechanism


@given(tables(max_outputs=6))
def test_both_accept_every_table(table: TableMechanism) -> None:
    assert_same(json.loads(table.to_json()), accepted=True)


EDGE: Document = json.loads(
    TableMechanism(1.1, [-2.0, 2.0], [[3 * QUARTER, QUARTER], [QUARTER, 3 * QUARTER]]).to_json()
)


def test_the_constructor_moves_such_knots_to_the_ends() -> None:
    table = TableMechanism(1.1, [-2.0, 2.0], EDGE["weights"], [-1.0000000001, 0.9999999999])
    assert table.knots.tolist() == [-1.0, 1.0]


def close_rows() -> list[list[int]]:
    """Return rows with the means -1 - 5.2e-10, -1 - 1.2e-10 and 1 of the outputs -2, 0.25, 2."""
    middle = 1 << 20
    difference = QUARTER * 2 + middle // 8
    low = (SCALE - middle - difference) // 2
    high = low + difference
    return [
        [high + 1, middle - 1, low],
        [high + 1, middle - 2, low + 1],
        [low - middle // 8, middle, high + middle // 8],
    ]


def test_knots_that_the_ends_would_overtake_are_refused() -> None:
    rows = close_rows()
    outputs = [-2.0, 0.25, 2.0]
    means = [float(np.dot(outputs, row)) / SCALE for row in rows]
    assert means[0] < means[1] < -1.0
    assert means[0] == pytest.approx(-1.0, abs=1e-9, rel=0.0)
    for knots in (None, means):
        with pytest.raises(InvalidArgumentError, match="knots"):
            TableMechanism(2.0, outputs, rows, knots)


SHARED = [case["table"] for case in vectors("tables")["malformed"]]
SHARED += [pair["bad"] for pair in vectors("tables")["lying"]]


@pytest.mark.parametrize("found", SHARED, ids=range(len(SHARED)))
def test_both_refuse_the_vectors_in_the_same_words(found: Document) -> None:
    assert_same(found, accepted=False)

from __future__ import annotations

import json
import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.campaign import Table
from noutput.errors import DocumentError, InvalidArgumentError, PrivacyError
from noutput.mechanisms import exact
from noutput.mechanisms.table import TableMechanism
from tests.campaign.examples import SHAPES, example_table
from tests.campaign.vectors import vectors
from tests.tables import tables


@given(tables(), st.floats(-1.0, 1.0), st.integers(0, (1 << 64) - 1))
def test_it_is_the_mechanism_without_numpy(mechanism: TableMechanism, x: float, word: int) -> None:
    table = Table.from_json(mechanism.to_json())
    assert table == mechanism.plain
    assert TableMechanism.of(table) == mechanism
    assert table.to_json() == mechanism.to_json()
    assert table.fingerprint == mechanism.fingerprint
    assert table.draw(x, word) == mechanism.draw(x, word)
    assert table.privacy_loss() == mechanism.privacy_loss()
    assert (table.n_outputs, table.bits) == (mechanism.n_outputs, mechanism.bits)


def test_draws_agree_with_the_vectors() -> None:
    found = vectors("draws")
    ready = [Table.from_document(table) for table in found["tables"]]
    for case in found["draws"]:
        assert ready[case["table"]].draw(case["x"], int(case["word"], 16)) == case["output"]


def test_draws_of_a_large_table_agree_with_the_vectors() -> None:
    """A table of the default size: 128 outputs and 128 knots."""
    found = vectors("balanced")
    table = Table.from_document(json.loads(found["campaign"])["tables"][0])
    assert (table.n_outputs, len(table.knots), table.bits) == (128, 128, 7)
    assert max(case["output"] for case in found["draws"]) > 100
    for case in found["draws"]:
        assert table.draw(case["x"], int(case["word"], 16)) == case["output"]


def test_the_exponential_agrees_with_the_vectors() -> None:
    for case in vectors("exponential")["cases"]:
        assert exact.exponential_floor(case["epsilon"]) == int(case["floor"])


LYING = vectors("tables")["lying"]


def test_there_are_100_lying_tables_half_of_them_by_one_unit() -> None:
    assert len(LYING) == 100
    assert sum(pair["extra"] == 1 for pair in LYING) == 50


@pytest.mark.parametrize("pair", LYING, ids=range(len(LYING)))
def test_a_lying_table_is_refused_and_its_honest_twin_is_not(pair: dict[str, object]) -> None:
    good, bad = json.dumps(pair["good"]), json.dumps(pair["bad"])
    assert Table.from_json(good).fingerprint == TableMechanism.from_json(good).fingerprint
    with pytest.raises(PrivacyError) as caught:
        Table.from_json(bad)
    assert caught.value.output == pair["output"]
    high, low = caught.value.weights
    assert math.log(high / low) > caught.value.epsilon - 1e-9
    with pytest.raises(PrivacyError):
        TableMechanism.from_json(bad)


MALFORMED = {case["why"]: case["table"] for case in vectors("tables")["malformed"]}


@pytest.mark.parametrize("table", MALFORMED.values(), ids=MALFORMED.keys())
def test_what_is_no_table_is_refused(table: object) -> None:
    with pytest.raises(InvalidArgumentError, match="must"):
        Table.from_json(json.dumps(table))


def test_certify_takes_any_epsilon() -> None:
    table = example_table(SHAPES[2])
    loss = table.privacy_loss()
    table.certify(loss)
    with pytest.raises(PrivacyError):
        table.certify(math.nextafter(loss, 0.0))


def test_weights_of_numpy_are_certified_as_whole_numbers() -> None:
    rows = tuple(tuple(np.array(row)) for row in ((3 << 30, 1 << 30), (1 << 30, 3 << 30)))
    table = Table(1.1, ((-1.0, 1.0),), rows)
    assert {type(weight) for row in table.weights for weight in row} == {int}
    with pytest.raises(PrivacyError):
        Table(1.0, ((-1.0, 1.0),), rows)


def test_only_a_certified_table_becomes_a_mechanism() -> None:
    with pytest.raises(InvalidArgumentError, match="plain must be a Table"):
        TableMechanism.of(json.loads(example_table(SHAPES[0]).to_json()))


def test_it_cannot_be_changed() -> None:
    table = example_table(SHAPES[0])
    with pytest.raises(FrozenInstanceError):
        table.epsilon = 9.0  # type: ignore[misc]
    twin = pickle.loads(pickle.dumps(table))  # noqa: S301
    assert twin == table
    assert hash(twin) == hash(table)
    assert table != "table"


def test_text_that_is_no_document_is_refused() -> None:
    with pytest.raises(DocumentError):
        Table.from_json("{}")

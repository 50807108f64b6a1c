from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.errors import DocumentError, InvalidArgumentError, NoutputError, PrivacyError
from noutput.mechanisms.table import TableMechanism
from tests.tables import tables


@given(tables())
def test_round_trip(table: TableMechanism) -> None:
    twin = TableMechanism.from_json(table.to_json())
    assert twin == table
    assert twin.weights.tolist() == table.weights.tolist()
    assert twin.outputs.tolist() == table.outputs.tolist()
    assert twin.knots.tolist() == table.knots.tolist()
    assert twin.to_json() == table.to_json()


def test_the_fingerprint_is_stable() -> None:
    quarter = 1 << 30
    table = TableMechanism(1.1, [-2, 2], [[3 * quarter, quarter], [quarter, 3 * quarter]])
    assert table.fingerprint == FINGERPRINT


FINGERPRINT = "aba5c601e0e50344e09df221d20c491d8c0412b24f92648ea1687770410075e6"


@pytest.fixture
def good(five_outputs: TableMechanism) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(five_outputs.to_json())
    return document


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no epsilon": lambda d: d.pop("epsilon"),
    "no weights": lambda d: d.pop("weights"),
    "extra": lambda d: d.update(extra=1),
    "format": lambda d: d.update(format="table"),
    "newer": lambda d: d.update(version=2),
    "version true": lambda d: d.update(version=True),
    "scale": lambda d: d.update(scale=1 << 31),
    "epsilon text": lambda d: d.update(epsilon="4"),
    "epsilon null": lambda d: d.update(epsilon=None),
    "epsilon huge": lambda d: d.update(epsilon=10**400),
    "epsilon bool": lambda d: d.update(epsilon=True),
    "outputs dict": lambda d: d.update(outputs={}),
    "outputs text": lambda d: d["outputs"].__setitem__(0, "x"),
    "outputs many": lambda d: d.update(outputs=list(range(10_000))),
    "weights float": lambda d: d["weights"][0].__setitem__(0, 1.0),
    "weights huge": lambda d: d["weights"][0].__setitem__(0, 10**30),
    "weights negative": lambda d: d["weights"][0].__setitem__(0, -1),
    "weights ragged": lambda d: d["weights"][0].pop(),
    "weights many": lambda d: d.update(weights=[[1]] * 5000),
    "weights flat": lambda d: d.update(weights=[1, 2, 3]),
    "knots short": lambda d: d["knots"].pop(),
    "fingerprint": lambda d: d.update(fingerprint="0" * 64),
    "fingerprint null": lambda d: d.update(fingerprint=None),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_changed_documents_are_refused(
    good: dict[str, Any], change: Callable[[dict[str, Any]], Any]
) -> None:
    change(good)
    with pytest.raises(InvalidArgumentError, match="must"):
        TableMechanism.from_json(json.dumps(good))


def test_a_smaller_claim_is_refused_whatever_the_fingerprint(good: dict[str, Any]) -> None:
    good["epsilon"] *= 0.99
    with pytest.raises(PrivacyError):
        TableMechanism.from_json(json.dumps(good))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "null",
        "3",
        '{"format": "noutput-table"',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1, "a": 2}',
        "[" * 100_000,
        '{"a":' * 50_000,
        "9" * 5000,
        b"\xff\xfe\x00",
        " " * ((1 << 24) + 1),
        None,
        42,
    ],
    ids=range(16),
)
def test_malicious_text_is_refused(text: Any) -> None:
    with pytest.raises(DocumentError, match="must"):
        TableMechanism.from_json(text)


@given(st.binary(max_size=200))
def test_noise_is_refused(noise: bytes) -> None:
    with pytest.raises(NoutputError):
        TableMechanism.from_json(noise)

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
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
    means = twin.weights @ twin.outputs / twin.scale  # computed: no document holds them
    np.testing.assert_allclose(means, table.knots, atol=1e-8, rtol=0.0)
    assert twin.knots.tolist() == table.knots.tolist()
    assert twin.to_json() == table.to_json()


def test_the_fingerprint_is_stable() -> None:
    quarter = 1 << 30
    table = TableMechanism(1.1, [-2, 2], [[3 * quarter, quarter], [quarter, 3 * quarter]])
    assert table.fingerprint == FINGERPRINT


FINGERPRINT = "e48e2d23194fa150adad3a2aa9afcc4892f1419b17e2738015e4c2fe2683cd00"


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
    "outputs": lambda d: d.update(outputs=[-1.0, 0.0, 1.0]),
    "axes dict": lambda d: d.update(axes={}),
    "axes text": lambda d: d["axes"].__setitem__(0, "x"),
    "axes many": lambda d: d.update(axes=list(range(10_000))),
    "knots many": lambda d: d.update(axes=[list(range(10_000))]),
    "knots text": lambda d: d["axes"][0].__setitem__(0, "x"),
    "weights float": lambda d: d["weights"][0].__setitem__(0, 1.0),
    "weights huge": lambda d: d["weights"][0].__setitem__(0, 10**30),
    "weights negative": lambda d: d["weights"][0].__setitem__(0, -1),
    "weights ragged": lambda d: d["weights"][0].pop(),
    "weights many": lambda d: d.update(weights=[[1]] * 5000),
    "weights flat": lambda d: d.update(weights=[1, 2, 3]),
    "knots short": lambda d: d["axes"][0].pop(),
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

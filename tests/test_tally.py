from __future__ import annotations

import json
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noutput as no
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms.table import TableMechanism

counts = st.lists(st.integers(0, 10**40), min_size=1, max_size=16).map(tuple)


def test_counts_reports_of_any_shape(five_outputs: TableMechanism) -> None:
    tally = no.Tally.of(five_outputs, np.array([[0, 1], [4, 4]], np.uint8))
    assert tally == no.Tally(five_outputs.fingerprint, (1, 1, 0, 0, 2))
    assert tally.total == 4
    assert no.Tally.of(five_outputs, []).total == 0


@pytest.mark.parametrize("reports", [[0.5], [5], [-1], ["a"]])
def test_refuses_what_is_no_report(five_outputs: TableMechanism, reports: list[object]) -> None:
    with pytest.raises(InvalidArgumentError, match="reports"):
        no.Tally.of(five_outputs, reports)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [(1, -1), (1.0, 2), (True, 2), ("1", 2), "12", 3])
def test_refuses_what_is_no_count(bad: tuple[int, ...]) -> None:
    with pytest.raises(InvalidArgumentError, match="counts"):
        no.Tally("f", bad)


def test_a_list_of_counts_becomes_a_tuple() -> None:
    assert hash(no.Tally("f", [1, 2])) == hash(no.Tally("f", (1, 2)))  # type: ignore[arg-type]


@given(counts, st.integers(1, 5))
def test_adding_never_loses_precision(some: tuple[int, ...], times: int) -> None:
    total = no.Tally.sum([no.Tally("f", some)] * times)
    assert total.counts == tuple(times * count for count in some)
    assert no.Tally("f", some).__add__(no.Tally("f", some)).total == 2 * sum(some)


def test_adding_needs_the_same_mechanism() -> None:
    with pytest.raises(InvalidArgumentError, match="same mechanism"):
        no.Tally("f", (1, 2)) + no.Tally("g", (1, 2))
    with pytest.raises(InvalidArgumentError, match="2 counts"):
        no.Tally("f", (1, 2)) + no.Tally("f", (1, 2, 3))
    with pytest.raises(InvalidArgumentError, match="at least one"):
        no.Tally.sum([])
    with pytest.raises(TypeError):
        no.Tally("f", (1, 2)) + 3  # type: ignore[operator]


@given(counts)
def test_json_round_trip(some: tuple[int, ...]) -> None:
    tally = no.Tally("f" * 64, some)
    assert no.Tally.from_json(tally.to_json()) == tally
    assert no.Tally.from_json(tally.to_json().encode()) == tally
    assert pickle.loads(pickle.dumps(tally)) == tally  # noqa: S301


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", "noutput-table"),
        ("version", 2),
        ("version", True),
        ("fingerprint", 3),
        ("counts", [1.5]),
        ("counts", [-1]),
        ("counts", [True]),
        ("counts", {"0": 1}),
        ("extra", 1),
    ],
)
def test_json_of_another_kind_is_refused(key: str, value: object) -> None:
    content = json.loads(no.Tally("f", (1, 2)).to_json())
    content[key] = value
    with pytest.raises(DocumentError):
        no.Tally.from_json(json.dumps(content))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"counts": NaN}', "{}"])
def test_malformed_json_is_refused(text: str) -> None:
    with pytest.raises(DocumentError):
        no.Tally.from_json(text)


def test_by_attribute_equals_counting_each(
    five_outputs: TableMechanism, rng: np.random.Generator
) -> None:
    attributes = rng.integers(0, 3, size=(50, 2))
    reports = rng.integers(0, 5, size=(50, 2))
    tallies = no.Tally.by_attribute(five_outputs, attributes, reports, 4)
    for index, tally in enumerate(tallies):
        assert tally == no.Tally.of(five_outputs, reports[attributes == index])


def test_by_attribute_refuses_what_does_not_match(five_outputs: TableMechanism) -> None:
    with pytest.raises(InvalidArgumentError, match="shape"):
        no.Tally.by_attribute(five_outputs, [0], [0, 1], 2)
    with pytest.raises(InvalidArgumentError, match="attributes"):
        no.Tally.by_attribute(five_outputs, [2], [0], 2)


def test_a_long_list_may_stand_beside_an_array(five_outputs: TableMechanism) -> None:
    rng = np.random.default_rng(4)
    attributes, reports = rng.integers(0, 3, 100_000), rng.integers(0, 5, 100_000)
    expected = no.Tally.by_attribute(five_outputs, attributes, reports, 3)
    assert no.Tally.by_attribute(five_outputs, attributes.tolist(), reports, 3) == expected
    assert no.Tally.by_attribute(five_outputs, attributes, reports.tolist(), 3) == expected


def test_large_arrays_are_counted_in_parts(five_outputs: TableMechanism) -> None:
    rng = np.random.default_rng(3)
    reports = rng.integers(0, 5, (3, 200_000), dtype=np.uint8).T
    attributes = rng.integers(0, 3, reports.shape)
    expected = [
        [int(np.sum((reports == k) & (attributes == a))) for k in range(5)] for a in range(3)
    ]
    assert no.Tally.of(five_outputs, reports).counts == tuple(np.sum(expected, axis=0).tolist())
    found = no.Tally.by_attribute(five_outputs, attributes, reports, 3)
    assert [list(tally.counts) for tally in found] == expected


def test_memory_does_not_grow_with_the_reports(five_outputs: TableMechanism) -> None:
    reports = np.zeros(10_000_000, np.uint8)
    tracemalloc.start()
    try:
        no.Tally.of(five_outputs, reports)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000

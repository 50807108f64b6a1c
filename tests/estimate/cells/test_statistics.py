"""Statistics: parsing, names, units, and vectors over places against people themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noutput as no
from noutput.estimate.statistics import Places, Statistic
from tests.estimate.cell_tables import KNOTS, acting

MINUTES = no.Number(0, 60, "minutes", edges=(15, 30))
INNER = (0.0, 15.0, 15.0, 22.5, 30.0, 30.0, 60.0)  # a knot inside a cell, without a jump


@given(st.lists(st.tuples(st.floats(0, 60), st.floats(0.01, 1)), min_size=1, max_size=6))
def test_vectors_are_the_statistics_of_people(people: list[tuple[float, float]]) -> None:
    numbers, weights = map(np.array, zip(*people, strict=True))
    shares = weights / weights.sum()
    below = {edge: float(shares[numbers < edge].sum()) for edge in (15.0, 30.0)}
    wanted = {
        "mean": float(shares @ numbers),
        "below 15": below[15.0],
        "below 30": below[30.0],
        "share 15 to 30": below[30.0] - below[15.0],
        "share 15 to 60": 1.0 - below[15.0],
        "share 0 to 60": 1.0,
    }
    for knots in (KNOTS, INNER):
        places, rows = Places(knots), acting(knots, numbers, shares)
        for name, value in wanted.items():
            vector = places.by_row(Statistic.parse(name, MINUTES).vector(places))
            assert vector is not None
            assert rows @ vector == pytest.approx(value, abs=1e-9), name


def test_numbers_on_an_edge_are_not_below_it() -> None:
    places = Places(KNOTS)
    vector = places.by_row(Statistic.parse("below 30", MINUTES).vector(places))
    assert vector is not None
    for number, share in ((30.0, 0.0), (float(np.nextafter(30.0, 0.0)), 1.0)):
        assert acting(KNOTS, [number], [1.0]) @ vector == pytest.approx(share, abs=1e-12)


def test_a_knot_without_a_jump_has_two_places_of_one_row() -> None:
    places = Places(INNER)
    assert places.numbers.tolist() == [0.0, 15.0, 15.0, 22.5, 22.5, 30.0, 30.0, 60.0]
    assert places.edges == (15.0, 30.0)
    assert places.by_row(places.between(0.0, 22.5)) is None


@pytest.mark.parametrize("name", ["mean", "below 15", "share 15 to 30", "quantile 0.5"])
def test_names_are_read_back(name: str) -> None:
    parsed = Statistic.parse(name, MINUTES)
    assert parsed.name == name
    assert Statistic.parse(parsed, MINUTES) == parsed
    assert parsed.unit(MINUTES) == ("minutes" if name in ("mean", "quantile 0.5") else "")


@pytest.mark.parametrize(
    "name",
    ["", "means", "mean 3", "below", "below x", "below 0", "below 60", "below nan", "below 15 30",
     "share 15", "share 30 to 15", "share 15 to 15", "share -1 to 15", "share 15 to 61",
     "quantile 0", "quantile 1", "quantile nan", 3],
)  # fmt: skip
def test_what_is_no_statistic_of_a_number(name: object) -> None:
    with pytest.raises(no.InvalidArgumentError, match="statistic must"):
        Statistic.parse(name, MINUTES)


@pytest.mark.parametrize(
    ("name", "words"),
    [("below 20", "one of 15, 30: ask with an edge at 20"),
     ("share 20 to 40", r"ask with edges at \['20', '40'\]"),
     ("quantile 0.5", "no vector over places")],
)  # fmt: skip
def test_what_the_table_cannot_tell_says_what_to_ask_with(name: str, words: str) -> None:
    with pytest.raises(no.InvalidArgumentError, match=words):
        Statistic.parse(name, MINUTES).vector(Places(KNOTS))


def test_answers_have_their_shares_and_the_mean_score() -> None:
    stars = no.Scale(1, 2, 5)
    assert Statistic.parse("mean", stars).vector(stars).tolist() == [1.0, 2.0, 5.0]
    for name in ("5", 5.0):
        assert Statistic.parse(name, stars).vector(stars).tolist() == [0.0, 0.0, 1.0]
    mean = no.Choice("mean", "kind")
    assert Statistic.parse("mean", mean).vector(mean).tolist() == [1.0, 0.0]
    with pytest.raises(no.InvalidArgumentError, match="be one of"):
        Statistic.parse("6", stars)

"""What is published lets nobody compute anything about fewer people than the minimum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from noutput.campaign import Campaign, NextWave
from noutput.campaign.schedule import Schedule
from noutput.campaign.segments import Segments
from noutput.collector.store import open_store
from noutput.collector.store.interface import Store
from tests.collector.conftest import make_campaign
from tests.collector.labeled import MINUTES, labeled_campaign, scheduled_campaign
from tests.collector.seen import MINIMUM, OUTPUTS, TABLE, Sent, Watched, fewest_owners

NAMES = {"platform": ("ios", "android")}
SEGMENTS = Segments(NAMES, 100)  # type: ignore[arg-type]  # a mapping is taken


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(str(tmp_path_factory.mktemp("hiding") / "reports.db"))
    yield store
    store.close()


@contextmanager
def watching(store: Store, campaign: Campaign, minimum: int = MINIMUM) -> Iterator[Watched]:
    try:
        yield Watched(store, campaign, minimum)
    finally:
        store.delete(campaign.id)


def test_the_check_finds_what_subtraction_reveals() -> None:
    together, shown = [1] * 9, [1] * 7 + [0] * 2
    assert fewest_owners([together], range(9)) == 9
    assert fewest_owners([together, shown], range(9)) == 2
    assert fewest_owners([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], range(6)) == 3
    assert fewest_owners([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], "aabcde") == 2


SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]  # on a busy machine
ARRIVALS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 6), st.booleans()), max_size=9
)
Arrivals = list[tuple[int, int, int, bool]]


def arrive(watched: Watched, arrivals: Arrivals, *, closed: bool, leak: str = "") -> None:
    """Count reports of some rounds and labels, and look at what is published now and then.

    They are of as few people as can be: everybody answers as often as the schedule allows.
    """
    strata, latest = watched.layout.strata, 0
    schedule = watched.campaign.schedule
    turns = 1 if schedule is None else schedule.rounds_per_period // schedule.answers
    counted: Counter[tuple[int, int]] = Counter()
    for number, combination, count, look in arrivals:
        number, combination = number % strata.rounds, combination % strata.combinations
        latest = max(latest, number)
        before = counted[number, combination]
        people = [(number % turns, combination, before + index) for index in range(count)]
        counted[number, combination] += count
        watched.send(*(Sent(person, number, combination) for person in people))
        if look:
            watched.look(over=latest)
            spill(watched, leak)
    watched.look(over=latest + 1 if strata.rounds > 1 else 0, closed=closed)
    spill(watched, leak)


def spill(watched: Watched, leak: str) -> None:
    """Let the database publish what it should not."""
    store: Any = watched.store
    if leak:
        with store._write() as connection:
            connection.execute(text(leak))
        watched.see()


ALWAYS = Schedule("day", 1)  # the same people answer in every round
CAMPAIGNS = {
    "labels and rounds": scheduled_campaign(4, schedule=ALWAYS, segments=SEGMENTS, tables=(TABLE,)),
    "labels and periods": scheduled_campaign(
        schedule=Schedule("day", 2), segments=SEGMENTS, tables=(TABLE,)
    ),
    "labels and several answers": scheduled_campaign(
        1, schedule=Schedule("day", 4, answers=2), segments=SEGMENTS, tables=(TABLE,)
    ),
    "labels": labeled_campaign(NAMES, tables=(TABLE,)),
    "rounds": scheduled_campaign(schedule=Schedule("day", 2), tables=(TABLE,)),
    "neither": make_campaign(questions=MINUTES, tables=(TABLE,)),
}
LEAKS = {
    "published twice": "UPDATE counts SET moved = 0",
    "whatever is left": "UPDATE counts SET released = reports - moved WHERE reports > 0",
}


@pytest.mark.parametrize("name", CAMPAIGNS)
@given(arrivals=ARRIVALS, closed=st.booleans())
@example([(0, 1, 3, False), (0, 2, 3, True), (0, 1, 4, True), (0, 2, 1, True)], True)
@example([(1, 1, 3, True), (1, 2, 2, True), (3, 1, 2, True), (3, 0, 3, False)], True)
@example([(0, 1, 3, True), (2, 2, 1, True)], True)
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
def test_nothing_is_about_fewer_people_than_the_minimum(
    database: Store, name: str, arrivals: Arrivals, closed: bool
) -> None:
    with watching(database, CAMPAIGNS[name]) as watched:
        arrive(watched, arrivals, closed=closed)
        watched.check()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 6)), max_size=7), st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
def test_waves_hide_as_well(database: Store, arrivals: list[tuple[int, int]], closed: bool) -> None:
    first = labeled_campaign(NAMES, next_wave=NextWave(1000, 5000), tables=(TABLE,))
    counts = (((5,) * OUTPUTS,),)
    narrow = (first.tables[0].rescaled(0.0, 90.0),)
    with watching(database, first.successor(narrow, ((0.0, 90.0),), counts, ("",))) as watched:
        for index, (combination, count) in enumerate(arrivals):
            people = range(len(watched.sent), len(watched.sent) + count)
            watched.send(*(Sent(person, 0, combination, index % 2) for person in people))
            watched.look()
        watched.look(closed=closed)
        watched.check()


@pytest.mark.parametrize("leak", LEAKS)
def test_planted_leaks_are_found(database: Store, leak: str) -> None:
    arrivals = [(0, 1, 3, False), (0, 2, 3, True), (0, 1, 6, True), (0, 2, 1, True)]
    with watching(database, CAMPAIGNS["labels and rounds"]) as watched:
        arrive(watched, arrivals, closed=False)
        watched.check()
    with watching(database, CAMPAIGNS["labels and rounds"]) as watched:
        arrive(watched, arrivals, closed=False, leak=LEAKS[leak])
        with pytest.raises(AssertionError):
            watched.check()


def test_a_smaller_minimum_is_found(database: Store) -> None:
    with watching(database, CAMPAIGNS["labels"], minimum=3) as watched:
        arrive(watched, [(0, 1, 3, True)], closed=False)
        with pytest.raises(AssertionError):
            watched.check()

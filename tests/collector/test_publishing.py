"""The rule for what is published, case by case; `test_hiding` has what it promises."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from noutput.campaign.schedule import Schedule
from noutput.campaign.segments import Segments
from noutput.collector.cells import CellLayout
from noutput.collector.publishing import NewRelease, Publishing, ReleasePolicy
from noutput.collector.store.interface import Counted, Release
from tests.collector.conftest import make_campaign
from tests.collector.labeled import MINUTES, labeled_campaign, scheduled_campaign

NAMES = {"platform": ("ios", "android")}
ANDROID, IOS, NOTHING, WITHOUT = 10, 5, 0, 15  # first cells of the rows of a campaign with labels


def rows(due: list[NewRelease]) -> dict[int, dict[int, int]]:
    """Return what is released, by the number of its row."""
    return {new.release.question: new.reports for new in due}


def test_a_group_is_shown_from_the_minimum_on() -> None:
    publishing = Publishing(CellLayout(labeled_campaign(NAMES, 100)), ReleasePolicy(1, 0.1))
    cells = {IOS: Counted(60), IOS + 1: Counted(39)}
    assert publishing.due(cells, [], "", closed=False) == []
    cells[IOS + 1] = Counted(40)
    (new,) = publishing.due(cells, [], "now", closed=False)
    assert new == NewRelease(Release(1, 100, "now", 1, 100, 100), {IOS: 60, IOS + 1: 40})
    again = {IOS: Counted(159, 60), IOS + 1: Counted(40, 40)}
    assert publishing.due(again, [new.release], "", closed=False) == []
    again[IOS] = Counted(160, 60)
    (more,) = publishing.due(again, [new.release], "then", closed=False)
    assert more == NewRelease(Release(1, 200, "then", 2, 100, 100), {IOS: 100})


def test_releases_grow() -> None:
    publishing = Publishing(CellLayout(make_campaign(questions=MINUTES)), ReleasePolicy(10, 0.1))
    last = Release(0, 1000, "", 9, 10, 99)
    assert publishing.due({0: Counted(1099, 1000)}, [last], "", closed=False) == []
    assert len(publishing.due({0: Counted(1100, 1000)}, [last], "", closed=False)) == 1
    assert len(publishing.due({0: Counted(1010, 1000)}, [last], "", closed=True)) == 1
    assert publishing.due({0: Counted(1009, 1000)}, [last], "", closed=True) == []


def test_other_groups_are_not_one_group_under_another_name() -> None:
    publishing = Publishing(CellLayout(labeled_campaign(NAMES, 500)), ReleasePolicy())
    cells = {ANDROID: Counted(5000), IOS: Counted(400), IOS + 1: Counted(99), NOTHING: Counted(249)}
    assert rows(publishing.due(cells, [], "", closed=False)) == {2: {ANDROID: 5000}}
    cells[NOTHING] = Counted(250)
    others = {IOS: 400, IOS + 1: 99, NOTHING: 250}
    assert rows(publishing.due(cells, [], "", closed=False)) == {2: {ANDROID: 5000}, 3: others}
    cells[NOTHING] = Counted(1)  # at the end, what is left is of 500 people
    left = {IOS: 400, IOS + 1: 99, NOTHING: 1}
    assert rows(publishing.due(cells, [], "", closed=True)) == {2: {ANDROID: 5000}, 3: left}
    del cells[NOTHING]
    assert rows(publishing.due(cells, [], "", closed=True)) == {2: {ANDROID: 5000}}


def test_a_group_is_shown_when_it_has_twice_the_minimum() -> None:
    layout = CellLayout(labeled_campaign())
    publishing = Publishing(layout, ReleasePolicy(100, 0.0))
    rng = np.random.default_rng(5)
    counts, last = dict[int, Counted](), dict[int, Release]()
    total: Counter[int] = Counter()
    for combination in rng.choice(12, 12_000, p=np.arange(1, 13) / 78).reshape(-1, 20).tolist():
        for each in combination:
            counts[each * 5] = counts.get(each * 5, Counted(0))
            counts[each * 5] = counts[each * 5]._replace(reports=counts[each * 5].reports + 1)
            total[each] += 1
        for release, reports in publishing.due(counts, list(last.values()), "", closed=False):
            last[release.question] = release
            for cell, number in reports.items():
                known, own = counts[cell], release.question == cell // 5
                counts[cell] = known._replace(
                    released=known.released + number * own, moved=known.moved + number * (not own)
                )
        assert all(each in last for each, number in total.items() if number >= 200)
    assert layout.strata.combinations in last


def weeks(rounds_per_period: int, answers: int = 1) -> CellLayout:
    segments = Segments(NAMES, 100)  # type: ignore[arg-type]  # a mapping is taken
    schedule = Schedule("day", rounds_per_period, answers)
    return CellLayout(scheduled_campaign(schedule=schedule, segments=segments))


@pytest.mark.parametrize(("answers", "wanted"), [(1, 100), (3, 300)])
def test_what_is_left_of_a_period_is_published_without_labels_and_rounds(
    answers: int, wanted: int
) -> None:
    layout = weeks(3, answers)
    strata = layout.strata
    publishing = [Publishing(layout, ReleasePolicy(1, 0.0), over) for over in range(4)]
    ios = [strata.number(number, 1) * 5 for number in range(3)]
    each = wanted // 3
    cells = {ios[0]: Counted(each), ios[1]: Counted(each), ios[2]: Counted(wanted - 2 * each)}
    if answers == 1:
        for before in publishing[:3]:
            assert before.due(cells, [], "", closed=False) == []
        (new,) = publishing[3].due(cells, [], "now", closed=False)
        left = strata.number(strata.rounds, strata.combinations)
        assert new.release == Release(left, 100, "now", 1, 100, 100)
        assert new.reports == {cell: known.reports for cell, known in cells.items()}
        assert rows(publishing[1].due(cells, [], "", closed=True)) == {left: new.reports}
    cells[ios[2]] = Counted(wanted - 2 * each - 1)
    small = [new for new in publishing[3].due(cells, [], "", closed=True) if len(new.reports) > 1]
    assert small == []  # never


def test_two_periods_are_two_releases() -> None:
    layout = weeks(2)
    publishing = Publishing(layout, ReleasePolicy(1, 0.0), over=4)
    cells = {layout.strata.number(number, 1) * 5: Counted(60) for number in range(4)}
    due = publishing.due(cells, [], "", closed=False)
    left = layout.strata.number(layout.strata.rounds, layout.strata.combinations)
    assert [new.release for new in due] == [
        Release(left, 120, "", 1, 120, 120), Release(left, 240, "", 2, 120, 120),
    ]  # fmt: skip
    assert [min(new.reports) < layout.first_cell(2) for new in due] == [True, False]
    later = Publishing(layout, ReleasePolicy(1, 0.0), over=4, done=3)
    assert later.first_cell == layout.first_cell(2)


@pytest.mark.parametrize("closed", [False, True])
def test_rounds_without_labels(closed: bool) -> None:
    layout = CellLayout(scheduled_campaign())
    publishing = Publishing(layout, ReleasePolicy(10, 0.0), over=1)
    cells = {0: Counted(9), 5: Counted(10), 10: Counted(12, 10), 15: Counted(25, 10)}
    before = [Release(number, 10, "", 1, 10, 10) for number in (2, 3)]
    due = publishing.due(cells, before, "now", closed=closed)
    left = {14: {0: 9, 10: 2}} if closed else {}  # of rounds 0 and 2, without them
    assert rows(due) == {1: {5: 10}, 3: {15: 15}, **left}
    assert due[1].release == Release(3, 25, "now", 2, 10, 15)


@pytest.mark.parametrize("people", [10, 1])
def test_a_few_people_are_not_shown_because_they_answer_often(people: int) -> None:
    """A label held by ten people over 50 weekly rounds, or by one over 500: 500 reports."""
    segments = Segments(NAMES, 500)  # type: ignore[arg-type]  # a mapping is taken
    rounds = 500 // people
    campaign = scheduled_campaign(rounds, schedule=Schedule("week", 1), segments=segments)
    layout = CellLayout(campaign)
    strata = layout.strata
    cells = {}
    for number in range(rounds):
        cells[strata.number(number, 1) * 5] = Counted(people)
        cells[strata.number(number, 2) * 5] = Counted(1000)
    for closed in (False, True):
        publishing = Publishing(layout, ReleasePolicy(), over=rounds)
        due = publishing.due(cells, [], "", closed=closed)
        assert all(new.release.last == 1000 for new in due)
        assert len(due) == rounds

"""What is published lets nobody compute the counts of a combination with too few reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noutput.campaign import Campaign, NextWave
from noutput.campaign.segments import Segments
from noutput.collector.cells import CellLayout
from noutput.collector.publishing import Counted, Publishing
from noutput.collector.steps import Steps
from noutput.collector.store.interface import Release
from tests.collector.labeled import MINUTES, labeled_campaign, scheduled_campaign

MINIMUM = 4


def small(campaign: Campaign) -> CellLayout:
    """Return a layout whose campaign has a minimum that is small enough to try everything."""
    layout = CellLayout(campaign)
    assert layout.strata.segments is not None
    segments = replace(layout.strata.segments)
    object.__setattr__(segments, "minimum", MINIMUM)
    layout.strata = replace(layout.strata, segments=segments)
    return layout


class Watched:
    """A campaign whose reports are known one by one, and all that was ever published of it."""

    def __init__(self, layout: CellLayout) -> None:
        self.layout = layout
        self.cells: list[int] = []  # of every report
        self.known: dict[int, Counted] = {}
        self.releases: dict[int, Release] = {}
        self.inside: list[int | None] = []  # the step that every report was published in
        self.steps: list[int] = []  # the block of every step
        self.published: list[dict[int, int]] = []  # every state that anybody saw

    def count(self, cell: int) -> None:
        before = self.known.get(cell, Counted(0))
        self.known[cell] = before._replace(reports=before.reports + 1)
        self.cells.append(cell)
        self.inside.append(None)

    def look(self, *, final: int = 0, closed: bool = False) -> None:
        publishing = Publishing(self.layout, Steps(1, 0.1), final)
        due = publishing.due(self.known, list(self.releases.values()), "", closed=closed)
        for step in due:
            number = step.release.question
            self.releases[number] = step.release
            for cell, until in (step.taken or step.counts).items():
                old = self.known[cell]
                before = old.rest if step.taken else old.released
                fresh = [
                    place
                    for place, (mine, seen) in enumerate(zip(self.cells, self.inside, strict=True))
                    if mine == cell and seen is None
                ]
                assert len(fresh) == until - before
                for place in fresh:
                    self.inside[place] = len(self.steps)
            for cell, n in step.counts.items():
                self.known[cell] = self.known.get(cell, Counted(0))._replace(released=n)
            for cell, n in step.taken.items():
                self.known[cell] = self.known[cell]._replace(rest=n)
            self.steps.append(number)
        if due:
            self.published.append({c: k.released for c, k in self.known.items() if k.released})

    def functionals(self) -> list[list[int]]:
        """Return everything published as rows of coefficients, one per report.

        A row is the number of reports of a block as anybody saw it at one time. What it says is
        found from the published counts alone: which reports they are, `inside` remembers.
        """
        rows = []
        for until in range(1, len(self.steps) + 1):
            block = self.steps[until - 1]
            mine = {n for n in range(until) if self.steps[n] == block}
            rows.append([int(seen in mine) for seen in self.inside])
        return rows


def smallest_support(rows: list[list[int]]) -> int:
    """Return the fewest reports that a linear combination of functionals depends on, if not zero.

    Reports with the same coefficients in all rows are one unknown. Every subset of unknowns is
    tried: there is a combination that vanishes on all others if those have a lower rank.
    """
    groups = Counter(zip(*rows, strict=True))
    groups.pop((0,) * len(rows), None)
    columns, sizes = list(groups), list(groups.values())
    whole = rank(columns)
    best = sum(sizes)
    for kept in product((False, True), repeat=len(columns)):
        size = sum(n for n, keep in zip(sizes, kept, strict=True) if keep)
        others = [column for column, keep in zip(columns, kept, strict=True) if not keep]
        if 0 < size < best and rank(others) < whole:
            best = size
    return best


def rank(columns: list[tuple[int, ...]]) -> int:
    rows = [[Fraction(value) for value in column] for column in columns]
    found = 0
    for place in range(len(rows[0]) if rows else 0):
        pivot = next((n for n in range(found, len(rows)) if rows[n][place]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for n in range(found + 1, len(rows)):
            factor = rows[n][place] / rows[found][place]
            rows[n] = [a - factor * b for a, b in zip(rows[n], rows[found], strict=True)]
        found += 1
    return found


def test_the_check_finds_what_subtraction_reveals() -> None:
    together, shown = [1] * 9, [1] * 7 + [0] * 2
    assert smallest_support([together]) == 9
    assert smallest_support([together, shown]) == 2
    assert smallest_support([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]) == 3


ARRIVALS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 6), st.booleans()), max_size=9
)


@given(arrivals=ARRIVALS, closed=st.booleans())
@example([(0, 1, 3, False), (0, 2, 3, True), (0, 1, 4, True), (0, 2, 1, True)], True)
@example([(1, 1, 3, True), (1, 2, 2, True), (3, 1, 2, True), (3, 0, 3, False)], True)
@example([(0, 1, 3, True), (2, 2, 1, True)], True)
@settings(max_examples=120, deadline=None)
def test_no_linear_combination_depends_on_fewer_reports_than_the_minimum(
    arrivals: list[tuple[int, int, int, bool]], closed: bool
) -> None:
    names = {"platform": ("ios", "android")}
    watched = Watched(small(scheduled_campaign(segments=Segments(names, 100))))  # type: ignore[arg-type]
    strata = watched.layout.strata
    latest = 0
    for number, combination, count, look in arrivals:
        latest = max(latest, number)
        for n in range(count):
            watched.count(strata.number(number, combination) * 5 + n % 2)
        if look:
            watched.look(final=latest)
    watched.look(final=latest + 1, closed=closed)
    check(watched)


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(1, 6)), max_size=7), st.booleans())
@settings(max_examples=40, deadline=None)
def test_waves_hide_as_well(arrivals: list[tuple[int, int]], closed: bool) -> None:
    first = labeled_campaign(next_wave=NextWave(1000, 5000))
    second = first.successor(first.tables, ((0.0, 90.0),), (((5,) * 5,),), ("",))
    watched = Watched(small(second))
    for place, (combination, count) in enumerate(arrivals):
        wave = watched.layout.waves[place % 2]
        for n in range(count):
            cell = wave.cell("minutes", n % 2, combination)
            assert cell is not None
            watched.count(cell)
        watched.look()
    watched.look(closed=closed)
    check(watched)


def check(watched: Watched) -> None:
    layout = watched.layout
    if watched.steps:
        assert smallest_support(watched.functionals()) >= MINIMUM
    # What is published is what the steps say, and nothing of a combination that has too few.
    shown = watched.published[-1] if watched.published else {}
    totals = layout.totals(shown)
    assert totals == {each.question: each.reports for each in watched.releases.values()}
    taken = {cell: known.rest for cell, known in watched.known.items() if known.rest}
    elsewhere = [
        cell for cell, own in zip(shown, layout.are_counted(shown), strict=True) if not own
    ]
    assert layout.outputs(taken) == layout.outputs({cell: shown[cell] for cell in elsewhere})
    waves = layout.places(np.array(watched.cells, np.int64)).blocks.tolist()  # of one question
    parts = {wave: {step for of, step in zip(waves, watched.inside, strict=True) if of == wave}
             for wave in set(waves)}  # fmt: skip
    whole = all(len(steps) == 1 for steps in parts.values())
    for place, number in enumerate(watched.steps):
        check_step(
            layout,
            number,
            [watched.cells[n] for n, step in enumerate(watched.inside) if step == place],
            whole=whole,
        )


def check_step(layout: CellLayout, number: int, cells: list[int], *, whole: bool) -> None:
    """A step is what its block says, and where it has no labels it is not one combination.

    The only step, of all reports, may be anything: it is what a campaign without labels publishes.
    """
    strata = layout.strata
    of_round, combination = divmod(layout.block(number).stratum, strata.each)
    found = layout.places(np.array(cells)).strata
    sizes = Counter(strata.combinations_of(found).tolist())
    assert sizes.total() >= MINIMUM
    if of_round < strata.rounds:
        assert set(strata.rounds_of(found).tolist()) == {of_round}
    if combination < strata.combinations:
        assert set(sizes) == {combination}
    else:
        assert whole or 2 * (sizes.total() - max(sizes.values())) >= MINIMUM


def test_a_combination_is_shown_when_it_has_twice_the_minimum() -> None:
    layout = small(labeled_campaign())
    rng = np.random.default_rng(5)
    watched = Watched(layout)
    counted: Counter[int] = Counter()
    for stratum in rng.choice(12, 400, p=np.arange(1, 13) / 78).tolist():
        watched.count(stratum * 5 + int(rng.integers(5)))
        counted[stratum] += 1
        watched.look()
        for each, total in counted.items():
            assert (each in watched.releases) or total < 2 * MINIMUM
    assert layout.strata.rest(0) in watched.releases


def test_a_rest_is_not_one_combination_under_another_name() -> None:
    """Of 500 reports without labels, 499 would be those of the only hidden combination."""
    layout = CellLayout(labeled_campaign({"platform": ("ios", "android")}, 500))
    android, ios, nothing = 10, 5, 0  # the first cells of the combinations
    cells = {android: Counted(5000), ios: Counted(400), ios + 1: Counted(99), nothing: Counted(1)}
    publishing = Publishing(layout, Steps())
    for closed in (False, True):
        due = publishing.due(cells, [], "", closed=closed)
        assert [(step.release.question, step.counts) for step in due] == [(2, {android: 5000})]
    cells[nothing] = Counted(249)
    assert len(publishing.due(cells, [], "", closed=False)) == 1
    cells[nothing] = Counted(250)
    _, rest = publishing.due(cells, [], "", closed=False)
    assert rest.counts == {15: 650, 16: 99}


def test_all_reports_are_one_step_where_nothing_else_is_published() -> None:
    layout = CellLayout(labeled_campaign({"platform": ("ios", "android")}, 100))
    ios, nothing, rest = 5, 0, 15  # the first cells
    cells = {ios: Counted(90), ios + 1: Counted(8), nothing: Counted(1)}
    publishing = Publishing(layout, Steps())
    assert publishing.due(cells, [], "", closed=True) == []  # 99 reports
    cells[nothing] = Counted(2)
    assert publishing.due(cells, [], "", closed=False) == []
    (step,) = publishing.due(cells, [], "now", closed=True)
    assert (step.counts, step.taken) == (
        {rest: 92, rest + 1: 8},
        {c: n.reports for c, n in cells.items()},
    )
    assert step.release == Release(3, 100, "now", 1, 100, 100)
    android = Release(2, 100, "", 1, 100, 100)  # which was shown before: 100 are left
    assert publishing.due(cells | {10: Counted(100, 100)}, [android], "", closed=True) == []


def weeks(minimum: int = 100) -> tuple[Campaign, CellLayout]:
    campaign = scheduled_campaign(segments=Segments({"platform": ("ios", "web")}, minimum))  # type: ignore[arg-type]
    return campaign, CellLayout(campaign)


def test_small_combinations_are_shown_over_several_rounds() -> None:
    """Labels times rounds are many: what is too little in every round is enough in all."""
    _, layout = weeks(500)
    strata = layout.strata
    cells = {
        strata.number(number, combination) * 5: Counted(250)
        for number in range(14)
        for combination in range(3)
    }
    due = Publishing(layout, Steps(), final=14).due(cells, [], "", closed=True)
    shown = {divmod(step.release.question, strata.each): step.release.reports for step in due}
    kept = [number for number in range(14) if strata.keeps_labels(number)]
    assert kept == [1, 3, 6, 8, 11, 13]
    assert shown == {
        **{(number, 3): 750 for number in range(14) if number not in kept},
        **{(strata.pool, combination): 1500 for combination in range(3)},
    }


def test_labels_times_rounds_are_shown_by_label_and_by_round() -> None:
    """130 reports per combination, round and question, published round by round as they end."""
    names = {"platform": ("ios", "android", "web"), "version": ("4.1", "4.2", "other")}
    campaign = scheduled_campaign(
        3, segments=Segments(names),  # type: ignore[arg-type]  # a mapping is taken
        questions=tuple(replace(MINUTES[0], name=name) for name in ("a", "b", "c")),
    )  # fmt: skip
    layout = CellLayout(campaign)
    strata, rounds = layout.strata, range(19)
    cells: dict[int, Counted] = {}
    known: dict[int, Release] = {}
    for number in rounds:
        for combination, question in product(range(16), range(3)):
            cells[strata.number(number, combination) * 15 + question * 5] = Counted(130)
        publishing = Publishing(layout, Steps(), final=number + 1)
        for step in publishing.due(cells, list(known.values()), "", closed=number == 18):
            known[step.release.question] = step.release
            for cell, n in step.counts.items():
                cells[cell] = cells.get(cell, Counted(0))._replace(released=n)
            for cell, n in step.taken.items():
                cells[cell] = cells[cell]._replace(rest=n)
    shown: Counter[tuple[bool, bool]] = Counter()  # with a round, and with labels
    whole = set()
    for number, release in known.items():
        of_round, combination = divmod(layout.block(number).stratum, strata.each)
        shown[of_round < strata.pool, combination < strata.combinations] += release.reports
        whole.add(of_round)
    assert shown == {(True, False): 68_640, (False, True): 49_920}
    assert shown.total() == 19 * 16 * 3 * 130 == 118_560
    assert whole == {n for n in rounds if not strata.keeps_labels(n)} | {strata.pool}
    assert len(whole) - 1 == 11


def test_what_is_left_of_rounds_waits_for_more() -> None:
    _, layout = weeks()
    strata = layout.strata
    ios = [strata.number(number, 1) * 5 for number in range(4)]
    web = [strata.number(number, 2) * 5 for number in range(4)]
    pool = strata.number(strata.pool, 1) * 5
    cells = {ios[0]: Counted(30), web[0]: Counted(20), ios[1]: Counted(60), web[1]: Counted(10)}
    publishing = Publishing(layout, Steps(1, 0.0))
    assert publishing.due(cells, [], "", closed=False) == []
    assert replace(publishing, final=2).due(cells, [], "", closed=False) == []  # 90 of ios
    cells[ios[2]] = Counted(10)  # of a round whose rest has too few
    (step,) = replace(publishing, final=3, first=2).due(cells, [], "now", closed=False)
    assert (step.release, step.counts) == (
        Release(pool // 5, 100, "now", 1, 100, 100),
        {pool: 100},
    )
    assert step.taken == {ios[0]: 30, ios[1]: 60, ios[2]: 10}
    for cell, number in step.taken.items():
        cells[cell] = Counted(number, 0, number)
    cells |= {pool: Counted(0, 100), ios[3]: Counted(99), web[3]: Counted(21)}
    known = [step.release]
    assert replace(publishing, final=4, first=3).due(cells, known, "", closed=False) == []
    (last,) = replace(publishing, final=4, first=4).due(cells, known, "", closed=True)
    assert last.release.question == strata.rest(strata.pool)  # without labels and rounds
    assert last.taken == {ios[3]: 99, web[0]: 20, web[1]: 10, web[3]: 21}
    cells[web[3]] = Counted(19)  # 49 of web, so that ios has more than all but half the minimum
    assert replace(publishing, final=4, first=4).due(cells, known, "", closed=True) == []


@pytest.mark.parametrize("closed", [False, True])
def test_a_round_without_labels_is_published_in_whole_steps(closed: bool) -> None:
    layout = CellLayout(scheduled_campaign())
    publishing = Publishing(layout, Steps(10, 0.0), final=1)
    cells = {0: Counted(9), 5: Counted(10), 10: Counted(12, 10), 15: Counted(25, 10)}
    before = [Release(number, 10, "", 1, 10, 10) for number in (2, 3)]
    due = publishing.due(cells, before, "now", closed=closed)
    own = [(1, {5: 10}), (3, {15: 25})]
    pool = [(14, {70: 11})] if closed else []  # what is left of rounds 0 and 2, without its round
    assert [(step.release.question, step.counts) for step in due] == own + pool
    assert due[1].release == Release(3, 25, "now", 2, 10, 15)

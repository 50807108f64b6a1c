from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.campaign import Campaign, NextWave, Number
from noutput.campaign.schedule import Schedule
from noutput.campaign.segments import Segments
from noutput.collector.cells import CellLayout
from noutput.collector.estimable import check_estimable
from noutput.collector.store.exported import counts_document, read_counts
from noutput.collector.store.interface import Counted
from noutput.collector.strata import Selection, Strata
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.tally import Tally
from tests.collector.conftest import make_campaign
from tests.collector.labeled import PLATFORMS, labeled_campaign, scheduled_campaign

SEGMENTS = Segments(PLATFORMS)  # type: ignore[arg-type]  # a mapping is taken


def both() -> Campaign:
    questions = (Number(0, 180, name="minutes"), Number(0, 5, name="rides"))
    return scheduled_campaign(questions=questions, segments=SEGMENTS)


def test_cells_of_a_campaign_without_labels_and_rounds_are_what_they_were() -> None:
    layout = CellLayout(make_campaign())
    assert layout.strata == Strata()
    assert [block.cells for block in layout.blocks] == [range(5), range(5, 10), range(10, 15)]
    assert layout.size == 15


def test_every_report_has_a_cell_of_its_own() -> None:
    campaign = both()
    layout, found = CellLayout(campaign), set()
    for number in range(campaign.n_rounds):
        for combination in range(12):
            labels = SEGMENTS.labels(combination)
            stratum = layout.strata.renumbered(campaign.stratum(labels, number))
            for place, question in enumerate(campaign.questions):
                for output in range(5):
                    cell = layout.cell(question.name, output, stratum)
                    assert cell is not None
                    found.add(cell)
                    places = layout.places(np.array([cell]))
                    assert [int(each[0]) for each in places] == [place, stratum, output]
                    (block,) = layout.numbers(places).tolist()
                    assert layout.block(block).cells[output] == cell
                    assert layout.base(block) == place
                    assert layout.waves[0].rounds(np.array([cell], np.int32)).tolist() == [number]
    assert len(found) == 14 * 12 * 10
    assert layout.size == (14 + 1) * 13 * 10
    strata = layout.places(np.arange(layout.size)).strata
    counted = set(np.flatnonzero(layout.strata.are_counted(strata)).tolist())
    assert counted == found
    assert layout.first_cell(3) == min(c for c in found if c >= 3 * 13 * 10)


def test_not_told_is_a_label_and_without_labels_is_none() -> None:
    layout = CellLayout(both())
    assert layout.labels_of(0) == ("", "")
    assert layout.labels_of(12) == (None, None)
    cells = [layout.cell("rides", 3, 2 * 13 + each) for each in (0, 5, 12)]
    cells.append(layout.cell("rides", 3, 14 * 13 + 12))
    counts = {cell: Counted(0) for cell in cells if cell is not None}
    table = counts_document(counts, layout)
    assert [row[:6] for row in table["rows"]] == [
        [0, 2, "", "", "rides", 3], [0, 2, "ios", "paid", "rides", 3],
        [0, 2, None, None, "rides", 3], [0, None, None, None, "rides", 3],
    ]  # fmt: skip
    assert read_counts(table, layout) == counts
    for wrong in (
        [0, None, "", "", "rides", 3], [0, 2, "", None, "rides", 3], [0, 14, "", "", "rides", 3],
        [0, True, "", "", "rides", 3], [0, 2, [], "", "rides", 3], [0, 14, None, None, "rides", 3],
    ):  # fmt: skip
        with pytest.raises(DocumentError, match="have rows of what the campaign asks"):
            read_counts({**table, "rows": [[*wrong, 0, 0, 0]]}, layout)
    assert layout.without_labels(2 * (2 * 13 + 5) + 1) == 2 * (2 * 13 + 12) + 1
    assert layout.without_round(2 * (2 * 13 + 12) + 1) == 2 * (14 * 13 + 12) + 1
    for plain in (CellLayout(make_campaign()), CellLayout(scheduled_campaign())):
        assert plain.without_labels(1) == 1
        assert plain.without_round(1) == (1 if plain.strata.rounds == 1 else 14)


def test_blocks_of_the_second_wave_come_after_all_of_the_first() -> None:
    first = labeled_campaign(next_wave=NextWave(1000, 5000))
    narrow = (first.tables[0].rescaled(0, 90),)
    second = first.successor(narrow, ((0.0, 90.0),), (((5,) * 5,),), ("",))
    before, layout = CellLayout(first), CellLayout(second)
    assert layout.size == 2 * before.size
    assert [wave.start for wave in layout.waves] == [0, before.size]
    cell = layout.waves[1].cell("minutes", 3, 7)
    assert cell == before.size + 7 * 5 + 3
    (number,) = layout.numbers(layout.places(np.array([cell]))).tolist()
    block = layout.block(number)
    assert (block.wave, block.stratum, layout.base(number)) == (1, 7, 1)
    tallies = layout.tallies({cell: 4, 2: 3})
    assert [tally.counts for tally in tallies] == [(0, 0, 3, 0, 0), (0, 0, 0, 4, 0)]


@given(data=st.data())
def test_sums_over_strata_are_those_of_their_blocks(data: st.DataObject) -> None:
    layout = CellLayout(both())
    cells = st.integers(0, layout.size - 1)
    counts = data.draw(st.dictionaries(cells, st.integers(1, 9), max_size=40))
    blocks = {number: layout.block(number) for number in layout.totals(counts)}
    assert {n: block.tally(counts).total for n, block in blocks.items()} == layout.totals(counts)
    labels = data.draw(st.sampled_from([(), (("platform", "ios"),), (("plan", ""),)]))
    first = data.draw(st.integers(0, 13))
    selection = Selection(labels, (first, data.draw(st.integers(first, 13))))
    wanted = [Tally(block.fingerprint, (0,) * 5) for block in layout.blocks]
    for block in blocks.values():
        number, combination = divmod(block.stratum, 13)
        told = dict(SEGMENTS.labels(combination)) if combination < 12 else None
        fits = not labels or (
            told is not None and all(told.get(name, "") == label for name, label in labels)
        )
        assert selection.rounds is not None
        if fits and selection.rounds[0] <= number <= selection.rounds[1]:
            wanted[block.question] += block.tally(counts)
    assert layout.tallies(counts, selection) == wanted


def test_what_is_in_no_campaign_cannot_be_selected() -> None:
    found = Selection.read(SEGMENTS, ["plan:", "platform:web"], "3-7", 14)
    assert found == Selection((("plan", ""), ("platform", "web")), (3, 7))
    assert found.text == "plan not told, platform web, rounds 3 to 7"
    assert not Selection.read(None, [], None, 1)
    for labels, rounds, message in (
        (["size:1"], None, "segment must be one of platform, plan, a colon and a label"),
        (["plan:gold"], None, "segment must be a label of plan: free, paid, or nothing"),
        (["plan:free", "plan:paid"], None, "segment must name plan once"),
        ([], "7-3", "rounds must be the number of a round, or of two"),
        ([], "14", "from 0 to 13"),
        ([], "-3", "rounds must be"),
        ([], "3-", "rounds must be"),
        ([], "three", "rounds must be"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            Selection.read(SEGMENTS, labels, rounds, 14)
    with pytest.raises(InvalidArgumentError, match="segment must be absent"):
        Selection.read(None, ["plan:free"], None, 1)


def test_a_campaign_with_too_many_cells_is_refused() -> None:
    hourly = Schedule("hour", 50)
    many = Segments((("a", tuple(map(str, range(98)))), ("b", tuple(map(str, range(9))))))
    questions = tuple(Number(0, 1, name=f"q{n}") for n in range(64))
    campaign = scheduled_campaign(
        100, schedule=hourly, segments=many, questions=questions, outputs=9
    )
    with pytest.raises(DocumentError, match="fewer than 2,147,483,648 counts"):
        check_estimable(campaign)

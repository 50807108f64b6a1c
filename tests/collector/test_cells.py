from __future__ import annotations

import numpy as np

from noutput.campaign import Campaign
from noutput.collector.cells import CELL, CellLayout


def test_every_cell_is_counted_for_one_question_and_output(campaign: Campaign) -> None:
    layout, outputs = CellLayout(campaign), campaign.tables[0].n_outputs
    assert layout.size == len(campaign.questions) * outputs
    found = [layout.cell(each.name, i) for each in campaign.questions for i in range(outputs)]
    assert found == list(range(layout.size))
    for cell in range(layout.size):
        tallies = layout.tallies({cell: 5})
        place, output = divmod(cell, outputs)
        assert [tally.total for tally in tallies] == [5 * (i == place) for i in range(len(tallies))]
        assert tallies[place].counts[output] == 5
        assert tallies[place].fingerprint == campaign.tables[place].fingerprint


def test_columns_and_single_reports_get_the_same_cells(campaign: Campaign) -> None:
    layout, outputs = CellLayout(campaign), campaign.tables[0].n_outputs
    places, drawn = np.divmod(np.arange(layout.size, dtype=np.int32), np.int32(outputs))
    cells = layout.cells(places, drawn)
    assert cells is not None
    assert cells.astype(CELL).tolist() == list(range(layout.size))


def test_what_the_campaign_does_not_have_has_no_cell(campaign: Campaign) -> None:
    layout, outputs = CellLayout(campaign), campaign.tables[0].n_outputs
    assert layout.cell("nothing", 0) is None
    assert layout.cell(campaign.questions[0].name, outputs) is None
    for place, output in ((len(campaign.questions), 0), (0, outputs)):
        columns = np.array([[0, place], [0, output]], np.int32)
        assert layout.cells(*columns) is None

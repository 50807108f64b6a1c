"""What the JVM client draws fits its tables: chi-square, and a wrong sampler is noticed."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from noutput.campaign import Campaign, Number, Table
from tests.campaign.examples import commute_campaign, survey_campaign
from tests.jvm.conftest import Machine

LEVEL = 1e-9  # of a false alarm
PEOPLE = 4000
BELOW = math.nextafter(45, 0)
VALUES: dict[str, Any] = {
    "commute": 60, "stars": 4, "age": "under 30", "means": "car", "late": True, "kilometers": 0.5,
}  # fmt: skip
OTHERS: dict[str, Any] = {
    "commute": 20, "stars": 5, "age": "60+", "means": "train", "late": False, "kilometers": 1,
}  # fmt: skip


def probabilities(campaign: Campaign, index: int, value: object) -> list[float]:
    """Return those of every output: what the table says, not what a sampler does."""
    table, x = campaign.tables[index], campaign.questions[index].encode(value)
    weights = np.array(table.weights, dtype=float) / 2.0**32
    (axis,) = table.axes
    if isinstance(axis, int):
        return [float(each) for each in weights[int(x)]]
    cell = min(bisect_right(axis, x), len(axis) - 1) - 1
    share = (x - axis[cell]) / (axis[cell + 1] - axis[cell])
    return [float(each) for each in (1 - share) * weights[cell] + share * weights[cell + 1]]


def edge_campaign() -> Campaign:
    """Return a campaign whose table jumps at 45 and has a row of its own per side and bound."""
    third = 1 << 30
    rows = ((2, 1, 1), (1, 2, 1), (1, 1, 2), (2, 1, 1))
    table = Table(1.0, ((0.0, 45.0, 45.0, 180.0),),
                  tuple(tuple(third * part for part in row) for row in rows))  # fmt: skip
    return replace(
        commute_campaign("edge"),
        questions=(Number(0, 180, "minutes", edges=(45,), name="commute"),),
        tables=(table,),
    )


def campaigns() -> dict[str, tuple[Campaign, dict[str, Any], dict[str, Any]]]:
    """Return campaigns, what everybody answers, and another answer that would be noticed."""
    return {
        "one": (survey_campaign(ask="one"), VALUES, {}),  # six times fewer reports per question
        "all": (survey_campaign(ask="all"), VALUES, OTHERS),
        "between knots": (commute_campaign(epsilon=4.0), {"commute": 137}, {"commute": 125}),
        "below an edge": (edge_campaign(), {"commute": BELOW}, {"commute": 45}),
        "on an edge": (edge_campaign(), {"commute": 45}, {"commute": BELOW}),
    }


@pytest.fixture(scope="module")
def counts(machine: Machine) -> dict[str, list[list[int]]]:
    tasks = [
        {"campaign": campaign.to_json(), "values": values, "people": PEOPLE}
        for campaign, values, _ in campaigns().values()
    ]
    lines = machine.run("Sampling", given="".join(json.dumps(each) + "\n" for each in tasks))
    return dict(zip(campaigns(), map(json.loads, lines), strict=True))


@pytest.mark.parametrize("name", list(campaigns()))
def test_reports_fit_the_table(counts: dict[str, list[list[int]]], name: str) -> None:
    campaign, values, others = campaigns()[name]
    assert sum(map(sum, counts[name])) == PEOPLE * (6 if name == "all" else 1)
    for index, question in enumerate(campaign.questions):
        found = np.array(counts[name][index])
        right = np.array(probabilities(campaign, index, values[question.name]))
        assert stats.chisquare(found, right * found.sum()).pvalue > LEVEL, question.name
        if others:
            wrong = np.array(probabilities(campaign, index, others[question.name]))
            assert stats.chisquare(found, wrong * found.sum()).pvalue < LEVEL, question.name

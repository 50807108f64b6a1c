"""What the JVM client draws fits its tables: chi-square, and a wrong sampler is noticed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from noutput.campaign import Campaign, CertifiedTable
from tests.campaign.examples import commute_campaign, survey_campaign
from tests.jvm.conftest import Machine

LEVEL = 1e-9  # of a false alarm
PEOPLE = 4000
VALUES: dict[str, Any] = {
    "commute": 60, "stars": 4, "age": "under 30", "means": "car", "late": True, "kilometers": 0.5,
}  # fmt: skip
OTHERS: dict[str, Any] = {
    "commute": 20, "stars": 5, "age": "60+", "means": "train", "late": False, "kilometers": 1,
}  # fmt: skip


def probabilities(campaign: Campaign, place: int, value: object) -> list[float]:
    """Return those of every output: what the table says, not what a sampler does."""
    table, x = campaign.tables[place], campaign.questions[place].encode(value)
    weights = np.array(table.weights, dtype=float)
    if not isinstance(table, CertifiedTable):
        return [float(each) / 2.0**32 for each in weights[int(x)]]
    columns = (np.interp(x, table.knots, column) for column in weights.T)
    return [float(each) / 2.0**32 for each in columns]


def campaigns() -> dict[str, tuple[Campaign, dict[str, Any], dict[str, Any]]]:
    """Return campaigns, what everybody answers, and another answer that would be noticed."""
    return {
        "one": (survey_campaign(ask="one"), VALUES, {}),  # six times fewer reports per question
        "all": (survey_campaign(ask="all"), VALUES, OTHERS),
        "between knots": (commute_campaign(epsilon=4.0), {"commute": 137}, {"commute": 125}),
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
    for place, question in enumerate(campaign.questions):
        found = np.array(counts[name][place])
        right = np.array(probabilities(campaign, place, values[question.name]))
        assert stats.chisquare(found, right * found.sum()).pvalue > LEVEL, question.name
        if others:
            wrong = np.array(probabilities(campaign, place, others[question.name]))
            assert stats.chisquare(found, wrong * found.sum()).pvalue < LEVEL, question.name

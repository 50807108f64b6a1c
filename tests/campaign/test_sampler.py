"""What devices draw fits the table, in both languages: chi-square, and a test of its power."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from noutput.campaign import Campaign, Number, draw_report
from noutput.mechanisms.table import TableMechanism
from tests.campaign.examples import commute_campaign, edges_campaign, salary_campaign
from tests.tables import jump_table

CLIENT = Path(__file__).parents[2] / "clients" / "js"
NODE = shutil.which("node")
CHANCE = 1e-9  # of a false alarm: the randomness is the operating system's


def expected(campaign: Campaign, value: float, total: int) -> NDArray[np.float64]:
    mechanism = TableMechanism.of(campaign.tables[0])
    chances = mechanism.probabilities(campaign.questions[0].encode(value))
    return np.asarray(chances / chances.sum() * total)


def check(campaign: Campaign, value: float, counts: list[int]) -> None:
    total = sum(counts)
    assert chisquare(counts, expected(campaign, value, total)).pvalue > CHANCE
    shifted = value + 45 if value < 100 else value - 45
    assert chisquare(counts, expected(campaign, shifted, total)).pvalue < CHANCE


@pytest.mark.parametrize("value", [0.0, 61.8, 180.0])
def test_python_reports_fit(value: float) -> None:
    campaign = commute_campaign(epsilon=3.0)
    check(campaign, value, python_counts(campaign, value, 12_000))


def test_sixteen_outputs_fit() -> None:
    campaign = salary_campaign()
    values = {"salary": 9_000.0, "age": 30.0, "change_2": 0.0}
    drawn = (draw_report(campaign, values) for _ in range(30_000))
    found = Counter(report.output for report in drawn if report.question == "salary")
    counts = [found[i] for i in range(16)]
    wanted = expected(campaign, 9_000.0, sum(counts))
    large = wanted >= 5.0
    pooled = [*np.asarray(counts)[large], sum(np.asarray(counts)[~large])]
    chances = [*wanted[large], wanted[~large].sum()]
    assert chisquare(pooled, chances).pvalue > CHANCE


def python_counts(campaign: Campaign, value: float, reports: int) -> list[int]:
    found = Counter(draw_report(campaign, value).output for _ in range(reports))
    return [found[output] for output in range(campaign.tables[0].n_outputs)]


def javascript_counts(campaign: Campaign, value: float, reports: int) -> list[int]:
    if NODE is None:
        pytest.skip("node is not installed")
    order = {"campaign": campaign.to_json(), "value": value, "reports": reports}
    done = subprocess.run(
        [NODE, str(CLIENT / "testing" / "sample.js")], input=json.dumps(order),
        capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    counts: list[int] = json.loads(done.stdout)
    return counts


def test_javascript_reports_fit() -> None:
    campaign = commute_campaign(epsilon=3.0)
    check(campaign, 61.8, javascript_counts(campaign, 61.8, 12_000))


@pytest.mark.parametrize("count", [python_counts, javascript_counts])
def test_reports_on_both_sides_of_an_edge_fit(
    count: Callable[[Campaign, float, int], list[int]],
) -> None:
    table = jump_table(2.0, (0, 45, 45, 180), n_outputs=8)
    question = Number(0, 180, edges=(45,), name="minutes")
    campaign = edges_campaign(questions=(question,), tables=(table,))
    rows = np.array(table.weights) / (1 << 32)
    for value, own, other in ((math.nextafter(45.0, 0.0), 1, 2), (45.0, 2, 1)):
        counts = count(campaign, value, 8_000)
        assert chisquare(counts, rows[own] * 8_000).pvalue > CHANCE
        assert chisquare(counts, rows[other] * 8_000).pvalue < CHANCE

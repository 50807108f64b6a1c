"""What devices draw fits the table, in both languages: chi-square, and a test of its power."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from noutput.campaign import Campaign, CertifiedTable, draw_report
from noutput.mechanisms.table import TableMechanism
from tests.campaign.examples import commute_campaign, salary_campaign

CLIENT = Path(__file__).parents[2] / "clients" / "js"
NODE = shutil.which("node")
CHANCE = 1e-9  # of a false alarm: the randomness is the operating system's


def expected(campaign: Campaign, value: float, total: int) -> NDArray[np.float64]:
    (table, *_) = campaign.tables
    assert isinstance(table, CertifiedTable)
    mechanism = TableMechanism.of(table)
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
    found = Counter(draw_report(campaign, value).output for _ in range(12_000))
    check(campaign, value, [found[i] for i in range(3)])


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


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_javascript_reports_fit() -> None:
    campaign = commute_campaign(epsilon=3.0)
    order = {"campaign": campaign.to_json(), "value": 61.8, "reports": 12_000}
    assert NODE
    done = subprocess.run(
        [NODE, str(CLIENT / "testing" / "sample.js")], input=json.dumps(order),
        capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    check(campaign, 61.8, json.loads(done.stdout))

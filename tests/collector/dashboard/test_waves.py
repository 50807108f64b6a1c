"""Waves of adaptive campaigns on their page: the range of each, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from noutput.campaign import Campaign, NextWave, draw_reports
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.store import open_store
from noutput.questions import Number, YesNo
from tests.campaign.examples import answer_table, next_wave
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import PAGE, get, read
from tests.collector.service import Service, start_service
from tests.tables import window_table

WHY = "<b>Few</b> people are above 110."
MINUTES = Number(0, 600, "min", name="minutes")
FIRST = make_campaign(
    public=True, questions=(MINUTES, YesNo(name="late")),
    tables=(window_table(2.0, 5, 7, 0.4).plain, answer_table(1.0, 2)),
    next_wave=NextWave(4_000, 20_000, datetime(2026, 6, 1, tzinfo=UTC)), ask="all",
)  # fmt: skip


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    store = open_store(str(tmp_path / "reports.db"))
    with start_service(store, policy=ReleasePolicy(10, 0.0)) as found:
        found.create(FIRST)
        yield found
    store.close()


def answer(service: Service, campaign: Campaign, people: int) -> None:
    """Let people answer both questions of a wave, and publish it."""
    values: list[dict[str, float | str]] = [
        {"minutes": 10.0 * (place % 9), "late": "no"} for place in range(people)
    ]
    sent = [report for each in values for report in draw_reports(campaign, each)]
    assert service.batch(campaign, sent).status_code == 200
    service.app.services.note()


def rows(service: Service) -> list[list[str]]:
    """Return the table of waves as the page has it."""
    text = get(service, f"{PAGE}?question=minutes").text
    (table,) = re.findall(r'<table class="waves">.*?<tbody>(.*?)</tbody>', text, re.DOTALL)
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in table.split("</tr>")[:-1]]


def test_the_first_wave_says_when_the_second_begins(service: Service) -> None:
    answer(service, FIRST, 60)
    ((name, asked, reports, why),) = rows(service)
    assert (name, asked, reports) == ("Wave 1", "0 to 600 min", "60")
    assert why.startswith("The range that was declared.")
    page = read(get(service, f"{PAGE}?question=minutes"))
    assert "at least 500 of every number, or at 2026-06-01T00:00:00Z" in page.text


def test_every_wave_has_its_range_and_why(service: Service) -> None:
    answer(service, FIRST, 60)
    row = service.store.campaign("commute")
    assert row is not None
    made = next_wave(FIRST)
    second = FIRST.successor(made.tables, made.bounds, made.inputs, (WHY, ""))
    values = (FIRST.fingerprint, second.fingerprint, second.to_json())
    assert service.store.succeed(row.key, *values)
    service.app.services.directory.find("commute")
    answer(service, second, 90)
    first, after = rows(service)
    assert first[:3] == ["Wave 1", "0 to 600 min", "60"]
    assert after[:3] == ["Wave 2", "0 to 110 min", "90"]
    assert after[3] == "&lt;b&gt;Few&lt;/b&gt; people are above 110."
    page = read(get(service, f"{PAGE}?question=minutes"))
    assert "a person answers one wave. Estimates use the reports of all waves." in page.text
    assert "150" in page.text


def test_questions_without_a_range_have_no_waves(service: Service) -> None:
    answer(service, FIRST, 60)
    page = read(get(service, f"{PAGE}?question=late"))
    assert "Waves" not in page.text

"""The dashboard for Grafana: its queries name metrics and labels that a collector has."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.campaign import Campaign, draw_report
from noutput.collector.app import create_app
from noutput.collector.http.auth import new_token
from noutput.collector.metrics import Metrics
from noutput.collector.store.interface import Store, UnavailableError
from tests.collector.dashboard.reader import read_token
from tests.collector.labeled import OPENS, reports, scheduled_campaign
from tests.collector.service import Service, start_service
from tests.deployment.files import DEPLOY

DASHBOARD = json.loads((DEPLOY / "grafana" / "noutput.json").read_text(encoding="utf-8"))
NAME = re.compile(r"noutput_[a-z_]+")
SAMPLE = re.compile(r"^(noutput_[a-z_]+)(?:\{(.*)\})? \S+$", re.MULTILINE)


def queries() -> list[str]:
    """Return all queries, those of variables included."""
    targets = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    listed = [each["query"] for each in DASHBOARD["templating"]["list"]]
    return [*targets, *(each["query"] for each in listed if isinstance(each, dict))]


def labels(query: str) -> set[str]:
    """Return the labels that a query selects or groups by."""
    grouped = ",".join(re.findall(r"\bby \(([^)]*)\)", query))
    selected = re.findall(r"[{,]\s*([a-z_]+)\s*[=!]", query)
    listed = re.findall(r"label_values\([a-z_]+, ([a-z_]+)\)", query)
    return {each.strip() for each in grouped.split(",") if each.strip()} | {*selected, *listed}


def scraped(service: Service, token: str) -> str:
    headers = {"Authorization": f"Bearer {token}"}
    return service.call("GET", "/metrics", headers=headers).text


def metrics_token(service: Service) -> str:
    token, row = new_token("metrics", None, service.clock())
    assert service.store.add_token(row)
    return token


def test_queries_name_metrics_and_labels_that_there_are(service: Service) -> None:
    campaign = scheduled_campaign()
    service.create(campaign)
    service.batch(campaign, reports(campaign, 5, np.random.default_rng(1), number=0))
    service.send(b"", "text/plain")
    service.app.services.metrics.refused_reports["client"] += 1
    service.app.services.metrics.alarm("commute", "shape", 0.0)
    known: dict[str, set[str]] = {}
    for name, told in SAMPLE.findall(scraped(service, metrics_token(service))):
        known.setdefault(name, set()).update(re.findall(r'([a-z_]+)="', told))
    asked = queries()
    assert len(asked) > 12
    for query in asked:
        names = NAME.findall(query)
        assert names, query
        for name in names:
            assert name in known, query
            assert labels(query) <= known[name], query


def test_every_metric_has_a_panel(service: Service) -> None:
    """But for the parts of a histogram that no panel needs."""
    types = re.findall(r"# TYPE (\S+)", scraped(service, metrics_token(service)))
    assert [name for name in types if not any(name in query for query in queries())] == []


def test_legends_name_labels_of_their_query() -> None:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            named = set(re.findall(r"\{\{([a-z]+)\}\}", target["legendFormat"]))
            assert named <= labels(target["expr"]), panel["title"]


def test_rounds_are_counted_until_they_are_over(service: Service) -> None:
    campaign, rng = scheduled_campaign(), np.random.default_rng(2)
    service.create(campaign)
    token = metrics_token(service)
    many = reports(campaign, 6, rng, number=0)
    service.batch(campaign, many)
    service.batch(campaign, many)  # again
    service.clock.now = OPENS + timedelta(days=1, hours=1)
    late = reports(campaign, 2, rng, number=0)
    service.batch(campaign, late + reports(campaign, 3, rng, number=1))
    text = scraped(service, token)
    assert 'noutput_campaign_reports_total{campaign="commute"} 11\n' in text
    assert 'noutput_round_reports_total{campaign="commute",round="0"} 8\n' in text
    assert 'noutput_round_reports_total{campaign="commute",round="1"} 3\n' in text
    for number in range(2, 9):
        service.clock.now = OPENS + timedelta(days=number, hours=1)
        service.batch(campaign, reports(campaign, 1, rng, number=number))
    rounds = re.findall(r'noutput_round_reports_total\{.*round="(\d+)"\}', scraped(service, token))
    assert rounds == ["7", "8"]  # the present one, and the one whose grace time runs


@given(
    st.dictionaries(st.integers(0, 4999), st.integers(1, 10_000), min_size=1, max_size=8), st.data()
)
def test_every_counted_report_is_in_one_round(sizes: dict[int, int], data: st.DataObject) -> None:
    accepted = data.draw(st.integers(0, sum(sizes.values())))
    metrics = Metrics()
    metrics.rounds("commute", sizes, accepted, over=0)
    counted = dict(re.findall(r'round="(\d+)"\} (\d+)', metrics.render()))
    assert sum(map(int, counted.values())) == accepted
    assert all(int(counted[str(number)]) <= size for number, size in sizes.items())


def test_readers_see_no_counters_of_campaigns(service: Service) -> None:
    campaign = scheduled_campaign()
    service.create(campaign)
    service.batch(campaign, reports(campaign, 5, np.random.default_rng(1), number=0))
    text = scraped(service, read_token(service))
    assert "noutput_reports_accepted_total 5\n" in text
    assert "commute" not in text
    assert "noutput_round" not in text


def test_counters_of_campaigns_go_on_after_a_restart(
    store: Store, rng: np.random.Generator
) -> None:
    campaign = scheduled_campaign()
    with start_service(store) as service:
        service.create(campaign)
        token = metrics_token(service)
        for number in range(4):
            service.clock.now = OPENS + timedelta(days=number)
            service.batch(campaign, reports(campaign, 5 + number, rng, number=number))
        before = campaign_counters(scraped(service, token))
        assert before == {"": 26, "2": 7, "3": 8}
    with start_service(store) as service:
        service.clock.now = OPENS + timedelta(days=3)
        service.app.services.count_stored()
        assert campaign_counters(scraped(service, token)) == before
        service.batch(campaign, reports(campaign, 10, rng, number=3))
        assert campaign_counters(scraped(service, token)) == {"": 36, "2": 7, "3": 18}


def test_a_collector_counts_what_is_stored_when_it_starts(
    service: Service, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.create(campaign)
    service.report(draw_report(campaign, {"minutes": 40.0, "rides": 2.0, "cost": 12.5}))
    store = service.store

    async def started(app: Any) -> str:
        async with app._app.router.lifespan_context(app._app):
            text: str = app.services.metrics.render()
            return text

    text = asyncio.run(started(create_app(store)))
    assert campaign_counters(text) == {"": 1}

    def gone() -> None:
        raise UnavailableError("the database does not answer")

    monkeypatch.setattr(store, "totals", gone)
    assert campaign_counters(asyncio.run(started(create_app(store)))) == {}


def campaign_counters(text: str) -> dict[str, int]:
    """Return the counter of the campaign, and those of its rounds."""
    pattern = (
        r'noutput_(?:campaign|round)_reports_total\{campaign="commute"(?:,round="(\d+)")?\} (\d+)'
    )
    return {number: int(value) for number, value in re.findall(pattern, text)}

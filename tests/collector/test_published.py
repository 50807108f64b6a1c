"""What everybody sees is a sequence of counts, each with many new reports, and nothing between."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from noutput.campaign import Campaign, Number, Report, YesNo
from noutput.campaign.packed import encode_packed
from noutput.campaign.segments import Segments
from noutput.campaign.wire import PACKED_TYPE
from noutput.collector.dashboard.assets import assets
from noutput.collector.http.models import EstimatesModel
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.store import open_store
from tests.campaign.examples import answer_table
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import HTML, read_token
from tests.collector.labeled import OPENS, PLATFORMS, scheduled_campaign
from tests.collector.labeled import reports as reports_of
from tests.collector.people import lognormal_reports
from tests.collector.service import Service, problem, start_service
from tests.tables import window_table

STEPS = ReleasePolicy(60, 0.1)

# Whoever adds a route decides on which side it is. Those that show something about reports to
# readers are walked below, with everything that may be asked for.
READERS = {
    "GET /", "GET /campaigns", "GET /campaigns/{id}", "GET /campaigns/{id}/estimates",
    "GET /campaigns/{id}/estimates.csv", "GET /campaigns/{id}/distribution.svg",
    "GET /health", "GET /health/live", "GET /health/ready", "GET /openapi.json", "GET /sign-in",
    "GET /static/{name:path}",
    "GET /campaigns/{id}/waves/{fingerprint}", "GET /campaigns/{id}/segments",
    "GET /campaigns/{id}/trend",
}  # fmt: skip
OPERATOR = {
    "GET /log", "GET /metrics", "GET /tokens", "POST /tokens", "DELETE /tokens/{id}",
    "POST /campaigns", "POST /campaigns/{id}/close",
    "GET /campaigns/{id}/closing", "DELETE /campaigns/{id}",
    "POST /campaigns/{id}/tokens",
}  # fmt: skip
OWN = {"POST /campaigns/{id}/reports", "POST /sign-in", "POST /sign-out"}  # about the caller alone


def routes(found: Iterable[Any]) -> Iterator[str]:
    """Return method and path of every route of an application."""
    for each in found:
        inner = getattr(each, "original_router", None)
        if inner is not None:
            yield from routes(inner.routes)
        else:
            yield from (f"{method} {each.path}" for method in each.methods - {"HEAD"})


Address = tuple[str, str, dict[str, str]]


def addresses(campaigns: Iterable[Campaign]) -> Iterator[Address]:
    """Return every route for readers with all that may be asked for: route, path and headers."""
    yield "GET /", "/", HTML
    yield "GET /sign-in", "/sign-in", HTML
    for path in ("/campaigns", "/health", "/health/live", "/health/ready", "/openapi.json"):
        yield f"GET {path}", path, {}
    for name in assets():
        yield "GET /static/{name:path}", f"/static/{name}", {}
    for campaign in campaigns:
        yield from addresses_of(campaign)


def addresses_of(campaign: Campaign) -> Iterator[Address]:
    page = f"/campaigns/{campaign.id}"
    one = "/campaigns/{id}"
    yield f"GET {one}", page, {}
    for each in campaign.questions:
        for more in ("", "&target=0.5"):
            yield f"GET {one}", f"{page}?question={each.name}{more}", HTML
        svg = f"{page}/distribution.svg?question={each.name}"
        yield f"GET {one}/distribution.svg", svg, {}
    for query in ("", "?bins=16", "?level=0.5"):
        yield f"GET {one}/estimates", f"{page}/estimates{query}", {}
    yield f"GET {one}/estimates.csv", f"{page}/estimates.csv", {}
    yield f"GET {one}/waves/{{fingerprint}}", f"{page}/waves/{campaign.fingerprint}", {}
    if campaign.segments is not None and campaign.schedule is not None:
        for query in ("segment=platform:ios", "segment=platform:web", "rounds=0"):
            yield f"GET {one}/estimates", f"{page}/estimates?{query}", {}
        for query in ("", "?by=plan&by=platform", "?format=csv", "?rounds=0"):
            yield f"GET {one}/segments", f"{page}/segments{query}", {}
        for query in ("", "?format=csv", "?segment=platform:web"):
            yield f"GET {one}/trend", f"{page}/trend{query}", {}


Walk = dict[tuple[str, str], tuple[int, list[tuple[str, str]], bytes]]


def walk(service: Service, campaigns: Iterable[Campaign], token: str) -> Walk:
    """Return all that visitors and readers get, headers included."""
    found: Walk = {}
    for bearer in ({}, {"Authorization": f"Bearer {token}"}):
        for _, path, headers in addresses(campaigns):
            answer = service.call("GET", path, headers={**headers, **bearer})
            key = ("reader" if bearer else "visitor", f"{path} {sorted(headers)}")
            found[key] = answer.status_code, sorted(answer.headers.items()), answer.content
    return found


@pytest.fixture
def moment(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock of the cache of estimates."""
    now = [1000.0]
    monkeypatch.setattr("noutput.collector.cache.time.monotonic", lambda: now[0])
    return now


def _campaign(name: str, *, public: bool) -> Campaign:
    asked = (Number(0, 180, "min", name="minutes"), YesNo(name="late"))
    tables = (window_table(2.0, 5, 7, 0.4).plain, answer_table(1.0, 2))
    return make_campaign(
        name, public=public, questions=asked, tables=tables, objectives=("balanced", "shares")
    )


LABELED = scheduled_campaign(public=True, segments=Segments(PLATFORMS, 100))  # type: ignore[arg-type]
CAMPAIGNS = (_campaign("commute", public=True), _campaign("inside", public=False))


def fill(service: Service, reports: list[Report]) -> None:
    """Send reports to both campaigns, which is followed by a look at what is due."""
    for campaign in CAMPAIGNS if reports else ():
        assert _post(service, campaign, reports).json()["accepted"] == len(reports)


def _post(service: Service, campaign: Campaign, reports: list[Report]) -> httpx.Response:
    """Send the same outputs to one of both campaigns."""
    reports = [replace(each, campaign=campaign.fingerprint) for each in reports]
    return service.send(encode_packed(campaign, reports), PACKED_TYPE, campaign.id)


@pytest.fixture
def collectors(tmp_path: Path) -> Iterator[list[Service]]:
    """Two collectors with databases of their own, and a second process on the first one."""
    with ExitStack() as stack:
        stores = [open_store(str(tmp_path / name)) for name in ("one.db", "two.db", "one.db")]
        for store in stores:
            stack.callback(store.close)
        found = [stack.enter_context(start_service(store, policy=STEPS)) for store in stores]
        for service in found[:2]:
            for campaign in CAMPAIGNS:
                service.create(campaign)
        yield found


def test_every_route_is_on_one_side(service: Service) -> None:
    found = sorted(routes(service.app._app.routes))  # type: ignore[attr-defined]  # an ASGI app
    assert found == sorted(READERS | OPERATOR | OWN)
    assert {route for route, _, _ in addresses((*CAMPAIGNS, LABELED))} == READERS
    service.create(CAMPAIGNS[0])
    for route in OPERATOR:
        method, path = route.split(" ")
        answer = service.call(method, path.replace("{id}", "commute"))
        assert problem(answer) == (401, "token-required")


@pytest.mark.slow
def test_nothing_that_is_published_changes_between_two_steps(
    collectors: list[Service], moment: list[float]
) -> None:
    service, mirrored, other = collectors
    reports = lognormal_reports(CAMPAIGNS[0], 1_150)
    first, few, rest = reports[:300], reports[300:350], reports[350:]
    fill(service, first)
    fill(mirrored, first[::-1])
    published = service.clock.now
    for each in collectors:
        each.clock.now += timedelta(hours=1)
    tokens = [read_token(each) for each in (service, mirrored)]
    before = walk(service, CAMPAIGNS, tokens[0])
    assert {status for status, _, _ in before.values()} == {200, 401}
    assert walk(mirrored, CAMPAIGNS, tokens[1]) == before  # the order of reports does not show
    for part in (few[:1], few[1:]):
        fill(service, part)
        moment[0] += 3_600.0
        assert walk(service, CAMPAIGNS, tokens[0]) == before
    assert walk(other, CAMPAIGNS, tokens[0]) == before  # nor in a process that knows nothing yet
    row = service.store.campaign("commute")
    assert row is not None
    assert sum(service.store.counts(row.key).values()) == 350
    _check_content(before, reports, published.strftime("%Y-%m-%dT%H:%M:%SZ"))
    fill(service, rest)
    moment[0] += 3_600.0
    after = walk(service, CAMPAIGNS, tokens[0])
    changed = {key for key in before if after[key] != before[key]}
    kinds = ("/ ", "/campaigns ", "?question=", "/estimates", "/distribution")
    assert {key for key in before if before[key][0] == 200 and any(k in key[1] for k in kinds)} == (
        changed | {key for key in before if key[0] == "visitor" and "inside?" in key[1]}
    )


def _check_content(found: Walk, reports: list[Report], published: str) -> None:
    """No id is published, and of times those of releases only."""
    everything = b"".join(content for _, _, content in found.values())
    for report in reports:
        assert report.id.encode() not in everything
    for who, path in (("visitor", "commute"), ("reader", "commute"), ("reader", "inside")):
        _, _, content = found[who, f"/campaigns/{path}/estimates []"]
        estimates = EstimatesModel.model_validate_json(content)
        assert estimates.reports == 300
        assert estimates.as_of == published
        for each in estimates.questions:
            assert each.published is not None
            assert each.published.at == published
            assert each.published.smallest == each.reports >= 60


def test_a_browser_is_told_that_nothing_changed(
    collectors: list[Service], moment: list[float]
) -> None:
    """The live updates of a page are requests for this very page."""
    service, *_ = collectors
    reports = lognormal_reports(CAMPAIGNS[0], 350)
    fill(service, reports[:300])
    for path in ("/campaigns/commute", "/"):
        tag = service.call("GET", path, headers=HTML).headers["etag"]
        fill(service, reports[300 + 20 * (path == "/") :][:20])
        moment[0] += 3_600.0
        again = service.call("GET", path, headers={**HTML, "If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")


def test_administrators_see_what_was_counted(collectors: list[Service]) -> None:
    service, *_ = collectors
    reports = lognormal_reports(CAMPAIGNS[0], 350)
    fill(service, reports[:300])
    fill(service, reports[300:])

    def listed(**headers: str) -> list[tuple[str, int, int | None]]:
        found = service.call("GET", "/campaigns", headers=headers).json()["campaigns"]
        return [(each["id"], each["reports"], each["received"]) for each in found]

    assert listed() == [("commute", 300, None)]
    reader = {"Authorization": f"Bearer {read_token(service)}"}
    assert listed(**reader) == [("commute", 300, None), ("inside", 300, None)]
    assert listed(**service.admin) == [("commute", 300, 350), ("inside", 300, 350)]
    closed = service.call("POST", "/campaigns/commute/close", headers=service.admin).json()
    assert (closed["reports"], closed["received"]) == (300, 350)


def test_the_first_reports_are_gathered(collectors: list[Service], moment: list[float]) -> None:
    service, *_ = collectors
    reports = lognormal_reports(CAMPAIGNS[0], 50)
    page = "/campaigns/commute"
    texts = []
    for part in ([], reports[:1], reports[1:]):
        fill(service, part)
        moment[0] += 3_600.0
        texts.append(service.call("GET", page, headers=HTML).text)
    assert len(set(texts)) == 1
    assert "The first 60 reports on this question are being gathered." in texts[0]
    assert problem(service.call("GET", f"{page}/distribution.svg")) == (404, "not-found")
    assert "Nothing is published yet." in texts[0]
    service.call("POST", f"{page}/close", headers=service.admin)
    service.publish()
    moment[0] += 3_600.0
    assert service.call("GET", f"{page}/estimates").json()["reports"] == 0
    service.clock.now += timedelta(minutes=1)
    assert "reports, too few to show" in service.call("GET", page, headers=HTML).text


def test_the_last_reports_are_missing_where_they_would_hide_nobody(
    collectors: list[Service], moment: list[float]
) -> None:
    service, mirrored, _ = collectors
    reports = lognormal_reports(CAMPAIGNS[0], 650)
    for part in (reports[:300], reports[300:600], reports[600:]):
        fill(service, part)
    service.call("POST", "/campaigns/commute/close", headers=service.admin)
    service.publish()
    moment[0] += 3_600.0
    text = service.call("GET", "/campaigns/commute", headers=HTML).text
    assert 'id="reports">600<' in text
    assert "50 more reports came in, and are never published" not in text  # in the last minute
    service.clock.now += timedelta(minutes=1)
    moment[0] += 3_600.0
    text = service.call("GET", "/campaigns/commute", headers=HTML).text
    assert re.search(r"\d+ more reports came in, and are never published", text)
    for part in (reports[:300], reports[300:320]):  # also where there was one step only
        assert _post(mirrored, CAMPAIGNS[0], part).status_code == 200
    mirrored.call("POST", "/campaigns/commute/close", headers=mirrored.admin)
    mirrored.publish()
    text = mirrored.call("GET", "/campaigns/commute", headers=HTML).text
    assert 'id="reports">300<' in text


def test_nothing_about_labels_with_too_few_reports_shows(
    tmp_path: Path, moment: list[float], rng: np.random.Generator
) -> None:
    """Two collectors, in which the hidden reports have other labels: readers see the same."""
    shown = [
        reports_of(LABELED, 150, rng, {"platform": "ios"}, number) for number in (0, 1, 2)
    ]  # fmt: skip
    hidden = [reports_of(LABELED, 60, rng, {"platform": "web"}, number) for number in (0, 1, 2)]
    more = [reports_of(LABELED, 60, rng, {"plan": "paid"}, number) for number in (0, 1)]
    few = reports_of(LABELED, 90, rng, {"plan": "free"}, 2)
    swapped = {
        (("platform", "web"),): (("platform", "android"),),
        (("plan", "paid"),): (("platform", "web"), ("plan", "free")),
    }
    walks = []
    for name in ("one.db", "two.db"):
        store = open_store(str(tmp_path / name))
        with start_service(store, policy=STEPS) as service:
            service.create(LABELED)
            service.clock.now = OPENS + timedelta(days=1, hours=23)
            for part in (*shown[:2], *hidden[:2], *more):
                service.batch(LABELED, [_swapped(each, swapped, name) for each in part])
            service.clock.now = OPENS + timedelta(days=3)
            for part in (shown[2], hidden[2]):
                service.batch(LABELED, [_swapped(each, swapped, name) for each in part])
            walks.append(seen(service))
            if name == "two.db":  # 99 are too few for a step of the rest
                service.batch(LABELED, few[:39])
                moment[0] += 3_600.0
                assert seen(service) == walks[-1]
                service.batch(LABELED, few[39:])
                moment[0] += 3_600.0
                assert seen(service) != walks[-1]
        store.close()
    assert walks[0] == walks[1]
    assert {status for status, _ in walks[0].values()} == {200}


def seen(service: Service) -> dict[str, tuple[int, bytes]]:
    """Return what anybody sees of a campaign with labels, and one of its pages."""
    found = {}
    for _, path, headers in addresses_of(LABELED):
        if "bins" not in path and "level" not in path and "target" not in path:
            answer = service.call("GET", path, headers=headers)
            found[path] = answer.status_code, answer.content
    return found


def _swapped(report: Report, labels: dict[Any, Any], name: str) -> Report:
    changed = labels.get(report.labels, report.labels) if name == "two.db" else report.labels
    return replace(report, labels=changed)

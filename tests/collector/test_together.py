"""Tokens, steps, an archive, limits, several processes and exports, all in one campaign."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from noutput import frames
from noutput.campaign import Admission, Report, draw_report
from noutput.campaign.packed import encode_packed
from noutput.campaign.wire import PACKED_TYPE
from noutput.collector.archive.archive import open_archive
from noutput.collector.issuing import issue_tokens
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.store import open_store
from noutput.collector.store.archive import export_campaign, restore
from tests.campaign.tokens import token_campaign
from tests.collector.service import Service, problem, start_service

CAMPAIGN = replace(token_campaign(), public=True, admission=Admission("token", reports_per_hour=80))
STEPS = ReleasePolicy(40, 0.1)


@pytest.fixture
def collectors(tmp_path: Path) -> Iterator[list[Service]]:
    """Two processes of one database and one archive, and a collector elsewhere."""
    with ExitStack() as stack:
        found = []
        for name in ("one", "one", "elsewhere"):
            store = open_store(str(tmp_path / f"{name}.db"))
            stack.callback(store.close)
            archive = open_archive(tmp_path / name)
            stack.callback(archive.close)
            found.append(stack.enter_context(start_service(store, None, archive, policy=STEPS)))
        found[0].create(CAMPAIGN)
        yield found


def send(service: Service, reports: list[Report]) -> tuple[int, int] | tuple[int, str]:
    answer = service.send(encode_packed(CAMPAIGN, reports), PACKED_TYPE, CAMPAIGN.id)
    if answer.status_code != 200:
        return problem(answer)
    return answer.json()["accepted"], answer.json()["repeated"]


def published(service: Service) -> int:
    return sum(service.store.published(1).counts.values())


def test_everything_at_once(collectors: list[Service], tmp_path: Path) -> None:
    one, two, elsewhere = collectors
    tokens = issue_tokens(one.store, 1, CAMPAIGN, 100)
    reports = [draw_report(CAMPAIGN, "yes", token) for token in tokens]
    assert send(one, reports[:50]) == (50, 0)
    lies = [replace(each, output=1 - each.output) for each in reports[:20]]
    assert send(two, [*lies, *reports[50:80]]) == (30, 20)
    assert send(one, reports[:30]) == (0, 30)
    for service in (one, two):
        service.app.services.watcher.look()
        assert service.total(CAMPAIGN.id) == 80
        assert published(service) == 50

    export_campaign(one.store, CAMPAIGN.id, tmp_path / "late.zip")
    restore(elsewhere.store, tmp_path / "late.zip")
    assert elsewhere.store.published(1) == one.store.published(1)
    assert send(elsewhere, lies) == (0, 20)
    assert send(elsewhere, reports[80:]) == (20, 0)
    (release,) = elsewhere.store.published(1).releases
    assert (release.reports, release.smallest, release.last) == (100, 50, 50)

    one.call("POST", f"/campaigns/{CAMPAIGN.id}/close", headers=one.admin)
    for service in (one, two):
        service.publish()
        assert published(service) == 50  # 30 would hide nobody
        assert send(service, reports[80:]) == (403, "campaign-not-open")

    archive = one.app.services.archive
    assert archive is not None
    archive.flush()
    found = frames.tally_reports(archive.folder)
    assert (found.reports, found.conflicting, found.pending) == (80, 20, 0)
    assert sum(found.tallies["late"].counts) == one.total(CAMPAIGN.id)

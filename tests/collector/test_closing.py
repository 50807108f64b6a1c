"""A campaign that was closed stays closed, whatever the clock says later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from noutput.campaign import Campaign, draw_report
from noutput.campaign.text import format_instant
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.store.interface import Store, UnavailableError
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import read
from tests.collector.labeled import labeled_campaign, reports
from tests.collector.service import Service, problem, start_service

VALUES = {"minutes": 30.0, "rides": 2.0, "cost": 5.0}
CLOSED = (403, "campaign-not-open")
EARLIER = datetime(2026, 5, 1, tzinfo=UTC)


def send(service: Service, campaign: Campaign) -> Any:
    return service.report(draw_report(campaign, VALUES))


def shown(service: Service) -> tuple[str, str | None]:
    (found,) = service.call("GET", "/campaigns", headers=service.admin).json()["campaigns"]
    return found["state"], found["closed"]


def test_a_clock_that_is_set_back_does_not_open_a_campaign_again(
    service: Service, campaign: Campaign
) -> None:
    service.create(campaign)
    assert send(service, campaign).status_code == 200
    service.clock.now = campaign.closes
    assert problem(send(service, campaign)) == CLOSED
    service.clock.now = EARLIER
    assert problem(send(service, campaign)) == CLOSED
    assert shown(service) == ("closed", format_instant(campaign.closes))
    with start_service(service.store) as again:  # another process, or the next
        again.clock.now = EARLIER
        assert problem(send(again, campaign)) == CLOSED
    assert service.total() == 1


def test_the_collector_closes_campaigns_that_nobody_asks_for(
    service: Service, campaign: Campaign
) -> None:
    service.create(campaign)
    closer = service.app.services.closer
    service.clock.now = campaign.closes - timedelta(seconds=1)
    closer.look()
    assert shown(service) == ("open", None)
    service.clock.now = campaign.closes
    closer.look()
    service.clock.now = EARLIER
    assert shown(service) == ("closed", format_instant(campaign.closes))


def test_a_campaign_closed_by_hand_keeps_its_time(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    service.call("POST", "/campaigns/commute/close", headers=service.admin)
    service.clock.now = campaign.closes
    service.app.services.closer.look()
    assert shown(service) == ("closed", format_instant(EARLIER))


def test_an_earlier_campaign_of_the_name_closes_nothing(store: Store) -> None:
    first = make_campaign()
    now = format_instant(EARLIER)
    row, _ = store.create(first.id, first.fingerprint, first.to_json(), now)
    store.delete(first.id)
    later = make_campaign(outputs=6)
    store.create(later.id, later.fingerprint, later.to_json(), now)
    found = store.close_campaign(first.id, now, key=row.key)
    assert found is not None
    assert (found.fingerprint, found.closed) == (later.fingerprint, None)


def test_closing_waits_for_the_database(
    service: Service, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.create(campaign)
    service.clock.now = campaign.closes

    def fail(*_: object, **__: object) -> None:
        raise UnavailableError("no database")

    with monkeypatch.context() as patch:
        patch.setattr(service.store, "close_campaign", fail)
        assert problem(send(service, campaign)) == CLOSED
        with pytest.raises(UnavailableError):
            service.app.services.closer.look()
    service.app.services.closer.look()
    assert shown(service)[1] == format_instant(campaign.closes)


PLATFORM = {"platform": ("ios", "android")}
IOS, ANDROID = {"platform": "ios"}, {"platform": "android"}


def labeled(store: Store, minimum: int) -> tuple[Campaign, Any]:
    """Return a public campaign with labels, and its collector with the usual policy."""
    campaign = labeled_campaign(PLATFORM, minimum, public=True)
    return campaign, start_service(store, policy=ReleasePolicy())


def page(service: Service, path: str) -> str:
    return read(service.call("GET", path, headers={"Accept": "text/html"})).text


def close(service: Service) -> None:
    answer = service.call("POST", "/campaigns/commute/close", headers=service.admin)
    assert answer.status_code == 200
    service.publish()
    service.clock.now += timedelta(minutes=1)


def test_a_closed_campaign_says_how_many_reports_are_too_few_to_show(store: Store) -> None:
    campaign, started = labeled(store, 500)
    rng = np.random.default_rng(10)
    with started as service:
        service.create(campaign)
        service.batch(campaign, reports(campaign, 300, rng, IOS))
        service.batch(campaign, reports(campaign, 180, rng, ANDROID))
        closing = service.call("GET", "/campaigns/commute/closing", headers=service.admin)
        assert closing.json() == {"received": 480, "published": 0, "hidden": 480}
        assert "480" not in page(service, "/campaigns/commute") + page(service, "/")
        (listed,) = service.call("GET", "/campaigns").json()["campaigns"]
        assert (listed["reports"], listed["received"]) == (0, None)
        close(service)
        text = page(service, "/campaigns/commute")
        assert "480 reports, too few to show" in text
        assert "fewer than 500 reports are never shown" in text
        assert "480 reports, too few to show." in page(service, "/")
        (listed,) = service.call("GET", "/campaigns").json()["campaigns"]
        assert (listed["reports"], listed["received"]) == (0, 480)
        closing = service.call("GET", "/campaigns/commute/closing", headers=service.admin)
        assert closing.json()["hidden"] == 480
        nobody = service.call("GET", "/campaigns/commute/closing")
        assert problem(nobody) == (401, "token-required")


def test_a_closed_campaign_without_reports_says_so(store: Store) -> None:
    campaign, started = labeled(store, 500)
    with started as service:
        service.create(campaign)
        close(service)
        assert "No report came in." in page(service, "/campaigns/commute")
        assert "No report came in." in page(service, "/")


@pytest.mark.parametrize(("ios", "android"), [(499, 1), (499, 101)])
def test_a_closed_campaign_publishes_the_whole_without_labels(
    store: Store, ios: int, android: int
) -> None:
    """No label has enough reports, and without labels the whole has, whatever its parts are."""
    campaign, started = labeled(store, 500)
    rng = np.random.default_rng(11)
    with started as service:
        service.create(campaign)
        service.batch(campaign, reports(campaign, ios, rng, IOS))
        service.batch(campaign, reports(campaign, android, rng, ANDROID))
        closing = service.call("GET", "/campaigns/commute/closing", headers=service.admin)
        assert closing.json() == {
            "received": ios + android,
            "published": ios + android,
            "hidden": 0,
        }
        close(service)
        found = service.call("GET", "/campaigns/commute/estimates").json()
        assert (found["reports"], found["strata"]["shown"]) == (ios + android, 0)
        assert found["questions"][0]["published"]["smallest"] == ios + android
        part = service.call("GET", "/campaigns/commute/estimates?segment=platform:ios").json()
        assert part["reports"] == 0


@pytest.mark.parametrize(("android", "hidden"), [(498, 499), (499, 0)])
def test_what_is_left_after_labels_were_shown(store: Store, android: int, hidden: int) -> None:
    """It is published without labels if it has the minimum; else the page says how many it is."""
    campaign, started = labeled(store, 500)
    rng = np.random.default_rng(12)
    with started as service:
        service.create(campaign)
        for labels, count in ((IOS, 500), (ANDROID, android), ({}, 1)):
            service.batch(campaign, reports(campaign, count, rng, labels))
        received = 501 + android
        closing = service.call("GET", "/campaigns/commute/closing", headers=service.admin)
        wanted = {"received": received, "published": received - hidden, "hidden": hidden}
        assert closing.json() == wanted
        assert "never published" not in page(service, "/campaigns/commute")
        close(service)
        assert service.call("GET", "/campaigns/commute/estimates").json()["reports"] == (
            received - hidden
        )
        told = f"{hidden} more reports came in, and are never published"
        assert (told in page(service, "/campaigns/commute")) is bool(hidden)


def test_a_small_campaign_without_labels_says_what_is_true(store: Store) -> None:
    campaign = make_campaign(public=True)
    with start_service(store, policy=ReleasePolicy()) as service:
        service.create(campaign)
        service.batch(campaign, reports(campaign, 499, np.random.default_rng(13)))
        closing = service.call("GET", "/campaigns/commute/closing", headers=service.admin)
        assert closing.json() == {"received": 499, "published": 0, "hidden": 499}
        close(service)
        text = page(service, "/campaigns/commute")
        assert "499 reports, too few to show" in text
        assert "fewer than 500 reports are never shown" in text

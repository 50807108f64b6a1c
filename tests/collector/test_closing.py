"""A campaign that was closed stays closed, whatever the clock says later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from noutput.campaign import Campaign, draw_report
from noutput.campaign.text import format_instant
from noutput.collector.store.interface import Store, UnavailableError
from tests.collector.conftest import make_campaign
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

"""One client sends at most a quarter of a release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noutput.campaign import Admission, Campaign, Report
from noutput.campaign.schedule import Schedule
from noutput.campaign.segments import Segments
from noutput.collector.cells import CellLayout
from noutput.collector.http.limits import Limits
from noutput.collector.http.problems import ProblemError
from noutput.collector.ingest.shares import ReleaseShares
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.store import open_store
from noutput.collector.store.directory import KnownCampaign
from noutput.collector.store.interface import Store
from noutput.errors import InvalidArgumentError
from tests.collector.conftest import make_campaign
from tests.collector.labeled import (
    MINUTES,
    OPENS,
    labeled_campaign,
    reports,
    scheduled_campaign,
)
from tests.collector.seen import TABLE, Sent, Watched
from tests.collector.service import Service, problem, start_service

NAMES = {"platform": ("ios", "android")}
IOS, ANDROID = {"platform": "ios"}, {"platform": "android"}
REFUSED = (429, "too-many-reports")
LIMITS = Limits(requests_per_second=0, client_reports_per_hour=10**6)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(str(tmp_path_factory.mktemp("shares") / "reports.db"))
    yield store
    store.close()


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Service]:
    """A collector with the usual policy and shares."""
    store = open_store(str(tmp_path / "service.db"))
    with start_service(store, LIMITS, policy=ReleasePolicy()) as service:
        yield service
    store.close()


def send(service: Service, campaign: Campaign, batch: list[Report], client: str) -> object:
    """Send reports from an address; return how many were counted, or the problem."""
    service._client._transport.client = (client, 1)  # type: ignore[attr-defined]
    answer = service.batch(campaign, batch)
    return answer.json()["accepted"] if answer.status_code == 200 else problem(answer)


def test_nobody_fills_a_release_around_a_victim(limited: Service, rng: np.random.Generator) -> None:
    """The attack: 499 reports with the victim's label, of which the attacker knows all."""
    campaign = labeled_campaign(NAMES, 500, public=True)
    limited.create(campaign)
    victim = reports(campaign, 1, rng, IOS)
    assert send(limited, campaign, victim, "192.0.2.1") == 1
    sent = 0
    for _ in range(499):
        if send(limited, campaign, reports(campaign, 1, rng, IOS), "192.0.2.66") == 1:
            sent += 1
    assert sent == 125
    assert send(limited, campaign, reports(campaign, 1, rng, ANDROID), "192.0.2.66") == REFUSED
    assert send(limited, campaign, reports(campaign, 125, rng, IOS), "2001:db8::1") == 125
    assert send(limited, campaign, reports(campaign, 1, rng, IOS), "2001:db8::2") == REFUSED  # /64
    assert limited.store.published_totals() == {}
    many = reports(campaign, 400, rng, IOS)
    for index in range(4):  # people elsewhere
        assert send(limited, campaign, many[100 * index :][:100], f"198.51.100.{index}") == 100
    assert list(limited.store.published_totals().values()) == [551]
    assert send(limited, campaign, reports(campaign, 1, rng, IOS), "192.0.2.66") == 1


def test_reports_that_were_counted_before_do_not_wait_twice(
    limited: Service, rng: np.random.Generator
) -> None:
    campaign = make_campaign(questions=MINUTES)
    limited.create(campaign)
    many = reports(campaign, 50, rng)
    for accepted in (50, 0, 0, 0):
        assert send(limited, campaign, many, "192.0.2.66") == accepted
    assert send(limited, campaign, reports(campaign, 75, rng), "192.0.2.66") == 75
    assert send(limited, campaign, reports(campaign, 1, rng), "192.0.2.66") == REFUSED


def test_aggregators_are_named_by_the_operator(tmp_path: Path, rng: np.random.Generator) -> None:
    campaign = make_campaign(questions=MINUTES)
    limits = Limits(0, client_reports_per_hour=10**6, aggregators=("192.0.2.0/24",))
    store = open_store(str(tmp_path / "service.db"))
    with start_service(store, limits, policy=ReleasePolicy()) as service:
        service.create(campaign)
        assert send(service, campaign, reports(campaign, 400, rng), "192.0.2.66") == 400
        assert send(service, campaign, reports(campaign, 126, rng), "192.0.3.66") == REFUSED
    store.close()


class Shares:
    """Shares of a campaign, without a collector."""

    def __init__(self, campaign: Campaign, share: float = 0.25) -> None:
        self.entry = KnownCampaign(1, campaign, b"", OPENS, None)
        self.layout = CellLayout(campaign)
        self.shares = ReleaseShares(share, ReleasePolicy(100))
        self.taken: dict[int, int] = {}

    def sends(self, count: int, combination: int = 1, number: int = 0, client: str = "a") -> bool:
        stratum = self.layout.strata.number(number, combination)
        cells = np.full(count, self.layout.cell("minutes", 0, stratum), "<i4").tobytes()
        try:
            self.shares.take(client.encode(), self.entry, cells)
        except ProblemError:
            return False
        return True

    def look(self, **released: int) -> None:
        for combination, count in released.items():
            number = int(combination[1:])
            self.taken[number] = self.taken.get(number, 0) + count
        self.shares.look(self.entry, dict(self.taken))


def test_a_release_of_the_group_gives_the_share_back() -> None:
    known = Shares(labeled_campaign(NAMES, 100))
    assert known.sends(20)
    known.look(_2=100)  # another group
    assert known.sends(5)
    assert not known.sends(1)
    known.look(_1=100)  # the five may have come after it
    assert known.sends(20)
    assert not known.sends(1)
    assert known.sends(25, client="b")


def test_what_is_released_together_is_counted_together() -> None:
    """Groups of all rounds of a period: what is left of them is one release."""
    segments = Segments(NAMES, 100)  # type: ignore[arg-type]  # a mapping is taken
    known = Shares(scheduled_campaign(schedule=Schedule("day", 7), segments=segments))
    assert known.sends(10, 1, 0)
    assert known.sends(10, 2, 3)
    assert not known.sends(6, 0, 6)
    assert known.sends(25, 0, 7)  # in the next period


TURNS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 2), st.integers(0, 3), st.integers(1, 5)), max_size=12
)


@given(turns=TURNS, closed=st.booleans())
@settings(
    max_examples=60, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
def test_no_release_has_more_than_a_share_of_one_client(
    database: Store, turns: list[tuple[bool, int, int, int]], closed: bool
) -> None:
    """The attack: spread over groups and rounds, just before and after releases."""
    segments = Segments(NAMES, 100)  # type: ignore[arg-type]  # a mapping is taken
    campaign = scheduled_campaign(schedule=Schedule("day", 2), segments=segments, tables=(TABLE,))
    watched = Watched(database, campaign, minimum=8)
    try:
        entry = KnownCampaign(watched.key, campaign, b"", OPENS, None)
        object.__setattr__(segments, "minimum", 8)
        shares, latest = ReleaseShares(0.25, watched.policy), 0
        for attacks, combination, number, count in turns:
            cell = entry.layout.cell("minutes", 0, entry.layout.strata.number(number, combination))
            for _ in range(count):
                with suppress(ProblemError):
                    if attacks:
                        shares.take(b"attacker", entry, np.array([cell], "<i4").tobytes())
                    watched.send(Sent("attacker" if attacks else None, number, combination))
            latest = max(latest, number)
            watched.look(over=latest)
            shares.look(entry, database.taken(watched.key, watched.layout))
        watched.look(over=latest + 1, closed=closed)
        for released in watched.releases():
            for period in (0, 1):  # what is left of two periods is two releases
                mine = [each for each in released if each.round // 2 == period]
                assert len(mine) >= 8 or not mine
                assert sum(each.person == "attacker" for each in mine) <= 2
    finally:
        database.delete(campaign.id)


def test_reports_with_tokens_have_no_such_limit() -> None:
    campaign = make_campaign(questions=MINUTES, admission=Admission("token"))
    assert Shares(campaign).sends(1000, 0)
    assert Shares(make_campaign(questions=MINUTES), share=0.0).sends(1000, 0)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_bad_shares_are_refused(share: float) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^client_share must"):
        Limits(client_share=share)


def test_ten_people_over_fifty_weeks_are_never_shown(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    """The attack: a label held by ten people gets 500 reports over 50 weekly rounds."""
    segments = Segments(NAMES, 500)  # type: ignore[arg-type]  # a mapping is taken
    campaign = scheduled_campaign(
        50, schedule=Schedule("week", 1, grace=0), segments=segments, public=True
    )
    store = open_store(str(tmp_path / "service.db"))
    with start_service(store, policy=ReleasePolicy()) as service:
        service.create(campaign)
        for number in range(50):
            service.clock.now = OPENS + timedelta(weeks=number, hours=1)
            batch = reports(campaign, 10, rng, IOS, number, 170.0)
            service.batch(campaign, batch + reports(campaign, 500, rng, ANDROID, number))
        service.clock.now = campaign.closes + timedelta(minutes=1)
        service.app.services.closer.look()
        service.publish()
        groups = service.call("GET", "/campaigns/commute/segments").json()["groups"]
        shown = {row["group"]: row["reports"] for row in groups}
        assert shown == {"ios": 0, "android": 50 * 500, "not told": 0}
        found = service.call("GET", "/campaigns/commute/estimates").json()
        assert found["reports"] == 50 * 500
    store.close()

"""Quotas: how many reports of one client, and of one campaign, are counted."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from noutput.campaign import Admission, Campaign, Report, draw_report
from noutput.campaign.packed import encode_packed
from noutput.campaign.tokens import new_token
from noutput.campaign.wire import PACKED_TYPE, REPORT_TYPE, encode_report
from noutput.cli.serve import command as serve
from noutput.collector.http.limits import Limits, RateLimiter, client_network
from noutput.collector.http.problems import ProblemError
from noutput.collector.ingest.quotas import Quotas
from noutput.collector.issuing import issue_tokens
from noutput.collector.metrics import Metrics
from noutput.collector.server import Options
from noutput.collector.store import open_store
from noutput.collector.store.directory import KnownCampaign
from noutput.collector.store.interface import Outcome, UnavailableError
from noutput.errors import InvalidArgumentError
from tests.campaign.tokens import token_campaign
from tests.collector.conftest import make_campaign
from tests.collector.service import UNLIMITED, Service, problem, start_service

HERE = "127.0.0.1"
WEEK = datetime(2026, 5, 1, tzinfo=UTC)


def entry(per_hour: int | None = None, key: int = 1, **parts: Any) -> KnownCampaign:
    campaign = make_campaign(admission=Admission(reports_per_hour=per_hour), **parts)
    return KnownCampaign(key, campaign, b"", WEEK, None)


class Quota:
    """Quotas with a clock of their own, and what they answer."""

    def __init__(self, per_hour: float = 1000.0, *aggregators: str) -> None:
        self.now = 0.0
        self.metrics = Metrics()
        limits = Limits(client_reports_per_hour=per_hour, aggregators=aggregators)
        self.quotas = Quotas(limits, self.metrics, lambda: self.now)

    def ask(self, known: KnownCampaign, reports: int, client: str = HERE) -> tuple[str, int]:
        """Return the problem and the seconds to wait; nothing and 0 where all is well."""
        try:
            self.quotas.take(self.quotas._clients.name(client), known, reports, client)
        except ProblemError as error:
            return error.problem.name, int(error.headers.get("Retry-After", "0"))
        return "", 0


OK = ("", 0)


def test_a_client_has_so_many_reports_at_once_and_so_many_per_hour() -> None:
    quota, known = Quota(), entry()
    assert quota.ask(known, 999) == OK
    assert quota.ask(known, 1) == OK
    assert quota.ask(known, 1) == ("too-many-reports", 4)
    assert quota.ask(known, 500) == ("too-many-reports", 1800)
    assert quota.ask(known, 1, "127.0.0.2") == OK  # somebody else
    assert quota.ask(entry(key=2), 1000) == OK  # another campaign
    quota.now = 1800.0
    assert quota.ask(known, 500) == OK
    assert quota.ask(known, 1)[0] == "too-many-reports"
    assert quota.metrics.refused_reports == {"client": 502}


def test_a_batch_that_no_time_makes_small_enough_is_not_to_be_sent_again() -> None:
    quota = Quota()
    assert quota.ask(entry(), 1001) == ("body-too-large", 0)
    assert quota.ask(entry(300), 301) == ("body-too-large", 0)
    assert quota.ask(entry(), 1000) == OK  # nothing was taken


def test_a_batch_that_is_just_small_enough_is_to_be_sent_later() -> None:
    for per_hour in range(650, 3000, 10):  # a tenth of some of them has no exact quotient
        quota, known = Quota(), entry(per_hour)
        assert quota.ask(known, per_hour // 10) == ("", 0)
        problem_name, seconds = quota.ask(known, per_hour // 10)
        assert (problem_name, 3590 <= seconds <= 3601) == ("too-many-reports", True)
        assert quota.ask(known, per_hour // 10 + 1)[0] == "body-too-large"


@pytest.mark.parametrize("rate", [0.5, 1e-9, 1e-320])
def test_fewer_than_one_report_per_hour_is_no_limit_that_anybody_wants(rate: float) -> None:
    with pytest.raises(
        InvalidArgumentError, match="client_reports_per_hour must be 0 or at least 1"
    ):
        Limits(client_reports_per_hour=rate)


def test_a_client_has_a_tenth_of_what_a_campaign_expects_at_most() -> None:
    for per_hour, most in ((5000, 500), (10_000, 1000), (10**6, 1000), (100, 64)):
        quota, known = Quota(), entry(per_hour)
        assert quota.ask(known, most + 1) == ("body-too-large", 0), per_hour
        assert quota.ask(known, most) == OK
        assert quota.ask(known, 1) == ("too-many-reports", -(-3600 // most))
    assert Quota(10.0).ask(entry(100), 11) == ("body-too-large", 0)  # as the operator says


def test_a_campaign_has_so_many_reports_at_once_and_so_many_per_hour() -> None:
    quota, known = Quota(0.0), entry(1000)
    assert quota.ask(known, 990) == OK
    assert quota.ask(known, 20) == ("campaign-limit", 36)
    assert quota.ask(known, 10, "2001:db8::1") == OK
    assert quota.ask(known, 1, "2001:db8::1") == ("campaign-limit", 4)
    assert quota.ask(entry(key=2), 10_000) == OK  # one that names no number
    quota.now = 36.0
    assert quota.ask(known, 10) == OK
    assert quota.quotas.look(known, 1010) == 21  # reports that were refused
    assert quota.quotas.look(known, 1010) == 0
    assert quota.metrics.refused_reports == {"campaign": 21}


def test_one_person_fits_in_any_campaign() -> None:
    assert Quota().ask(entry(1, ask="all"), 3) == OK
    assert Quota().ask(entry(1), 2) == ("body-too-large", 0)


def test_a_client_does_not_pay_for_what_the_campaign_refuses() -> None:
    quota, known = Quota(1000.0), entry(10_000)
    for place in range(10):
        assert quota.ask(known, 1000, f"192.0.2.{place}") == OK
    assert quota.ask(known, 900)[0] == "campaign-limit"
    quota.now = 360.0
    assert quota.ask(known, 1000) == OK


def test_what_a_client_may_not_send_is_no_matter_of_the_campaign() -> None:
    quota, known = Quota(1000.0), entry(10_000)
    assert quota.ask(known, 1000) == OK
    for _ in range(20):
        assert quota.ask(known, 1000)[0] == "too-many-reports"
        assert quota.ask(known, 10_000)[0] == "body-too-large"
    assert quota.quotas.look(known, 1000) == 0


def test_reports_that_could_not_be_counted_are_given_back() -> None:
    quota, known = Quota(), entry(10_000)
    for _ in range(30):
        assert quota.ask(known, 1000) == OK
        quota.quotas.give_back(quota.quotas._clients.name(HERE), known, 1000)
    assert quota.ask(known, 1000) == OK
    assert quota.ask(known, 1)[0] == "too-many-reports"


def test_aggregators_are_limited_by_the_campaign_alone() -> None:
    quota = Quota(1000.0, "10.0.0.0/8", "2001:db8:7::/48")
    for client in ("10.1.2.3", "::ffff:10.1.2.3", "2001:db8:7:5::1", "2001:db8:7:6::1%eth0"):
        for _ in range(3):
            assert quota.ask(entry(), 10_000, client) == OK
    for client in ("11.0.0.1", "2001:db8:8::1", "nobody", ""):
        assert quota.ask(entry(), 10_000, client) == ("body-too-large", 0)
    assert quota.ask(entry(9_999), 10_000, "10.1.2.3") == ("body-too-large", 0)
    with pytest.raises(InvalidArgumentError, match="aggregators must be IP addresses or networks"):
        Limits(aggregators=("gateway",))


def test_addresses_of_one_network_are_one_client() -> None:
    quota = Quota()
    assert quota.ask(entry(), 1000, "2001:db8:1:2::1") == OK
    assert quota.ask(entry(), 1, "2001:db8:1:2:ffff::9")[0] == "too-many-reports"
    assert quota.ask(entry(), 1, "2001:0db8:0001:0002::1%eth0")[0] == "too-many-reports"
    assert quota.ask(entry(), 1000, "2001:db8:1:3::1") == OK
    assert quota.ask(entry(), 1000, "192.0.2.1") == OK
    assert quota.ask(entry(), 1, "::ffff:192.0.2.1")[0] == "too-many-reports"
    assert quota.ask(entry(), 1, "::ffff:c000:201")[0] == "too-many-reports"
    assert quota.ask(entry(), 1000, "::ffff:192.0.2.2") == OK
    limiter = RateLimiter(1.0, 1, clock=lambda: 0.0)  # of requests
    assert [limiter.wait(f"2001:db8::{n}") for n in range(1, 4)] == [0, 1, 1]
    for text in ("", "unix:", "1:2:3", "testclient"):
        assert client_network(text) == text


def test_no_address_is_kept() -> None:
    quota = Quota()
    for client in ("192.0.2.1", "2001:db8::1"):
        assert quota.ask(entry(10_000), 1, client) == OK
    kept = repr(vars(quota.quotas)) + repr(quota.quotas._clients.__dict__)
    assert "192.0.2" not in kept
    assert "2001:db8" not in kept
    assert all(len(name) == 13 for name in quota.quotas._clients._buckets)  # and the campaign


def share(processes: int, seconds: int, offered: Callable[[int, int], int]) -> list[int]:
    """Let processes look at one database every second; return what they counted by then."""
    known = entry(3600)
    parts = [Quota(0.0) for _ in range(processes)]
    for part in parts:
        part.quotas.look(known, 0)
    total, result = 0, []
    for second in range(seconds):
        for place, part in enumerate(parts):
            part.now = float(second)
            for _ in range(offered(place, second)):
                if part.ask(known, 60) == OK:
                    part.quotas.counted(known, Outcome(60, 0))
                    total += 60
        for part in parts:
            part.quotas.look(known, total)
        result.append(total)
    return result


def test_processes_share_the_quota_of_a_campaign() -> None:
    for processes in (1, 2, 4):
        counted = share(processes, 8000, lambda _, __: 2)
        # Beyond the quota there is only what the others count between two looks.
        beyond = 2 * 60 * (processes - 1)
        assert all(each <= 3600 + second + beyond for second, each in enumerate(counted))
        assert counted[7200] >= 3 * 3600 - 60


def test_a_process_without_reports_does_not_pay_for_hours_in_which_it_had_none() -> None:
    known, quota = entry(3600), Quota(0.0)
    quota.quotas.look(known, 0)
    quota.now = 36_000.0  # others had an hour's reports in each of ten
    assert quota.quotas.look(known, 36_000) == 0
    assert quota.ask(known, 3600) == OK
    quota.quotas.counted(known, Outcome(3600, 0))
    quota.quotas.look(known, 39_600)
    assert quota.ask(known, 1)[0] == "campaign-limit"
    quota.now += 3600.0
    assert quota.ask(known, 3600) == OK


def batch(campaign: Campaign, count: int) -> bytes:
    name = campaign.questions[0].name
    reports = (Report(campaign.fingerprint, name, 0, os.urandom(16).hex()) for _ in range(count))
    return encode_packed(campaign, list(reports))


@contextmanager
def serving(folder: Path, limits: Limits) -> Iterator[Service]:
    store = open_store(str(folder / "quotas.db"))
    with start_service(store, limits) as service:
        yield service
    store.close()


def test_the_route_says_which_limit_and_how_long(tmp_path: Path) -> None:
    campaign = make_campaign(admission=Admission(reports_per_hour=2000))
    limits = Limits(requests_per_second=0, client_reports_per_hour=150)
    with serving(tmp_path, limits) as service:
        service.create(campaign)

        def send(body: bytes) -> httpx.Response:
            return service.send(body, PACKED_TYPE)

        first = batch(campaign, 100)
        assert send(first).json() == {"accepted": 100, "repeated": 0}
        answer = send(first)  # what was counted before takes from the client's quota as well
        assert problem(answer) == (429, "too-many-reports")
        assert 1190 <= int(answer.headers["retry-after"]) <= 1200
        assert re.match("one client may send 150 reports per hour; wait 1,?[0-9]+ s",
                        answer.json()["detail"])  # fmt: skip
        assert answer.headers["access-control-allow-origin"] == "*"
        answer = send(batch(campaign, 151))
        assert problem(answer) == (413, "body-too-large")
        assert "one client may send at most 150 reports at once; found 151" in answer.text
        service.app.services.quotas._campaigns[1].level = 30.0
        answer = send(batch(campaign, 50))
        assert problem(answer) == (429, "campaign-limit")
        assert 35 <= int(answer.headers["retry-after"]) <= 36
        assert "the campaign expects 2,000 reports per hour" in answer.json()["detail"]
        assert service.total() == 100
        text = service.call("GET", "/metrics", headers=service.admin).text
    assert 'noutput_reports_refused_total{limit="campaign"} 50\n' in text
    assert 'noutput_reports_refused_total{limit="client"} 251\n' in text
    assert 'noutput_requests_refused_total{problem="campaign-limit"} 1\n' in text


def test_a_database_that_is_away_takes_nothing_from_a_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = make_campaign(admission=Admission(reports_per_hour=1000))
    limits = Limits(requests_per_second=0, client_reports_per_hour=100)
    with serving(tmp_path, limits) as service:
        service.create(campaign)
        body = batch(campaign, 100)
        with monkeypatch.context() as patch:

            def fail(_: object) -> None:
                raise UnavailableError("away")

            patch.setattr(service.store, "add", fail)
            for _ in range(3):
                assert service.send(body, PACKED_TYPE).status_code == 503
        assert service.send(body, PACKED_TYPE).json()["accepted"] == 100
        assert service.send(body, PACKED_TYPE).status_code == 429


def test_one_report_that_is_sent_again_and_again_locks_nobody_out(tmp_path: Path) -> None:
    """One good token takes one report from the campaign's quota, and a bad one takes none."""
    campaign = replace(token_campaign(), admission=Admission("token", reports_per_hour=70))
    with serving(tmp_path, Limits(requests_per_second=0)) as service:
        service.create(campaign)
        tokens = issue_tokens(service.store, 1, campaign, 1)
        mine, forged = (
            encode_report(draw_report(campaign, "yes", each)) for each in (*tokens, new_token())
        )
        for _ in range(3):
            answer = service.send(forged, REPORT_TYPE, campaign.id)
            assert problem(answer) == (403, "invalid-token")
        for accepted in [1] + [0] * 63:  # all that one client may send
            answer = service.send(mine, REPORT_TYPE, campaign.id)
            assert answer.json()["accepted"] == accepted
        answer = service.send(mine, REPORT_TYPE, campaign.id)
        assert problem(answer) == (429, "too-many-reports")
        assert 69 <= service.app.services.quotas._campaigns[1].level < 70


def test_what_one_client_gets_counted_in_the_first_minute() -> None:
    """The attack: packed batches as fast as one client can, with the default limits."""
    for per_hour, most in ((None, 1016), (10_000, 1016), (2000, 203)):
        quota, known = Quota(Limits().client_reports_per_hour), entry(per_hour)
        counted = 0
        for tick in range(6001):
            quota.now = tick / 100.0
            for size in (10_000, 1000, 100, 10, 1):
                counted += size * (quota.ask(known, size) == OK)
        assert counted == most, per_hour


def test_the_default_serves_a_household_that_answers_everything() -> None:
    wide = make_campaign(admission=Admission(reports_per_hour=100), ask="all")
    for known in (entry(), replace(entry(), campaign=wide)):
        quota = Quota(Limits().client_reports_per_hour)
        assert all(quota.ask(known, 3) == OK for _ in range(20))


def test_two_collectors_of_a_database_share_the_quota_of_a_campaign(tmp_path: Path) -> None:
    campaign = make_campaign(admission=Admission(reports_per_hour=1000))
    with serving(tmp_path, UNLIMITED) as one, start_service(one.store) as two:
        one.create(campaign)
        for each in (one, two):
            assert each.send(batch(campaign, 10), PACKED_TYPE).status_code == 200
            each.app.services.watcher.look()
        assert one.send(batch(campaign, 950), PACKED_TYPE).status_code == 200
        two.app.services.watcher.look()
        assert problem(two.send(batch(campaign, 100), PACKED_TYPE)) == (429, "campaign-limit")
        assert two.send(batch(campaign, 10), PACKED_TYPE).status_code == 200


def test_the_command_line_names_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Options] = []
    monkeypatch.setattr("noutput.collector.server.run", lambda options, _: found.append(options))
    given = ["--database", "x.db", "--client-reports", "50", "--aggregator", "10.0.0.0/8"]
    for arguments in ([], given):
        assert CliRunner().invoke(serve, arguments).exit_code == 0
    assert found[0].limits == Limits()
    assert found[1].limits == Limits(client_reports_per_hour=50, aggregators=("10.0.0.0/8",))
    refused = CliRunner().invoke(serve, ["--aggregator", "gateway"])
    assert isinstance(refused.exception, InvalidArgumentError)

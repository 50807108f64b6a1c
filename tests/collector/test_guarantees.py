"""What is said to whom about a campaign: on its page, and in its estimates."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noutput as no
from noutput.amplification.result import round_up
from noutput.campaign import Admission, Campaign, Number, YesNo
from noutput.campaign.packed import encode_packed
from noutput.campaign.schedule import Schedule
from noutput.campaign.wire import PACKED_TYPE
from noutput.collector import guarantees
from noutput.collector.cells import CellLayout
from noutput.collector.guarantees import Readers, campaign_readers, operator_sentence, planned
from noutput.collector.http.models import EstimatesModel
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.store import open_store
from noutput.collector.store.directory import KnownCampaign
from noutput.collector.store.interface import Release, Submission
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.answers import AnswerMechanism
from tests.campaign.examples import answer_table
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import HTML, get, read, read_token
from tests.collector.labeled import OPENS, scheduled_campaign
from tests.collector.people import lognormal_reports
from tests.collector.service import Service, start_service
from tests.docs.stated import stated
from tests.tables import window_table

WEAK, STRONG = (AnswerMechanism.of(answer_table(epsilon, 2)) for epsilon in (0.5, 1.0))
PAGE = "/campaigns/commute"


def release(question: int, smallest: int, last: int) -> Release:
    return Release(question, 10_000, "2026-05-01T00:00:00Z", 3, smallest, last)


def entry_of(campaign: Campaign) -> KnownCampaign:
    return KnownCampaign(1, campaign, b"", OPENS, None)


def test_everybody_has_the_guarantee_of_the_smallest_release() -> None:
    releases = [release(0, 500, 4_000), release(1, 600, 600)]
    for ask in ("one", "all"):
        found = campaign_readers(entry_of(pair(ask)), releases)
        if ask == "one":
            wanted = no.published_privacy(STRONG, reports=600).epsilon
        else:
            wanted = no.published_rounds([WEAK, STRONG], reports=[500, 600]).epsilon
        assert found == Readers(wanted, 1e-8, 500)


def pair(ask: str) -> Campaign:
    """Return a campaign with a weak and a strong question."""
    asked = (YesNo(name="weak"), YesNo(name="strong"))
    tables = (answer_table(0.5, 2), answer_table(1.0, 2))
    return make_campaign(questions=asked, tables=tables, objectives=("shares",) * 2, ask=ask)


def law(ones: int, zeros: int, keep: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the law of the count of "yes" among randomized responses."""
    found = np.ones(1)
    for share in [keep] * ones + [1.0 - keep] * zeros:
        found = np.convolve(found, [1.0 - share, share])
    return found


def divergence(first: Any, second: Any, epsilon: float) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


@pytest.mark.parametrize("others", range(9))
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_two_answers_of_a_period_may_be_in_one_release(others: int, epsilon: float) -> None:
    """One change after the other: delta is at most 1 + e^epsilon times that of one."""
    keep, size = 0.8, 10
    both = [law(others + mine, size - others - mine, keep) for mine in (0, 1, 2)]
    ends = ((both[0], both[2]), (both[2], both[0]))
    once = max(
        divergence(law(one, size - one, keep), law(other, size - other, keep), epsilon)
        for a in range(size)
        for one, other in ((a, a + 1), (a + 1, a))
    )
    for first, second in ends:
        assert divergence(first, second, 2 * epsilon) <= once * (1 + math.exp(epsilon)) + 1e-15


def test_several_answers_and_periods_add_up() -> None:
    campaign = scheduled_campaign(schedule=Schedule("day", 7, answers=2))
    entry = entry_of(campaign)
    once = planned(entry.mechanisms, 500, all_questions=False)
    both = campaign_readers(entry, [release(0, 500, 500)])
    assert once is not None
    assert both is not None
    assert both.epsilon == 2 * once.epsilon
    assert both.delta == pytest.approx(1e-8 * (1 + math.exp(once.epsilon)))
    assert both.delta > 1e-8 * (1 + math.exp(once.epsilon))
    assert both.campaign_epsilon == 2 * both.epsilon  # of two weeks
    total = round_up(both.campaign_epsilon)
    assert f"about one person per period, and {total} in the whole campaign" in both.sentence
    told = operator_sentence(campaign)
    assert "at most epsilon 4 about one person per period, and 8 in the whole campaign" in told


@pytest.mark.parametrize("ask", ["one", "all"])
def test_nothing_is_said_where_nothing_is_proven(ask: str) -> None:
    entry = entry_of(pair(ask))
    assert campaign_readers(entry, []) is None
    assert campaign_readers(entry, [release(0, 1, 1), release(1, 2, 600)]) is None
    mixed = campaign_readers(entry, [release(0, 1, 1), release(1, 600, 600)])
    assert (mixed is None) is (ask == "one")  # of both reports, one is hidden better


@contextmanager
def serving(folder: Path, campaign: Campaign, policy: ReleasePolicy) -> Iterator[Service]:
    with (
        closing(open_store(str(folder / "reports.db"))) as store,
        start_service(store, policy=policy) as service,
    ):
        service.create(campaign)
        yield service


def asking(ask: str) -> Campaign:
    asked = (Number(0, 180, "min", name="minutes"), YesNo(name="late"))
    tables = (window_table(1.0, 5, 7, 0.4).plain, answer_table(0.5, 2))
    return make_campaign(
        public=True, questions=asked, tables=tables, objectives=("balanced", "shares"), ask=ask
    )


def fill(service: Service, campaign: Campaign, count: int, seed: int) -> None:
    body = encode_packed(campaign, lognormal_reports(campaign, count, seed))
    assert service.send(body, PACKED_TYPE).json()["accepted"] == count


@pytest.mark.parametrize("ask", ["one", "all"])
def test_a_page_has_two_sentences_where_reports_need_tokens(
    tmp_path: Path, ask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = [1000.0]
    monkeypatch.setattr("noutput.collector.cache.time.monotonic", lambda: moment[0])
    campaign = replace(asking(ask), admission=Admission("token"))
    with serving(tmp_path, campaign, ReleasePolicy(300, 0.1)) as service:
        assert "What everybody else can learn" not in read(get(service, PAGE)).text
        for seed, count in ((1, 800), (2, 3_000)):
            add(service, campaign, count, seed)
        moment[0] += 60.0
        text = " ".join(read(get(service, PAGE)).text.split())
        found = EstimatesModel.model_validate(service.call("GET", f"{PAGE}/estimates").json())
        entry = service.app.services.directory.find("commute")
        assert entry is not None
        releases = service.store.published(entry.key).releases
    promised = campaign_readers(entry, releases)
    assert promised is not None
    readers = found.privacy.readers
    assert readers is not None
    assert (readers.epsilon, readers.delta) == (promised.epsilon, 1e-8)
    assert readers.release == promised.release >= 300
    assert readers.text == promised.sentence
    assert found.privacy.operator.epsilon == campaign.epsilon
    assert f"at most epsilon {campaign.epsilon:g} about one person" in found.privacy.operator.text
    shown = float(text.split("nobody learns more than ε = ")[1].split()[0])
    assert promised.epsilon <= shown < 1.01 * promised.epsilon
    assert f"as long as the {promised.release - 1} others or more in the same release" in text
    assert "except with probability 10⁻⁸ (1 in 100 million)" in text
    assert "invents reports" not in text
    for each, last in zip(found.questions, releases, strict=True):
        assert each.published is not None
        assert (each.published.smallest, each.published.last) == (last.smallest, last.last)


def add(service: Service, campaign: Campaign, count: int, seed: int) -> None:
    """Count reports as if they had tokens."""
    row = service.store.campaign(campaign.id)
    assert row is not None
    layout = CellLayout(campaign)
    found = lognormal_reports(campaign, count, seed)
    cells = np.array([layout.cell(each.question, each.output) for each in found], "<i4")
    ids = b"".join(bytes.fromhex(each.id) for each in found)
    service.store.add([Submission(row.key, ids, cells.tobytes())])
    service.publish()


def test_an_open_campaign_promises_readers_nothing_more(tmp_path: Path) -> None:
    """Whoever can invent reports can fill a release: only the operator is told, with that."""
    campaign = asking("one")
    with serving(tmp_path, campaign, ReleasePolicy(300, 0.1)) as service:
        fill(service, campaign, 800, 1)
        reader = {"Authorization": f"Bearer {read_token(service)}"}
        for headers in ({}, reader):
            text = service.call("GET", PAGE, headers={**HTML, **headers}).text
            assert "What everybody else can learn" not in text
        text = service.call("GET", PAGE, headers={**HTML, **service.admin}).text
        assert "What everybody else can learn" in text
        assert "it holds if nobody invents reports" in text
        found = service.call("GET", f"{PAGE}/estimates").json()
    assert found["privacy"]["readers"] is None
    assert found["privacy"]["operator"]["epsilon"] == 1.0


def test_small_releases_promise_nothing_more(tmp_path: Path) -> None:
    campaign = replace(asking("one"), admission=Admission("token"))
    with serving(tmp_path, campaign, ReleasePolicy(1, 0.0)) as service:
        for seed in range(4):
            add(service, campaign, 2, seed)
        text = read(get(service, PAGE)).text
        found = service.call("GET", f"{PAGE}/estimates").json()
    assert "What everybody else can learn" not in text
    assert found["privacy"]["readers"] is None


def test_a_guarantee_is_computed_once_per_release_and_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = [1000.0]
    monkeypatch.setattr("noutput.collector.cache.time.monotonic", lambda: moment[0])
    calls: list[str] = []
    compute: Callable[..., Any] = no.published_privacy

    def count(*arguments: Any, **options: Any) -> Any:
        calls.append(threading.current_thread().name)
        return compute(*arguments, **options)

    guarantees._proven.cache_clear()
    monkeypatch.setattr(guarantees, "published_privacy", count)
    campaign = asking("one")
    with serving(tmp_path, campaign, ReleasePolicy(300, 0.1)) as service:
        fill(service, campaign, 900, 1)
        for path in ("/estimates", "/estimates?bins=16", "/estimates.csv", ""):
            assert get(service, PAGE + path).status_code == 200
            moment[0] += 60.0
        assert len(calls) == 2  # one per question
        fill(service, campaign, 30, 2)
        get(service, f"{PAGE}/estimates")
        assert len(calls) == 2
    assert all("estimates" in name for name in calls), calls


@pytest.mark.parametrize(("least", "share"), [(0, 0.1), (10**13, 0.1), (5, -0.1), (5, 1.1)])
def test_bad_policies_are_refused(least: int, share: float) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^(minimum|growth) must"):
        ReleasePolicy(least, share)


def test_the_documented_releases() -> None:
    usual = ReleasePolicy()
    (least,) = stated("docs/collector.md", r"(\d+) \(`--minimum`\), and a tenth of those")
    assert (least, 0.1) == (usual.minimum, usual.growth)
    (many,) = stated("docs/collector.md", r"up to a billion reports that is about (\d+) releases")
    published = number = 0
    while published < 10**9:
        published += usual.size(published)
        number += 1
    assert round(number, -1) == many
    said = stated(
        "docs/privacy.md",
        r"With releases of (\d+) reports, it is ([\d.]+) for a campaign with epsilon 1",
    )
    epsilon = no.published_privacy(no.design(1.0), reports=usual.minimum).epsilon
    assert said == [usual.minimum, float(round_up(epsilon, 2))]

"""What is said to whom about a campaign: on its page, and in its estimates."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noutput as no
from noutput.amplification.result import round_up
from noutput.campaign import Campaign, Number, YesNo
from noutput.campaign.packed import encode_packed
from noutput.campaign.schedule import Schedule
from noutput.campaign.wire import PACKED_TYPE
from noutput.collector import guarantees
from noutput.collector.guarantees import Readers, campaign_readers, worst_of
from noutput.collector.http.models import EstimatesModel
from noutput.collector.steps import Steps
from noutput.collector.store import open_store
from noutput.collector.store.directory import KnownCampaign
from noutput.collector.store.interface import Release
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.answers import AnswerMechanism
from tests.campaign.examples import answer_table
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import get, read
from tests.collector.labeled import OPENS, scheduled_campaign
from tests.collector.people import lognormal_reports
from tests.collector.service import Service, start_service
from tests.docs.stated import stated
from tests.tables import window_table

WEAK, STRONG = (AnswerMechanism.of(answer_table(epsilon, 2)) for epsilon in (0.5, 1.0))
PAGE = "/campaigns/commute"


def release(question: int, smallest: int, last: int) -> Release:
    return Release(question, 10_000, "2026-05-01T00:00:00Z", 3, smallest, last)


def test_everybody_has_the_guarantee_of_the_worst_step() -> None:
    releases = [release(0, 500, 4_000), release(1, 600, 600)]
    found = worst_of([WEAK, STRONG], releases, all_questions=False)
    alone = no.published_privacy(STRONG, reports=600)
    assert found == Readers(alone.epsilon, 1e-8, 500)
    both = worst_of([WEAK, STRONG], releases, all_questions=True)
    wanted = no.published_rounds([WEAK, STRONG], reports=[500, 600])
    assert both == Readers(wanted.epsilon, 1e-8, 500)
    assert alone.epsilon < wanted.epsilon < 1.5


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
def test_two_answers_of_a_period_may_be_in_one_step(others: int, epsilon: float) -> None:
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


def test_several_answers_add_up() -> None:
    schedule = Schedule("day", 7, answers=2)
    campaign = scheduled_campaign(schedule=schedule)
    entry = KnownCampaign(1, campaign, b"", OPENS, None)
    once = worst_of(entry.mechanisms, [release(0, 500, 500)], all_questions=False)
    both = campaign_readers(entry, [release(0, 500, 500)])
    assert once is not None
    assert both is not None
    assert both.epsilon == 2 * once.epsilon
    assert both.delta == pytest.approx(1e-8 * (1 + math.exp(once.epsilon)))
    assert both.delta > 1e-8 * (1 + math.exp(once.epsilon))


@pytest.mark.parametrize("all_questions", [False, True])
def test_nothing_is_said_where_nothing_is_proven(all_questions: bool) -> None:
    assert worst_of([WEAK, STRONG], [], all_questions=all_questions) is None
    small = [release(0, 1, 1), release(1, 2, 600)]
    assert worst_of([WEAK, STRONG], small, all_questions=all_questions) is None
    mixed = worst_of([WEAK, STRONG], [small[0], release(1, 600, 600)], all_questions=all_questions)
    assert (mixed is None) is not all_questions  # of both reports, one is hidden better


@contextmanager
def serving(folder: Path, campaign: Campaign, steps: Steps) -> Iterator[Service]:
    with (
        closing(open_store(str(folder / "reports.db"))) as store,
        start_service(store, steps=steps) as service,
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
def test_a_page_has_two_sentences(
    tmp_path: Path, ask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = [1000.0]
    monkeypatch.setattr("noutput.collector.cache.time.monotonic", lambda: moment[0])
    campaign = asking(ask)
    with serving(tmp_path, campaign, Steps(300, 0.1)) as service:
        assert "What everybody else can learn" not in read(get(service, PAGE)).text
        for seed, count in ((1, 800), (2, 3_000)):
            fill(service, campaign, count, seed)
        moment[0] += 60.0
        text = " ".join(read(get(service, PAGE)).text.split())
        found = EstimatesModel.model_validate(service.call("GET", f"{PAGE}/estimates").json())
        entry = service.app.services.directory.find("commute")
        assert entry is not None
        releases = service.store.published(entry.key).releases
    promised = worst_of(entry.mechanisms, releases, all_questions=ask == "all")
    assert promised is not None
    readers = found.privacy.readers
    assert readers is not None
    assert (readers.epsilon, readers.delta, readers.step) == (promised.epsilon, 1e-8, promised.step)
    assert readers.text == promised.sentence
    assert found.privacy.operator.epsilon == campaign.epsilon
    assert f"at most epsilon {campaign.epsilon:g} about one person" in found.privacy.operator.text
    shown = float(text.split("nobody learns more than ε = ")[1].split()[0])
    assert promised.epsilon <= shown < 1.01 * promised.epsilon
    assert (
        f"if at least {promised.step - 1} others whose reports were published in the same" in text
    )
    assert "except with probability 10⁻⁸ (1 in 100 million)" in text
    assert "Neither ids nor times nor the order of reports are published" in text
    for each, last in zip(found.questions, releases, strict=True):
        assert each.published is not None
        assert (each.published.smallest_step, each.published.last_step) == (
            last.smallest,
            last.last,
        )
        assert each.published.last_epsilon is not None
        assert each.published.epsilon is not None
        assert each.published.last_epsilon < each.published.epsilon < each.epsilon
    assert f"The last step had {releases[0].last:,} reports on this question" in text


def test_small_steps_promise_nothing_more(tmp_path: Path) -> None:
    campaign = asking("one")
    with serving(tmp_path, campaign, Steps(1, 0.0)) as service:
        for seed in range(4):
            fill(service, campaign, 2, seed)
        text = read(get(service, PAGE)).text
        found = service.call("GET", f"{PAGE}/estimates").json()
    assert "What everybody else can learn" not in text
    assert "The last step" not in text
    assert found["privacy"]["readers"] is None
    assert {each["published"]["epsilon"] for each in found["questions"]} == {None}


def test_a_guarantee_is_computed_once_per_step_and_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = [1000.0]
    monkeypatch.setattr("noutput.collector.cache.time.monotonic", lambda: moment[0])
    calls: list[str] = []
    compute: Callable[..., Any] = no.published_privacy

    def count(*arguments: Any, **options: Any) -> Any:
        calls.append(threading.current_thread().name)
        return compute(*arguments, **options)

    guarantees._found.cache_clear()
    monkeypatch.setattr(guarantees, "published_privacy", count)
    campaign = asking("one")
    with serving(tmp_path, campaign, Steps(300, 0.1)) as service:
        fill(service, campaign, 900, 1)
        for path in ("/estimates", "/estimates?bins=16", "/estimates.csv", ""):
            assert get(service, PAGE + path).status_code == 200
            moment[0] += 60.0
        assert len(calls) == 2  # one per question: the first step is the smallest and the last
        fill(service, campaign, 30, 2)
        get(service, f"{PAGE}/estimates")
        assert len(calls) == 2
    assert all("estimates" in name for name in calls), calls


@pytest.mark.parametrize(("least", "share"), [(0, 0.1), (10**13, 0.1), (5, -0.1), (5, 1.1)])
def test_bad_steps_are_refused(least: int, share: float) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^(least|share) must"):
        Steps(least, share)


def test_the_documented_steps() -> None:
    usual = Steps()
    (least,) = stated("docs/collector.md", r"(\d+) \(`--step`\), and a tenth of those")
    assert (least, 0.1) == (usual.least, usual.share)
    (many,) = stated("docs/collector.md", r"up to a billion reports that is about (\d+) steps")
    published = number = 0
    while published < 10**9:
        published += usual.size(published)
        number += 1
    assert round(number, -1) == many
    said = stated(
        "docs/privacy.md",
        r"With steps of (\d+) reports, it is ([\d.]+) for a campaign with epsilon 1",
    )
    epsilon = no.published_privacy(no.design(1.0), reports=usual.least).epsilon
    assert said == [usual.least, float(round_up(epsilon, 2))]

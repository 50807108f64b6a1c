"""Devices that answer in rounds of their own, and tell labels where their people allow it."""

from __future__ import annotations

import math
import pickle
import random
import subprocess
import sys
import warnings
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import chisquare

from noutput.campaign import Client, Ledger, Policy, Receipt, Schedule, draw_report, draw_reports
from noutput.campaign.campaign import fit_table
from noutput.campaign.schedule import rounds_of
from noutput.errors import InvalidArgumentError, NotDueError, PolicyError, PrivacyError
from tests.campaign.examples import (
    OPENS,
    SEGMENTS,
    WEEKS,
    answers_to,
    late_campaign,
    panel_campaign,
)
from tests.campaign.server import COUNTED, serving
from tests.tables import window_table

DAY = 86_400
START = OPENS.timestamp()
LATE: dict[str, Any] = {"questions": late_campaign().questions, "tables": late_campaign().tables}
PANEL = panel_campaign(**LATE)
WIDE = Policy(epsilon=1.0, total=1e6, segments={"platform"})


class Device:
    """A client with a clock that can be set."""

    def __init__(self, campaign: Any = PANEL, policy: Policy = WIDE, path: Any = None) -> None:
        self.now = START
        self.ledger, self.policy = Ledger(path), policy
        self.client = Client(campaign, self.ledger, policy, clock=lambda: self.now)

    def live(self, first: int, stop: int, value: str = "yes") -> list[int]:
        """Ask in every round, and return the numbers of those that were answered."""
        answered = []
        for number in range(first, stop):
            self.now = START + number * DAY + 100.0
            try:
                report = self.client.report(value)
            except NotDueError:
                continue
            assert report.round == number
            answered.append(number)
        return answered


# Rounds


def test_a_device_answers_once_per_period() -> None:
    device = Device()
    answered = device.live(0, 28)
    assert [number // 7 for number in answered] == [0, 1, 2, 3]
    assert device.ledger.spent(0.0) == 4 * PANEL.epsilon_per_period == 4.0


def test_the_rounds_are_those_of_the_secret() -> None:
    device = Device()
    device.now += 2 * DAY
    assert device.client.next_round() is not None
    secret, joined = device.ledger.join(PANEL.root, 20)
    assert (len(secret), joined) == (32, 2)
    schedule = Schedule("day", 7)
    wanted = [n for p in range(4) for n in rounds_of(schedule, PANEL.root, secret, p, 2)]
    assert device.live(2, 28) == wanted


@pytest.mark.parametrize("joined", [0, 4, 6])
def test_those_who_join_late_draw_uniformly_among_the_rounds_that_are_left(joined: int) -> None:
    rng = random.Random(joined)  # noqa: S311 (secrets of a test)
    counts = Counter(rounds_of(Schedule("day", 7), PANEL.root, rng.randbytes(32), 0, joined)[0]
                     for _ in range(700 * (7 - joined)))  # fmt: skip
    assert sorted(counts) == list(range(joined, 7))
    assert len(counts) == 1 or chisquare(list(counts.values())).pvalue > 1e-6


def test_rounds_do_not_depend_on_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noutput.campaign.ledger.secrets.token_bytes", lambda n: bytes(n))
    rounds = {value: Device().live(0, 28, value) for value in ("yes", "no")}
    assert rounds["yes"] == rounds["no"]


def test_no_two_periods_share_an_id() -> None:
    device = Device()
    device.live(0, 28)
    reports = device.ledger.pending()
    assert len({report.id for report in reports}) == len(reports) == 4
    secret, _ = device.ledger.join(PANEL.root, 0)
    assert not any(report.id in secret.hex() for report in reports)


def test_the_same_round_gets_the_same_report() -> None:
    device = Device(panel_campaign(**LATE, schedule=Schedule("day", 1)))
    first = device.client.report("yes")
    device.now += 100.0
    assert device.client.report("no") == first
    assert device.client.made() == [first]
    assert device.client.due() is False
    device.now += DAY
    assert device.client.made() == []
    assert device.client.due() is True
    assert device.client.report("yes").round == 1
    assert device.ledger.spent(0.0) == 2.0


def test_several_answers_per_period_share_its_epsilon() -> None:
    campaign = panel_campaign(**LATE, schedule=Schedule("day", 14, 3))
    assert campaign.epsilon_per_period == 3.0
    with pytest.raises(PolicyError, match="asks a question 3 times per period, for epsilon 3 tog"):
        Device(campaign)
    device = Device(campaign, Policy(3.0, 1e6))
    answered = device.live(0, 28)
    assert [number // 14 for number in answered] == [0, 0, 0, 1, 1, 1]
    assert device.ledger.spent(0.0) == 6.0


def test_the_policy_holds_for_all_answers_of_a_period_to_the_last_unit() -> None:
    table = fit_table(window_table(0.5, 3, 3, 0.4).plain, panel_campaign().questions[0])
    campaign = panel_campaign(
        questions=panel_campaign().questions[:1], tables=(table,), schedule=Schedule("day", 7, 2)
    )
    loss = table.privacy_loss()
    Device(campaign, Policy(2 * loss, 9.0))
    with pytest.raises(PolicyError, match=r"2 times per period, for epsilon 1 together"):
        Device(campaign, Policy(math.nextafter(2 * loss, 0.0), 9.0))


def test_a_table_that_lies_is_refused_with_a_schedule_too() -> None:
    with pytest.raises(PrivacyError, match=r"policy allows 0\.5 per report"):
        Device(PANEL, Policy(0.5))


def test_the_total_of_the_policy_holds_across_periods() -> None:
    device = Device(policy=Policy(1.0, 2.0, days=365))
    with pytest.raises(PolicyError, match=r"total epsilon of 2 in 365 days; 2 of it is spent"):
        device.live(0, 28)
    assert device.ledger.spent(0.0) == 2.0


def test_a_clock_that_jumps_costs_no_more() -> None:
    device = Device()
    for _ in range(3):
        device.live(0, 28)
    assert device.ledger.spent(0.0) == 4.0
    device.now = START - 1.0
    assert device.client.due() is False
    with pytest.raises(InvalidArgumentError, match="lie in the campaign's time"):
        device.client.report("yes")


def test_a_device_that_is_not_due_says_when_it_is() -> None:
    device = Device()
    first = device.client.next_round()
    assert first is not None
    if first.number == 0:  # then it is the next one that is told
        device.client.report("yes")
        first = device.client.next_round()
        assert first is not None
        device.now = first.start.timestamp() - 1.0
    assert first.number > 0
    said = f"in round {first.number}, which begins at {first.start:%Y-%m-%d}T00:00:00Z; the present"
    with pytest.raises(NotDueError, match=said) as caught:
        device.client.report("yes")
    assert caught.value.number == first.number
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (str(again), again.number) == (str(caught.value), first.number)


def test_a_campaign_whose_rounds_are_over_has_none() -> None:
    device = Device()
    answered = device.live(0, 28)
    device.now = WEEKS.timestamp()
    assert device.client.next_round() is None
    assert device.client.due() is False
    assert device.client.made() == []
    if answered[-1] < 27:
        device.now -= 1.0
        with pytest.raises(NotDueError, match="has no further round of the campaign panel"):
            device.client.report("yes")


def test_a_device_may_join_before_the_campaign_opens() -> None:
    device = Device()
    device.now -= 1000.0
    found = device.client.next_round()
    assert found is not None
    assert device.ledger.join(PANEL.root, 3)[1] == 0
    assert device.live(0, 7) == [found.number]


def test_without_a_schedule_an_answer_is_due_once() -> None:
    device = Device(late_campaign(), Policy())
    assert device.client.due() is True
    report = device.client.report("yes")
    assert device.client.made() == [report]
    assert device.client.due() is False
    with pytest.raises(InvalidArgumentError, match="campaign must have a schedule"):
        device.client.next_round()


# The total that a policy needs

HALF_YEAR = OPENS + timedelta(days=26 * 7)


def lived(campaign: Any, total: float, seed: int) -> int:
    """Return how many answers of a device that lives for half a year are refused."""
    rng = random.Random(seed)  # noqa: S311 (when the device is used)
    device = Device(campaign, Policy(3.0, total, days=30))
    refused = 0
    while (coming := device.client.next_round()) is not None:
        device.now = coming.start.timestamp() + rng.uniform(0.0, campaign.schedule.seconds)
        try:
            device.client.report("yes")
        except PolicyError:
            refused += 1
            device.now = coming.end.timestamp()
    return refused


@pytest.mark.parametrize(
    "schedule", [Schedule("day", 7), Schedule("week", 2), Schedule("day", 7, 3)]
)
def test_no_answer_of_half_a_year_is_refused_with_the_total_that_is_needed(
    schedule: Schedule,
) -> None:
    campaign = panel_campaign(**LATE, schedule=schedule, closes=HALF_YEAR)
    needed = campaign.total_within(days=30)
    assert needed == campaign.epsilon * schedule.most_answers(30)
    assert [lived(campaign, needed, seed) for seed in range(12)] == [0] * 12


def test_with_less_than_the_total_that_is_needed_some_answers_are_refused() -> None:
    campaign = panel_campaign(**LATE, closes=HALF_YEAR)
    assert campaign.total_within(days=30) == 6.0
    assert sum(lived(campaign, 5.9, seed) for seed in range(40)) > 0
    assert sum(lived(campaign, 4.0, seed) for seed in range(3)) > 0


def test_without_a_schedule_the_total_is_that_of_the_answer() -> None:
    assert late_campaign().total_within(days=1) == 1.0


def test_no_answer_is_due_that_the_budget_refuses() -> None:
    device = Device(late_campaign(), Policy(epsilon=1.0, total=1.5))
    other = panel_campaign(**LATE, schedule=Schedule("day", 1))
    rounds = Client(other, device.ledger, device.policy, clock=lambda: device.now)
    assert device.client.due() is rounds.due() is True
    device.client.report("yes")
    assert rounds.due() is False
    with pytest.raises(PolicyError, match="1 of it is spent"):
        rounds.check_total()
    with pytest.raises(PolicyError):
        rounds.report("yes")
    device.now += 31 * DAY
    assert Client(other, Ledger(None), device.policy, clock=lambda: START).due() is True


# Labels


def test_only_labels_that_the_policy_allows_leave(tmp_path: Path) -> None:
    labels = {"version": "4.1", "platform": "web"}
    kept = {"none": (), "platform": (("platform", "web"),), "both": SEGMENTS.told(labels)}
    for name, told in kept.items():
        allowed = frozenset({"none": (), "platform": ("platform",), "both": labels}[name])
        path = tmp_path / name
        campaign = panel_campaign(**LATE, schedule=None)
        device = Device(campaign, Policy(segments=allowed), path)
        assert device.client.shown_labels(labels) == dict(told)
        with warnings.catch_warnings(action="ignore"):
            report = device.client.report("yes", labels=labels)
        assert report.labels == told
        device.ledger.close()
        assert (b"web" in path.read_bytes()) is (len(told) > 0)
        with Ledger(path) as ledger:
            assert ledger.pending() == [report]


def test_labels_that_are_left_out_are_named() -> None:
    labels = {"version": "4.1", "platform": "web"}
    device = Device(panel_campaign(**LATE, schedule=None), Policy(segments={"platform"}))
    with serving(COUNTED) as (url, _):
        with pytest.warns(UserWarning, match=r"the policy does not name them: version$"):
            receipt = device.client.submit(url, "yes", labels=iter(labels.items()))
        assert receipt == Receipt(accepted=1, repeated=0, left_out=("version",))
        wider = Client(device.client.campaign, device.ledger, Policy(segments=frozenset(labels)))
        assert wider.submit(url, "yes", labels=labels).left_out == ("version",)  # as it was made
        assert wider.submit(url, "yes").left_out == ()


def test_labels_are_checked_before_they_are_dropped() -> None:
    device = Device(policy=Policy())
    with pytest.raises(InvalidArgumentError, match=r"labels\['platform'\] must be one of"):
        device.client.report("yes", labels={"platform": "beos"})
    with pytest.raises(InvalidArgumentError, match="labels must be absent: the campaign has no"):
        Device(late_campaign(), Policy()).client.report("yes", labels={"platform": "ios"})
    assert device.ledger.spent(0.0) == 0.0


@pytest.mark.parametrize("segments", ["platform", 3, ["Platform"], [None]])
def test_a_policy_takes_names_of_segments(segments: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="segments must be"):
        Policy(segments=segments)
    assert Policy(segments=["a", "b"]).segments == {"a", "b"}  # type: ignore[arg-type]


def test_simulated_people_have_any_label_and_round() -> None:
    report = draw_report(PANEL, "yes", labels={"version": "4.1"}, round=27)
    assert (report.labels, report.round) == ((("version", "4.1"),), 27)
    campaign = panel_campaign(ask="all")
    reports = draw_reports(campaign, answers_to(campaign), round=3)
    assert {each.round for each in reports} == {3}
    with pytest.raises(InvalidArgumentError, match="round must be a whole number from 0 to 27"):
        draw_report(PANEL, "yes")


def test_people_are_told_what_is_not_protected() -> None:
    assert "platform, version. Labels are not protected" in PANEL.notice
    assert "in 1 of 7 days, drawn in advance" in PANEL.notice
    assert late_campaign().notice == ""


# Kills

JOIN = """
import sys
from noutput.campaign import Campaign, Client, Ledger, Policy
from noutput.errors import NotDueError

document, path, start = sys.argv[1:]
campaign = Campaign.from_json(open(document, encoding="utf-8").read())
ledger = Ledger(path)
for number in range(28):
    now = float(start) + 86_400.0 * number
    client = Client(campaign, ledger, Policy(1.0, 1e6), clock=lambda: now)
    try:
        print(number, client.report("yes").id, flush=True)
    except NotDueError:
        print(number, "-", flush=True)
sys.stdin.readline()
"""


def test_what_a_device_drew_survives_sigkill(tmp_path: Path) -> None:
    """Every process lives through all rounds again; all see the same rounds and reports."""
    document, path = tmp_path / "campaign.json", tmp_path / "ledger.sqlite"
    document.write_text(PANEL.to_json(), encoding="utf-8")
    command = [sys.executable, "-c", JOIN, str(document), str(path), str(START)]
    said: dict[str, str] = {}
    for lines in (1, 9, 28):
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout
        heard = [process.stdout.readline() for _ in range(lines)]
        process.kill()
        rest, _ = process.communicate()
        heard += [line for line in rest.splitlines(keepends=True) if line.endswith("\n")]
        for line in heard:
            number, answer = line.split()
            assert said.setdefault(number, answer) == answer
    ids = [answer for answer in said.values() if answer != "-"]
    assert len(said) == 28
    assert len(set(ids)) == len(ids) == 4
    with Ledger(path) as ledger:
        assert [report.id for report in ledger.pending()] == ids
        assert ledger.spent(0.0) == 4.0


def test_the_secret_is_on_the_disk_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import noutput.campaign.client as module

    device = Device(path=tmp_path / "ledger.sqlite")
    seen = []

    def spy(schedule: Schedule, root: str, secret: bytes, *others: int) -> tuple[int, ...]:
        with Ledger(tmp_path / "ledger.sqlite") as other:  # another process would find the same
            seen.append(other.join(root, 27) == (secret, 0))
        return rounds_of(schedule, root, secret, *others)

    monkeypatch.setattr(module, "rounds_of", spy)
    device.client.next_round()
    assert seen
    assert all(seen)

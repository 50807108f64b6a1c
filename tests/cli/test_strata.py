"""Campaigns with segments and a schedule on the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from noutput.campaign import Campaign, Client, Ledger, Policy, Schedule
from noutput.campaign.schedule import rounds_of
from noutput.campaign.segments import Segments
from noutput.campaign.wire import encode_report
from noutput.cli.campaign import command as campaign_command
from noutput.cli.report import command
from noutput.cli.strata import strata_lines, when
from noutput.cli.verify import command as verify_command
from noutput.errors import InvalidArgumentError
from tests.campaign.examples import SEGMENTS, late_campaign, panel_campaign
from tests.campaign.server import COUNTED, Answer, serving
from tests.campaign.test_draft_strata import HEAD, SCHEDULE
from tests.campaign.test_draft_strata import SEGMENTS as DRAFT

START = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
LATE = late_campaign()


def panel(days: int, before: int = 1) -> Campaign:
    """Return a campaign of two periods of so many days; it began `before` days and an hour ago."""
    opens = START - timedelta(days=before)
    return panel_campaign(
        questions=LATE.questions, tables=LATE.tables, segments=SEGMENTS, opens=opens,
        closes=opens + timedelta(days=2 * days), schedule=Schedule("day", days),
    )  # fmt: skip


def report(url: str, folder: Path, *arguments: str) -> Result:
    options = ["--ledger", str(folder / "ledger.sqlite"), "--attempts", "1", "--value", "yes"]
    return CliRunner().invoke(command, [url, *options, *arguments])


def test_labels_leave_that_are_named(tmp_path: Path) -> None:
    campaign = panel(1, before=0)
    document = Answer(body=campaign.to_json().encode())
    with serving(document, COUNTED, document, COUNTED) as (url, seen):
        done = report(url, tmp_path, "--label", "platform=ios")
        again = report(url, tmp_path, "--label", "platform=web")
    assert done.exit_code == again.exit_code == 0, done.output
    sent = json.loads(seen[1].body)
    assert (sent["labels"], sent["round"]) == ({"platform": "ios"}, 0)
    assert seen[3].body == seen[1].body
    assert "Note: Reports may carry public labels: platform, version. Labels are not" in done.output
    assert "  label    platform: ios (not protected)\n" in done.output
    assert "  round    0 of 0..1\n" in done.output


def test_no_label_leaves_unless_named(tmp_path: Path) -> None:
    document = Answer(body=panel(1, before=0).to_json().encode())
    with serving(document, COUNTED) as (url, seen):
        done = report(url, tmp_path)
    assert done.exit_code == 0, done.output
    assert "labels" not in json.loads(seen[1].body)
    assert "  label " not in done.output


def test_a_round_that_the_budget_refuses_is_named_as_such(tmp_path: Path) -> None:
    document = Answer(body=panel(1, before=0).to_json().encode())
    with serving(document) as (url, seen):
        refused = report(url, tmp_path, "--total", "0.5")
    assert "the policy allows a total epsilon of 0.5" in str(refused.exception)
    assert "nothing to answer" not in refused.output
    assert len(seen) == 1


def test_between_its_rounds_a_device_sends_nothing(tmp_path: Path) -> None:
    campaign = panel(366, before=365)
    document = Answer(body=campaign.to_json().encode())
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.join(campaign.root, 366)  # as if it had joined tomorrow, in the second period
    with serving(document) as (url, seen):
        done = report(url, tmp_path)
    assert done.exit_code == 0, done.output
    assert "nothing to answer now; this device answers next in round " in done.output
    assert [request.method for request in seen] == ["GET"]


@pytest.mark.parametrize("grace", [86_400, 60])
def test_a_report_that_was_not_sent_in_its_round_is_sent_in_the_grace_time(
    tmp_path: Path, grace: int
) -> None:
    schedule = Schedule("day", 2, grace=grace)
    campaign = replace(panel(2), schedule=schedule)
    document, refused = Answer(body=campaign.to_json().encode()), Answer(status=404)
    secret = next(
        each
        for each in (bytes([n]) * 32 for n in range(256))
        if rounds_of(schedule, campaign.root, each, 0) == (0,)
    )
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        add = "INSERT INTO panels VALUES (?, ?, 0)"
        ledger._connection.execute(add, (campaign.root, secret))
        yesterday = campaign.opens.timestamp()
        (made,) = Client(campaign, ledger, Policy(9.0), clock=lambda: yesterday).reports("yes")
    if grace < 3600:
        with serving(document) as (url, seen):
            assert "nothing to answer now" in report(url, tmp_path).output
        assert len(seen) == 1
        return
    with serving(document, refused, document, COUNTED, document) as (url, seen):
        failed, done, again = (report(url, tmp_path) for _ in range(3))
    assert failed.exit_code
    assert done.exit_code == 0, done.output
    assert "Reports of earlier rounds that could not be sent then: 1, sent now.\n" in done.output
    assert seen[1].body == seen[3].body == encode_report(made)
    for said in (done.output, again.output):
        assert "nothing to answer now; this device answers next in round" in said
    assert "earlier rounds" not in again.output


def test_a_report_of_the_round_before_is_sent_after_that_of_the_present_one(
    tmp_path: Path,
) -> None:
    campaign = panel(1)  # every day has a round of the device
    document = Answer(body=campaign.to_json().encode())
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        yesterday = campaign.opens.timestamp()
        (made,) = Client(campaign, ledger, Policy(9.0), clock=lambda: yesterday).reports("yes")
    with serving(document, COUNTED) as (url, seen):
        done = report(url, tmp_path)
    assert done.exit_code == 0, done.output
    assert json.loads(seen[1].body)["round"] == 1
    assert seen[2].body == encode_report(made)
    assert "  round    1 of 0..1\n" in done.output
    assert "Reports of earlier rounds that could not be sent then: 1, sent now.\n" in done.output


def test_a_device_is_told_when_no_round_is_left() -> None:
    assert when(None) == "no round is left in which this device answers"


@pytest.mark.parametrize(
    ("labels", "message"),
    [(["ios"], "must be NAME=LABEL; found 'ios'"), (["a=b", "a=c"], "given once for 'a'")],
)
def test_labels_are_name_and_label(tmp_path: Path, labels: list[str], message: str) -> None:
    options = [text for label in labels for text in ("--label", label)]
    done = report("http://127.0.0.1:1/campaigns/none", tmp_path, *options)
    assert done.exit_code == 2
    assert message in done.output


def test_a_label_of_no_list_is_refused(tmp_path: Path) -> None:
    document = Answer(body=panel(1).to_json().encode())
    with serving(document) as (url, _):
        done = report(url, tmp_path, "--label", "platform=beos")
    assert isinstance(done.exception, InvalidArgumentError)
    assert "labels['platform'] must be one of 'ios', 'android', 'web'" in str(done.exception)


def test_create_and_verify_say_what_is_told_and_when(tmp_path: Path) -> None:
    file = tmp_path / "weekly.toml"
    file.write_text(HEAD + DRAFT + SCHEDULE, encoding="utf-8")
    made = CliRunner().invoke(campaign_command, ["create", str(file)])
    assert made.exit_code == 0, made.output
    for line in (
        "  label        platform: ios, web\n",
        "  label        version: 4.1, 4.2, other\n",
        "               not protected; combinations are shown from 500 reports on\n",
        "  rounds       35, one per day, 7 per period\n",
        "  a device     answers in 1 of 7 rounds, drawn in advance: epsilon 1.5 per period\n",
        "               its policy needs a total of at least 7.5 in 30 days (default: 4)\n",
        "  needs        42,000 people, if all combinations are to be shown in every round;\n",
        "Note: The campaign closes at 2026-04-05T00:00:00Z, the end of a period",
    ):
        assert line in made.output, made.output
    said = CliRunner().invoke(verify_command, [str(tmp_path / "weekly.json")]).output
    assert "what one person sends per period loses at most epsilon 1.5.\n" in said
    assert "Label       platform: ios, web\n" in said
    assert "Rounds      35, one per day, 7 per period\n" in said
    assert "            its policy needs a total of at least 7.5 in 30 days" in said


def test_create_says_the_minimum_that_a_collector_has() -> None:
    """A collector with its usual steps shows 500 reports at least, whatever the minimum is."""
    names = Segments({"platform": ("ios", "web")}, 100)  # type: ignore[arg-type]  # is taken
    campaign = replace(panel(1), segments=names, schedule=None)
    (*_, told) = strata_lines(campaign)
    assert told[1].endswith("shown from 500 (with noutput serve --minimum 100: 100) reports on")
    more = replace(campaign, segments=replace(names, minimum=2_000))
    assert [line for _, line in strata_lines(more)][-1].endswith("from 2,000 reports on")

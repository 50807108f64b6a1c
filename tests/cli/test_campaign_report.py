from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from noutput.campaign import Campaign, Ledger, Policy, Report
from noutput.cli.report import command
from noutput.errors import DeliveryError, DocumentError, PolicyError, PrivacyError
from tests.campaign.examples import commute_campaign, salary_campaign, survey_campaign
from tests.campaign.server import COUNTED, Answer, problem, serving

NOW = datetime.now(UTC).replace(microsecond=0)


def open_now(campaign: Campaign) -> Campaign:
    return replace(campaign, opens=NOW - timedelta(days=1), closes=NOW + timedelta(days=1))


CAMPAIGN = open_now(commute_campaign())
DOCUMENT = Answer(body=CAMPAIGN.to_json().encode())


def report(url: str, folder: Path, *arguments: str, said: str | None = None) -> Result:
    options = ["--ledger", str(folder / "ledger.sqlite"), "--attempts", "1"]
    return CliRunner().invoke(command, [url, *options, *arguments], input=said)


def test_a_value_is_answered_once(tmp_path: Path) -> None:
    again = Answer(body=b'{"accepted":0,"repeated":1}')
    with serving(DOCUMENT, COUNTED, DOCUMENT, again) as (url, seen):
        first = report(url, tmp_path, "--value", "42")
        second = report(url, tmp_path, "--value", "97.5")
    assert first.exit_code == second.exit_code == 0, first.output
    assert seen[1].body == seen[3].body
    sent = json.loads(seen[1].body)
    assert "counted (id" in first.output
    assert "had been counted before" in second.output
    assert sent["id"] in first.output
    assert f"output {sent['output']} of 0..2 about commute" in first.output
    assert b"42" not in seen[1].body.replace(sent["id"].encode(), b"").replace(
        sent["campaign"].encode(), b""
    )
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.pending() == []


def test_what_could_not_be_sent_is_kept_and_sent_later(tmp_path: Path) -> None:
    with serving(DOCUMENT, problem(503, "unavailable"), DOCUMENT, COUNTED) as (url, seen):
        failed = report(url, tmp_path, "--value", "42")
        assert isinstance(failed.exception, DeliveryError)
        with Ledger(tmp_path / "ledger.sqlite") as ledger:
            assert len(ledger.pending()) == 1
        assert report(url, tmp_path, "--value", "42").exit_code == 0
    assert seen[1].body == seen[3].body


def test_the_persons_limits_hold(tmp_path: Path) -> None:
    with serving(DOCUMENT) as (url, seen):
        strict = report(url, tmp_path, "--value", "42", "--epsilon", "0.5")
        poor = report(url, tmp_path, "--value", "42", "--total", "0.9")
    assert isinstance(strict.exception, PrivacyError)
    assert "asks for epsilon 1, and the policy allows 0.5" in str(strict.exception)
    assert isinstance(poor.exception, PolicyError)
    assert [request.method for request in seen] == ["GET", "GET"]


def test_several_questions_are_answered_by_name(tmp_path: Path) -> None:
    document = Answer(body=open_now(salary_campaign()).to_json().encode())
    values = ("--value", "salary=2000", "--value", "age=30", "--value", "change_2=-1")
    with serving(document, COUNTED, document) as (url, _):
        done = report(url, tmp_path, "--epsilon", "8", "--total", "8", *values)
        assert done.exit_code == 0, done.output
        assert report(url, tmp_path, "--value", "4242").exit_code == 2


ANSWERS = ("commute=42", "stars=4.0", "age=60+", "means = car", "late=no", "kilometers=0.5")


@pytest.mark.parametrize(("ask", "count"), [("one", 1), ("all", 6)])
def test_questions_of_all_kinds_are_answered(tmp_path: Path, ask: str, count: int) -> None:
    campaign = open_now(survey_campaign(ask=ask))
    document = Answer(body=campaign.to_json().encode())
    with serving(document, *[COUNTED] * count) as (url, seen):
        limits = ("--epsilon", "6.5", "--total", "7")
        done = report(url, tmp_path, *limits, said="\n".join(ANSWERS))
    assert done.exit_code == 0, done.output
    sent = [json.loads(request.body) for request in seen[1:]]  # each in a request of its own
    assert len({each["id"] for each in sent}) == count
    assert {each["version"] for each in sent} == {1}
    for each in sent:
        assert f"output {each['output']} of 0.." in done.output
        assert f"about {each['question']}" in done.output
        assert each["id"] in done.output
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.pending() == []


@pytest.mark.parametrize(
    ("ask", "question", "privacy"),
    [
        ("one", "means", "epsilon 2, certified on this device\n"),
        ("one", "age", "epsilon 0.5, certified on this device; your ledger counts 2, the largest"),
        ("all", "age", "epsilon 6.5 together, certified on this device\n"),
    ],
)
def test_a_report_has_the_epsilon_of_its_question(
    tmp_path: Path, ask: str, question: str, privacy: str
) -> None:
    campaign = open_now(survey_campaign(ask=ask))
    kept = [Report(campaign.fingerprint, question, 0)]
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.remember(campaign.fingerprint, 1.0, Policy(), NOW.timestamp(), lambda: kept)
    with serving(Answer(body=campaign.to_json().encode()), COUNTED) as (url, _):
        done = report(url, tmp_path, "--epsilon", "6.5", "--total", "7")
    assert f"  privacy  {privacy}" in done.output


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("stars=4242", "must be one of ['1', '2', '3', '4', '5'] for 'stars'"),
        ("stars=3.5", "must be one of ['1', '2', '3', '4', '5'] for 'stars'"),
        ("means=4242", "must be one of ['train', 'car', 'v\u00e9lo', 'other'] for 'means'"),
        ("late=4242", "must be one of ['no', 'yes'] for 'late'"),
        ("commute=car4242", "must be a number for 'commute'"),
    ],
)
def test_what_is_no_answer_is_not_repeated(tmp_path: Path, value: str, message: str) -> None:
    document = Answer(body=open_now(survey_campaign()).to_json().encode())
    with serving(document) as (url, seen):
        done = report(url, tmp_path, "--epsilon", "2", said=value)
    assert done.exit_code == 2
    assert message in done.output
    assert "4242" not in done.output + repr(done.exception)
    assert len(seen) == 1


BAD = [["forty4242"], ["=4242"], ["4242", "4242"], ["x=4242"], ["4242=42"], ["4242nan"], ["nan"],
       ["commute=1e4242"], []]  # fmt: skip


@pytest.mark.parametrize("way", ["options", "standard input"])
@pytest.mark.parametrize("values", BAD, ids=range(len(BAD)))
def test_messages_do_not_repeat_the_value(tmp_path: Path, values: list[str], way: str) -> None:
    arguments = [word for value in values for word in ("--value", value)]
    with serving(DOCUMENT) as (url, seen):
        if way == "options":
            done = report(url, tmp_path, *arguments)
        else:
            done = report(url, tmp_path, said="\n".join(values))
    assert done.exit_code == 2, done.output
    assert "The value" in done.output
    assert "4242" not in done.output + repr(done.exception)
    assert [request.method for request in seen] == ["GET"]


def test_no_error_keeps_what_was_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(DOCUMENT) as (url, _):
        monkeypatch.setattr("sys.argv", ["noutput"])
        arguments = [url, "--ledger", str(tmp_path / "ledger"), "--value", "forty4242"]
        with pytest.raises(click.UsageError) as caught:
            command.main(arguments, standalone_mode=False)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_numbers_come_from_standard_input(tmp_path: Path) -> None:
    with serving(DOCUMENT, COUNTED) as (url, seen):
        done = report(url, tmp_path, said=" 42 \n\n")
    assert done.exit_code == 0, done.output
    assert len(seen) == 2
    document = Answer(body=open_now(salary_campaign()).to_json().encode())
    lines = "salary = 2000\nage=30\nchange_2=-1\n"
    with serving(document, COUNTED, document) as (url, _):
        done = report(url, tmp_path, "--epsilon", "8", "--total", "9", said=lines)
        assert done.exit_code == 0, done.output
        (tmp_path / "ledger.sqlite").unlink()
        done = report(url, tmp_path, "--epsilon", "8", "--total", "9", said="age=30\n")
    assert "The value is missing for ['salary', 'change_2']." in done.output


def test_who_answered_before_is_not_asked_again(tmp_path: Path) -> None:
    with serving(DOCUMENT, COUNTED, DOCUMENT, COUNTED) as (url, seen):
        assert report(url, tmp_path, said="42").exit_code == 0
        assert report(url, tmp_path, said="").exit_code == 0
    assert seen[1].body == seen[3].body


@pytest.mark.parametrize("value", ["-4242.42", "4242.42"])
def test_a_number_outside_the_bounds_is_clipped_and_that_is_said(
    tmp_path: Path, value: str
) -> None:
    with serving(DOCUMENT, COUNTED) as (url, _):
        done = report(url, tmp_path, said=value)
    assert done.exit_code == 0
    told = "Note: Your number for commute does not lie from 0 to 180 minutes; it counts as the"
    assert told in done.output
    assert value not in done.output


def test_a_number_at_a_bound_is_not_talked_about(tmp_path: Path) -> None:
    with serving(DOCUMENT, COUNTED) as (url, _):
        assert "Note" not in report(url, tmp_path, said="180").output


def test_a_person_is_asked_and_nothing_is_shown(tmp_path: Path) -> None:
    leader, follower = os.openpty()
    options = ("--ledger", str(tmp_path / "ledger"), "--attempts", "1")
    with serving(DOCUMENT, COUNTED) as (url, seen):
        process = subprocess.Popen(
            [sys.executable, "-m", "noutput", "report", url, *options],
            stdin=follower, stdout=subprocess.PIPE, stderr=follower, start_new_session=True,
        )  # fmt: skip
        os.close(follower)
        asked = terminal(leader, b"as you type): ")
        os.write(leader, b"forty42\n")
        again = terminal(leader, b"as you type): ")
        os.write(leader, b"42.42\n")
        output, _ = process.communicate(timeout=60)
        rest = terminal(leader, None)
    os.close(leader)
    assert process.returncode == 0
    assert b"Commute: How many minutes was your way to work?" in asked
    assert b"commute, from 0 to 180 minutes (not shown as you type): " in asked
    assert b"Error: It must be a number." in again
    assert b"42" not in asked + again + rest
    assert b"42.42" not in output
    assert len(seen) == 2


def terminal(leader: int, until: bytes | None) -> bytes:
    """Read what a terminal shows, until some text or its end."""
    found = b""
    while until is None or until not in found:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # nobody has the terminal open any more
            piece = b""
        if not piece:
            break
        found += piece
    return found


def test_the_option_warns() -> None:
    told = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert "every user of this machine can read it in the list of processes" in told
    assert "keeps it in its history" in told


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://[::1", "url must be the http or https address of a campaign"),
        ("http://münchen.example/campaigns/commute", "url must have ASCII letters only"),
        ("http://127.0.0.1:99999/campaigns/commute", "url must be the http or https address"),
    ],
)
def test_strange_addresses_end_with_status_2(tmp_path: Path, url: str, rule: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "noutput", "report", url, "--ledger", str(tmp_path / "ledger")],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"Error: {rule}")
    assert "Traceback" not in done.stderr


def test_the_base_address_is_named(tmp_path: Path) -> None:
    with serving(Answer(body=b"<!doctype html>")) as (url, _):
        done = report(url.removesuffix("/campaigns/commute"), tmp_path, said="42")
    assert isinstance(done.exception, DocumentError)
    assert f"be the address of a campaign, such as {url}" in str(done.exception)


def test_another_root_is_refused_unless_it_is_allowed(tmp_path: Path) -> None:
    remade = replace(CAMPAIGN, title="Commute.")
    answer = Answer(body=remade.to_json().encode())
    with serving(DOCUMENT, COUNTED, answer, answer, answer, COUNTED) as (url, seen):
        first = report(url, tmp_path, "--value", "42", "--root", CAMPAIGN.root)
        pinned = report(url, tmp_path, "--value", "42", "--root", CAMPAIGN.root, "--new-root")
        refused = report(url, tmp_path, said="42\n")
        allowed = report(url, tmp_path, "--value", "42", "--new-root")
    assert first.exit_code == allowed.exit_code == 0, allowed.output
    assert f"root must be {CAMPAIGN.root}" in str(pinned.exception)
    assert "root of the campaign 'commute' must be" in str(refused.exception)
    assert refused.stdout == ""  # nobody is asked
    sent = [json.loads(request.body)["campaign"] for request in seen if request.method == "POST"]
    assert sent == [CAMPAIGN.fingerprint, remade.fingerprint]


def test_nobody_is_asked_where_the_budget_is_spent(tmp_path: Path) -> None:
    with serving(DOCUMENT) as (url, _):
        poor = report(url, tmp_path, "--total", "0.9", said="42\n")
    assert isinstance(poor.exception, PolicyError)
    assert poor.stdout == ""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from noutput.campaign import Campaign, Ledger
from noutput.cli.report import command
from noutput.errors import DeliveryError, PolicyError, PrivacyError
from tests.campaign.examples import commute_campaign, salary_campaign
from tests.campaign.server import COUNTED, Answer, problem, serving

NOW = datetime.now(UTC).replace(microsecond=0)


def open_now(campaign: Campaign) -> Campaign:
    return replace(campaign, opens=NOW - timedelta(days=1), closes=NOW + timedelta(days=1))


CAMPAIGN = open_now(commute_campaign())
DOCUMENT = Answer(body=CAMPAIGN.to_json().encode())


def report(url: str, folder: Path, *arguments: str) -> Result:
    ledger = str(folder / "ledger.sqlite")
    return CliRunner().invoke(command, [url, "--ledger", ledger, "--attempts", "1", *arguments])


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
    assert isinstance(poor.exception, PolicyError)
    assert [request.method for request in seen] == ["GET", "GET"]


def test_several_attributes_are_given_by_name(tmp_path: Path) -> None:
    document = Answer(body=open_now(salary_campaign()).to_json().encode())
    values = ("--value", "salary=2000", "--value", "age=30", "--value", "change_2=-1")
    with serving(document, COUNTED, document) as (url, _):
        done = report(url, tmp_path, "--epsilon", "8", "--total", "8", *values)
        assert done.exit_code == 0, done.output
        assert report(url, tmp_path, "--value", "4242").exit_code == 2


@pytest.mark.parametrize("values", [["forty4242"], ["=4242"], ["4242", "4242"], ["x=4242"]])
def test_messages_do_not_repeat_the_value(tmp_path: Path, values: list[str]) -> None:
    arguments = [word for value in values for word in ("--value", value)]
    with serving(DOCUMENT) as (url, _):
        done = report(url, tmp_path, *arguments)
    assert done.exit_code != 0
    assert "4242" not in done.output + str(done.exception)

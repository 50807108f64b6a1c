"""Campaigns, tokens and the log from the command line: in a database, and at an address."""

from __future__ import annotations

import json
import stat
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from noutput.campaign import Campaign, connection, draw_reports, send_batch
from noutput.cli import administered, main, noutput
from noutput.collector.administration.remote import RemoteAdministration
from noutput.collector.http.limits import Limits
from noutput.collector.server import Options, _prepare, run, running
from noutput.collector.store import open_store
from noutput.collector.store.interface import COMMAND_LINE
from noutput.errors import DeliveryError, InvalidArgumentError, NoutputError
from tests.campaign.tokens import token_campaign
from tests.collector.conftest import make_campaign
from tests.collector.labeled import labeled_campaign, reports

CAMPAIGNS = (make_campaign("commute", public=True), token_campaign())
NO_TOKEN = {"NOUTPUT_TOKEN": None, "NOUTPUT_DATABASE": None}


@dataclass
class Place:
    """A database, or the address of a collector that serves it."""

    options: list[str]
    environment: dict[str, str | None]
    by: str

    def call(self, *arguments: str, text: str = "") -> Result:
        runner = CliRunner(env={**NO_TOKEN, **self.environment})
        return runner.invoke(noutput, [*arguments, *self.options], input=text)

    def run(self, *arguments: str) -> str:
        done = self.call(*arguments)
        assert done.exit_code == 0, (done.output, done.exception)
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json"))


@pytest.fixture(params=["database", "collector"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    paths = []
    for campaign in CAMPAIGNS:
        path = tmp_path / f"{campaign.id}.json"
        path.write_text(campaign.to_json())
        paths.append(path)
    database = str(tmp_path / "reports.db")
    unlimited = Limits(requests_per_second=0)
    options = Options(database, port=0, campaigns=tuple(paths), limits=unlimited)
    if request.param == "database":
        store = open_store(database)
        _prepare(store, options)
        store.close()
        yield Place(["--database", database], {}, COMMAND_LINE)
        return
    with running(options) as collector:
        token = collector.admin_token
        own = token.split("_")[1]
        yield Place(["--collector", collector.url], {"NOUTPUT_TOKEN": token}, own)


def test_campaigns_are_listed_and_shown(place: Place) -> None:
    listed = place.json("campaign", "list")["campaigns"]
    assert [each["id"] for each in listed] == ["commute", "late"]
    assert {each["received"] for each in listed} == {0}
    head, first, _ = place.run("campaign", "list").splitlines()
    assert head.split() == ["id", "state", "received", "published", "closes", "title"]
    assert first.split() == ["commute", "open", "0", "0", "2036-04-01T00:00:00Z", "Commute"]
    shown = place.run("campaign", "show", "commute")
    for fact in ("minutes from 0 to 180 min", "state        open, from 2026-03-01", "everybody",
                 "0 reports, 0 published", CAMPAIGNS[0].fingerprint):  # fmt: skip
        assert fact in shown
    found = place.json("campaign", "show", "commute")
    assert Campaign.from_json(json.dumps(found.pop("document"))) == CAMPAIGNS[0]
    assert found == listed[0]


def test_campaigns_are_added(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text(make_campaign("other").to_json())
    assert place.run("campaign", "add", str(file)).startswith("other is open, from 2026-03-01")
    assert place.json("campaign", "add", str(file))["id"] == "other"  # again
    entry = place.json("log", "--limit", "1")["entries"][0]
    assert (entry["by"], entry["name"], entry["campaign"]) == (place.by, "campaign.create", "other")
    for wrong in (make_campaign("other", outputs=6).to_json(), "{}"):
        file.write_text(wrong)
        done = place.call("campaign", "add", str(file))
        assert isinstance(done.exception, NoutputError), done.output


def test_closing_and_deleting_ask_first(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for verb in ("close", "delete"):
        refused = place.call("campaign", verb, "commute")
        assert refused.exit_code == 2
        assert "Give --yes: there is no terminal to ask on" in refused.stderr
    with monkeypatch.context() as patch:
        patch.setattr(administered, "_has_terminal", lambda: True)
        declined = place.call("campaign", "close", "commute", text="n\n")
        assert declined.exit_code == 1
        assert "Close commute for good? It has 0 reports, 0 published." in declined.stderr
        assert place.json("campaign", "list")["campaigns"][0]["state"] == "open"
        agreed = place.call("campaign", "close", "commute", text="y\n")
        assert agreed.exit_code == 0
        assert agreed.stdout.startswith("commute was closed at 20")
    closed = place.json("campaign", "close", "commute", "--yes")
    assert (closed["state"], closed["hidden"]) == ("closed", 0)
    assert "was deleted" in place.run("campaign", "delete", "commute", "--yes")
    assert place.json("campaign", "delete", "late", "--yes")["deleted"]["id"] == "late"
    assert place.json("campaign", "list") == {"campaigns": []}
    assert place.run("campaign", "list").splitlines()[1:] == []


@pytest.mark.parametrize("remote", [False, True])
def test_closing_says_how_many_reports_are_too_few_to_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, remote: bool
) -> None:
    campaign = labeled_campaign({"platform": ("ios", "android")}, 500)
    (tmp_path / "labeled.json").write_text(campaign.to_json())
    database = str(tmp_path / "reports.db")
    limits = Limits(aggregators=("127.0.0.1",))
    options = Options(database, port=0, campaigns=(tmp_path / "labeled.json",), limits=limits)
    with running(options) as collector:
        drawn = reports(campaign, 480, np.random.default_rng(1), {"platform": "ios"})
        send_batch(f"{collector.url}/campaigns/commute", campaign, drawn)
        where = ["--collector", collector.url] if remote else ["--database", database]
        place = Place(where, {"NOUTPUT_TOKEN": collector.admin_token}, "")
        hidden = "480 reports, 0 published. They are too few to show, and will never be published."
        with monkeypatch.context() as patch:
            patch.setattr(administered, "_has_terminal", lambda: True)
            declined = place.call("campaign", "close", "commute", text="n\n")
        assert f"Close commute for good? It has {hidden}" in declined.stderr
        assert place.run("campaign", "close", "commute", "--yes").strip().endswith(hidden)
        assert place.json("campaign", "close", "commute", "--yes")["hidden"] == 480


def test_tokens_are_made_listed_and_revoked(place: Place) -> None:
    until = ("--label", "Wall display", "--expires", "2099-01-01T00:00:00Z")
    made = place.json("token", "create", "--kind", "read", "--campaign", "commute", *until)
    assert made["token"].startswith(f"noutput_{made['id']}_")
    secret = place.run("token", "create", "--kind", "metrics").strip()
    assert len(secret.splitlines()) == 1
    listed = {each["id"]: each for each in place.json("token", "list")["tokens"]}
    assert listed[made["id"]] == {key: made[key] for key in made if key != "token"}
    shown = place.run("token", "list")
    assert "Wall display" in shown
    assert made["token"].split("_", 2)[2] not in shown
    metrics = secret.split("_")[1]
    refused = place.call("token", "revoke", metrics)
    assert refused.exit_code == 2
    assert f"Revoke the metrics token {metrics}?" in refused.stderr
    assert "is not valid any more" in place.run("token", "revoke", metrics, "--yes")
    assert place.json("token", "revoke", made["id"], "--yes")["revoked"]["id"] == made["id"]
    assert len(place.json("token", "list")["tokens"]) == 1


def test_a_metrics_token_is_for_all_campaigns(place: Place) -> None:
    done = place.call("token", "create", "--kind", "metrics", "--campaign", "commute")
    assert done.exit_code == 2
    assert "A metrics token is for all campaigns: leave --campaign out." in done.stderr


def test_revoking_the_last_admin_token_is_warned_of(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "It is the last admin token for all campaigns"
    first = place.json("token", "list")["tokens"][0]["id"]
    place.run("token", "create", "--kind", "admin", "--campaign", "commute")  # is not enough
    refused = place.call("token", "revoke", first)
    assert f"Revoke the admin token {first} (noutput serve)? {words}" in refused.stderr
    other = place.json("token", "create", "--kind", "admin")["id"]
    assert words not in place.call("token", "revoke", first).stderr
    assert words not in place.call("token", "revoke", other, "--yes").stderr
    with monkeypatch.context() as patch:
        patch.setattr(administered, "_has_terminal", lambda: True)
        assert place.call("token", "revoke", first, text="n\n").exit_code == 1
    done = place.call("token", "revoke", first, "--yes", "--json")
    assert json.loads(done.stdout)["revoked"]["id"] == first
    assert f"Warning: {words}" in done.stderr


def test_one_time_tokens(place: Place, tmp_path: Path) -> None:
    assert len(place.json("token", "issue", "late", "--count", "3")["tokens"]) == 3
    assert len(place.run("token", "issue", "late").splitlines()) == 1
    target = tmp_path / "tokens.txt"
    written = place.json("token", "issue", "late", "--count", "2", "--output", str(target))
    assert written == {"campaign": "late", "count": 2, "output": str(target)}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    tokens = target.read_text().split()
    assert len(tokens) == 2
    draw_reports(CAMPAIGNS[1], "yes", tokens[0])
    again = place.call("token", "issue", "late", "--output", str(target))
    assert "is there already" in again.stderr


def test_the_log_says_who_did_what(place: Place) -> None:
    place.run("campaign", "close", "late", "--yes")
    made = place.json("token", "create", "--kind", "read", "--campaign", "commute")
    place.run("token", "issue", "late", "--count", "2")
    place.run("token", "revoke", made["id"], "--yes")
    place.run("campaign", "delete", "commute", "--yes")
    entries = place.json("log")["entries"]
    assert [(each["by"], each["name"], each["campaign"]) for each in entries[:5]] == [
        (place.by, "campaign.delete", "commute"),
        (place.by, "token.revoke", "commute"),
        (place.by, "token.issue", "late"),
        (place.by, "token.create", "commute"),
        (place.by, "campaign.close", "late"),
    ]
    assert [each["number"] for each in entries] == list(range(len(entries), 0, -1))
    assert {each["by"] for each in entries[5:]} == {COMMAND_LINE}  # the collector's start
    page = place.json("log", "--limit", "2")
    assert (len(page["entries"]), page["next"]) == (2, len(entries) - 1)
    rest = place.call("log", "--limit", "2", "--before", str(page["next"]))
    assert rest.stdout.splitlines()[1].split()[0] == str(page["next"] - 1)
    assert f"Older entries: --before {page['next'] - 2}" in rest.stderr


MISSING = (
    "campaign show none",
    "campaign close none --yes",
    "campaign delete none --yes",
    "token revoke none --yes",
    "token issue none",
    "token create --kind read --campaign none",
    "token issue commute",
    "token create --kind read --expires tomorrow",
)


def test_what_is_not_there_is_named(place: Place) -> None:
    for arguments in MISSING:
        done = place.call(*arguments.split())
        assert isinstance(done.exception, InvalidArgumentError | DeliveryError), done.output
        wanted = {"issue commute": "'token'", "create --kind read --expires": "expires"}
        (named,) = [word for part, word in wanted.items() if part in arguments] or ["none"]
        assert named in str(done.exception)
    assert place.json("log")["entries"][0]["name"] == "campaign.create"  # nothing was done


def test_a_token_is_never_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(["--collector", "http://127.0.0.1:1"], {}, "")
    done = place.call("token", "list")
    assert done.exit_code == 2
    assert "set NOUTPUT_TOKEN to an admin token: there is no terminal to ask on" in done.stderr
    monkeypatch.setattr(administered, "_has_terminal", lambda: True)
    asked = place.call("token", "list", text="secret\n")
    assert "Admin token: " in asked.stderr
    assert "secret" not in asked.output + str(asked.exception)
    assert "be noutput_ID_SECRET" in str(asked.exception)
    for verb in ("campaign list", "token create", "log"):
        text = place.call(*verb.split(), "--help").output
        assert "--token" not in text


def test_a_token_that_is_not_valid_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "commute.json"
    path.write_text(CAMPAIGNS[0].to_json())
    with running(Options(str(tmp_path / "reports.db"), port=0, campaigns=(path,))) as collector:
        place = Place(["--collector", collector.url], {"NOUTPUT_TOKEN": collector.admin_token}, "")
        other = place.json("token", "create", "--kind", "admin")
        place.run("token", "revoke", other["id"], "--yes")
        for wrong in (other["token"], "noutput_0123456789ab_" + "s" * 43):
            refused = Place(place.options, {"NOUTPUT_TOKEN": wrong}, "")
            for command in ("campaign list", "campaign show commute", "token list"):
                done = refused.call(*command.split())
                assert isinstance(done.exception, DeliveryError), done.output
                assert "token is not valid: it is unknown, was revoked" in str(done.exception)
                assert done.stdout == ""


def test_either_a_database_or_a_collector() -> None:
    place = Place(["--collector", "http://127.0.0.1:1", "--database", "x.db"], {}, "")
    done = place.call("log")
    assert "Give either --database or --collector" in done.stderr
    named = {"NOUTPUT_DATABASE": "x.db", "NOUTPUT_TOKEN": "noutput_0123456789ab_" + "s" * 43}
    done = Place(["--collector", "http://127.0.0.1:1"], {**named}, "").call("log")
    assert isinstance(done.exception, DeliveryError)
    assert "s" * 43 not in str(done.exception)


@pytest.mark.parametrize(
    ("url", "fine"),
    [
        ("https://collect.example", True), ("http://127.0.0.1:8000", True),
        ("http://localhost:8000/", True), ("http://[::1]:8000", True),
        ("http://collect.example", False), ("http://10.0.0.1", False),
        ("ftp://127.0.0.1", False), ("collect.example", False), ("https://a@b", False),
        ("http://[::1", False), ("https://[zz]", False), ("http://127.0.0.1:70000", False),
    ],
)  # fmt: skip
def test_a_token_is_not_sent_where_others_read_along(url: str, *, fine: bool) -> None:
    token = "noutput_0123456789ab_" + "s" * 43
    if fine:
        RemoteAdministration(url, token)
        return
    with pytest.raises(InvalidArgumentError, match="collector must be the https address"):
        RemoteAdministration(url, token)


_SUMMARY = {
    "id": "x", "title": "X", "text": "X?", "fingerprint": "0" * 64, "epsilon": 1, "public": True,
    "objectives": ["mean"], "opens": "", "closes": "", "closed": None, "state": "open",
    "reports": 0, "received": None, "of a later version": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "commands"),
    [
        ({}, ("campaign list", "token list", "log", "token issue x", "token create --kind read",
              "campaign close x --yes")),
        ({"campaigns": 5, "tokens": 5, "entries": 5, "next": None},
         ("campaign list", "token list", "log", "token issue x")),
        ({"campaigns": [7], "tokens": []}, ("campaign list", "token issue x --count 2")),
        ({"campaigns": [{**_SUMMARY, "title": "\x1b[2J"}]}, ("campaign list",)),
        ({"campaigns": [{**_SUMMARY, "objectives": ["\x9b2J"]}]}, ("campaign list --json",)),
        ({"campaigns": [{**_SUMMARY, "reports": "many"}]}, ("campaign list",)),
    ],
)  # fmt: skip
def test_answers_that_no_collector_gives_are_refused(
    answer: Any, commands: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = "noutput.collector.administration.remote.exchange"
    monkeypatch.setattr(target, lambda *_: json.dumps(answer).encode())
    token = {"NOUTPUT_TOKEN": "noutput_0123456789ab_" + "s" * 43}
    for command in commands:
        done = Place(["--collector", "https://collect.example"], {**token}, "").call(
            *command.split()
        )
        assert isinstance(done.exception, DeliveryError), (command, done.exception)
        assert str(done.exception) == "the server's answer is not one of a collector"


def test_a_later_version_may_say_more(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = json.dumps({"campaigns": [_SUMMARY], "more": 1}).encode()
    monkeypatch.setattr("noutput.collector.administration.remote.exchange", lambda *_: answer)
    (found,) = RemoteAdministration(
        "https://collect.example", "noutput_0123456789ab_" + "s" * 43
    ).campaigns()
    assert found == {key: value for key, value in _SUMMARY.items() if " " not in key}


def test_a_token_for_this_machine_goes_through_no_proxy(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # nobody listens there
    monkeypatch.setattr(connection, "_OPENER", urllib.request.build_opener())
    assert place.json("campaign", "list")["campaigns"]


def test_copies_and_checks_are_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = Place(["--database", "reports.db"], {}, COMMAND_LINE)
    store = open_store("reports.db")
    store.create("commute", CAMPAIGNS[0].fingerprint, CAMPAIGNS[0].to_json(),
                 "2026-05-01T00:00:00Z")  # fmt: skip
    store.close()
    place.run("campaign", "export", "commute")
    place.run("campaign", "backup", "copy.db")
    place.run("campaign", "delete", "commute", "--yes")
    place.run("restore", "commute.noutput")
    names = [each["name"] for each in place.json("log")["entries"]]
    assert names == ["campaign.restore", "campaign.delete", "database.backup", "campaign.export"]


def test_a_log_with_a_gap_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"at": "2026-05-01T00:00:00Z", "by": COMMAND_LINE, "name": "campaign.close",
             "campaign": "x", "token": None, "detail": ""}  # fmt: skip
    store = open_store(str(tmp_path / "reports.db"))
    store.close()
    place = Place(["--database", str(tmp_path / "reports.db")], {}, "")
    found = {"entries": [{"number": 7, **entry}, {"number": 4, **entry}], "next": None}
    target = "noutput.collector.administration.local.DatabaseAdministration.log"
    monkeypatch.setattr(target, lambda *_: found)
    assert "Missing: 2 before number 7" in place.call("log").stderr


def test_a_new_admin_token_goes_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where standard output goes to a journal, the token does not."""
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    monkeypatch.setattr("noutput.collector.server.start_logging", lambda _: None)
    file, said = tmp_path / "token", list[str]()
    for again in (False, True):
        options = Options(str(tmp_path / "reports.db"), port=0, new_admin_token=again,
                          admin_token_file=file)  # fmt: skip
        run(options, said.append)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text().startswith("noutput_")
    assert said[0] == f"Admin token written to {file}"
    assert "noutput_" not in "".join(said).replace(str(file), "")
    with pytest.raises(InvalidArgumentError, match="admin_token_file must lie in a folder"):
        Options("x.db", admin_token_file=tmp_path / "nowhere" / "token")


def test_an_unknown_campaign_ends_with_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    open_store(str(tmp_path / "reports.db")).close()
    database = str(tmp_path / "reports.db")
    monkeypatch.setattr(sys, "argv", ["noutput", "campaign", "show", "x", "--database", database])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told == "Error: campaign must be the id of a campaign; found 'x'\n"

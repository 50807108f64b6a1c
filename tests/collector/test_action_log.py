"""The log of administrative actions: who, what and when, in one transaction with the action."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from noutput.campaign import Campaign
from noutput.collector.http.auth import new_token
from noutput.collector.store import open_store
from noutput.collector.store.archive import back_up, export_campaign, restore
from noutput.collector.store.interface import COMMAND_LINE, Action, Store, UnavailableError
from tests.campaign.tokens import token_campaign
from tests.collector.conftest import make_campaign
from tests.collector.service import Clock, Service, problem
from tests.collector.tables import tables

NOW = "2026-05-01T00:00:00Z"
CLOSED = Action(NOW, COMMAND_LINE, "campaign.close", "commute")


def keep(store: Store, campaign: Campaign, action: Action | None = None) -> None:
    store.create(campaign.id, campaign.fingerprint, campaign.to_json(), NOW, action)


def test_entries_are_numbered_and_paged(store: Store) -> None:
    actions = [replace(CLOSED, detail=str(place)) for place in range(5)]
    for action in actions:
        store.note(action)
    assert [entry.number for entry in store.log()] == [5, 4, 3, 2, 1]
    assert [entry.action for entry in store.log()] == actions[::-1]
    assert [entry.number for entry in store.log(limit=2)] == [5, 4]
    assert [entry.number for entry in store.log(before=4, limit=2)] == [3, 2]
    assert store.log(before=1) == []


def test_what_changes_nothing_is_not_logged(store: Store, campaign: Campaign) -> None:
    created = Action(NOW, COMMAND_LINE, "campaign.create", campaign.id)
    for _ in range(2):
        keep(store, campaign, created)
        assert len(store.log()) == 1
    for _ in range(2):
        store.close_campaign(campaign.id, NOW, action=CLOSED)
        assert [entry.action for entry in store.log()] == [CLOSED, created]
    gone = replace(CLOSED, name="campaign.delete")
    for _ in range(2):
        store.delete(campaign.id, gone)
        assert len(store.log()) == 3
    _, row = new_token("read", 7, Clock()())
    assert not store.add_token(row, action=CLOSED)  # there is no such campaign
    assert not store.delete_token(row.id, CLOSED)
    assert not store.issue(7, [bytes(16)], CLOSED)
    assert len(store.log()) == 3


def test_an_action_and_its_entry_are_one_transaction(
    store: Store, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(store, campaign)
    _, row = new_token("read", None, Clock()())

    def fail(*_: object) -> None:
        raise UnavailableError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "_note", fail)
        for work in (
            lambda: store.close_campaign(campaign.id, NOW, action=CLOSED),
            lambda: store.delete(campaign.id, CLOSED),
            lambda: store.add_token(row, action=CLOSED),
            lambda: keep(store, make_campaign("other"), CLOSED),
        ):
            with pytest.raises(UnavailableError):
                work()
    (kept,) = store.campaigns()
    assert (kept.id, kept.closed) == (campaign.id, None)
    assert store.tokens() == []
    assert store.log() == []


@pytest.mark.parametrize("change", ["UPDATE admin_log SET detail = ''", "DELETE FROM admin_log"])
def test_the_database_refuses_to_change_an_entry(database: str, change: str) -> None:
    store = open_store(database)
    store.note(CLOSED)
    with pytest.raises(DBAPIError, match="append-only"), tables(database) as connection:
        connection.execute(text(change))
    assert [entry.action for entry in store.log()] == [CLOSED]
    store.close()


def test_copies_have_the_log_and_go_on_with_it(store: Store, database: str, tmp_path: Path) -> None:
    campaign = make_campaign()
    keep(store, campaign, replace(CLOSED, name="campaign.create"))
    store.close_campaign(campaign.id, NOW, action=CLOSED)
    export_campaign(store, campaign.id, tmp_path / "commute.noutput")
    back_up(database, tmp_path / "copy.db")
    copy = open_store(str(tmp_path / "copy.db"))
    assert copy.log() == store.log()
    copy.note(CLOSED)
    assert copy.log()[0].number == 3
    copy.close()
    other = open_store(str(tmp_path / "other.db"))
    restore(other, tmp_path / "commute.noutput", now=NOW)
    assert [entry.action for entry in other.log()] == [replace(CLOSED, name="campaign.restore")]
    other.close()


def test_every_route_that_changes_something_is_logged(service: Service) -> None:
    campaign = token_campaign()
    own = service.admin["Authorization"].split("_")[1]

    def call(method: str, path: str, **wanted: object) -> dict[str, object]:
        answer = service.call(method, path, headers=service.admin, json=wanted or None)
        assert answer.status_code < 300, answer.text
        found: dict[str, object] = answer.json() if answer.content else {}
        return found

    service.create(campaign)
    service.create(campaign)
    made = call("POST", "/tokens", kind="read", campaign="late", label="Ann's display")
    call("POST", "/campaigns/late/tokens", count=3)
    call("DELETE", f"/tokens/{made['id']}")
    call("POST", "/campaigns/late/close")
    call("DELETE", "/campaigns/late")
    page = call("GET", "/log")
    assert page["next"] is None
    entries = page["entries"]
    assert isinstance(entries, list)
    shown = [
        tuple(each[key] for key in ("number", "by", "name", "campaign", "token", "detail"))
        for each in entries
    ]
    assert shown == [
        (7, own, "campaign.delete", "late", None, ""),
        (6, own, "campaign.close", "late", None, ""),
        (5, own, "token.revoke", "late", made["id"], "read"),
        (4, own, "token.issue", "late", None, "3"),
        (3, own, "token.create", "late", made["id"], "read"),
        (2, own, "campaign.create", "late", None, ""),
        (1, COMMAND_LINE, "token.create", None, own, "admin"),
    ]
    assert {each["at"] for each in entries} == {NOW}
    text = str(page)
    for hidden in ("Ann", str(made["token"]).split("_")[2], "127.0.0.1"):
        assert hidden not in text


def test_pages_of_the_route(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    service.call("POST", "/campaigns/commute/close", headers=service.admin)

    def page(query: str) -> tuple[list[int], int | None]:
        found = service.call("GET", f"/log{query}", headers=service.admin).json()
        return [each["number"] for each in found["entries"]], found["next"]

    assert page("?limit=2") == ([3, 2], 2)
    assert page("?limit=2&before=2") == ([1], None)
    assert page("?limit=3") == ([3, 2, 1], None)
    for query in ("?limit=0", "?limit=1001", "?before=0", "?before=x"):
        refused = service.call("GET", f"/log{query}", headers=service.admin)
        assert problem(refused) == (422, "invalid-parameter")


def test_only_an_administrator_of_all_campaigns_reads_it(
    service: Service, campaign: Campaign
) -> None:
    service.create(campaign)
    assert problem(service.call("GET", "/log")) == (401, "token-required")
    for wanted in ({"kind": "read"}, {"kind": "metrics"}, {"kind": "admin", "campaign": "commute"}):
        made = service.call("POST", "/tokens", headers=service.admin, json=wanted).json()
        headers = {"Authorization": f"Bearer {made['token']}"}
        refused = service.call("GET", "/log", headers=headers)
        assert problem(refused) == (403, "token-not-sufficient")

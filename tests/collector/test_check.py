"""Damage and losses that are found: at the start, by `noutput campaign check`, and at commits."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from sqlalchemy import create_engine, text

from noutput.campaign import Campaign
from noutput.cli.campaign_store import check_command
from noutput.collector.cells import CellLayout
from noutput.collector.store import open_store
from noutput.collector.store.archive import back_up, export_campaign
from noutput.collector.store.check import check_at_start, check_database
from noutput.collector.store.interface import DamagedError, Store, Submission, UnavailableError
from tests.collector.service import problem, start_service

NOW = "2026-05-01T00:00:00Z"


def count(store: Store, campaign: Campaign, commits: int, size: int = 20) -> None:
    row, _ = store.create(campaign.id, campaign.fingerprint, campaign.to_json(), NOW)
    for _ in range(commits):
        cells = np.arange(size, dtype="<i4") % 15
        store.add([Submission(row.key, os.urandom(16 * size), cells.tobytes())])


def problems(database: str) -> list[str]:
    store = open_store(database)
    try:
        return [problem for checked in check_database(store) for problem in checked.problems]
    finally:
        store.close()


def check(database: str, *options: str) -> Result:
    return CliRunner().invoke(check_command, ["--database", database, *options])


def execute(database: str, statement: str) -> None:
    address = database.replace("postgresql:", "postgresql+psycopg:")
    engine = create_engine(address if "://" in address else f"sqlite:///{database}")
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def test_a_sound_database_passes(database: str, campaign: Campaign) -> None:
    store = open_store(database)
    count(store, campaign, 3)
    store.add([Submission(1, b"a" * 32, bytes(8))])  # one of two is a repetition
    done = check(database)  # while it is in use
    store.close()
    assert done.output == "database: ok\ncommute with 61 reports: ok\n"
    assert done.exit_code == 0


FLIP = {
    "sqlite": "UPDATE id_pools SET ids = CAST(X'00000000000000000000000000000000' || "
    "substr(ids, 17) AS BLOB)",
    "postgresql": "UPDATE id_runs SET ids = set_byte(ids, 3, 255 - get_byte(ids, 3))",
}


DELETE = {"sqlite": "DELETE FROM id_pools", "postgresql": "DELETE FROM id_runs"}


def test_every_kind_of_damage_is_told(database: str, campaign: Campaign) -> None:
    kind = "postgresql" if "://" in database else "sqlite"
    store = open_store(database)
    count(store, campaign, 1)
    store.close()
    damages = [
        (FLIP[kind], "its ids are not those that were committed"),
        (DELETE[kind], "it has 0 ids, and 20"),
        ("UPDATE counts SET reports = 3 - reports WHERE cell IN (4, 5)", "counts are not those"),
        ("UPDATE counts SET reports = reports + 1 WHERE cell = 3", "add up to 21 reports, and 20"),
        ("UPDATE campaigns SET fingerprint = id", "its document is another one"),
        ("UPDATE campaigns SET document = '{'", "its document cannot be read"),
        ("DELETE FROM seals", None),  # is made anew, as for a database of an older version
    ]
    for statement, told in damages:
        execute(database, statement)
        assert told is None or told in check(database).output
    assert check(database).exit_code == 1


def test_damage_stops_exports_and_backups_until_it_is_accepted(
    database: str, campaign: Campaign, tmp_path: Path
) -> None:
    store = open_store(database)
    count(store, campaign, 1)
    execute(database, "UPDATE counts SET reports = 3 - reports WHERE cell IN (4, 5)")
    with pytest.raises(DamagedError, match="'commute' is damaged: its counts are not those"):
        export_campaign(store, "commute", tmp_path / "x.noutput")
    with pytest.raises(DamagedError, match="'commute' is damaged"):
        back_up(database, tmp_path / "copy.db")
    assert not list(tmp_path.glob("*copy*"))
    check_at_start(store)
    assert store.problems() == ("campaign 'commute': its counts are not those that were committed",)
    store.close()
    done = check(database, "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["ok"], told["accepted"]) == (1, False, False)
    problem = "its counts are not those that were committed"
    assert told["checked"][1] == {"campaign": "commute", "reports": 20, "problems": [problem]}
    done = check(database, "--accept")
    assert done.exit_code == 0
    assert "its counts are not those that were committed" in done.output
    assert check(database).exit_code == 0
    back_up(database, tmp_path / "copy.db")
    copied = check(str(tmp_path / "copy.db"), "--json", "--accept")
    assert copied.exit_code == 0
    told = json.loads(copied.stdout)
    assert (told["ok"], told["accepted"]) == (True, False)  # there was nothing to accept
    assert told["checked"][0] == {"campaign": None, "reports": None, "problems": []}


def test_a_check_lays_out_the_cells_of_a_campaign_once(
    tmp_path: Path, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many cells have reports: 200,000 took half a minute at the start."""
    store = open_store(str(tmp_path / "reports.db"))
    count(store, campaign, 1)
    built: list[str] = []

    def build(of: Campaign) -> CellLayout:
        built.append(of.id)
        return CellLayout(of)

    monkeypatch.setattr("noutput.collector.store.check.CellLayout", build)
    check_at_start(store)
    assert (built, store.problems()) == (["commute"], ())
    store.close()


@pytest.mark.parametrize("cell", ["-1", "15"])
def test_counts_of_outputs_that_do_not_exist_are_told(
    database: str, campaign: Campaign, cell: str
) -> None:
    store = open_store(database)
    count(store, campaign, 1)
    store.close()
    execute(database, "UPDATE counts SET cell = CELL WHERE cell = 3".replace("CELL", cell))
    assert problems(database)[0] == "it has counts of outputs that do not exist"


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"way to work", b"way \xff\xfe work"), (b'"ask": "one"', b'"ask"; "one"'),
     (b'"ask": "one"', b'"ask": "twu"')],
    ids=["encoding", "syntax", "rule"],
)  # fmt: skip
def test_a_damaged_document_is_told_without_its_text(
    tmp_path: Path,
    campaign: Campaign,
    caplog: pytest.LogCaptureFixture,
    before: bytes,
    after: bytes,
) -> None:
    database = tmp_path / "service.db"
    store = open_store(str(database))
    count(store, campaign, 1)
    store.close()
    content = database.read_bytes()
    assert content.count(before) == 1
    assert len(before) == len(after)
    database.write_bytes(content.replace(before, after))
    done = check(str(database))
    assert done.exit_code == 1
    told = [done.output]
    store = open_store(str(database))
    check_at_start(store)
    assert store.problems()
    told += store.problems()
    with start_service(store) as service:
        for path in ("", "/estimates"):
            answer = service.call("GET", f"/campaigns/commute{path}", headers=service.admin)
            assert problem(answer) == (503, "unavailable")
            told.append(answer.text)
    with pytest.raises(UnavailableError) as raised:
        export_campaign(store, "commute", tmp_path / "x.noutput")
    store.close()
    told += [*map(str, chained(raised.value)), caplog.text]
    for word in ("way", "work", "twu", "minutes"):
        assert not [message for message in told if word in message]


def chained(error: BaseException | None) -> Iterator[BaseException]:
    """Return an error and all that a traceback shows with it."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.fixture
def crashed(tmp_path: Path, campaign: Campaign) -> Callable[[str], Path]:
    """Copies of a database in use, as a crash of its process leaves it: all in the log."""
    store = open_store(str(tmp_path / "live.db"))
    count(store, campaign, 30)

    def copy(name: str) -> Path:
        for end in ("", "-wal", "-mark"):
            shutil.copyfile(tmp_path / f"live.db{end}", tmp_path / f"{name}{end}")
        return tmp_path / name

    copies = [copy("whole.db"), copy("flipped.db")]
    store.close()
    return lambda name: next(path for path in copies if path.name == name)


def test_a_crash_loses_nothing(crashed: Callable[[str], Path]) -> None:
    assert problems(str(crashed("whole.db"))) == []


def test_a_flipped_byte_in_the_write_ahead_log_is_a_loss(
    crashed: Callable[[str], Path], campaign: Campaign
) -> None:
    database = crashed("flipped.db")
    log = Path(f"{database}-wal")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    told = problems(str(database))
    kept = sqlite3.connect(database)
    commits, reports = kept.execute("SELECT commits, reports FROM high_water").fetchone()
    kept.close()
    total = 30 * 20
    assert reports < total
    missing = f"{32 - commits} commits with {total - reports} acknowledged reports are missing"
    assert told == [f"{missing} from the database"]
    assert Path(f"{log}-damaged").read_bytes() == bytes(content)  # for whoever wants to look
    store = open_store(str(database))  # new reports do not hide the loss
    count(store, campaign, 40)
    store.close()
    assert problems(str(database)) == told
    assert check(str(database), "--accept").exit_code == 0
    assert problems(str(database)) == []


def test_a_flipped_byte_of_an_id_is_found_at_the_start(tmp_path: Path, campaign: Campaign) -> None:
    database = tmp_path / "reports.db"
    store = open_store(str(database))
    count(store, campaign, 1, 2000)
    store.close()
    content = bytearray(database.read_bytes())
    content[-5000] ^= 1
    database.write_bytes(content)
    store = open_store(str(database))
    check_at_start(store)
    assert store.problems() == ("campaign 'commute': its ids are not those that were committed",)
    store.close()


def test_a_file_of_broken_form_is_told(tmp_path: Path, campaign: Campaign) -> None:
    database = tmp_path / "reports.db"
    store = open_store(str(database))
    count(store, campaign, 1, 2000)
    store.close()
    content = bytearray(database.read_bytes())
    content[-4096:] = b"\xff" * 4096
    database.write_bytes(content)
    done = check(str(database))
    assert done.exit_code == 1
    assert "SQLite: " in done.output or "ids" in done.output


def test_a_database_that_goes_back_in_time_is_noticed(database: str, campaign: Campaign) -> None:
    """As after a switch to a standby that lacked commits, or a backup put over a file in use."""
    store = open_store(database)
    count(store, campaign, 2)
    store.probe()
    assert store.problems() == ()
    execute(database, "UPDATE seals SET reports = reports - 20")
    execute(database, "UPDATE high_water SET commits = commits - 2")
    store.probe()
    (problem,) = store.problems()
    assert "the database went back in time" in problem
    store.close()

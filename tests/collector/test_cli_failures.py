"""Wrong input of the verbs around a collector: status 2 and one line, and nothing left behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from noutput.campaign import Campaign
from noutput.cli import main
from noutput.collector.store import open_store
from tests.collector.conftest import make_campaign

RECIPE = """
id = "commute"
title = "Commute"
text = "How long?"
epsilon = 1.0
opens = 2026-03-01T00:00:00Z
closes = 2026-04-01T00:00:00Z
[[questions]]
name = "minutes"
lower = 0
upper = 180
[table]
outputs = 3
method = "analytical"
"""


@pytest.fixture
def folder(tmp_path: Path, campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with good and with bad files, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    store = open_store("reports.db")
    store.create(campaign.id, campaign.fingerprint, campaign.to_json(), "2026-05-01T00:00:00Z")
    store.close()
    (tmp_path / "recipe.toml").write_text(RECIPE)
    (tmp_path / "binary.toml").write_bytes(b"id = '\xff'")
    (tmp_path / "commute.json").write_text(campaign.to_json())
    (tmp_path / "other.json").write_text(make_campaign(outputs=6).to_json())
    (tmp_path / "empty.json").write_text("{}")
    (tmp_path / "taken.json").write_text("something else")
    (tmp_path / "junk.db").write_bytes(bytes(range(256)) * 20)
    return tmp_path


def fail(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """Run the command line as a shell does; return its last line, after status 2."""
    monkeypatch.setattr(sys, "argv", ["noutput", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    output = capsys.readouterr()
    assert ended.value.code == 2, output
    assert "Traceback" not in output.err
    return output.err.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("campaign create none.toml", "File 'none.toml' does not exist"),
        ("campaign create binary.toml", "file must be UTF-8; found 'byte 0xff at place 6'"),
        ("campaign create recipe.toml -o nowhere/x.json", "folder that exists; found"),
        ("campaign create recipe.toml -o taken.json", "taken.json is there already"),
        ("campaign export commute", "there is no database noutput.db"),
        ("campaign export commute --database none.db", "there is no database none.db"),
        ("campaign export none --database reports.db", "be the id of a campaign; found 'none'"),
        ("campaign export commute --database junk.db", "file is not a database"),
        ("campaign export commute --database reports.db -o nowhere/x", "folder that exists; found"),
        ("restore none.noutput", "File 'none.noutput' does not exist"),
        ("restore empty.json", "file must be a backup (a SQLite file) or an export (a ZIP"),
        ("campaign backup copy.db", "there is no database noutput.db"),
        ("campaign backup reports.db --database reports.db", "file must not exist yet"),
        ("campaign backup nowhere/x.db --database reports.db", "folder that exists; found"),
        ("serve --database mysql://x", "be SQLite or PostgreSQL"),
        ("serve --database postgresql://[::1", "database must be a path or an address"),
        ("serve --database junk.db", "file is not a database"),
        ("serve --database nowhere/x.db", "unable to open database file"),
        ("serve --database x.db --campaign empty.json", "format in empty.json must be"),
        ("serve --database reports.db --campaign other.json", "'commute'"),
        ("serve --database x.db --host 256.1.1.1", "be an address to listen at"),
        ("serve --database x.db --host=", "be an address to listen at"),
        ("serve --database x.db --port 70000", "70000 is not in the range"),
        ("serve --database x.db --rate nan", "must be a finite number; found nan"),
        ("serve --database x.db --trusted-proxy nginx", "be IP addresses or networks"),
        ("simulate nonsense", "be the http or https address of a campaign"),
        ("simulate http://127.0.0.1:1/x --seed -1", "-1 is not in the range"),
        ("simulate http://127.0.0.1:1/x --people 0", "0 is not in the range"),
        ("demo --seed -1", "-1 is not in the range"),
        ("demo --epsilon nan", "epsilon must be a positive finite number; found nan"),
        ("demo --people 1", "1 is not in the range"),
        ("demo --plot x.txt", "plot must end in .png, .svg, .pdf; found 'x.txt'"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("folder")
def test_failures_end_with_status_2_and_say_why(
    arguments: str, message: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert message in fail(arguments.split(), monkeypatch, capsys)


def test_a_file_that_is_no_export_makes_no_database(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(["restore", "empty.json", "--database", "new.db"], monkeypatch, capsys)
    assert not (folder / "new.db").exists()

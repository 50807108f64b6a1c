"""`noutput estimate` on the reports of a campaign."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from noutput import InvalidArgumentError
from noutput.campaign import Campaign
from noutput.cli.estimate import command
from noutput.collector.archive.archive import open_archive
from noutput.collector.cells import CellLayout
from tests.campaign.examples import late_campaign, survey_campaign

REPORTS = 4_000


def fill(folder: Path, campaign: Campaign, reports: int) -> None:
    """Archive reports, a hundred of them twice."""
    rng = np.random.default_rng(3)
    ids = rng.bytes(16 * reports)
    cells = rng.integers(0, CellLayout(campaign).size, reports).astype("<i4").tobytes()
    archive = open_archive(folder)
    archive.add([(campaign, ids, cells)])
    archive.add([(campaign, ids[:1600], cells[:400])])
    archive.flush()
    archive.close()


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return survey_campaign("commute")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory, campaign: Campaign) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    fill(folder, campaign, REPORTS)
    return folder


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_every_question_is_estimated(archive: Path, campaign: Campaign) -> None:
    found = json.loads(run(archive, "--json", "--bins", 8).output)
    assert found["campaign"] == "commute"
    assert found["fingerprint"] == campaign.fingerprint
    assert (found["rows"], found["reports"], found["repeated"]) == (REPORTS + 100, REPORTS, 100)
    assert (found["conflicting"], found["pending"]) == (0, 0)
    assert list(found["questions"]) == [question.name for question in campaign.questions]
    assert sum(each["reports"] for each in found["questions"].values()) == REPORTS


def test_it_prints_what_summaries_print(archive: Path, campaign: Campaign, tmp_path: Path) -> None:
    figure = tmp_path / "late.png"
    document = tmp_path / "commute.json"
    document.write_text(campaign.to_json())
    shown = run(archive, "--column", "late", "--campaign", document, "--plot", figure).output
    lines = shown.splitlines()
    assert lines[0].endswith("(commute)")
    assert lines[1] == "4,100 rows: 4,000 reports, and 100 that came again"
    assert lines[3].startswith("late: ")
    assert "commute:" not in shown
    assert lines[-1] == f"Figure saved in {figure}"
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_pending_and_conflicting_reports_are_told(tmp_path: Path) -> None:
    campaign = late_campaign()
    fill(tmp_path, campaign, 200)
    archive = open_archive(tmp_path)
    archive.add([(campaign, bytes(32), b"\0\0\0\0\1\0\0\0")])
    archive.flush()
    archive.add([(campaign, b"\1" * 16, bytes(4))])
    archive.close()
    shown = run(tmp_path).output
    assert "302 rows: 201 reports, and 101 that came again" in shown
    assert "Warning: 1 ids came with different answers." in shown
    assert "1 more are in no file yet" in shown


def test_questions_and_reports_are_checked(archive: Path, tmp_path: Path) -> None:
    done = run(archive, "--column", "minutes")
    assert isinstance(done.exception, InvalidArgumentError)
    assert str(done.exception).startswith("--column must be a question of ['commute', 'stars'")
    open_archive(tmp_path).close()
    done = run(tmp_path)
    assert "campaign must be given unless the source is the archive of one" in str(done.exception)
    fill(tmp_path, late_campaign(), 1)
    done = run(tmp_path)
    assert isinstance(done.exception, InvalidArgumentError)
    assert "on a question must be at least two; found 1" in str(done.exception)

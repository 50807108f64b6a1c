"""Copies of campaigns with labels: exports, imports, backups and archives."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from noutput import frames
from noutput.campaign import NextWave
from noutput.campaign.schedule import Schedule
from noutput.collector.archive.archive import open_archive
from noutput.collector.cells import CellLayout
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.store import open_store
from noutput.collector.store.archive import back_up, export_campaign, restore
from noutput.collector.store.check import check_database
from noutput.collector.store.interface import Store
from noutput.errors import DocumentError
from tests.collector.labeled import OPENS, labeled_campaign, reports, scheduled_campaign
from tests.collector.service import Service, start_service
from tests.collector.test_archive import read_export, write_export

CAMPAIGN = labeled_campaign()
IOS, WEB = {"platform": "ios"}, {"platform": "web"}


def fill(service: Service, rng: np.random.Generator) -> None:
    """Publish 150 reports with their labels, and 110 without; 40 more are not published."""
    service.create(CAMPAIGN)
    for labels, count in ((IOS, 150), (WEB, 60), ({"plan": "free"}, 50), (WEB, 39), (IOS, 1)):
        service.batch(CAMPAIGN, reports(CAMPAIGN, count, rng, labels))


def totals(store: Store) -> dict[int, int]:
    row = store.campaign("commute")
    assert row is not None
    return CellLayout(CAMPAIGN).totals(store.published(row.key).counts)


def check_goes_on(store: Store, rng: np.random.Generator) -> None:
    """What was published without labels stays there: later releases have new reports alone."""
    assert totals(store) == {3: 150, 12: 110}
    assert not any(found.problems for found in check_database(store))
    with start_service(store) as service:
        service.batch(CAMPAIGN, reports(CAMPAIGN, 1, rng, WEB))
        assert totals(store) == {3: 150, 12: 110}
        service.batch(CAMPAIGN, reports(CAMPAIGN, 60, rng, WEB))
        assert totals(store) == {3: 150, 9: 100, 12: 110}


def test_copies_go_on_where_the_original_was(
    store: Store, tmp_path: Path, rng: np.random.Generator, database: str
) -> None:
    with start_service(store) as service:
        fill(service, rng)
    file = tmp_path / "commute.noutput"
    assert export_campaign(store, "commute", file)[0] == 300
    assert back_up(database, tmp_path / "copy.db") == 1
    for name in ("other.db", "copy.db"):
        with closing(open_store(str(tmp_path / name))) as other:
            if name == "other.db":
                restore(other, file)
            check_goes_on(other, np.random.default_rng(8))


def change(content: dict[str, Any], column: int, value: object, *, labels: bool = True) -> None:
    """Put a value into the first row with labels, or without."""
    rows = content["counts"]["rows"]
    row = next(row for row in rows if (row[2] is not None) is labels)
    row[column] = value


Damage = Callable[[dict[str, Any]], object]
DAMAGED: tuple[tuple[Damage, str], ...] = (
    (lambda content: change(content, -1, 1), "as many reports in rows without labels as were"),
    (lambda content: change(content, -2, 999, labels=False), "without labels as were moved"),
    (lambda content: change(content, -3, 9, labels=False), "no report that was counted without"),
    (lambda content: change(content, -2, 999), "no more published than counted"),
    (lambda content: change(content, 2, "beos"), "rows of what the campaign asks"),
    (lambda content: change(content, 2, None), "rows of what the campaign asks"),
    (lambda content: change(content, 1, 1), "rows of what the campaign asks"),
    (lambda content: content["counts"]["columns"].pop(), "have the columns"),
    (lambda content: content.pop("counts"), "keys"),
    (lambda content: content.update(version=4), "version must be 1; found 4"),
)


def test_not_told_and_without_labels_are_two_things(
    service: Service, tmp_path: Path, rng: np.random.Generator
) -> None:
    fill(service, rng)
    file = tmp_path / "commute.noutput"
    export_campaign(service.store, "commute", file)
    table = json.loads(read_export(file)["counts.json"])["counts"]
    assert table["columns"] == [
        "wave", "round", "platform", "plan", "question", "output", "reports", "released", "moved",
    ]  # fmt: skip
    sums: Counter[tuple[str | None, str | None, str]] = Counter()
    for _, _, platform, plan, _, _, *numbers in table["rows"]:
        for name, number in zip(("reports", "released", "moved"), numbers, strict=True):
            sums[platform, plan, name] += number
    assert {name: number for name, number in sums.items() if number} == {
        ("ios", "", "reports"): 151, ("ios", "", "released"): 150,
        ("web", "", "reports"): 99, ("web", "", "moved"): 60,
        ("", "free", "reports"): 50, ("", "free", "moved"): 50,
        (None, None, "released"): 110,
    }  # fmt: skip


@pytest.mark.parametrize(("damage", "message"), DAMAGED)
def test_damaged_exports_are_refused(
    damage: Damage, message: str, service: Service, tmp_path: Path, rng: np.random.Generator
) -> None:
    fill(service, rng)
    file = tmp_path / "commute.noutput"
    export_campaign(service.store, "commute", file)
    parts = read_export(file)
    content = json.loads(parts["counts.json"])
    damage(content)
    write_export(file, {**parts, "counts.json": json.dumps(content).encode()})
    with (
        closing(open_store(str(tmp_path / "other.db"))) as other,
        pytest.raises(DocumentError, match=message),
    ):
        restore(other, file)


def test_an_archive_has_every_report(tmp_path: Path, rng: np.random.Generator) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    archive = open_archive(tmp_path / "archive")
    with start_service(store, archive=archive) as service:
        fill(service, rng)
        row = store.campaign("commute")
        assert row is not None
        wanted = CellLayout(CAMPAIGN).tallies(store.counts(row.key))
    archive.flush()
    archive.compact(CAMPAIGN.root)
    archive.close()
    store.close()
    assert list(frames.tally_reports(tmp_path / "archive").tallies.values()) == wanted
    files = [pq.read_table(file) for file in (tmp_path / "archive").glob("*/*/*.parquet")]
    rows = [row for file in files for row in file.to_pylist()]
    labels = Counter((row["label_platform"], row["label_plan"]) for row in rows)
    assert labels == {("ios", None): 151, ("web", None): 99, (None, "free"): 50}


def test_an_archive_has_rounds(tmp_path: Path, rng: np.random.Generator) -> None:
    campaign = scheduled_campaign()
    layout = CellLayout(campaign)
    cells = np.array([layout.cell("minutes", 2, number) for number in (0, 3, 3, 13)], "<i4")
    archive = open_archive(tmp_path / "archive")
    for part in (cells[:2], cells[2:]):
        archive.add([(campaign, rng.bytes(16 * len(part)), part.tobytes())])
        archive.flush()
    archive.compact(campaign.root)
    archive.close()
    files = [pq.read_table(file) for file in (tmp_path / "archive").glob("*/*/*.parquet")]
    assert sorted(row["round"] for file in files for row in file.to_pylist()) == [0, 3, 3, 13]


def test_the_second_wave_is_of_what_is_published_of_all_labels(
    store: Store, rng: np.random.Generator
) -> None:
    first = labeled_campaign(next_wave=NextWave(1000, 5000))
    with start_service(store) as service:
        service.create(first)
        for labels, count in ((IOS, 600), (WEB, 350), ({"plan": "free"}, 50)):
            service.batch(first, reports(first, count, rng, labels, center=40.0))
        service.app.services.adapter.look()
        assert service.app.services.directory.known()[0].awaits_wave  # 50 are hidden
        service.batch(first, reports(first, 70, rng, {"plan": "paid"}, center=40.0))
        service.app.services.adapter.look()
        (entry,) = service.app.services.directory.known()
        second = entry.campaign
        assert len(second.waves) == 2
        assert [sum(each) for each in second.inputs[0]] == [600 + 350 + 120]
        late = reports(first, 1, rng, IOS, center=40.0)
        assert service.batch(first, late).json() == {"accepted": 1, "repeated": 0}
        new = reports(second, 200, rng, IOS, center=40.0)
        service.batch(second, new)
        found = service.call("GET", "/campaigns/commute/estimates?segment=platform:ios",
                             headers=service.admin).json()  # fmt: skip
        assert found["reports"] == 800
        assert [wave["questions"][0]["reports"] for wave in found["waves"]] == [600, 200]
        low, high = found["questions"][0]["mean"]["interval"]
        assert low < 40.0 < high


def test_copies_of_rounds_go_on_where_the_original_was(
    store: Store, tmp_path: Path, rng: np.random.Generator, database: str
) -> None:
    """What was published without its round stays there, also without labels."""
    campaign = scheduled_campaign(schedule=Schedule("day", 3))
    with start_service(store, policy=ReleasePolicy(100, 0.0)) as service:
        service.create(campaign)
        for number in range(3):
            service.clock.now = OPENS + timedelta(days=number)
            service.batch(campaign, reports(campaign, 60, rng, number=number))
        service.clock.now = OPENS + timedelta(days=4, seconds=30)
        service.publish()
        row = store.campaign("commute")
        assert row is not None
        layout = CellLayout(campaign)
        assert layout.totals(store.published(row.key).counts) == {layout.strata.rounds: 180}
    file = tmp_path / "commute.noutput"
    export_campaign(store, "commute", file)
    assert back_up(database, tmp_path / "copy.db") == 1
    for name in ("other.db", "copy.db"):
        with closing(open_store(str(tmp_path / name))) as other:
            if name == "other.db":
                restore(other, file)
            with start_service(other, policy=ReleasePolicy(100, 0.0)) as service:
                service.clock.now = OPENS + timedelta(days=4, seconds=30)
                service.batch(campaign, reports(campaign, 100, np.random.default_rng(2), number=3))
                row = other.campaign("commute")
                assert row is not None
                shown = layout.totals(other.published(row.key).counts)
                assert shown == {3: 100, layout.strata.rounds: 180}

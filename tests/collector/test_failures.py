"""What the collector does when its database, a client or an export fails it."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from noutput.campaign import Campaign
from noutput.collector.ingest.writer import Writer
from noutput.collector.metrics import Metrics
from noutput.collector.store import open_store
from noutput.collector.store.archive import export_campaign, restore
from noutput.collector.store.interface import Outcome, Submission, UnavailableError
from noutput.errors import InvalidArgumentError
from tests.collector.test_archive import read_export, write_export


class Broken:
    """A store whose first commit fails in a way that nobody foresaw."""

    def __init__(self) -> None:
        self.commits = 0

    def add(self, submissions: list[Submission]) -> list[Outcome | None]:
        self.commits += 1
        if self.commits == 1:
            raise RuntimeError("the value 42.5 of somebody")
        return [Outcome(submission.size, 0) for submission in submissions]


def test_the_writer_outlives_any_failure_and_acknowledges_nothing_of_it() -> None:
    async def main() -> None:
        writer = Writer(Broken(), Metrics(), limit=100)  # type: ignore[arg-type]
        writer.start()
        piece = Submission(1, b"i" * 16, b"\0" * 4)
        with pytest.raises(UnavailableError) as error:
            await writer.submit(piece)
        assert str(error.value) == "the commit failed: RuntimeError"  # and not its message
        assert await writer.submit(piece) == Outcome(1, 0)
        await writer.stop()

    asyncio.run(main())


def test_a_commit_that_hangs_does_not_keep_a_collector_from_stopping() -> None:
    release = threading.Event()

    class Hanging:
        def add(self, submissions: list[Submission]) -> list[Outcome | None]:
            assert release.wait(30)
            return [None] * len(submissions)

    async def main() -> None:
        writer = Writer(Hanging(), Metrics(), limit=100, seconds=0.01)  # type: ignore[arg-type]
        writer.start()
        waiting = writer.submit(Submission(1, b"i" * 16, b"\0" * 4))
        await writer.stop()
        assert not waiting.done()  # nobody was told that it was counted
        release.set()

    asyncio.run(main())


@pytest.fixture
def export(tmp_path: Path, campaign: Campaign) -> dict[str, bytes]:
    store = open_store(str(tmp_path / "reports.db"))
    store.create(campaign.id, campaign.fingerprint, campaign.to_json(), "2026-05-01T00:00:00Z")
    export_campaign(store, campaign.id, tmp_path / "good.noutput")
    store.close()
    return read_export(tmp_path / "good.noutput")


def import_changed(export: dict[str, bytes], change: dict[str, Any], folder: Path) -> str:
    """Return how a store refuses an export with other counts, of which it keeps nothing."""
    counts = json.loads(export["counts.json"]) | change
    changed = {**export, "counts.json": json.dumps(counts).encode()}
    write_export(folder / "bad.noutput", changed)
    store = open_store(str(folder / "other.db"))
    try:
        with pytest.raises(InvalidArgumentError) as error:
            restore(store, folder / "bad.noutput")
        assert store.campaigns() == []
    finally:
        store.close()
    return f"{type(error.value).__name__}: {error.value}"


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"extra": 1}, "have the keys"),
        ({"counts": []}, "have the keys"),
        ({"counts": {"columns": [], "rows": []}}, "have the columns"),
        ({"releases": {}}, "be a list"),
    ],
)
def test_counts_of_an_export_are_checked(
    export: dict[str, bytes], change: dict[str, Any], rule: str, tmp_path: Path
) -> None:
    refusal = import_changed(export, change, tmp_path)
    assert refusal.startswith("DocumentError: ")
    assert rule in refusal


@pytest.mark.parametrize("change", [{"created": 5}, {"closed": "yesterday"}])
def test_instants_of_an_export_are_checked(
    export: dict[str, bytes], change: dict[str, Any], tmp_path: Path
) -> None:
    (name,) = change
    assert f"{name} must be an instant" in import_changed(export, change, tmp_path)

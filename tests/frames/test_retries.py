"""A row has one report, whatever Spark tries again, copies or loses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from noutput import InvalidArgumentError, TableMechanism, frames
from noutput.frames.engines import spark as engine
from tests.tables import window_table

ROWS, TASKS = 2000, 2


def failing_once(log: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a step that passes all rows on, and breaks every task's first attempt at its end."""

    def step(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        seen: list[int] = []
        for batch in batches:
            seen += batch.column(1).to_pylist()
            yield batch
        name = f"{context.partitionId()}-{context.attemptNumber()}"
        (Path(log) / name).write_text(" ".join(map(str, seen)))
        if context.attemptNumber() == 0:
            raise RuntimeError("the worker is lost after its last row")

    return step


def retried_reports(spark: Any, mechanism: TableMechanism, log: Path) -> Any:
    log.mkdir()
    people = spark.range(ROWS, numPartitions=TASKS).selectExpr("id", "0.0D AS x")
    reports = frames.privatize(people, "x", mechanism=mechanism, bounds=(-1, 1), keep="id")
    return reports.mapInArrow(failing_once(str(log)), reports.schema)


def test_retried_tasks_write_every_row_once(spark: Any, tmp_path: Path) -> None:
    mechanism = window_table(1.0, 16, 33, 0.4)
    log, target = tmp_path / "log", tmp_path / "reports"
    retried_reports(spark, mechanism, log).write.parquet(str(target))
    stored = pq.read_table(target)
    assert sorted(stored["id"].to_pylist()) == list(range(ROWS))
    attempts = {path.name: path.read_text() for path in log.iterdir()}
    assert len(attempts) == 2 * TASKS
    assert len(set(attempts.values())) == TASKS  # both attempts sent the same
    written = dict(zip(stored["id"].to_pylist(), stored.column(1).to_pylist(), strict=True))
    per_task = ROWS // TASKS
    for task in range(TASKS):
        kept = [written[task * per_task + row] for row in range(per_task)]
        assert " ".join(map(str, kept)) == attempts[f"{task}-1"]
    # what was stored does not change any more, however often it is counted
    counts = [frames.tally(spark.read.parquet(str(target)), "x", mechanism) for _ in range(2)]
    assert counts[0] == counts[1]
    assert counts[0].total == ROWS


def test_retried_tasks_are_counted_once(spark: Any, tmp_path: Path) -> None:
    mechanism = window_table(1.0, 16, 33, 0.4)
    reports = retried_reports(spark, mechanism, tmp_path / "log")
    assert frames.tally(reports, "x", mechanism).total == ROWS


def test_a_source_that_is_tried_again_is_reported_once(spark: Any, tmp_path: Path) -> None:
    mechanism = window_table(1.0, 16, 33, 0.4)
    people = spark.range(ROWS, numPartitions=TASKS).selectExpr("0.0D AS x", "id")
    flaky = people.mapInArrow(failing_once(str(tmp_path)), people.schema)
    reports = frames.privatize(flaky, "x", mechanism=mechanism, bounds=(-1, 1), keep="id")
    attempts = {path.name for path in tmp_path.iterdir()}
    assert len(attempts) == 2 * TASKS
    for path in tmp_path.iterdir():
        path.unlink()
    first, *others = (reports.sort("id").toArrow() for _ in range(3))
    assert others == [first, first]
    assert first["id"].to_pylist() == list(range(ROWS))
    assert not list(tmp_path.iterdir())  # no action has run the source again
    assert "noutput" in reports.schema[1].metadata  # the recipe


def test_reports_that_spark_lost_are_not_drawn_again(spark: Any) -> None:
    mechanism = window_table(1.0, 16, 33, 0.4)
    people = spark.range(ROWS, numPartitions=TASKS).selectExpr("0.0D AS x")
    reports = frames.privatize(people, "x", mechanism=mechanism, bounds=(-1, 1))
    assert frames.tally(reports, "x", mechanism).total == ROWS
    for held in spark.sparkContext._jsc.getPersistentRDDs().values():
        held.unpersist()
    with pytest.raises(Exception, match=r"(?i)checkpoint block"):
        frames.tally(reports, "x", mechanism)


def test_copies_of_tasks_are_refused(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both copies may store what they drew, and readers would see either."""
    people = spark.range(ROWS).selectExpr("0.0D AS x")
    settings = {"spark.speculation": "true"}
    monkeypatch.setattr(type(spark.conf), "get", lambda _, *names: settings[names[0]])
    with pytest.raises(InvalidArgumentError, match=r"spark.speculation must be false.*'true'"):
        engine.hold(people)

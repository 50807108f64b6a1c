"""The engine "spark": `mapInArrow`, so that every task draws with keys of its own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from noutput.errors import InvalidArgumentError
from noutput.frames.drawing import draw_pilot, draw_reports
from noutput.frames.engines.arrow import text_answers, text_numbers
from noutput.frames.engines.errors import carry_errors
from noutput.frames.packages import pa, pyspark, spark_sql, spark_types
from noutput.frames.recipe import Recipe
from noutput.frames.storage import check_file, is_csv, is_local, parquet_files
from noutput.frames.values import Place
from noutput.questions import Answers, Question

__all__ = ["hold", "privatize", "read", "read_parquet", "split", "write"]

_PILOT = "noutput_pilot"
_Task: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]"

# as the engine "arrow" reads: quotes are doubled, and may hold line breaks and commas
_CSV: dict[str, bool | str] = {
    "header": True,
    "multiLine": True,
    "escape": '"',
    "encoding": "UTF-8",
    "mode": "FAILFAST",
    "columnPruning": False,  # rows of another length are refused, whichever columns are wanted
}


def privatize(
    frame: spark_sql.DataFrame, recipe: Recipe, names: Sequence[str], keep: Sequence[str]
) -> spark_sql.DataFrame:
    """Privatize a Spark frame."""
    _check_python(frame)
    _check_names((*recipe.columns, *keep))
    wanted = frame.select(*recipe.columns, *keep)
    reports = [
        spark_types.StructField(name, spark_types.IntegerType(), recipe.has_gaps) for name in names
    ]
    schema = spark_types.StructType([wanted.schema[name] for name in keep] + reports)
    task = _task(recipe.to_json(), tuple(names), tuple(keep))
    return wanted.mapInArrow(task, schema)


def split(
    frame: spark_sql.DataFrame, recipe: Recipe, keep: Sequence[str], share: float
) -> tuple[spark_sql.DataFrame, spark_sql.DataFrame]:
    """Return the rows of the pilot and the others: two parts of a frame that is held.

    The coins are drawn once, and not again where a part of the frame is lost.
    """
    _check_python(frame)
    _check_names((*recipe.columns, *keep))
    wanted = frame.select(*recipe.columns, *keep)
    coin = spark_types.StructField(_PILOT, spark_types.BooleanType(), False)
    schema = spark_types.StructType([*wanted.schema.fields, coin])
    drawn = hold(wanted.mapInArrow(_coins(recipe.to_json(), share), schema))
    pilot, others = drawn.where(_PILOT), drawn.where(f"NOT {_PILOT}")
    return pilot.drop(_PILOT), others.drop(_PILOT)


def hold(frame: spark_sql.DataFrame) -> spark_sql.DataFrame:
    """Run a frame once, and return its rows without their plan: what is lost is not drawn again.

    A local checkpoint is what the executors keep. Where one of them is lost, whatever needs its
    rows fails with an error of Spark.
    """
    if str(frame.sparkSession.conf.get("spark.speculation", "false")).lower() == "true":
        # two copies of a task may both store what they drew, and readers would see either
        rule = "be false: two copies of a task draw twice (privatize_files writes one of them)"
        raise InvalidArgumentError("spark.speculation", rule, "true")
    return frame.localCheckpoint(eager=True)


def read(
    session: spark_sql.SparkSession,
    source: str,
    columns: Mapping[str, Question | None],
    texts: Sequence[str],
) -> spark_sql.DataFrame:
    """Return what Spark reads: of a local folder the files that every engine would read.

    The columns hold numbers, or answers where they have a question with answers.
    """
    if is_csv(source):
        if is_local(source):
            check_file(Path(source))
        return _read_csv(session, _address(source), columns, texts)
    if not is_local(source):
        return session.read.parquet(source)
    return read_parquet(session, parquet_files(Path(source), [*columns, *texts]))


def read_parquet(session: spark_sql.SparkSession, files: Sequence[str]) -> spark_sql.DataFrame:
    """Return what Spark reads from local Parquet files."""
    return session.read.parquet(*map(_address, files))


def write(reports: spark_sql.DataFrame, folder: str, *, mode: str = "error") -> None:
    """Write reports as the Parquet files of a folder, local or not."""
    reports.write.mode(mode).parquet(_address(folder))


def _address(path: str) -> str:
    """Name a local path as such: a cluster's default may be another file system."""
    return f"file://{Path(path).absolute()}" if is_local(path) else path


def _read_csv(
    session: spark_sql.SparkSession,
    address: str,
    columns: Mapping[str, Question | None],
    texts: Sequence[str],
) -> spark_sql.DataFrame:
    """Return a frame of some columns of a CSV file, converted by the rules of the engine "arrow".

    Empty lines are passed over.
    """
    frame = session.read.options(**_CSV).csv(address)
    found = (*columns, *texts)
    answers = {name: each for name, each in columns.items() if isinstance(each, Answers)}
    numbers = tuple(name for name in columns if name not in answers)
    for name in found:
        if name not in frame.columns:
            raise InvalidArgumentError("columns", f"name columns of {frame.columns}", name)
    _check_names(found)
    kinds = [
        spark_types.DoubleType() if name in numbers else spark_types.StringType() for name in found
    ]
    schema = spark_types.StructType(
        [spark_types.StructField(*field) for field in zip(found, kinds, strict=True)]
    )
    return frame.select(*found).mapInArrow(_converter(address, numbers, answers), schema)


def _converter(address: str, numbers: Sequence[str], answers: Mapping[str, Answers]) -> _Task:
    def convert(name: str, array: pa.Array) -> pa.Array:
        if name in numbers:
            return text_numbers(address, name, array)
        return text_answers(answers[name], array) if name in answers else array.fill_null("")

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            with carry_errors():
                columns = [
                    convert(name, array)
                    for name, array in zip(batch.schema.names, batch.columns, strict=True)
                ]
            yield pa.RecordBatch.from_arrays(columns, batch.schema.names)

    return task


def _coins(text: str, share: float) -> _Task:
    """Return what a task runs to draw who is in the pilot."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        recipe = Recipe.from_json(text)
        start = 0
        for batch in batches:
            with carry_errors():
                coins = draw_pilot(recipe, batch.column(0), Place(start, _within()), share)
            start += batch.num_rows
            columns = [*batch.columns, coins]
            yield pa.RecordBatch.from_arrays(columns, [*batch.schema.names, _PILOT])

    return task


def _within() -> str:
    """Return what a task's rows are counted in, for errors."""
    context = pyspark.TaskContext.get()
    return f" of partition {context.partitionId()}" if context else ""


def _task(text: str, names: Sequence[str], keep: Sequence[str]) -> _Task:
    """Return what a task runs: it reads, and so certifies, the mechanism itself."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        recipe = Recipe.from_json(text)
        within, start = _within(), 0
        for batch in batches:
            arrays = batch.columns[: len(recipe.columns)]
            with carry_errors():
                reports = draw_reports(recipe, arrays, Place(start, within))
            start += batch.num_rows
            kept = batch.columns[len(recipe.columns) :]
            columns = [*kept, *reports]
            yield pa.RecordBatch.from_arrays(columns, [*keep, *names])

    return task


def _check_names(names: Sequence[str]) -> None:
    """Refuse what `mapInArrow` cannot look up: Spark reads a dot as a field of a struct."""
    for name in names:
        if "." in name or "`" in name:
            rule = "have no dots and backticks in their names with Spark: rename them first"
            raise InvalidArgumentError("columns", rule, name)


def _check_python(frame: spark_sql.DataFrame) -> None:
    """Refuse a local session whose workers would start another Python than the driver's."""
    context = getattr(frame.sparkSession, "_sc", None)  # Spark Connect has none
    if context is None or not context.master.startswith("local"):
        return
    found = shutil.which(context.pythonExec) or context.pythonExec
    # not `resolve`: the Python of a virtual environment is a link
    if Path(found).absolute() != Path(sys.executable).absolute():
        rule = f"be the driver's Python, {sys.executable}, before the session starts"
        raise InvalidArgumentError("PYSPARK_PYTHON", rule, context.pythonExec)

"""Spark frames: `mapInArrow`, so that every task draws with keys of its own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from noutput._extras import need
from noutput.errors import InvalidArgumentError
from noutput.frames.drawing import draw_reports
from noutput.frames.engines.arrow import text_numbers
from noutput.frames.recipe import Recipe
from noutput.frames.values import Place

__all__ = ["privatize", "read_csv"]

# as the engine "arrow" reads: quotes are doubled, and may hold line breaks and commas
_CSV = {
    "header": True,
    "multiLine": True,
    "escape": '"',
    "encoding": "UTF-8",
    "mode": "FAILFAST",
    "columnPruning": False,  # rows of another length are refused, whichever columns are wanted
}


def privatize(frame: Any, recipe: Recipe, names: Sequence[str], keep: Sequence[str]) -> Any:
    """Privatize a Spark frame."""
    types = need("pyspark.sql.types", "spark")
    _check_python(frame)
    _check_names((*recipe.columns, *keep))
    wanted = frame.select(*recipe.columns, *keep)
    reports = [types.StructField(name, types.IntegerType(), recipe.has_gaps) for name in names]
    schema = types.StructType([wanted.schema[name] for name in keep] + reports)
    task = _task(recipe.to_json(), tuple(names), tuple(keep))
    return wanted.mapInArrow(task, schema)


def read_csv(session: Any, address: str, numbers: Sequence[str], texts: Sequence[str]) -> Any:
    """Return a frame of some columns of a CSV file, converted by the rules of the engine "arrow".

    Empty lines are passed over.
    """
    types = need("pyspark.sql.types", "spark")
    frame = session.read.options(**_CSV).csv(address)
    found = (*numbers, *texts)
    for name in found:
        if name not in frame.columns:
            raise InvalidArgumentError("columns", f"name columns of {frame.columns}", name)
    _check_names(found)
    kinds = [types.DoubleType() if name in numbers else types.StringType() for name in found]
    schema = types.StructType(
        [types.StructField(*field) for field in zip(found, kinds, strict=True)]
    )
    return frame.select(*found).mapInArrow(_converter(address, tuple(numbers)), schema)


def _converter(address: str, numbers: Sequence[str]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def task(batches: Iterator[Any]) -> Iterator[Any]:
        pa = need("pyarrow", "frames")
        for batch in batches:
            columns = [
                text_numbers(address, name, array) if name in numbers else array.fill_null("")
                for name, array in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, batch.schema.names)

    return task


def _task(
    text: str, names: Sequence[str], keep: Sequence[str]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what a task runs: it reads, and so certifies, the mechanism itself."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        pa = need("pyarrow", "frames")
        recipe = Recipe.from_json(text)
        context = need("pyspark", "spark").TaskContext.get()
        within = f" of partition {context.partitionId()}" if context else ""
        start = 0
        for batch in batches:
            arrays = batch.columns[: len(recipe.columns)]
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


def _check_python(frame: Any) -> None:
    """Refuse a local session whose workers would start another Python than the driver's."""
    context = getattr(frame.sparkSession, "_sc", None)  # Spark Connect has none
    if context is None or not context.master.startswith("local"):
        return
    found = shutil.which(context.pythonExec) or context.pythonExec
    # not `resolve`: the Python of a virtual environment is a link
    if Path(found).absolute() != Path(sys.executable).absolute():
        rule = f"be the driver's Python, {sys.executable}, before the session starts"
        raise InvalidArgumentError("PYSPARK_PYTHON", rule, context.pythonExec)

"""The engine "arrow": batches of Parquet or CSV through this process, in constant memory."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noutput.errors import InvalidArgumentError
from noutput.frames import storage
from noutput.frames.drawing import draw_reports
from noutput.frames.extras import need
from noutput.frames.labels import KEY
from noutput.frames.layouts import to_long
from noutput.frames.names import ATTRIBUTE
from noutput.frames.privatizing import check_columns, check_seed, open_frame
from noutput.frames.values import Place

if TYPE_CHECKING:
    from noutput.frames.recipe import Recipe

__all__ = ["privatize", "read"]

_ROWS = 1 << 18  # rows a batch, and a row group of what is written
_BLOCK = 1 << 23  # bytes of CSV parsed at once


def privatize(
    source: Path, target: Path, recipe: Recipe, keep: Sequence[str], seed: int | None
) -> None:
    """Privatize a file or folder into a new one."""
    seed = check_seed(seed)
    with storage.new_target(target, recipe) as place:
        results = _results(_open(source, recipe, keep), recipe, keep, seed)
        schema = next(results).schema.with_metadata({KEY: recipe.to_json()})
        with _writer(place, schema, target.suffix == ".csv") as writer:
            for table in results:
                writer.write_table(table.replace_schema_metadata(schema.metadata))


def read(source: Path, columns: Sequence[str]) -> Iterator[Any]:
    """Yield tables with some columns of stored reports; the first one is empty."""
    pa = need("pyarrow", "frames")
    if source.suffix == ".csv":
        kinds = {name: pa.string() if name == ATTRIBUTE else pa.uint8() for name in columns}
        batches = _csv_batches(source, kinds)
    else:
        batches = _parquet_batches(storage.parquet_files(source, "arrow"), columns)
    yield from map(pa.table, batches)


def _results(
    batches: Iterator[Any], recipe: Recipe, keep: Sequence[str], seed: int | None
) -> Iterator[Any]:
    pa = need("pyarrow", "frames")
    names = recipe.columns if recipe.layout == "long" else recipe.report_names
    start = 0
    for batch in batches:
        arrays = [batch.column(column) for column in recipe.columns]
        reports = draw_reports(recipe, arrays, Place(start), seed)
        start += batch.num_rows
        columns = [*(batch.column(name) for name in keep), *reports]
        table = pa.table(columns, [*keep, *names])
        if recipe.layout == "long":
            table = to_long(open_frame(table), recipe, keep).to_native()
        yield table


def _open(source: Path, recipe: Recipe, keep: Sequence[str]) -> Iterator[Any]:
    """Yield batches of the wanted columns; the first one is empty."""
    pa = need("pyarrow", "frames")
    if source.suffix == ".csv" and source.is_file():
        kinds = dict.fromkeys(recipe.columns, pa.float64()) | dict.fromkeys(keep, pa.string())
        with source.open(newline="", encoding="utf-8-sig") as file:
            header = next(csv.reader(file), [])
        schema = pa.schema([(name, kinds.get(name, pa.string())) for name in header])
        batches = _csv_batches(source, kinds)
    else:
        files = storage.parquet_files(source, "arrow")
        schema = need("pyarrow.parquet", "frames").read_schema(files[0])
        batches = _parquet_batches(files, [*recipe.columns, *keep])
    check_columns(open_frame(schema.empty_table()).collect_schema(), recipe, keep)
    yield from batches


def _parquet_batches(files: Sequence[str], columns: Sequence[str]) -> Iterator[Any]:
    parquet = need("pyarrow.parquet", "frames")
    first = parquet.read_schema(files[0])
    wanted = need("pyarrow", "frames").schema([first.field(name) for name in columns])
    yield _empty(wanted)
    for file in files:
        with parquet.ParquetFile(file) as opened:
            missing = set(columns) - set(opened.schema_arrow.names)
            if missing:
                raise InvalidArgumentError("columns", f"be in every file, {file}", min(missing))
            for batch in opened.iter_batches(_ROWS, columns=list(columns)):
                yield batch.select(list(columns))


def _csv_batches(source: Path, kinds: dict[str, Any]) -> Iterator[Any]:
    pa = need("pyarrow", "frames")
    reader = need("pyarrow.csv", "frames")
    yield _empty(pa.schema(list(kinds.items())))
    try:
        with reader.open_csv(
            source,
            read_options=reader.ReadOptions(block_size=_BLOCK),
            convert_options=reader.ConvertOptions(column_types=kinds, include_columns=list(kinds)),
        ) as batches:
            yield from batches
    except pa.ArrowInvalid as error:
        rule = f"hold numbers in {list(kinds)}"
        raise InvalidArgumentError(f"file {str(source)!r}", rule, str(error)) from None


def _empty(schema: Any) -> Any:
    pa = need("pyarrow", "frames")
    return pa.RecordBatch.from_pylist([], schema=schema)


@contextmanager
def _writer(place: Path, schema: Any, as_csv: bool) -> Iterator[Any]:
    if as_csv:
        with need("pyarrow.csv", "frames").CSVWriter(place, schema) as writer:
            yield writer
    else:
        with need("pyarrow.parquet", "frames").ParquetWriter(place, schema) as writer:
            yield writer

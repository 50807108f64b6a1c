"""The engine "arrow": batches of Parquet or CSV through this process, in constant memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noutput._extras import need
from noutput.errors import InvalidArgumentError
from noutput.frames import storage
from noutput.frames.drawing import draw_reports
from noutput.frames.engines import arrow
from noutput.frames.kinds import check_file, is_csv
from noutput.frames.labels import KEY
from noutput.frames.layouts import to_long
from noutput.frames.privatizing import check_columns, check_seed, open_frame
from noutput.frames.reports import ATTRIBUTE
from noutput.frames.values import Place, count_refused

if TYPE_CHECKING:
    from noutput.frames.engines.arrow import Progress, Source
    from noutput.frames.recipe import Recipe

__all__ = ["check", "privatize", "read", "read_values"]


def privatize(
    source: Source,
    target: Path,
    recipe: Recipe,
    keep: Sequence[str],
    seed: int | None,
    progress: Progress | None = None,
) -> None:
    """Privatize a file, a folder or a stream of CSV into a new file or folder."""
    seed = check_seed(seed)
    with storage.new_target(target, recipe) as place:
        results = _results(read_values(source, recipe, keep, progress), recipe, keep, seed)
        schema = next(results).schema.with_metadata({KEY: recipe.to_json()})
        with _writer(place, schema, is_csv(target)) as writer:
            for table in results:
                writer.write_table(table.replace_schema_metadata(schema.metadata))


def check(source: Path, recipe: Recipe) -> None:
    """Go over the values and refuse them as `privatize` does, without writing anything."""
    for _ in _results(read_values(source, recipe, ()), recipe, (), None):
        pass


def read(source: Path, columns: Sequence[str]) -> Iterator[Any]:
    """Yield tables with some columns of stored reports; the first one is empty."""
    pa = need("pyarrow", "frames")
    if is_csv(source):
        kinds = {name: pa.string() if name == ATTRIBUTE else pa.int32() for name in columns}
        batches = arrow.csv_batches(str(source), *arrow.csv_input(source), kinds)
    else:
        files = storage.parquet_files(source, columns)
        batches = arrow.parquet_batches(files, columns)
    yield from map(pa.table, batches)


def _results(
    batches: Iterator[Any], recipe: Recipe, keep: Sequence[str], seed: int | None
) -> Iterator[Any]:
    pa = need("pyarrow", "frames")
    names = recipe.columns if recipe.layout == "long" else recipe.report_names
    start = 0
    for batch in batches:
        arrays = [batch.column(column) for column in recipe.columns]
        try:
            reports = draw_reports(recipe, arrays, Place(start), seed)
        except InvalidArgumentError as error:
            raise _counted(error, chain([batch], batches), recipe) from None
        start += batch.num_rows
        columns = [*(batch.column(name) for name in keep), *reports]
        table = pa.table(columns, [*keep, *names])
        if recipe.layout == "long":
            table = to_long(open_frame(table), recipe, keep).to_native()
        yield table


def _counted(
    error: InvalidArgumentError, batches: Iterator[Any], recipe: Recipe
) -> InvalidArgumentError:
    """Add to an error about a row how many rows from there on have such values."""
    count = sum(
        count_refused(recipe, [batch.column(column) for column in recipe.columns])
        for batch in batches
    )
    if count == 0:
        return error
    others = f"one of {count:,} refused rows" if count > 1 else "the only refused row"
    return InvalidArgumentError(f"{error.name} ({others})", error.rule, error.found)


def read_values(
    source: Source, recipe: Recipe, keep: Sequence[str], progress: Progress | None = None
) -> Iterator[Any]:
    """Yield batches of the wanted columns; the first one is empty."""
    pa = need("pyarrow", "frames")
    if not isinstance(source, Path) or (is_csv(source) and source.is_file()):
        if isinstance(source, Path):
            check_file(source)
        kinds = dict.fromkeys(recipe.columns, pa.float64()) | dict.fromkeys(keep, pa.string())
        header, stream = arrow.csv_input(source)
        schema = pa.schema([(name, kinds.get(name, pa.string())) for name in dict.fromkeys(header)])
        name = arrow.source_name(source)
        if not set(recipe.columns) <= set(header):
            arrow.check_header(name, header)
        batches = arrow.csv_batches(name, header, stream, kinds, progress)
    else:
        wanted = [*recipe.columns, *keep]
        files = storage.parquet_files(source, wanted)
        schema = need("pyarrow.parquet", "frames").read_schema(files[0])
        batches = arrow.parquet_batches(files, wanted, progress)
    check_columns(open_frame(schema.empty_table()), recipe, keep)
    yield from batches


@contextmanager
def _writer(place: Path, schema: Any, as_csv: bool) -> Iterator[Any]:
    if as_csv:
        with need("pyarrow.csv", "frames").CSVWriter(place, schema) as writer:
            yield writer
    else:
        with need("pyarrow.parquet", "frames").ParquetWriter(place, schema) as writer:
            yield writer

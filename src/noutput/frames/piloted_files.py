"""Two passes over files: a pilot finds the range, the others use it.

The engines "duckdb" and "spark" hold the split and the reports as `noutput.frames.piloted` says.
The engine "arrow" reads the source twice, in constant memory. Its coins are a function of a secret
number and of the row: the second pass draws the same ones, and leaves out the rows of the pilot. A
source that changes between the passes is refused, and nothing is written then.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from noutput.errors import InvalidArgumentError
from noutput.frames import storage
from noutput.frames.counting import tally
from noutput.frames.drawing import draw_pilot
from noutput.frames.engines import arrow
from noutput.frames.packages import pa, pc, pq
from noutput.frames.piloted import both_recipes, check_pilot, choose_bounds, pass_name, pass_recipe
from noutput.frames.privatizing import check_seed
from noutput.frames.recipe import METADATA_KEY, Recipe
from noutput.frames.reports import report_name
from noutput.frames.storage import is_csv
from noutput.frames.streaming import exact_rows, read_values, run_batches
from noutput.frames.values import Place

if TYPE_CHECKING:
    from noutput._progress import Progress
    from noutput.tally import Tally

__all__ = ["privatize_in_passes"]


def privatize_in_passes(
    source: Path | BinaryIO,
    target: Path,
    recipe: Recipe,
    keep: Sequence[str],
    pilot: float,
    seed: int | None,
    progress: Progress,
) -> Recipe:
    """Privatize a file in two passes, and return the recipe that is stored with the reports."""
    share, wide = check_pilot(recipe, pilot)
    if not isinstance(source, Path):
        rule = "be a file or a folder with a pilot: it is read twice"
        raise InvalidArgumentError("source", rule, getattr(source, "name", "stream"))
    storage.check_new(target)
    seed = check_seed(seed)
    key = secrets.randbits(62) if seed is None else seed
    before = _state(source)

    rows: list[int] = []

    def part(changed: Recipe, *, in_pilot: bool) -> Iterator[pa.RecordBatch]:
        half = _half(progress, 0.0 if in_pilot else 0.5)
        batches = read_values(source, recipe, keep, half)
        return _part(batches, recipe, changed, share, key, rows if in_pilot else None)

    with exact_rows(source, recipe), tempfile.TemporaryDirectory() as folder:
        first = pass_recipe(recipe, wide)
        held = Path(folder) / "pilot.parquet"  # reports, not values
        written = run_batches(part(first, in_pilot=True), first, keep, seed)
        counted = _write_pilot(written, first, held)
        narrow = choose_bounds(recipe, counted, wide, sum(rows) - pq.read_metadata(held).num_rows)
        second = pass_recipe(recipe, narrow)
        names = [report_name(pass_name(recipe, each), recipe.mechanism) for each in (wide, narrow)]
        stored = both_recipes(recipe, names)
        with storage.new_target(target, stored) as place:
            later = None if seed is None else seed + 1
            reports = run_batches(part(second, in_pilot=False), second, keep, later)
            schema = _schema(next(reports).schema, keep, names, stored)
            arrow.write(_both(held, reports, schema), place, schema, as_csv=is_csv(target))
            if _state(source) != before:
                rule = "stay as it is between the two passes"
                raise InvalidArgumentError("source", rule, str(source))
    return stored


def _half(progress: Progress, start: float) -> Progress:
    return lambda share: progress(start + share / 2.0)


def _state(source: Path) -> list[tuple[str, int, int]]:
    """Return what changes when a file of the source does."""
    files = sorted(source.iterdir()) if source.is_dir() else [source]
    found = [(str(file), file.stat()) for file in files]
    return [(name, state.st_size, state.st_mtime_ns) for name, state in found]


def _part(
    batches: Iterator[pa.RecordBatch],
    recipe: Recipe,
    changed: Recipe,
    share: float,
    key: int,
    rows: list[int] | None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one part of every batch, under the name of its pass.

    The pilot's where the sizes of the batches are wanted, else the others'.
    """
    column, start = recipe.columns[0], 0
    for batch in batches:
        values = batch.column(batch.schema.get_field_index(column))
        coins = draw_pilot(recipe, values, Place(start), share, key)
        start += batch.num_rows
        if rows is not None:
            rows.append(batch.num_rows)
        names = [changed.columns[0] if name == column else name for name in batch.schema.names]
        yield batch.filter(pc.invert(coins) if rows is None else coins).rename_columns(names)


def _write_pilot(tables: Iterator[pa.Table], recipe: Recipe, place: Path) -> Tally:
    """Write the reports of the pilot, and return their counts."""
    first = next(tables)
    counts = [tally(first, recipe.columns[0], recipe.mechanism)]

    def counted() -> Iterator[pa.Table]:
        for table in tables:
            counts[0] += tally(table, recipe.columns[0], recipe.mechanism)
            yield table

    arrow.write(counted(), place, first.schema, as_csv=False)
    return counts[0]


def _schema(
    found: pa.Schema, keep: Sequence[str], names: Sequence[str], stored: Recipe
) -> pa.Schema:
    fields = [found.field(name) for name in keep]
    fields += [pa.field(name, pa.int32()) for name in dict.fromkeys(names)]
    return pa.schema(fields, {METADATA_KEY: stored.to_json()})


def _both(held: Path, reports: Iterator[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the reports of the pilot, then those of the others, with gaps in the other column."""
    with pq.ParquetFile(held) as opened:
        for batch in opened.iter_batches():
            yield _with_gaps(pa.table(batch), schema)
    for table in reports:
        yield _with_gaps(table, schema)


def _with_gaps(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns: list[Any] = [
        table.column(field.name) if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]  # fmt: skip
    return pa.table(columns, schema=schema)

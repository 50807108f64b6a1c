"""A recipe over a stream of Arrow batches, and the exact rows of refused values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from noutput.errors import InvalidArgumentError
from noutput.frames.drawing import draw_reports
from noutput.frames.engines import arrow
from noutput.frames.engines.errors import engine_errors
from noutput.frames.packages import pa
from noutput.frames.privatizing import check_columns, open_frame, to_long
from noutput.frames.storage import is_csv
from noutput.frames.values import Place, count_refused

if TYPE_CHECKING:
    from noutput._progress import Progress
    from noutput.frames.engines.arrow import Source
    from noutput.frames.recipe import Recipe

__all__ = ["check", "exact_rows", "read_values", "run_batches"]

_ABOUT_ROWS = ("column ", "file ")  # how the names of errors about values start


def read_values(
    source: Source, recipe: Recipe, keep: Sequence[str], progress: Progress | None = None
) -> Iterator[pa.RecordBatch]:
    """Return batches of the wanted columns, which are checked; the first one is empty."""
    schema, batches = arrow.open_values(source, recipe.by_column, keep, progress)
    check_columns(open_frame(schema.empty_table()), recipe, keep)
    return batches


def run_batches(
    batches: Iterator[pa.RecordBatch], recipe: Recipe, keep: Sequence[str], seed: int | None
) -> Iterator[pa.Table]:
    """Yield the reports of every batch."""
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
    error: InvalidArgumentError, batches: Iterator[pa.RecordBatch], recipe: Recipe
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


def check(source: Path, recipe: Recipe) -> None:
    """Go over the values and refuse them as the engine "arrow" does, without writing anything."""
    for _ in run_batches(read_values(source, recipe, ()), recipe, (), None):
        pass


@contextmanager
def exact_rows(source: Path, recipe: Recipe) -> Iterator[None]:
    """Look up the row and the count of refused values where an engine does not know them."""
    try:
        yield
    except Exception as error:
        refused = isinstance(error, InvalidArgumentError) and error.name.startswith(_ABOUT_ROWS)
        unclear = is_csv(source) and isinstance(error, (InvalidArgumentError, *engine_errors()))
        if source.exists() and (refused or unclear):
            _raise_exact(source, recipe)
        raise


def _raise_exact(source: Path, recipe: Recipe) -> None:
    try:
        check(source, recipe)
    except InvalidArgumentError as exact:
        if is_csv(source) or exact.name.startswith(_ABOUT_ROWS):
            raise exact from None
    except Exception:  # noqa: BLE001, S110 (whatever it is, the first error tells more)
        pass

"""Privatize files: CSV, Parquet and folders of Parquet, without loading them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from noutput import _checks
from noutput._progress import shown_progress
from noutput.errors import InvalidArgumentError
from noutput.frames import storage
from noutput.frames.engines import arrow, spark
from noutput.frames.engines import duckdb as duckdb_engine
from noutput.frames.engines.errors import plain_errors
from noutput.frames.engines.spark_session import borrow_session
from noutput.frames.packages import duckdb
from noutput.frames.piloted import both_recipes, run_passes
from noutput.frames.piloted_files import privatize_in_passes
from noutput.frames.privatizing import check_seed, run_recipe
from noutput.frames.recipe import (
    METADATA_KEY,
    Asked,
    Bounds,
    Recipe,
    Source,
    column_names,
    make_recipe,
)
from noutput.frames.storage import ENDINGS, check_ending, is_csv, is_local, parquet_files
from noutput.frames.streaming import exact_rows, read_values, run_batches

if TYPE_CHECKING:
    from noutput._progress import Progress
    from noutput.frames.reports import Certified

__all__ = ["ENGINES", "check_engine", "privatize_files"]

ENGINES = ("arrow", "duckdb", "spark")


def privatize_files(
    source: str | Path | BinaryIO,
    target: str | Path,
    columns: str | Sequence[str],
    *,
    design: Source | None = None,
    mechanism: Certified | None = None,
    question: Asked | None = None,
    answers: object = None,
    bounds: Bounds | None = None,
    other: str | None = None,
    keep: str | Sequence[str] = (),
    clip: bool = False,
    skip_missing: bool = False,
    one_per_row: bool = False,
    layout: str = "wide",
    pilot: float | None = None,
    seed: int | None = None,
    engine: str = "arrow",
    master: str | None = None,
    progress: Progress | None = None,
) -> Recipe:
    """Privatize columns of files, once, into new files that say how they were made.

    Parameters
    ----------
    source : path or binary stream
        A Parquet file, a folder of Parquet files, or a CSV file with a header. An opened stream
        is read as CSV (engine "arrow").
    target : path
        What must not exist yet: ``*.parquet``, ``*.csv``, or a folder, whose name has no ending
        or ends in a slash. A folder is all that engine "spark" can write. With Spark, paths may
        also be addresses such as ``hdfs://...``; then the recipe is in the metadata of the report
        columns only.
    columns, design, mechanism, question, answers, bounds, other, keep
        As in `noutput.frames.privatize`; so are clip, skip_missing, one_per_row, layout and seed.
    pilot : float, optional
        As in `noutput.frames.privatize`: the columns of the result are the two passes, and
        `read_evidence` counts both. The engine "arrow" reads the source twice.
    engine : {"arrow", "duckdb", "spark"}
        Who reads and writes. "arrow" streams batches through this process in constant memory.
    master : str, optional
        Spark's master.
    progress : callable, optional
        Called with the share of the source that is done, where the engine "arrow" knows it.

    Returns
    -------
    Recipe
        What is also stored with the reports: in the metadata of a Parquet file, as
        ``_noutput.json`` in a folder, and as ``NAME.noutput.json`` beside a CSV file.

    Raises
    ------
    InvalidArgumentError
        If a value breaks a rule. The error names a row, counted from 0, and says how many rows
        are refused; nothing is written then.

    Guarantees
    ----------
    The target never holds two reports for one row and column, and a local one appears when it is
    complete. With Spark, of several attempts at a task the commit protocol keeps the output of
    one.

    Examples
    --------
    >>> import tempfile, noutput as no, pyarrow as pa, pyarrow.parquet as pq
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> folder = Path(tempfile.mkdtemp())
    >>> pq.write_table(pa.table({"x": [0.5, -0.5, 0.0]}), folder / "people.parquet")
    >>> target = folder / "reports.parquet"
    >>> source = folder / "people.parquet"
    >>> recipe = privatize_files(source, target, "x", mechanism=m, bounds=(-1, 1))
    >>> from noutput import frames
    >>> frames.read_recipe(target) == recipe, frames.tally_files(target)["x"].total
    (True, 3)
    """
    recipe = make_recipe(
        columns,
        mechanism,
        bounds,
        design=design,
        question=question,
        answers=answers,
        other=other,
        clip=clip,
        skip_missing=skip_missing,
        one_per_row=one_per_row,
        layout=layout,
        secure=seed is None,
    )
    kept = column_names("keep", keep, least=0)
    check_engine(engine, master)
    check_ending(target)
    place = Path(source) if isinstance(source, str | Path) else source
    with shown_progress("Privatizing", progress) as share:
        if engine == "arrow":
            if pilot is not None:
                return privatize_in_passes(place, Path(target), recipe, kept, pilot, seed, share)
            _privatize_arrow(place, Path(target), recipe, kept, seed, share)
            return recipe
        if not isinstance(place, Path):
            raise InvalidArgumentError("engine", "be 'arrow' for a stream", engine)
        run = _Run(recipe, kept, seed, pilot)
        with exact_rows(place, recipe), plain_errors():
            if engine == "spark":
                return _privatize_spark(str(source), str(target), run, master)
            return _privatize_duckdb(place, Path(target), run)


@dataclass(frozen=True, slots=True)
class _Run:
    """What is done to the frame of a file."""

    recipe: Recipe
    keep: Sequence[str]
    seed: int | None
    pilot: float | None

    def reports(self, values: Any, connection: Any = None) -> tuple[Any, Recipe]:
        """Return the reports of values, and the recipe that is stored with them."""
        options: dict[str, Any] = {"keep": self.keep, "seed": self.seed, "connection": connection}
        if self.pilot is None:
            return run_recipe(values, self.recipe, **options), self.recipe
        found = run_passes(values, self.recipe, pilot=self.pilot, **options)
        return found, both_recipes(self.recipe, found.columns)


def _privatize_arrow(
    source: Path | BinaryIO,
    target: Path,
    recipe: Recipe,
    keep: Sequence[str],
    seed: int | None,
    progress: Progress,
) -> None:
    seed = check_seed(seed)
    with storage.new_target(target, recipe) as place:
        tables = run_batches(read_values(source, recipe, keep, progress), recipe, keep, seed)
        schema = next(tables).schema.with_metadata({METADATA_KEY: recipe.to_json()})
        arrow.write(tables, place, schema, as_csv=is_csv(target))


def _privatize_duckdb(source: Path, target: Path, run: _Run) -> Recipe:
    recipe, keep = run.recipe, run.keep
    storage.check_new(target)
    with duckdb.connect() as connection:
        if is_csv(source):  # parsed here, so that every engine reads the same
            values = duckdb_engine.read_batches(connection, read_values(source, recipe, keep))
        else:
            values = connection.read_parquet(parquet_files(source, [*recipe.columns, *keep]))
        reports, stored = run.reports(values, connection)
        with storage.new_target(target, stored) as place:
            duckdb_engine.write(reports, place, stored, as_csv=is_csv(target))
    return stored


def _privatize_spark(source: str, target: str, run: _Run, master: str | None) -> Recipe:
    if Path(target).suffix.lower() in ENDINGS:
        raise InvalidArgumentError("target", "be a folder with the engine 'spark'", target)
    if is_local(target):
        storage.check_new(Path(target))
    with borrow_session(master) as session:
        values = spark.read(session, source, run.recipe.by_column, run.keep)
        reports, stored = run.reports(values)
        if is_local(target):
            with storage.new_folder(Path(target), stored) as place:
                spark.write(reports, str(place), mode="overwrite")
        else:
            spark.write(reports, target)
    return stored


def check_engine(engine: str, master: str | None) -> None:
    """Refuse another engine, and Spark's master with one that has none."""
    _checks.choice("engine", engine, ENGINES)
    if master is not None and engine != "spark":
        raise InvalidArgumentError("master", "be given with the engine 'spark' alone", master)

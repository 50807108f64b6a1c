"""Privatize and tally files: CSV, Parquet and folders of Parquet, without loading them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.frames import storage
from noutput.frames.counting import tally
from noutput.frames.engines import arrow, spark
from noutput.frames.engines import duckdb as duckdb_engine
from noutput.frames.engines.errors import plain_errors
from noutput.frames.engines.spark_session import borrow_session
from noutput.frames.packages import duckdb, pa
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
    from noutput.frames.engines.arrow import Progress
    from noutput.frames.reports import Certified
    from noutput.tally import Tally

__all__ = ["ENGINES", "privatize_files", "read_counts", "read_recipe", "tally_files"]

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
    >>> read_recipe(target) == recipe, tally_files(target)["x"].total
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
    _checks.choice("engine", engine, ENGINES)
    _check_master(engine, master)
    check_ending(target)
    place = Path(source) if isinstance(source, str | Path) else source
    if engine == "arrow":
        _privatize_arrow(place, Path(target), recipe, kept, seed, progress)
        return recipe
    if not isinstance(place, Path):
        raise InvalidArgumentError("engine", "be 'arrow' for a stream", engine)
    with exact_rows(place, recipe), plain_errors():
        if engine == "spark":
            _privatize_spark(str(source), str(target), recipe, kept, seed, master)
        else:
            _privatize_duckdb(place, Path(target), recipe, kept, seed)
    return recipe


def _privatize_arrow(
    source: Path | BinaryIO,
    target: Path,
    recipe: Recipe,
    keep: Sequence[str],
    seed: int | None,
    progress: Progress | None,
) -> None:
    seed = check_seed(seed)
    with storage.new_target(target, recipe) as place:
        tables = run_batches(read_values(source, recipe, keep, progress), recipe, keep, seed)
        schema = next(tables).schema.with_metadata({METADATA_KEY: recipe.to_json()})
        arrow.write(tables, place, schema, as_csv=is_csv(target))


def _privatize_duckdb(
    source: Path, target: Path, recipe: Recipe, keep: Sequence[str], seed: int | None
) -> None:
    with storage.new_target(target, recipe) as place, duckdb.connect() as connection:
        if is_csv(source):  # parsed here, so that every engine reads the same
            values = duckdb_engine.read_batches(connection, read_values(source, recipe, keep))
        else:
            values = connection.read_parquet(parquet_files(source, [*recipe.columns, *keep]))
        reports = run_recipe(values, recipe, keep=keep, seed=seed, connection=connection)
        duckdb_engine.write(reports, place, recipe, as_csv=is_csv(target))


def _privatize_spark(
    source: str,
    target: str,
    recipe: Recipe,
    keep: Sequence[str],
    seed: int | None,
    master: str | None,
) -> None:
    if Path(target).suffix.lower() in ENDINGS:
        raise InvalidArgumentError("target", "be a folder with the engine 'spark'", target)
    with borrow_session(master) as session:
        values = spark.read(session, source, recipe.by_column, keep)
        reports = run_recipe(values, recipe, keep=keep, seed=seed)
        if is_local(target):
            with storage.new_folder(Path(target), recipe) as place:
                spark.write(reports, str(place), mode="overwrite")
        else:
            spark.write(reports, target)


def tally_files(
    source: str | Path,
    columns: str | Sequence[str] | None = None,
    mechanism: Certified | Source | None = None,
    *,
    engine: str = "arrow",
    master: str | None = None,
) -> dict[str, Tally]:
    r"""Count the reports in files that `privatize_files` wrote.

    Parameters
    ----------
    source : path
        What was the target.
    columns : str or sequence of str, optional
        The columns to count; all that were privatized if not given.
    mechanism : TableMechanism, AnswerMechanism or design, optional
        What must have made the reports; whatever made them if not given.
    engine : {"arrow", "duckdb", "spark"}
        Who counts.
    master : str, optional
        Spark's master.

    Examples
    --------
    >>> import io, tempfile, noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> source, target = io.BytesIO(b"age\n20\n50\n80"), Path(tempfile.mkdtemp()) / "reports.csv"
    >>> recipe = privatize_files(source, target, "age", mechanism=m, bounds=(0, 120))
    >>> tally_files(target)["age"].total
    3
    """
    return read_counts(source, columns, mechanism, engine=engine, master=master)[1]


def read_counts(
    source: str | Path,
    columns: str | Sequence[str] | None = None,
    mechanism: Certified | Source | None = None,
    *,
    engine: str = "arrow",
    master: str | None = None,
) -> tuple[Recipe, dict[str, Tally]]:
    r"""Return what `tally_files` returns, and how the reports were made.

    Examples
    --------
    >>> import io, tempfile, noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> source, target = io.BytesIO(b"age\n20\n50\n80"), Path(tempfile.mkdtemp()) / "reports.csv"
    >>> recipe = privatize_files(source, target, "age", mechanism=m, bounds=(0, 120))
    >>> found, tallies = read_counts(target)
    >>> found == recipe, tallies["age"].total
    (True, 3)
    """
    _checks.choice("engine", engine, ENGINES)
    _check_master(engine, master)
    with plain_errors():
        if engine == "spark":
            return _tally_spark(str(source), columns, mechanism, master)
        recipe = _folder_recipe(source)
        if engine == "arrow":
            parts = (
                _tally(part, recipe, columns, mechanism)
                for part in map(pa.table, arrow.read_reports(Path(source), recipe.result_names))
            )
            total = next(parts)
            for part in parts:
                total = {name: total[name] + count for name, count in part.items()}
            return recipe, total
        with duckdb.connect() as connection:
            if is_csv(source):
                batches = arrow.read_reports(Path(source), recipe.result_names)
                relation = duckdb_engine.read_batches(connection, batches)
            else:
                files = parquet_files(Path(source), recipe.result_names)
                relation = connection.read_parquet(files)
            return recipe, _tally(relation, recipe, columns, mechanism)


def read_recipe(source: str | Path) -> Recipe:
    r"""Return how the reports of a file or folder were made; the mechanism is certified.

    Examples
    --------
    >>> import io, tempfile, noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> source, target = io.BytesIO(b"age\n20\n50\n80"), Path(tempfile.mkdtemp()) / "reports.csv"
    >>> recipe = privatize_files(source, target, "age", mechanism=m, bounds=(0, 120))
    >>> read_recipe(target).bounds["age"].upper
    120.0
    """
    return storage.read_recipe(Path(source))


def _check_master(engine: str, master: str | None) -> None:
    if master is not None and engine != "spark":
        raise InvalidArgumentError("master", "be given with the engine 'spark' alone", master)


def _folder_recipe(source: str | Path) -> Recipe:
    """Return the recipe that all parts of a source were made by."""
    recipe = read_recipe(source)
    storage.check_parts(Path(source), recipe)
    return recipe


def _tally(
    frame: Any,
    recipe: Recipe,
    columns: str | Sequence[str] | None,
    mechanism: Certified | Source | None,
) -> dict[str, Tally]:
    names = recipe.columns if columns is None else column_names("columns", columns)
    for name in names:
        if name not in recipe.columns:
            raise InvalidArgumentError("columns", f"be of {list(recipe.columns)}", name)
    return tally(frame, names, mechanism or recipe.mechanism, layout=recipe.layout)


def _tally_spark(
    source: str,
    columns: str | Sequence[str] | None,
    mechanism: Certified | Source | None,
    master: str | None,
) -> tuple[Recipe, dict[str, Tally]]:
    # a local folder is complete when its recipe is there; elsewhere Spark's own marks must do
    recipe = _folder_recipe(source) if is_local(source) else None
    names = recipe.report_names if recipe else ()
    texts = set(recipe.result_names) - set(names) if recipe else ()
    with borrow_session(master) as session:
        frame = spark.read(session, source, dict.fromkeys(names), tuple(texts))
        found = recipe or storage.spark_recipe(frame)
        return found, _tally(frame, found, columns, mechanism)

"""Privatize and tally files: folders of Parquet, Parquet and CSV, without loading them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.frames import storage, streaming
from noutput.frames.counting import tally
from noutput.frames.engine_errors import plain_errors
from noutput.frames.extras import need
from noutput.frames.privatizing import run_recipe
from noutput.frames.recipe import Bounds, Recipe, column_names, make_recipe
from noutput.frames.sessions import borrow_session

if TYPE_CHECKING:
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = ["ENGINES", "privatize_files", "read_recipe", "tally_files"]

ENGINES = ("arrow", "duckdb", "spark")


def privatize_files(
    source: str | Path,
    target: str | Path,
    columns: str | Sequence[str],
    *,
    mechanism: TableMechanism,
    bounds: Bounds | None = None,
    keep: str | Sequence[str] = (),
    clip: bool = False,
    skip_missing: bool = False,
    one_per_row: bool = False,
    layout: str = "wide",
    seed: int | None = None,
    engine: str = "arrow",
    master: str | None = None,
) -> Recipe:
    """Privatize columns of files, once, into new files that say how they were made.

    Parameters
    ----------
    source : path
        A Parquet file, a folder of Parquet files, or a CSV file with a header (engine "arrow").
    target : path
        What must not exist yet: ``*.parquet``, ``*.csv`` (engine "arrow") or else a folder, which
        is all that engine "spark" can write.
    columns, mechanism, bounds, keep, clip, skip_missing, one_per_row, layout, seed
        As in `noutput.frames.privatize`.
    engine : {"arrow", "duckdb", "spark"}
        Who reads and writes. "arrow" streams batches through this process in constant memory.
    master : str, optional
        Spark's master.

    Returns
    -------
    Recipe
        What is also stored with the reports: in the metadata of a Parquet file, as
        ``_noutput.json`` in a folder, and as ``NAME.noutput.json`` beside a CSV file.

    Guarantees
    ----------
    The target appears when it is complete and never holds two reports for one row and column.
    With Spark this is the work of its commit protocol: of several attempts at a task, the output
    of one is kept.
    """
    recipe = make_recipe(
        columns,
        mechanism,
        bounds,
        clip=clip,
        skip_missing=skip_missing,
        one_per_row=one_per_row,
        layout=layout,
        secure=seed is None,
    )
    kept = column_names("keep", keep, least=0)
    _checks.choice("engine", engine, ENGINES)
    with plain_errors():
        if engine == "spark":
            _privatize_spark(str(source), str(target), recipe, kept, seed, master)
        elif engine == "duckdb":
            _privatize_duckdb(Path(source), Path(target), recipe, kept, seed)
        else:
            streaming.privatize(Path(source), Path(target), recipe, kept, seed)
    return recipe


def tally_files(
    source: str | Path,
    columns: str | Sequence[str] | None = None,
    mechanism: TableMechanism | None = None,
    *,
    engine: str = "arrow",
    master: str | None = None,
) -> dict[str, Tally]:
    """Count the reports in files that `privatize_files` wrote.

    Parameters
    ----------
    source : path
        What was the target.
    columns : str or sequence of str, optional
        The columns to count; all that were privatized if not given.
    mechanism : TableMechanism, optional
        What must have made the reports; whatever made them if not given.
    engine : {"arrow", "duckdb", "spark"}
        Who counts.
    master : str, optional
        Spark's master.
    """
    _checks.choice("engine", engine, ENGINES)
    with plain_errors():
        if engine == "spark":
            with borrow_session(master) as session:
                frame = session.read.parquet(str(source))
                recipe = storage.spark_recipe(frame)
                return _tally(frame, recipe, columns, mechanism)
        recipe = read_recipe(source)
        if engine == "arrow":
            parts = (
                _tally(part, recipe, columns, mechanism)
                for part in streaming.read(Path(source), recipe.result_names)
            )
            total = next(parts)
            for part in parts:
                total = {name: total[name] + count for name, count in part.items()}
            return total
        with need("duckdb", "duckdb").connect() as connection:
            files = storage.parquet_files(Path(source), engine)
            return _tally(connection.read_parquet(files), recipe, columns, mechanism)


def read_recipe(source: str | Path) -> Recipe:
    """Return how the reports of a file or folder were made; the mechanism is certified."""
    return storage.read_recipe(Path(source))


def _tally(
    frame: Any,
    recipe: Recipe,
    columns: str | Sequence[str] | None,
    mechanism: TableMechanism | None,
) -> dict[str, Tally]:
    names = recipe.columns if columns is None else column_names("columns", columns)
    for name in names:
        if name not in recipe.columns:
            raise InvalidArgumentError("columns", f"be of {list(recipe.columns)}", name)
    return tally(frame, names, mechanism or recipe.mechanism, layout=recipe.layout)


def _privatize_duckdb(
    source: Path, target: Path, recipe: Recipe, keep: Sequence[str], seed: int | None
) -> None:
    files = storage.parquet_files(source, "duckdb")
    if target.suffix == ".csv":
        raise InvalidArgumentError("target", "be Parquet with the engine 'duckdb'", str(target))
    with (
        storage.new_target(target, recipe) as place,
        need("duckdb", "duckdb").connect() as connection,
    ):
        relation = connection.read_parquet(files)
        reports = run_recipe(relation, recipe, keep=keep, seed=seed, connection=connection)
        path, text = (value.replace("'", "''") for value in (str(place), recipe.to_json()))
        options = f"FORMAT parquet, KV_METADATA {{noutput: '{text}'}}"
        reports.query("noutput_reports", f"COPY noutput_reports TO '{path}' ({options})")


def _privatize_spark(
    source: str,
    target: str,
    recipe: Recipe,
    keep: Sequence[str],
    seed: int | None,
    master: str | None,
) -> None:
    local = "://" not in target
    if local:
        storage.check_new(Path(target))
    if Path(target).suffix in {".parquet", ".csv"}:
        raise InvalidArgumentError("target", "be a folder with the engine 'spark'", target)
    with borrow_session(master) as session:
        reports = run_recipe(session.read.parquet(source), recipe, keep=keep, seed=seed)
        reports.write.mode("error").parquet(target)
    if local:
        storage.write_sidecar(Path(target), recipe)

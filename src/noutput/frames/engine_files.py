"""Files that DuckDB and Spark read and write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noutput._extras import need
from noutput.errors import InvalidArgumentError
from noutput.frames import storage, streaming
from noutput.frames.engines import spark
from noutput.frames.engines.errors import engine_errors
from noutput.frames.engines.spark_session import borrow_session
from noutput.frames.kinds import ENDINGS, check_file, is_csv
from noutput.frames.privatizing import run_recipe

if TYPE_CHECKING:
    from noutput.frames.recipe import Recipe

__all__ = [
    "duckdb_reports",
    "exact_rows",
    "is_local",
    "privatize_duckdb",
    "privatize_spark",
    "spark_frame",
]

_ABOUT_ROWS = ("column ", "file ")  # how the names of errors about values start


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
        streaming.check(source, recipe)
    except InvalidArgumentError as exact:
        if is_csv(source) or exact.name.startswith(_ABOUT_ROWS):
            raise exact from None
    except Exception:  # noqa: BLE001, S110 (whatever it is, the first error tells more)
        pass


def privatize_duckdb(
    source: Path, target: Path, recipe: Recipe, keep: Sequence[str], seed: int | None
) -> None:
    """Privatize a file or a folder with DuckDB."""
    with (
        storage.new_target(target, recipe) as place,
        need("duckdb", "duckdb").connect() as connection,
    ):
        relation = _duckdb_values(connection, source, recipe, keep)
        reports = run_recipe(relation, recipe, keep=keep, seed=seed, connection=connection)
        path, text = (value.replace("'", "''") for value in (str(place), recipe.to_json()))
        options = f"FORMAT parquet, KV_METADATA {{noutput: '{text}'}}"
        if is_csv(target):
            options = "FORMAT csv, HEADER"
        reports.query("noutput_reports", f"COPY noutput_reports TO '{path}' ({options})")


def _duckdb_values(connection: Any, source: Path, recipe: Recipe, keep: Sequence[str]) -> Any:
    """Return the wanted columns; CSV is parsed here, so that every engine reads the same."""
    if is_csv(source):
        batches = streaming.read_values(source, recipe, keep)
        return _duckdb_stream(connection, next(batches).schema, batches)
    return connection.read_parquet(storage.parquet_files(source, [*recipe.columns, *keep]))


def duckdb_reports(connection: Any, source: Path, recipe: Recipe) -> Any:
    """Return stored reports as a relation."""
    if is_csv(source):
        tables = streaming.read(source, recipe.result_names)
        schema = next(tables).schema
        batches = (batch for table in tables for batch in table.to_batches())
        return _duckdb_stream(connection, schema, batches)
    return connection.read_parquet(storage.parquet_files(source, recipe.result_names))


def _duckdb_stream(connection: Any, schema: Any, batches: Iterator[Any]) -> Any:
    """Return a relation of batches that are read, once, as DuckDB asks for them."""
    reader = need("pyarrow", "frames").RecordBatchReader.from_batches(schema, batches)
    return connection.from_arrow(reader)


def privatize_spark(
    source: str,
    target: str,
    recipe: Recipe,
    keep: Sequence[str],
    seed: int | None,
    master: str | None,
) -> None:
    """Privatize a file or a folder, local or not, with Spark into a folder."""
    if Path(target).suffix.lower() in ENDINGS:
        raise InvalidArgumentError("target", "be a folder with the engine 'spark'", target)
    with borrow_session(master) as session:
        people = spark_frame(session, source, recipe.columns, keep)
        reports = run_recipe(people, recipe, keep=keep, seed=seed)
        if is_local(target):
            with storage.new_folder(Path(target), recipe) as place:
                reports.write.mode("overwrite").parquet(_address(str(place)))
        else:
            reports.write.mode("error").parquet(target)


def spark_frame(session: Any, source: str, numbers: Sequence[str], texts: Sequence[str]) -> Any:
    """Return what Spark reads: of a local folder the files that every engine would read."""
    if is_csv(source):
        if is_local(source):
            check_file(Path(source))
        return spark.read_csv(session, _address(source), numbers, texts)
    if not is_local(source):
        return session.read.parquet(source)
    files = storage.parquet_files(Path(source), [*numbers, *texts])
    return session.read.parquet(*map(_address, files))


def is_local(path: str) -> bool:
    """Tell a path of this machine from an address such as ``hdfs://...``."""
    return "://" not in path


def _address(path: str) -> str:
    """Name a local path as such: a cluster's default may be another file system."""
    return f"file://{Path(path).absolute()}" if is_local(path) else path

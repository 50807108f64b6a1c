"""Files of reports and their recipe: Parquet, CSV and folders of Parquet."""

from __future__ import annotations

import csv
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from noutput.errors import InvalidArgumentError
from noutput.frames.packages import pq, spark_sql
from noutput.frames.recipe import METADATA_KEY, Recipe

__all__ = [
    "ENDINGS",
    "check_ending",
    "check_file",
    "check_new",
    "check_parts",
    "is_csv",
    "is_local",
    "new_folder",
    "new_target",
    "parquet_files",
    "read_recipe",
    "spark_recipe",
    "stored_columns",
]

ENDINGS = (".parquet", ".csv")
_PARQUET, _GZIP = "Parquet", "a gzip file"
_STARTS = {b"PAR1": _PARQUET, b"\x1f\x8b": _GZIP, b"PK\x03\x04": "a ZIP file, as Excel makes"}
_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"


def is_csv(path: str | Path) -> bool:
    """Return whether a file is CSV by its name."""
    return Path(path).suffix.lower() == ".csv"


def check_ending(target: str | Path) -> None:
    """Refuse a name that looks like a file of a kind that is not written.

    Digits after a dot are no ending: they are a version, or part of a date.
    """
    found = Path(target).suffix.lower()
    if found in ("", *ENDINGS) or found[1:].isdigit() or str(target).endswith("/"):
        return
    rule = "end in .parquet or .csv, or be a folder, without an ending or with a / at the end"
    raise InvalidArgumentError("target", rule, str(target))


def check_file(source: Path) -> None:
    """Refuse a file that is neither CSV nor Parquet, by its name and its first bytes."""
    if not source.exists():
        raise InvalidArgumentError("source", "be a file or a folder that exists", str(source))
    with source.open("rb") as file:
        head = file.read(4)
    found = next((kind for start, kind in _STARTS.items() if head.startswith(start)), None)
    if found == (None if is_csv(source) else _PARQUET):
        return
    rule = "be CSV text" if is_csv(source) else "be Parquet, or CSV with a name that ends in .csv"
    if found == _GZIP:
        rule = "be CSV or Parquet (unpack it first: gunzip)"
    raise InvalidArgumentError(f"file {str(source)!r}", rule, found or "neither of them")


def is_local(path: str) -> bool:
    """Tell a path of this machine from an address such as ``hdfs://...``."""
    return "://" not in path


def parquet_files(source: Path, columns: Sequence[str] = ()) -> list[str]:
    """Return the Parquet file, or those of the folder in the order of their names.

    Every engine reads these and no others. Names that start with an underscore or a dot are
    passed over. The wanted columns must have the same types in all files: engines would cast
    them, each in its own way.
    """
    if source.is_dir():
        found = sorted(path for path in source.iterdir() if path.name[0] not in "_.")
        others = [path.name for path in found if path.suffix.lower() != ".parquet" or path.is_dir()]
        if others or not found:
            rule = "hold files *.parquet, and neither folders nor other files"
            raise InvalidArgumentError("source", rule, others[0] if others else str(source))
        for file in found:
            check_file(file)
        files = [str(file) for file in found]
        _check_types(files, columns)
        return files
    check_file(source)
    return [str(source)]


def _check_types(files: Sequence[str], columns: Sequence[str]) -> None:
    read = pq.read_schema
    first = read(files[0])
    for file in files[1:]:
        schema = read(file)
        for name in columns:
            if name not in first.names:
                continue  # the error about it lists the columns
            if name not in schema.names:
                raise InvalidArgumentError("columns", f"be in every file, {file}", name)
            kind, found = first.field(name).type, schema.field(name).type
            if found != kind:
                rule = f"hold {name!r} as {kind}, as {Path(files[0]).name} does"
                raise InvalidArgumentError(f"file {file!r}", rule, str(found))


def _sidecar(path: Path) -> Path:
    if is_csv(path):
        return path.with_name(path.name + ".noutput.json")
    return path / "_noutput.json"  # readers of Parquet pass over names with an underscore


def _taken(path: Path) -> InvalidArgumentError:
    return InvalidArgumentError("target", "not exist yet", str(path))


def check_new(target: Path) -> None:
    """Refuse to write over what exists: reports are drawn once."""
    for path in (target, _sidecar(target)):
        if path.exists():
            raise _taken(path)
    if not target.parent.is_dir():
        raise InvalidArgumentError("target", "lie in a folder that exists", str(target))


@contextmanager
def new_folder(target: Path, recipe: Recipe) -> Iterator[Path]:
    """Lend a folder to write to; it gets its recipe and its name when all went well."""
    check_new(target)
    with _partial(target) as partial:
        partial.mkdir()
        yield partial
        _sidecar(partial).write_text(recipe.to_json() + "\n", encoding="utf-8")
        try:
            partial.rename(target)  # fails where the target is a file or a folder with files
        except OSError:
            if target.exists():
                raise _taken(target) from None
            raise


@contextmanager
def new_target(target: Path, recipe: Recipe) -> Iterator[Path]:
    """Lend a file to write to; what was written appears at the target when all went well."""
    if target.suffix.lower() not in ENDINGS:
        with new_folder(target, recipe) as folder:
            yield folder / "part-00000.parquet"
        return
    check_new(target)
    with _partial(target) as partial:
        yield partial
        if not is_csv(target):
            _publish(partial, target)
            return
        sidecar = _sidecar(target)
        with _partial(sidecar) as note:
            note.write_text(recipe.to_json() + "\n", encoding="utf-8")
            _publish(note, sidecar)
        try:
            _publish(partial, target)
        except BaseException:
            sidecar.unlink()
            raise


@contextmanager
def _partial(target: Path) -> Iterator[Path]:
    """Lend a name beside the target that nobody else uses; what is left there is removed."""
    partial = target.with_name(f".{target.name}.{secrets.token_hex(8)}.partial")
    try:
        yield partial
    finally:
        _remove(partial)


def _publish(partial: Path, target: Path) -> None:
    """Give a file its name, unless the name was taken meanwhile."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise _taken(target) from None
    except OSError:  # a file system without links: take the name first
        try:
            target.open("xb").close()
        except FileExistsError:
            raise _taken(target) from None
        try:
            partial.replace(target)
        except BaseException:
            target.unlink()
            raise


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def read_recipe(source: Path) -> Recipe:
    """Return the recipe of stored reports."""
    if not source.exists():
        raise InvalidArgumentError("source", "be a file or a folder that exists", str(source))
    if source.is_dir() or is_csv(source):
        sidecar = _sidecar(source)
        if not sidecar.exists():
            raise InvalidArgumentError("source", f"come with its {sidecar.name}", str(source))
        return Recipe.from_json(sidecar.read_bytes())
    check_file(source)
    schema = pq.read_schema(source)
    return _of_metadata((schema.metadata or {}).get(METADATA_KEY.encode()), source)


def stored_columns(source: Path) -> list[str]:
    """Return the names of all columns of stored reports."""
    if is_csv(source):
        with source.open(newline="", encoding="utf-8-sig") as file:
            return next(csv.reader(file), [])
    return list(pq.read_schema(parquet_files(source)[0]).names)


def check_parts(source: Path, recipe: Recipe) -> None:
    """Refuse a folder with a part that says it was made by another recipe than the folder's."""
    if not source.is_dir():
        return
    read = pq.read_schema
    known = {recipe.to_json()}
    for file in parquet_files(source):
        for text in _recipes(read(file).metadata or {}) - known:
            if Recipe.from_json(text) != recipe:
                rule = f"be made by the recipe in {_sidecar(source).name}"
                raise InvalidArgumentError(f"file {file!r}", rule, "another recipe")
            known.add(text)


def _recipes(metadata: dict[bytes, bytes]) -> set[str]:
    """Return the recipes in the metadata of a Parquet file, also where Spark wrote it."""
    own = metadata.get(METADATA_KEY.encode())
    found = set() if own is None else {own.decode()}
    fields = json.loads(metadata.get(_SPARK_SCHEMA, b"{}")).get("fields", [])
    notes = [field["metadata"] for field in fields]
    return found | {note[METADATA_KEY] for note in notes if METADATA_KEY in note}


def spark_recipe(frame: spark_sql.DataFrame) -> Recipe:
    """Return the recipe in the metadata of a Spark frame's columns."""
    texts = {field.metadata.get(METADATA_KEY) for field in frame.schema} - {None}
    if len(texts) > 1:
        raise InvalidArgumentError("source", "hold reports of one recipe", f"{len(texts)} of them")
    return _of_metadata(next(iter(texts), None), "no metadata of that kind")


def _of_metadata(text: str | bytes | None, source: object) -> Recipe:
    if text is None:
        raise InvalidArgumentError("source", "hold reports with their recipe", str(source))
    return Recipe.from_json(text)

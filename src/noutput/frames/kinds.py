"""Kinds of files: CSV and Parquet, told by their names and their first bytes."""

from __future__ import annotations

from pathlib import Path

from noutput.errors import InvalidArgumentError

__all__ = ["ENDINGS", "check_ending", "check_file", "is_csv"]

ENDINGS = (".parquet", ".csv")
_PARQUET, _GZIP = "Parquet", "a gzip file"
_STARTS = {b"PAR1": _PARQUET, b"\x1f\x8b": _GZIP, b"PK\x03\x04": "a ZIP file, as Excel makes"}


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

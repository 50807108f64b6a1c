"""Datasets of one's own: the columns of a CSV file that are numbers, scaled to [-1, 1]."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput._extras import need
from noutput.errors import InvalidArgumentError
from noutput.evaluation.datasets import LABELS, Dataset

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ENDINGS", "Bounds", "OwnFile", "own_files", "parse_bounds", "read"]

ENDINGS = (".csv", ".csv.gz")
"""What the name of a file ends in, which tells it from the name of a dataset."""

_KINDS = ("int", "uint", "float", "double", "halffloat", "decimal")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The range of a column; without one, it goes from its smallest to its largest number.

    Parameters
    ----------
    column : str
    lower, upper : float
    """

    column: str
    lower: float
    upper: float

    def __str__(self) -> str:
        lower, upper = (repr(end).removesuffix(".0") for end in (self.lower, self.upper))
        return f"{self.column}={lower}:{upper}"


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A CSV file with a header, one row per person.

    Parameters
    ----------
    path : str
    bounds : tuple of Bounds
        At most one per column; all their columns are in the file.
    """

    path: str
    bounds: tuple[Bounds, ...] = ()

    @property
    def name(self) -> str:
        """What tables and figures call it: the name of the file without its ending."""
        found = Path(self.path).name
        return next(found.removesuffix(end) for end in reversed(ENDINGS) if found.endswith(end))


def parse_bounds(text: str) -> Bounds:
    """Read COLUMN=LOWER:UPPER.

    Examples
    --------
    >>> parse_bounds("age=0:120")
    Bounds(column='age', lower=0.0, upper=120.0)
    """
    column, _, ends = text.rpartition("=")
    low, _, high = ends.partition(":")
    try:
        lower, upper = float(low), float(high)
    except ValueError:
        lower = upper = math.nan
    if not (column and lower < upper and math.isfinite(upper - lower)):
        rule = "be COLUMN=LOWER:UPPER with two numbers, the smaller one first"
        raise InvalidArgumentError("bounds", rule, text)
    return Bounds(column, lower, upper)


def own_files(paths: Iterable[str], bounds: Iterable[Bounds]) -> tuple[OwnFile, ...]:
    """Find the files, and give each the bounds of its columns.

    Raises
    ------
    InvalidArgumentError
        If a file is not there, has the name of another dataset, or if no file has a column of
        the bounds.
    """
    listed = list(bounds)
    columns = [each.column for each in listed]
    if len(set(columns)) < len(columns):
        raise InvalidArgumentError("bounds", "be given once per column", columns)
    found: dict[str, OwnFile] = {}
    wanted = set(columns)
    for path in paths:
        header = _header(path)
        file = OwnFile(path, tuple(each for each in listed if each.column in header))
        if file.name in LABELS or file.name in found:
            raise InvalidArgumentError("dataset", "have a name that no other dataset has", path)
        found[file.name] = file
        wanted -= set(header)
    if wanted:
        raise InvalidArgumentError("bounds", "name columns of the files", sorted(wanted))
    return tuple(found.values())


def read(file: OwnFile) -> Dataset:
    """Read the columns that are numbers, and scale each by its bounds.

    Parameters
    ----------
    file : OwnFile

    Returns
    -------
    Dataset
        Columns that are no numbers or all equal, and rows with a missing value, are left out;
        numbers beyond given bounds count as the nearer one. The notes say so.

    Raises
    ------
    InvalidArgumentError
        If no column or fewer than two rows are left.
    """
    table = _opened("read_csv", file.path)
    notes: list[str] = []
    kept = {}
    for column in table.column_names:
        if str(table.schema.field(column).type).startswith(_KINDS):
            kept[column] = table[column].cast("float64").to_numpy().astype(np.float64)
        else:
            notes.append(f"the column {column} is left out: it does not hold numbers")
    if not kept:
        raise InvalidArgumentError(file.path, "have a column of numbers", table.column_names)
    values = np.column_stack(list(kept.values()))
    complete = np.isfinite(values).all(axis=1)
    if not complete.all():
        gone = int((~complete).sum())
        notes.append(f"{gone:,} of {len(values):,} rows are left out: a value is missing in them")
    if complete.sum() < 2:
        rule = "have two rows or more without a missing value"
        raise InvalidArgumentError(file.path, rule, int(complete.sum()))
    return _scaled(file, tuple(kept), values[complete], notes)


def _scaled(
    file: OwnFile, columns: tuple[str, ...], values: NDArray[np.float64], notes: list[str]
) -> Dataset:
    given = {each.column: each for each in file.bounds}
    scaled = {}
    for column, numbers in zip(columns, values.T, strict=True):
        bounds = given.get(column, Bounds(column, float(numbers.min()), float(numbers.max())))
        width = bounds.upper - bounds.lower
        if not width:
            notes.append(f"the column {column} is left out: all its values are equal")
            continue
        if not math.isfinite(width):
            raise InvalidArgumentError(column, "have a finite range", [bounds.lower, bounds.upper])
        beyond = int(((numbers < bounds.lower) | (numbers > bounds.upper)).sum())
        if beyond:
            rule = f"lie beyond {bounds.lower:g} and {bounds.upper:g} and count as the nearer one"
            notes.append(f"{beyond:,} of {len(numbers):,} numbers of {column} {rule}")
        scaled[column] = np.clip(2.0 * ((numbers - bounds.lower) / width) - 1.0, -1.0, 1.0)
    if not scaled:
        raise InvalidArgumentError(file.path, "have a column with different numbers", columns)
    return Dataset(
        file.name, tuple(scaled), np.ascontiguousarray(np.column_stack(list(scaled.values()))),
        tuple(notes),
    )  # fmt: skip


def _header(path: str) -> list[str]:
    """Return the names of the columns."""
    header: list[str] = _opened("open_csv", path).schema.names
    if len(set(header)) < len(header) or not all(header):
        raise InvalidArgumentError(path, "have a header with one name per column", header)
    return header


def _opened(function: str, path: str) -> Any:
    if not Path(path).is_file():
        raise InvalidArgumentError("dataset", "be a file that exists", path)
    reader, arrow = need("pyarrow.csv", "evaluation"), need("pyarrow", "evaluation")
    try:
        return getattr(reader, function)(path)
    except (OSError, arrow.ArrowInvalid) as error:
        reason = str(error).partition("\n")[0]
        rule = f"be a CSV file with a header ({reason})"
        raise InvalidArgumentError("dataset", rule, path) from None

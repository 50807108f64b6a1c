"""The four datasets of the paper's evaluation, scaled to [-1, 1]."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput._extras import need
from noutput.errors import InvalidArgumentError
from noutput.evaluation import synthetic
from noutput.evaluation.sources import SOURCES, MissingDataError, fetch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["DATASETS", "LABELS", "Dataset", "MissingDataError", "find", "load"]

DATASETS = ("adult", "credit", "online_news", "beijing_housing")
"""Names of the paper's datasets, in its order."""

LABELS: Mapping[str, str] = MappingProxyType(
    {
        "adult": "Adult",
        "credit": "Credit",
        "online_news": "Online News Popularity",
        "beijing_housing": "Beijing Housing",
        **synthetic.LABELS,
    }
)
"""What figures and tables call the datasets."""

_KNOWN: Mapping[str, tuple[str, int, int]] = MappingProxyType(
    {
        "adult": ("3ac5af8c430be2e4", 48_842, 6),
        "credit": ("30b0f2a9c754c507", 30_000, 24),
        "online_news": ("467c1f9cc7874d48", 39_644, 60),
        "beijing_housing": ("57c6bf2fa1eb8301", 297_701, 19),
    }
)  # digest, people and attributes of what the published reproduction was computed from

_LEFT_OUT: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "beijing_housing": {
            "DOM": "it is missing in half of the rows",
            "ladderRatio": "two rows have 10009400 where all others are at most 10",
        }
    }
)


@dataclass(frozen=True)
class Dataset:
    """Numbers of many people, one column per attribute, every column scaled to [-1, 1].

    Parameters
    ----------
    name : str
    columns : tuple of str
        What the attributes are called in the original.
    values : array of shape (people, attributes)
        Read-only.
    notes : tuple of str
        What was left out of the original, and why.
    """

    name: str
    columns: tuple[str, ...]
    values: NDArray[np.float64] = field(repr=False)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.values.flags.writeable = False

    @property
    def label(self) -> str:
        """What figures and tables call it."""
        return LABELS.get(self.name, self.name)

    @property
    def people(self) -> int:
        """How many rows there are."""
        return len(self.values)

    @property
    def n_attributes(self) -> int:
        """How many columns there are."""
        return int(self.values.shape[1])

    @cached_property
    def digest(self) -> str:
        """A hash of the numbers: results belong to it, not to a name."""
        return hashlib.sha256(self.values.tobytes()).hexdigest()[:16]

    @property
    def difference(self) -> str:
        """How the numbers differ from the known ones of this name; empty where they do not.

        Examples
        --------
        >>> Dataset("adult", ("age",), np.array([[-1.0], [1.0]])).difference[:72]
        'adult is not the known dataset: it has 2 people, 1 attributes and digest'
        >>> load("uniform").difference
        ''
        """
        known = _KNOWN.get(self.name)
        if known is None or self.digest == known[0]:
            return ""
        digest, people, attributes = known
        return (
            f"{self.name} is not the known dataset: it has {self.people:,} people, "
            f"{self.n_attributes} attributes and digest {self.digest}, not {people:,}, "
            f"{attributes} and {digest}; results are about other numbers than the published ones"
        )

    def histograms(self, bins: int) -> NDArray[np.float64]:
        """Return the true distribution of every attribute, of shape (attributes, bins)."""
        counts = [np.histogram(column, bins, (-1.0, 1.0))[0] for column in self.values.T]
        result: NDArray[np.float64] = np.array(counts) / self.people
        return result


def load(name: str, folder: str | Path | None = None) -> Dataset:
    """Load a dataset and scale every column to [-1, 1] by its own smallest and largest number.

    Parameters
    ----------
    name : {"adult", "credit", "online_news", "beijing_housing"} or a synthetic one
        `noutput.evaluation.synthetic.SHAPES` lists those that need no file.
    folder : path, optional
        Where ``NAME.csv.gz`` lies. Without it, the folder that the environment variable
        ``NOUTPUT_DATA`` names, then the user's cache, are looked at; what is in none of them is
        downloaded from its source into the cache.

    Returns
    -------
    Dataset
        Rows with a missing value are left out, and so are columns that cannot be used; the notes
        say which and why.

    Raises
    ------
    MissingDataError
        If the dataset is nowhere and cannot be downloaded; it says what to put where.

    Examples
    --------
    >>> data = load("uniform")
    >>> data.people, data.n_attributes, data.notes
    (20000, 4, ())
    """
    if name in synthetic.SHAPES:
        return _synthetic(name)
    _checks.choice("name", name, (*DATASETS, *synthetic.SHAPES))
    return _read(name, find(name, folder) or fetch(name))


def find(name: str, folder: str | Path | None = None) -> Path | None:
    """Return the file of a dataset where there is one, without downloading anything."""
    if folder is not None and not Path(folder).is_dir():
        raise InvalidArgumentError("folder", "be a folder that exists", str(folder))
    named = os.environ.get("NOUTPUT_DATA")
    places = [folder, named or None, SOURCES[name].cache()]
    for place in places:
        path = None if place is None else Path(place) / f"{name}.csv.gz"
        if path is not None and path.is_file():
            return path
    return None


@lru_cache(maxsize=8)
def _synthetic(name: str) -> Dataset:
    values = synthetic.draw(name)
    columns = tuple(f"{name} {place + 1}" for place in range(values.shape[1]))
    return Dataset(name, columns, values)


def _read(name: str, path: Path) -> Dataset:
    csv = need("pyarrow.csv", "evaluation")
    table = csv.read_csv(path)
    notes = []
    for column, reason in _LEFT_OUT.get(name, {}).items():
        if column in table.column_names:
            table = table.drop_columns([column])
            notes.append(f"the column {column} is left out: {reason}")
    try:
        values = np.column_stack(
            [column.cast("float64").to_numpy().astype(np.float64) for column in table.columns]
        )
    except ValueError as error:
        raise InvalidArgumentError(str(path), "hold numbers only", str(error)) from None
    complete = ~np.isnan(values).any(axis=1)
    if not complete.all():
        gone = int((~complete).sum())
        notes.append(f"{gone:,} of {len(values):,} rows are left out: a value is missing in them")
    values, columns = _varied(values[complete], tuple(table.column_names), notes)
    return Dataset(name, columns, scale(values), tuple(notes))


def _varied(
    values: NDArray[np.float64], columns: tuple[str, ...], notes: list[str]
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Leave out columns in which everybody has the same number, and say so."""
    varied = values.min(axis=0) < values.max(axis=0)
    for column, keep in zip(columns, varied, strict=True):
        if not keep:
            notes.append(f"the column {column} is left out: all its values are equal")
    return values[:, varied], tuple(
        column for column, keep in zip(columns, varied, strict=True) if keep
    )


def scale(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map the smallest number of every column to -1 and the largest to 1."""
    low, high = values.min(axis=0), values.max(axis=0)
    scaled = 2.0 * ((values - low) / (high - low)) - 1.0
    return np.ascontiguousarray(np.clip(scaled, -1.0, 1.0))

"""Sources of the datasets: downloads, their hashes, and conversion to plain columns."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import math
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from noutput._extras import need
from noutput.errors import InvalidArgumentError, NoutputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SOURCES", "MissingDataError", "Source", "fetch"]


class MissingDataError(NoutputError, FileNotFoundError):
    """A dataset is nowhere; the message says what to put where."""


Rows = Iterator[list[str]]


@dataclass(frozen=True, slots=True)
class Member:
    """A file of the original.

    Parameters
    ----------
    name : str
        Its name, whichever folder of the archive it is in.
    sha256 : str, optional
        None where nobody has published one.
    """

    name: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Source:
    """An original, and how it becomes a table of numbers.

    Parameters
    ----------
    page : str
        Where people read about it.
    url : str, optional
        The archive to download; None where that takes an account.
    members : tuple of Member
        Which files are read.
    convert : callable
        Turns the bytes of the members into a header and rows.
    """

    page: str
    url: str | None
    members: tuple[Member, ...]
    convert: Callable[..., Rows]

    @staticmethod
    def cache() -> Path:
        """Return the folder that converted datasets are kept in."""
        from platformdirs import user_cache_path

        return user_cache_path("noutput", appauthor=False) / "data"


def fetch(name: str, folder: Path | None = None) -> Path:
    """Get a dataset's original, check its hash, convert it, and return the converted file.

    Parameters
    ----------
    name : str
        A key of `SOURCES`.
    folder : path, optional
        Where to keep it; the user's cache if not given.

    Raises
    ------
    MissingDataError
        If it cannot be had without the user.
    InvalidArgumentError
        If a file is not the known one.
    """
    source, place = SOURCES[name], folder or Source.cache()
    target = place / f"{name}.csv.gz"
    parts = _own_files(source, place) if source.url is None else _download(name, source, place)
    for member, content in zip(source.members, parts, strict=True):
        found = hashlib.sha256(content).hexdigest()
        if member.sha256 is not None and found != member.sha256:
            raise InvalidArgumentError(member.name, f"have the SHA-256 {member.sha256}", found)
    _write(source.convert(*parts), target)
    return target


def _own_files(source: Source, folder: Path) -> list[bytes]:
    """Read files that only the user can get."""
    paths = [folder / member.name for member in source.members]
    for path in paths:
        if not path.is_file():
            raise MissingDataError(
                f"{path.name} is not there: download it from {source.page} (which takes an "
                f"account), and put it at {path}; or name a folder that holds the converted "
                "dataset (--data, or the environment variable NOUTPUT_DATA)"
            )
    return [path.read_bytes() for path in paths]


def _download(name: str, source: Source, folder: Path) -> list[bytes]:
    pooch = need("pooch", "evaluation")
    try:
        archive = pooch.retrieve(
            source.url, known_hash=None, fname=f"{name}.zip", path=folder, progressbar=False
        )
    except Exception as error:
        raise MissingDataError(
            f"{source.url} could not be downloaded ({error}): try again later, or name a folder "
            f"that holds {name}.csv.gz (--data, or the environment variable NOUTPUT_DATA)"
        ) from error
    with zipfile.ZipFile(archive) as opened:
        inside = {Path(path).name: path for path in opened.namelist()}
        missing = [member.name for member in source.members if member.name not in inside]
        if missing:
            raise InvalidArgumentError(source.url or name, f"contain {missing[0]}", sorted(inside))
        return [opened.read(inside[member.name]) for member in source.members]


def _write(rows: Iterable[list[str]], target: Path) -> None:
    """Write a table at once: nobody finds half of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    with (
        part.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
    ):
        csv.writer(text, lineterminator="\n").writerows(rows)
    part.replace(target)


_ADULT = {
    "age": 0, "fnlwgt": 2, "education-num": 4, "capital-gain": 10, "capital-loss": 11,
    "hours-per-week": 12,
}  # fmt: skip


def _adult(train: bytes, test: bytes) -> Rows:
    """Keep the columns that are numbers; the test set begins with a remark."""
    yield list(_ADULT)
    for part in (train, test):
        for row in csv.reader(io.StringIO(part.decode("ascii")), skipinitialspace=True):
            if len(row) > max(_ADULT.values()):
                yield [row[place] for place in _ADULT.values()]


def _credit(sheet: bytes) -> Rows:
    """Keep all columns but the number of the row; the names are in the second line."""
    page = need("xlrd", "evaluation").open_workbook(file_contents=sheet).sheet_by_index(0)
    names = [str(name) for name in page.row_values(1)]
    yield [name.replace(" ", ".") for name in names[1:]]
    for place in range(2, page.nrows):
        yield [
            f"{value:g}" if value % 1 else str(int(value)) for value in page.row_values(place)[1:]
        ]


def _online_news(table: bytes) -> Rows:
    """Keep all columns but the address of the article."""
    rows = csv.reader(io.StringIO(table.decode("utf-8")), skipinitialspace=True)
    for row in rows:
        yield [cell.strip() for cell in row[1:]]


_BEIJING = (
    "Lng", "Lat", "DOM", "followers", "totalPrice", "price", "square", "livingRoom", "drawingRoom",
    "kitchen", "bathRoom", "buildingType", "constructionTime", "renovationCondition",
    "buildingStructure", "ladderRatio", "elevator", "fiveYearsProperty", "subway", "district",
    "communityAverage",
)  # fmt: skip


def _beijing(table: bytes) -> Rows:
    """Keep the columns that are numbers; what is no number in them counts as missing."""
    yield list(_BEIJING)
    for row in csv.DictReader(io.StringIO(table.decode("gbk"))):
        yield [_number(row[name]) for name in _BEIJING]


def _number(cell: str | None) -> str:
    text = (cell or "").strip()
    try:
        return text if math.isfinite(float(text)) else ""
    except ValueError:
        return ""


SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "adult": Source(
            "https://doi.org/10.24432/C5XW20",
            "https://archive.ics.uci.edu/static/public/2/adult.zip",
            (
                Member(
                    "adult.data",
                    "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                ),
                Member(
                    "adult.test",
                    "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
                ),
            ),
            _adult,
        ),
        "credit": Source(
            "https://doi.org/10.24432/C55S3H",
            "https://archive.ics.uci.edu/static/public/350/default+of+credit+card+clients.zip",
            (Member("default of credit card clients.xls", None),),  # no hash is known
            _credit,
        ),
        "online_news": Source(
            "https://doi.org/10.24432/C5NS3V",
            "https://archive.ics.uci.edu/static/public/332/online+news+popularity.zip",
            (
                Member(
                    "OnlineNewsPopularity.csv",
                    "b66d9088632308cc27fa35af847650d174a5a50503987c4e511de94a99d1c218",
                ),
            ),
            _online_news,
        ),
        "beijing_housing": Source(
            "https://www.kaggle.com/datasets/ruiqurm/lianjia",
            None,
            (
                Member(
                    "new.csv",
                    "34767df2c1174d60d133859fd8f93bb166f73b9d668654813b9f5a19a37dfd25",
                ),
            ),
            _beijing,
        ),
    }
)
"""Every dataset's original."""

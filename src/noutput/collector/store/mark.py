"""Mark: how far the commits of an embedded database got, in a small file next to it."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import IO, NamedTuple

__all__ = ["HighWater", "MarkFile"]

_KIND = "noutput-mark 1"
_LINE = len(_KIND) + 1 + 32 + 2 * 21 + 9 + 1


class HighWater(NamedTuple):
    """How far a database got: all commits and all counted reports since it was made.

    Parameters
    ----------
    database : str
        A random name of the database, 32 hexadecimal digits.
    commits, reports : int
        Neither gets smaller when a campaign is deleted.
    """

    database: str
    commits: int
    reports: int


class MarkFile:
    """A small file next to the database that says how far its commits got.

    Parameters
    ----------
    path : Path

    Notes
    -----
    The first line is overwritten after every commit, the second only where commits were found
    to be lost; each has a checksum of its own. Writing waits for no disk: what the operating
    system has not yet written when the power fails makes the mark too low, never too high. So a
    mark above the database is always a loss.

    Examples
    --------
    >>> import tempfile
    >>> mark = MarkFile(Path(tempfile.mkdtemp()) / "reports.db-mark")
    >>> mark.write(HighWater("0" * 32, 7, 1200))
    >>> mark.read()
    HighWater(database='00000000000000000000000000000000', commits=7, reports=1200)
    >>> mark.close()
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None
        self._closed = False

    def read(self) -> HighWater | None:
        """Return the mark, or None where there is none or its checksum is wrong."""
        return self._read_line(0)

    def read_lost(self) -> HighWater | None:
        """Return how many commits and reports were found to be lost."""
        return self._read_line(_LINE)

    def write(self, reached: HighWater) -> None:
        """Overwrite the mark."""
        self._write_line(0, reached)

    def write_lost(self, lost: HighWater) -> None:
        """Overwrite what was lost, and wait for the disk."""
        self._write_line(_LINE, lost)
        self.sync()

    def sync(self) -> None:
        """Wait until the disk has the mark."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file for good: what is written later, by a commit that hung, is dropped."""
        self._closed = True
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write_line(self, start: int, values: HighWater) -> None:
        if self._closed:
            return
        if self._file is None:
            self._file = open(self.path, "r+b", buffering=0, opener=_opener)  # noqa: SIM115 (stays open)
        self._file.seek(start)
        self._file.write(_line(values))

    def _read_line(self, start: int) -> HighWater | None:
        try:
            line = self.path.read_bytes()[start : start + _LINE]
        except OSError:
            return None
        parts = line.decode("ascii", "replace").removeprefix(_KIND).split()
        try:
            database, commits, reports, _ = parts
            found = HighWater(database, int(commits), int(reports))
        except ValueError:
            return None
        return found if _line(found) == line else None


def _opener(path: str, flags: int) -> int:
    """Make the file where there is none, for its owner alone."""
    return os.open(path, flags | os.O_CREAT, 0o600)


def _line(values: HighWater) -> bytes:
    text = f"{_KIND} {values.database} {values.commits:020d} {values.reports:020d}"
    return f"{text} {zlib.crc32(text.encode()):08x}\n".encode()

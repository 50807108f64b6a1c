"""Finished units in a file: one JSON line each, appended as they come.

A line is written at once and forced to disk. If the program is killed in the middle of one, the
broken end is cut off when the file is opened again, and the unit is computed once more.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from noutput.evaluation.work import Measures

__all__ = ["Store"]


class Store:
    """What has been computed already, by identity.

    Parameters
    ----------
    path : path
        The file; it is made where there is none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[str, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b")
        self._file.seek(0)
        whole = 0
        for line in self._file:
            record = _parse(line)
            if record is not None:
                self._found[record["id"]] = record
            if line.endswith(b"\n"):
                whole += len(line)
        self._file.truncate(whole)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def __contains__(self, identity: str) -> bool:
        return identity in self._found

    def __len__(self) -> int:
        return len(self._found)

    def measures(self, identity: str) -> Measures:
        """Return what a unit measured."""
        found: Measures = self._found[identity]["measures"]
        return found

    def commit(self, identity: str) -> str | None:
        """Return which commit computed a unit."""
        found: str | None = self._found[identity].get("commit")
        return found

    def add(self, identity: str, measures: Measures, commit: str | None) -> None:
        """Keep what a unit measured."""
        record = {"id": identity, "commit": commit, "measures": measures}
        self._file.write(json.dumps(record).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._found[identity] = record


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    known = isinstance(record, dict) and {"id", "measures"} <= set(record)
    return record if known else None

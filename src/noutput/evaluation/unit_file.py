"""Store of finished units: a file with one JSON line per unit, appended as they finish.

A line is written at once and forced to disk. If the program is killed in the middle of one, the
broken end is cut off when the file is opened again, and the unit is computed once more. When all
work is done, the lines are put in an order that does not depend on who finished first.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from noutput.evaluation.units import Facts
    from noutput.evaluation.work import Measures

__all__ = ["UnitFile"]

_PLACE = {"task", "dataset", "mechanism", "epsilon", "first"}


class UnitFile:
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

    def add(self, identity: str, facts: Facts, measures: Measures, commit: str | None) -> None:
        """Keep what a unit measured, and what it follows from."""
        record = {"id": identity, "facts": facts, "commit": commit, "measures": measures}
        self._file.write(_line(record))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._found[identity] = record

    def arrange(self) -> None:
        """Put the lines in an order of their own, at once; lines that are no units are left out."""
        content = b"".join(map(_line, sorted(self._found.values(), key=_place)))
        self._file.seek(0)
        if self._file.read() == content:
            return
        part = self._path.with_suffix(".part")
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self._file.close()
        part.replace(self._path)
        self._file = self._path.open("a+b")


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _place(record: dict[str, Any]) -> tuple[str, str, str, float, int, str]:
    """Return where a unit belongs: cells in the order of their names, then runs."""
    facts = record["facts"]
    names = (facts["task"], facts["dataset"], facts["mechanism"])
    return *names, facts["epsilon"], facts["first"], record["id"]


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict) or not {"id", "facts", "measures"} <= set(record):
        return None
    return record if set(record["facts"]) >= _PLACE else None

"""Files of an embedded database: only their owner can read them, and they stay where they are."""

from __future__ import annotations

import logging
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from noutput.collector.logs import event

__all__ = ["FileIdentity", "create_private", "identify", "keep_private"]

_OTHERS = 0o077  # the rights of everybody but the owner
_BESIDE = ("", "-wal", "-shm", "-journal", "-mark", "-wal-damaged")  # SQLite's names, and ours
_log = logging.getLogger("noutput.collector")


def create_private(path: Path) -> None:
    """Make an empty file that only its owner can read and write, unless the name is taken.

    SQLite gives the files beside it the same rights. The file is made under another name and
    linked into place: SQLite's locks would be lost where a descriptor of the file is closed.
    Where that is not possible, SQLite makes the file or says why it cannot.
    """
    beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with suppress(OSError):
        if os.path.lexists(path):
            return
        os.close(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            os.link(beside, path)
        finally:
            beside.unlink()


def keep_private(path: Path) -> None:
    """Take the rights of others away from a database; warn where that is not possible."""
    if os.name == "nt":  # Windows has no such rights; folders of a user are private there
        return
    for name in (path.with_name(path.name + suffix) for suffix in _BESIDE):
        with suppress(FileNotFoundError):
            mode = name.stat().st_mode & 0o777
            if mode & _OTHERS:
                _take_away(name, mode)


def _take_away(path: Path, mode: int) -> None:
    private = mode & ~_OTHERS
    with suppress(PermissionError):
        path.chmod(private)
    if path.stat().st_mode & _OTHERS:
        text = "others than the owner can open %s (mode %03o), and this could not be changed"
        _log.warning(text, path.name, mode, extra=event("file-rights", file=path.name))
    else:
        text = "others than the owner could open %s: its mode was %03o, and is %03o now"
        _log.warning(text, path.name, mode, private, extra=event("file-rights", file=path.name))


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """A file that is open: its path, and which file that was.

    SQLite goes on writing to a file that was deleted or replaced, and nobody would find what it
    writes; this is how to notice.
    """

    path: str
    device: int
    inode: int

    def still_there(self) -> bool:
        """Say whether the path still leads to this very file."""
        return identify(self.path) == self


def identify(path: str) -> FileIdentity | None:
    """Return which file is at a path now, or None."""
    try:
        found = os.stat(path)  # noqa: PTH116 (at every commit)
    except OSError:
        return None
    return FileIdentity(path, found.st_dev, found.st_ino)

"""Enrollment codes: each admits one person, once, also after a crash."""

from __future__ import annotations

import re
import secrets
import sqlite3
import threading
from hashlib import sha256
from typing import TYPE_CHECKING

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Codes", "new_code"]

_CODE = re.compile(r"[!-~]{8,200}", re.ASCII)
_SCHEMA = "CREATE TABLE IF NOT EXISTS used (code BLOB PRIMARY KEY, request BLOB) WITHOUT ROWID"
_USE = "INSERT INTO used VALUES (?, ?) ON CONFLICT DO NOTHING"
_FIND = "SELECT request FROM used WHERE code = ?"


def new_code() -> str:
    """Return an enrollment code: 120 random bits in letters and digits that are easy to type.

    Examples
    --------
    >>> len(new_code())
    29
    """
    letters = "abcdefghijkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(letters) for _ in range(4)) for _ in range(6))


class Codes:
    r"""A hook that admits whoever has a code that was not used before.

    Parameters
    ----------
    file : Path
        One code per line, from 8 to 200 characters each.
    used : Path
        A SQLite file that keeps which were used; made if missing.

    Guarantees
    ----------
    A code is used for one request: it is written down, durably, before the request is signed. The
    same request with the same code is admitted again, because its signature is the same: so a
    person whose connection broke asks again, and still has one token. What is kept is a hash of the
    code and a hash of the request, in no order.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "codes.txt").write_text("kiosk-0001\nkiosk-0002\n")
    >>> codes = Codes(folder / "codes.txt", folder / "used.db")
    >>> codes("kiosk-0001", b"a"), codes("kiosk-0001", b"a"), codes("kiosk-0001", b"b")
    (True, True, False)
    >>> codes("kiosk-0003", b"a")
    False
    >>> codes.close()
    """

    def __init__(self, file: Path, used: Path) -> None:
        self._codes = {_digest(code) for code in _read(file)}
        self._lock = threading.Lock()
        try:
            used.touch(mode=0o600)
            self._connection = sqlite3.connect(used, isolation_level=None, check_same_thread=False)
            try:
                self._connection.execute("PRAGMA journal_mode=DELETE")
                self._connection.execute("PRAGMA synchronous=EXTRA")
                self._connection.execute(_SCHEMA)
                self._connection.execute(_FIND, (b"",))
            except sqlite3.Error:
                self._connection.close()
                raise
        except (OSError, sqlite3.Error) as error:
            rule = "be a file of used codes that can be read and written"
            raise InvalidArgumentError("used", rule, f"{used}: {error}") from None

    def __call__(self, credential: str, request: bytes) -> bool:
        """Say whether a code admits a request, and write that down."""
        code = _digest(credential)
        if code not in self._codes:
            return False
        with self._lock:
            self._connection.execute(_USE, (code, request))
            (kept,) = self._connection.execute(_FIND, (code,)).fetchone()
        return bool(kept == request)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _digest(code: str) -> bytes:
    return sha256(b"noutput-code\n" + code.encode()).digest()


def _read(file: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InvalidArgumentError("codes", "be text in UTF-8", str(file)) from None
    codes = [line.strip() for line in lines if line.strip()]
    for place, code in enumerate(codes, 1):
        if not _CODE.fullmatch(code):
            rule = "have codes of 8 to 200 ASCII characters without spaces, one per line"
            raise InvalidArgumentError("codes", rule, f"code {place} of {len(codes)}")
    if len(set(codes)) < len(codes):
        raise InvalidArgumentError("codes", "have no code twice", f"{len(codes)} codes")
    return codes

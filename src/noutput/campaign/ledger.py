"""Ledger of what a person has answered: one SQLite file on the device."""

from __future__ import annotations

import json
import math
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from noutput.campaign.report import Report
from noutput.campaign.schedule import SECRET_BYTES
from noutput.errors import DocumentError, InvalidArgumentError

if TYPE_CHECKING:
    from noutput.campaign.policy import Policy

__all__ = ["Ledger"]

_APPLICATION = 0x6E6F7574  # "nout"
_VERSION = 1
_PATIENCE = 30.0  # seconds to wait for another process
_OTHERS = 0o077  # the rights of everybody but the owner
_SCHEMA = (
    # One row per answer: what it cost, and when.
    """
    CREATE TABLE answers (
        campaign TEXT PRIMARY KEY, -- its root, and the number of the round after a colon
        name TEXT NOT NULL, -- its id, which no other root may have
        epsilon REAL NOT NULL,
        answered REAL NOT NULL -- seconds since 1970
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE reports (
        campaign TEXT NOT NULL, -- as in answers
        place INTEGER NOT NULL, -- from 0, in the order in which they are sent
        question TEXT NOT NULL,
        output INTEGER NOT NULL,
        id TEXT NOT NULL,
        sent REAL, -- when a collector has acknowledged it
        token TEXT NOT NULL, -- empty where the campaign is open to everybody
        drawn TEXT NOT NULL, -- the fingerprint of the wave that it was drawn from
        labels TEXT NOT NULL, -- JSON: pairs of name and label
        round INTEGER,
        PRIMARY KEY (campaign, place)
    ) WITHOUT ROWID
    """,
    # What an issuer is asked with, and its answer, until there are reports.
    """
    CREATE TABLE enrollments (
        campaign TEXT PRIMARY KEY, secret BLOB NOT NULL, token TEXT NOT NULL DEFAULT ''
    ) WITHOUT ROWID
    """,
    # What the device draws its rounds from, and the round that it joined in.
    """
    CREATE TABLE panels (
        campaign TEXT PRIMARY KEY, secret BLOB NOT NULL, joined INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
)
_SELECT = (
    "SELECT drawn, question, output, id, token, labels, round "
    "FROM reports JOIN answers USING (campaign)"
)


class Ledger:
    """What was answered, what it cost, and what is still to be sent.

    Parameters
    ----------
    path : path, optional
        The SQLite file; made if missing. None keeps the ledger in memory, which is for
        simulation: it forgets, and with it the limits are forgotten.

    Raises
    ------
    InvalidArgumentError
        If the file is no ledger, or cannot be read, written or kept from others.

    Guarantees
    ----------
    All reports on a campaign are on the disk (``synchronous=EXTRA``) before `remember` returns
    any. However the process ends, either nothing was answered, or the campaign gets the same
    reports with the same ids the next time, and their cost counts. That holds for all waves of a
    campaign together: they have one root, and a person answers one of them. Every round of a
    schedule is answered by itself; the secret that a device draws its rounds from is on the disk
    before `join` returns it. Processes and threads
    that share a file take turns, so that two of them can neither answer a campaign twice nor exceed
    the policy together. Only the file's owner can read or write it: rights of others are taken
    away when it is opened. The ledger holds reports, never values.

    Notes
    -----
    SQLite's locks are POSIX locks of the process: closing *any* descriptor of the file releases
    them all, whichever thread took them. So nothing here ever opens the file but SQLite, which
    knows that; a new file is made under another name and linked into place.

    Examples
    --------
    >>> from noutput.campaign import Policy
    >>> name = "0" * 64
    >>> with Ledger(None) as ledger:
    ...     first = ledger.remember(name, 1.0, Policy(), 0.0, lambda: [Report(name, "a", 3)])
    ...     again = ledger.remember(name, 1.0, Policy(), 9.0, lambda: [Report(name, "a", 1)])
    >>> again == first
    True
    >>> Ledger(None).check_root("commute", name, Policy())  # which it does not know

    What a device does with it: send what is pending, and mark it.

    >>> ledger = Ledger(None)
    >>> made = ledger.remember(name, 1.0, Policy(), 0.0, lambda: [Report(name, "a", 3)])
    >>> ledger.find(name) == made, ledger.spent(since=-1.0), ledger.pending() == made
    (True, 1.0, True)
    >>> ledger.mark_sent(made[0], now=10.0)
    >>> ledger.pending()
    []

    The secret of a campaign with a schedule, and the round in which the device joined, stay:

    >>> ledger.join(name, number=2) == ledger.join(name, number=5), ledger.join(name, 9)[1]
    (True, 2)
    >>> ledger.close()
    """

    def __init__(self, path: str | bytes | os.PathLike[str] | None) -> None:
        if path is not None:
            path = _checked(path)
        self._lock = threading.Lock()
        self._process = os.getpid()
        # absolute, so that no name of a file has a meaning of its own for SQLite
        self._name = ":memory:" if path is None else os.path.abspath(path)  # noqa: PTH100 (as below)
        with self._errors_named():
            if path is not None:
                _create(self._name)
            self._connection = sqlite3.connect(
                self._name, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
        try:
            self._prepare()
            if path is not None:
                self._keep_from_others()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        with self._errors_named():
            self._connection.execute("PRAGMA synchronous=EXTRA")
        with self._transaction() as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if (application, version, tables) == (0, 0, 0):
                connection.execute(f"PRAGMA application_id={_APPLICATION}")
            elif application != _APPLICATION:
                raise InvalidArgumentError("ledger", "be a ledger of noutput", self._name)
            elif version == _VERSION:
                return
            else:
                raise InvalidArgumentError("ledger", f"have version {_VERSION}", version)
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={_VERSION}")

    def _keep_from_others(self) -> None:
        if os.name == "nt":  # Windows has no such rights; folders of a user are private there
            return
        with self._errors_named():
            if os.stat(self._name).st_mode & _OTHERS:  # noqa: PTH116 (pathlib takes long to load)
                os.chmod(self._name, 0o600)  # noqa: PTH101 (the same)
            mode = os.stat(self._name).st_mode  # noqa: PTH116 (the same)
        if mode & _OTHERS:
            rule = "be a file that only its owner can read and write"
            raise InvalidArgumentError("ledger", rule, f"{self._name}: mode {mode & 0o777:o}")

    def remember(
        self,
        campaign: str,
        cost: float,
        policy: Policy,
        now: float,
        make: Callable[[], list[Report]],
        name: str = "",
    ) -> list[Report]:
        """Return the stored reports on a campaign, or make them and store them.

        Parameters
        ----------
        campaign : str
            The campaign's root: its fingerprint, or that of its first wave; followed by a colon and
            the number of the round, where it has a schedule.
        cost : float
            The privacy loss of all of its reports together.
        policy : Policy
            What the person allows.
        now : float
            The time, in seconds since 1970.
        make : callable
            Draws the reports; called at most once, and only where the policy allows it.
        name : str
            The campaign's id.

        Raises
        ------
        PolicyError
            If new reports would exceed the policy's total; nothing is drawn then.
        DocumentError
            If the ledger knows the id by another root, and the policy does not allow that.
        """
        with self._transaction() as connection:
            stored = _find(connection, campaign)
            if stored:
                return stored
            _check_root(connection, name, campaign, policy)
            policy.check(_costs(connection, now - policy.seconds), cost)
            reports = make()
            row = (campaign, name, cost, now)
            connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?)", row)
            connection.executemany(
                "INSERT INTO reports VALUES (?, ?, ?, ?, ?, NULL, ?, ?, ?, ?)",
                [
                    (
                        campaign,
                        place,
                        each.question,
                        each.output,
                        each.id,
                        each.token,
                        each.campaign,
                        json.dumps(each.labels, ensure_ascii=False),
                        each.round,
                    )
                    for place, each in enumerate(reports)
                ],
            )
            connection.execute("DELETE FROM enrollments WHERE campaign = ?", (campaign,))
        return reports

    def check_root(self, name: str, root: str, policy: Policy) -> None:
        """Raise `DocumentError` where the ledger knows a campaign's id by another root.

        Parameters
        ----------
        name, root : str
            The campaign's id, and its fingerprint or that of its first wave.
        policy : Policy
            Says whether that is allowed.

        Notes
        -----
        Whoever hands out several documents under one id could tell devices apart by the
        fingerprint that their reports name, and would get an answer of a device to each.
        """
        with self._transaction() as connection:
            _check_root(connection, name, root, policy)

    def find(self, campaign: str) -> list[Report]:
        """Return the stored reports on a campaign (by root); none where there are none."""
        with self._transaction() as connection:
            return _find(connection, campaign)

    def spent(self, since: float) -> float:
        """Return the sum of the costs of campaigns answered after an instant."""
        with self._transaction() as connection:
            return math.fsum(_costs(connection, since))

    def pending(self, campaign: str = "") -> list[Report]:
        """Return the reports that were answered and not yet marked as sent, oldest first.

        Parameters
        ----------
        campaign : str
            The root of the campaign that they are about, in whichever round; all, if not given.
        """
        with self._transaction() as connection:
            rows = connection.execute(
                f"{_SELECT} WHERE sent IS NULL AND campaign GLOB ? "
                "ORDER BY answered, campaign, place",
                (f"{campaign}*",),
            )
            return [_report(*row) for row in rows]

    def mark_sent(self, report: Report, now: float) -> None:
        """Note that a collector has acknowledged a report."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE reports SET sent = ? WHERE drawn = ? AND id = ?",
                (now, report.campaign, report.id),
            )

    def join(self, campaign: str, number: int) -> tuple[bytes, int]:
        """Return the secret that a device draws its rounds from, and the round it joined in.

        Parameters
        ----------
        campaign : str
            The campaign's root.
        number : int
            The present round. A device that calls for the first time joins in it.
        """
        with self._transaction() as connection:
            row = (campaign, secrets.token_bytes(SECRET_BYTES), number)
            connection.execute("INSERT OR IGNORE INTO panels VALUES (?, ?, ?)", row)
            secret, joined = connection.execute(
                "SELECT secret, joined FROM panels WHERE campaign = ?", (campaign,)
            ).fetchone()
        return secret, joined

    def enroll(self, campaign: str, make: Callable[[], bytes]) -> tuple[bytes, str]:
        """Return what an issuer is asked with for a token of a campaign, and the token.

        Parameters
        ----------
        campaign : str
            The campaign's root.
        make : callable
            Draws the secret; called once per campaign.

        Returns
        -------
        secret : bytes
            The same each time, until there are reports: so whoever was interrupted asks the same.
        token : str
            What `keep_token` was given; empty until then.

        Examples
        --------
        >>> with Ledger(None) as ledger:
        ...     first = ledger.enroll("0" * 64, lambda: b"one")
        ...     ledger.keep_token("0" * 64, "t" * 24)
        ...     first, ledger.enroll("0" * 64, lambda: b"two")
        ((b'one', ''), (b'one', 'tttttttttttttttttttttttt'))
        """
        find = "SELECT secret, token FROM enrollments WHERE campaign = ?"
        with self._transaction() as connection:
            found = connection.execute(find, (campaign,)).fetchone()
            if found is None:
                found = (make(), "")
                add = "INSERT INTO enrollments (campaign, secret) VALUES (?, ?)"
                connection.execute(add, (campaign, found[0]))
        return found[0], found[1]

    def keep_token(self, campaign: str, token: str) -> None:
        """Keep the token that an issuer has signed, until reports have it."""
        change = "UPDATE enrollments SET token = ? WHERE campaign = ?"
        with self._transaction() as connection:
            connection.execute(change, (token, campaign))

    def close(self) -> None:
        """Close the file; a process that was forked leaves this to its parent."""
        if self._process == os.getpid():
            self._connection.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            rule = "be a ledger that can be read and written"
            raise InvalidArgumentError("ledger", rule, f"{self._name}: {error}") from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Take the file for one process and thread; commit at the end, or change nothing."""
        if self._process != os.getpid():
            rule = f"be opened in the process that uses it, {os.getpid()}"
            raise InvalidArgumentError("ledger", rule, self._process)
        with self._lock, self._errors_named():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise


def _checked(path: object) -> str:
    """Return the path of a file as text."""
    try:
        name = os.fsdecode(path)  # type: ignore[arg-type]  # what it refuses is no path
    except TypeError:
        name = ""
    if name in ("", ":memory:") or "\0" in name:
        rule = "be a file, or None for a ledger that is kept in memory"
        raise InvalidArgumentError("path", rule, path)
    return name


def _create(name: str) -> None:
    """Make an empty file that only its owner can read and write, unless the name is taken."""
    if os.path.lexists(name):
        return
    os.makedirs(os.path.dirname(name), exist_ok=True)  # noqa: PTH103, PTH120 (pathlib: slow to load)
    beside = f"{name}.{secrets.token_hex(8)}"
    os.close(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        # Where another was first, its file stands; where files cannot be linked, SQLite makes one.
        with suppress(OSError):
            os.link(beside, name)
    finally:
        os.unlink(beside)  # noqa: PTH108 (pathlib takes long to load)


def _check_root(connection: sqlite3.Connection, name: str, key: str, policy: Policy) -> None:
    root = key.partition(":")[0]
    rows = connection.execute("SELECT campaign FROM answers WHERE name = ?", (name,))
    known = {key.partition(":")[0] for (key,) in rows}
    if name and known and root not in known and not policy.new_roots:
        rule = (
            f"be {min(known)}, by which the ledger knows it: if the campaign was made anew, and "
            f"this is not a document for some devices only, allow it with Policy(new_roots=True), "
            f"or noutput report --new-root"
        )
        raise DocumentError(f"root of the campaign {name!r}", rule, root)


def _find(connection: sqlite3.Connection, campaign: str) -> list[Report]:
    rows = connection.execute(f"{_SELECT} WHERE campaign = ? ORDER BY place", (campaign,))
    return [_report(*row) for row in rows]


def _report(*row: Any) -> Report:
    drawn, question, output, identity, token, labels, number = row
    told = tuple((name, label) for name, label in json.loads(labels))
    return Report(drawn, question, output, identity, token, told, number)


def _costs(connection: sqlite3.Connection, since: float) -> list[float]:
    rows = connection.execute("SELECT epsilon FROM answers WHERE answered > ?", (since,))
    return [cost for (cost,) in rows]

"""Campaigns as files: exports of one, backups of all, and how both are restored."""

from __future__ import annotations

import json
import os
import sqlite3
import zipfile
import zlib
from contextlib import closing, contextmanager
from hashlib import file_digest, sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from noutput.campaign.campaign import Campaign
from noutput.campaign.text import parse_instant
from noutput.collector.cells import CellLayout
from noutput.collector.estimable import check_estimable
from noutput.collector.store import open_store
from noutput.collector.store.exported import (
    counts_document,
    read_counts,
    read_releases,
    releases_document,
)
from noutput.collector.store.interface import (
    COMMAND_LINE,
    Action,
    CampaignRow,
    Counted,
    DamagedError,
    Snapshot,
    Store,
)
from noutput.collector.store.schema import schema_version
from noutput.collector.store.seal import Seal
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms import document

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["back_up", "check_file", "export_campaign", "file_checksum", "restore"]

FORMAT = "noutput-export"
VERSION = 1
_KEYS = ("created", "closed", "counts", "releases")
_CAMPAIGN, _COUNTS, _IDS = "campaign.json", "counts.json", "ids.bin"
_ISSUED = "issued.bin"  # hashes of tokens, where any were handed out
_SUMS = "SHA256SUMS"
_SQLITE, _ZIP = b"SQLite format 3\0", b"PK"  # how files begin
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
_ENTRIES = (_CAMPAIGN, _COUNTS, _IDS)
_KNOWN = (*_ENTRIES, _ISSUED)
_PIECE = 1 << 20
_LONGEST_ENTRY = 1 << 27


def export_campaign(store: Store, campaign_id: str, file: Path) -> tuple[int, str]:
    """Write a campaign with its counts and the ids of its reports; return their number.

    Returns
    -------
    reports : int
    checksum : str
        SHA-256 of the list of checksums in the file, and so of all that it says.

    Raises
    ------
    DamagedError
        If the database does not hold what was committed to it.

    Guarantees
    ----------
    Counts and ids are of one moment, also while reports come in. The ids are sorted: their
    order says nothing about when reports came or what they say.
    """
    with store.snapshot(campaign_id) as found:
        if found is None:
            raise InvalidArgumentError("id", "be the id of a campaign", campaign_id)
        ids = np.sort(np.frombuffer(b"".join(found.ids), "S16"))
    _check_seal(found, ids.tobytes())
    campaign = found.row.read()  # refuses a damaged document, which no restore would read
    content = {
        "format": FORMAT,
        "version": VERSION,
        "created": found.row.created,
        "closed": found.row.closed,
        "counts": counts_document(found.counts, CellLayout(campaign)),
        "releases": releases_document(found.releases),
    }
    entries = {
        _CAMPAIGN: found.row.document.encode(),
        _COUNTS: json.dumps(content).encode(),
        _IDS: ids.tobytes(),
    }
    if found.issued:
        entries[_ISSUED] = b"".join(found.issued)
    sums = "".join(f"{sha256(entry).hexdigest()}  {name}\n" for name, entry in entries.items())
    part = file.with_name(f".{file.name}.part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)  # as private as the database
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, entry in entries.items():
            archive.writestr(name, entry, zipfile.ZIP_STORED if name == _IDS else None)
        archive.writestr(_SUMS, sums)
    part.replace(file)
    return len(ids), sha256(sums.encode()).hexdigest()


def restore(
    store: Store, file: Path, checksum: str | None = None, *, now: str | None = None
) -> list[CampaignRow]:
    """Keep what `back_up` or `export_campaign` wrote, in any kind of database, in one transaction.

    Parameters
    ----------
    store : Store
        Without campaigns, tokens and log, for a backup.
    file : Path
    checksum : str, optional
        The SHA-256 of a backup, or what `export_campaign` returned; a file with any other content
        is refused.
    now : str, optional
        The instant, where the log is to say that somebody at the command line did this.

    Returns
    -------
    list of CampaignRow
        What was restored.

    Raises
    ------
    DocumentError
        If the file is neither, was altered, does not have one id for every counted report, or has
        a table that does not tell all answers apart.
    InvalidArgumentError
        If a backup is to be restored into a database that is not empty.
    ConflictError
        If there is a campaign of the id of an export.
    """
    if _is_backup(file):
        with _opened_backup(file, checksum) as source:
            action = Action(now, COMMAND_LINE, "database.restore") if now else None
            return store.restore_all(source, action)
    with _opened_export(file, checksum) as snapshot:
        check_estimable(Campaign.from_json(snapshot.row.document))
        action = Action(now, COMMAND_LINE, "campaign.restore", snapshot.row.id) if now else None
        return [store.restore(snapshot, action)]


def check_file(file: Path, checksum: str | None = None) -> None:
    """Read a backup or an export; raise DocumentError where it is neither or was altered."""
    if _is_backup(file):
        with _opened_backup(file, checksum):
            return
    with _opened_export(file, checksum) as snapshot:
        for _ in snapshot.ids:  # looks at their order
            pass


def _is_backup(file: Path) -> bool:
    """Say whether a file is a backup or an export; raise DocumentError where it is neither."""
    with file.open("rb") as opened:
        head = opened.read(len(_SQLITE))
    if head != _SQLITE and not head.startswith(_ZIP):
        rule = "be a backup (a SQLite file) or an export (a ZIP file) of noutput"
        kind = f"a file that begins with {head!r}" if head else "an empty file"
        raise DocumentError("file", rule, kind)
    return head == _SQLITE


@contextmanager
def _opened_backup(file: Path, checksum: str | None) -> Iterator[Store]:
    """Open a backup; nothing is left beside it."""
    if checksum is not None and checksum.strip().lower() != (actual := file_checksum(file)):
        raise DocumentError("file", f"have the SHA-256 {checksum}", actual)
    address = f"{file.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as opened:
            names = [name for (name,) in opened.execute(_TABLES)]
    except sqlite3.Error as error:
        raise DocumentError("file", "be a SQLite file that can be read", str(error)) from None
    if schema_version.name not in names:  # opening it would make tables in it
        rule = "be a backup of a database of noutput"
        raise DocumentError("file", rule, f"a SQLite file with the tables {names}")
    mark = Path(f"{file}-mark")
    was_served = mark.exists()
    store = open_store(str(file))
    try:
        yield store
    finally:
        store.close()
        if not was_served:
            mark.unlink(missing_ok=True)


@contextmanager
def _opened_export(file: Path, checksum: str | None) -> Iterator[Snapshot]:
    """Read an export; the snapshot's ids are read from the open file."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = sorted(archive.namelist())
            kept = tuple(name for name in _KNOWN if name in names)
            if names != sorted([*kept, _SUMS]) or not set(_ENTRIES) <= set(kept):
                raise DocumentError("file", f"have the entries {[*_ENTRIES, _SUMS]}", names)
            found_sum = _check_sums(archive, kept)
            if checksum is not None and checksum.strip().lower() != found_sum:
                raise DocumentError("file", f"have the checksum {checksum}", found_sum)
            campaign = Campaign.from_json(_entry(archive, _CAMPAIGN))
            content = _read_content(_entry(archive, _COUNTS), campaign)
            counts: dict[int, Counted] = content["counts"]
            size = archive.getinfo(_IDS).file_size
            reports = sum(known.reports for known in counts.values())
            if size != 16 * reports:
                rule = f"have one id for each of {reports} reports"
                raise DocumentError(_IDS, rule, f"{size} bytes")
            row = CampaignRow(
                0, campaign.id, campaign.fingerprint, campaign.to_json(),
                content["created"], content["closed"],
            )  # fmt: skip
            with archive.open(_IDS) as ids:
                pieces, releases = _sorted_pieces(ids), content["releases"]
                issued = _issued(archive) if _ISSUED in kept else []
                yield Snapshot(row, counts, pieces, releases=releases, issued=issued)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise DocumentError("file", "be an export of a campaign", str(error)) from None


def _issued(archive: zipfile.ZipFile) -> list[bytes]:
    """Return the hashes of tokens that were handed out."""
    size = archive.getinfo(_ISSUED).file_size
    if size % 16:
        raise DocumentError(_ISSUED, "have 16 bytes per token", f"{size} bytes")
    with archive.open(_ISSUED) as entry:
        data = b"".join(_sorted_pieces(entry, _ISSUED))
    return [data[start : start + 16] for start in range(0, size, 16)]


def _check_sums(archive: zipfile.ZipFile, entries: tuple[str, ...]) -> str:
    """Compare every entry with its checksum; return the checksum of all."""
    sums = _entry(archive, _SUMS)
    lines = sums.decode("ascii", "replace").splitlines()
    wanted = {name: value for value, _, name in (line.partition("  ") for line in lines)}
    if sorted(wanted) != sorted(entries):
        raise DocumentError(_SUMS, f"have a checksum of each of {list(entries)}", sorted(wanted))
    for name in entries:
        with archive.open(name) as entry:
            found = file_digest(entry, "sha256").hexdigest()  # type: ignore[arg-type]  # is a file
        if found != wanted[name]:
            rule = "be as it was written: its SHA-256 is another one"
            raise DocumentError(name, rule, f"{found[:16]}... in place of {wanted[name][:16]}...")
    return sha256(sums).hexdigest()


def _check_seal(found: Snapshot, ids: bytes) -> None:
    """Raise DamagedError where a campaign is not what was committed."""
    if found.seal is None:
        return
    seal = Seal.of(found.reports, [ids])
    problems = found.seal.problems(seal)
    if seal.ids != seal.reports and not problems:
        problems = [f"it has {seal.ids:,} ids for {seal.reports:,} reports"]
    if problems:
        raise DamagedError(f"campaign {found.row.id!r} is damaged: " + "; ".join(problems))


def file_checksum(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def back_up(database: str, file: Path) -> int:
    """Copy a database of any kind, in use or not, into a new SQLite file; return its campaigns.

    The copy can be served as it is (``noutput serve --database FILE``), and `restore` brings it
    into any other database. Every campaign is of one moment. Tokens stay valid in the copy.

    Raises
    ------
    DamagedError
        If a campaign is not what was committed; nothing is left of the copy then.
    """
    if file.exists():
        raise InvalidArgumentError("file", "not exist yet", str(file))
    part = file.with_name(f".{file.name}.part")
    _remove(part)
    try:
        count = _copy(database, part)
    except BaseException:
        _remove(part)
        raise
    with part.open("rb+") as written:
        os.fsync(written.fileno())
    part.replace(file)
    _remove(part)  # the mark of a database that nobody has served yet
    return count


def _copy(database: str, part: Path) -> int:
    with closing(open_store(database)) as source, closing(open_store(str(part))) as copy:
        return len(copy.restore_all(source))


def _remove(part: Path) -> None:
    for end in ("", "-wal", "-shm", "-mark"):
        Path(f"{part}{end}").unlink(missing_ok=True)


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    size = archive.getinfo(name).file_size
    if size > _LONGEST_ENTRY:
        raise DocumentError(name, f"have at most {_LONGEST_ENTRY} bytes", size)
    return archive.read(name)


def _read_content(text: bytes, campaign: Campaign) -> dict[str, Any]:
    found = document.read(text, FORMAT, VERSION, _KEYS)
    parse_instant("created", found["created"])
    if found["closed"] is not None:
        parse_instant("closed", found["closed"])
    layout = CellLayout(campaign)
    counts = read_counts(found["counts"], layout)
    releases = read_releases(found["releases"], counts, layout)
    return {**found, "counts": counts, "releases": releases}


def _sorted_pieces(ids: IO[bytes], name: str = _IDS) -> Iterator[bytes]:
    """Return the ids in pieces; refuse them where one is not larger than the one before."""
    last = b""
    while piece := ids.read(_PIECE):
        values = np.frombuffer(piece, "S16")
        if not (piece[:16] > last and (values[1:] > values[:-1]).all()):
            raise DocumentError(name, "be sorted, no id twice", "another order")
        last = piece[-16:]
        yield piece

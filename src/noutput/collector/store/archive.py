"""Campaigns as files: one to move it elsewhere, all of them to keep them safe."""

from __future__ import annotations

import json
import os
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from noutput.campaign.campaign import Campaign
from noutput.campaign.text import parse_instant
from noutput.collector.cells import CellLayout
from noutput.collector.store import open_store
from noutput.collector.store.interface import CampaignRow, Snapshot, Store
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms import document

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["back_up", "check_export", "export_campaign", "import_campaign"]

FORMAT = "noutput-export"
VERSION = 1
_KEYS = ("created", "closed", "counts")
_CAMPAIGN, _COUNTS, _IDS = "campaign.json", "counts.json", "ids.bin"
_PIECE = 1 << 20
_LONGEST_ENTRY = 1 << 25


def export_campaign(store: Store, campaign_id: str, file: Path) -> int:
    """Write a campaign with its counts and the ids of its reports; return their number.

    Guarantees
    ----------
    Counts and ids are of one moment, also while reports come in. The ids are sorted: their
    order says nothing about when reports came or what they say.
    """
    with store.snapshot(campaign_id) as found:
        if found is None:
            raise InvalidArgumentError("id", "be the id of a campaign", campaign_id)
        ids = np.sort(np.frombuffer(b"".join(found.ids), "S16"))
    content = {
        "format": FORMAT,
        "version": VERSION,
        "created": found.row.created,
        "closed": found.row.closed,
        "counts": {str(cell): number for cell, number in sorted(found.counts.items())},
    }
    part = file.with_name(f".{file.name}.part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)  # as private as the database
    with zipfile.ZipFile(part, "w") as archive:
        archive.writestr(_CAMPAIGN, found.row.document, zipfile.ZIP_DEFLATED)
        archive.writestr(_COUNTS, json.dumps(content), zipfile.ZIP_DEFLATED)
        archive.writestr(_IDS, ids.tobytes(), zipfile.ZIP_STORED)
    part.replace(file)
    return len(ids)


def import_campaign(store: Store, file: Path) -> CampaignRow:
    """Keep a campaign that `export_campaign` wrote, in any kind of database.

    Raises
    ------
    DocumentError
        If the file is not such an export, or does not have one id for every counted report.
    ConflictError
        If there is a campaign of this id.
    """
    with _opened(file) as found:
        return store.restore(found)


def check_export(file: Path) -> None:
    """Raise DocumentError where a file is no export; the order of its ids is not looked at."""
    with _opened(file):
        pass


@contextmanager
def _opened(file: Path) -> Iterator[Snapshot]:
    try:
        with zipfile.ZipFile(file) as archive:
            if sorted(archive.namelist()) != [_CAMPAIGN, _COUNTS, _IDS]:
                rule = f"have the entries {[_CAMPAIGN, _COUNTS, _IDS]}"
                raise DocumentError("file", rule, archive.namelist())
            campaign = Campaign.from_json(_entry(archive, _CAMPAIGN))
            content = _read_content(_entry(archive, _COUNTS), campaign)
            counts: dict[int, int] = content["counts"]
            size = archive.getinfo(_IDS).file_size
            if size != 16 * sum(counts.values()):
                rule = f"have one id for each of {sum(counts.values())} reports"
                raise DocumentError(_IDS, rule, f"{size} bytes")
            row = CampaignRow(
                0, campaign.id, campaign.fingerprint, campaign.to_json(),
                content["created"], content["closed"],
            )  # fmt: skip
            with archive.open(_IDS) as ids:
                yield Snapshot(row, counts, _sorted_pieces(ids))
    except zipfile.BadZipFile as error:
        raise DocumentError("file", "be an export of a campaign", str(error)) from None


def back_up(database: str, file: Path) -> int:
    """Copy a database of any kind, in use or not, into a new SQLite file; return its campaigns.

    The copy can be served as it is: ``noutput serve --database FILE``. Every campaign is of one
    moment. Tokens stay valid in the copy.
    """
    if file.exists():
        raise InvalidArgumentError("file", "not exist yet", str(file))
    part = file.with_name(f".{file.name}.part")
    for name in (part, Path(f"{part}-wal"), Path(f"{part}-shm")):
        name.unlink(missing_ok=True)
    source, copy = open_store(database), open_store(str(part))
    try:
        campaigns = source.campaigns()
        keys: dict[int | None, int | None] = {None: None}
        for row in campaigns:
            with source.snapshot(row.id) as found:
                if found is not None and found.row.key == row.key:
                    keys[row.key] = copy.restore(found).key
        _copy_tokens(source, copy, keys)
    finally:
        copy.close()
        source.close()
    with part.open("rb+") as written:
        os.fsync(written.fileno())
    part.replace(file)
    return len(campaigns)


def _copy_tokens(source: Store, copy: Store, keys: dict[int | None, int | None]) -> None:
    """Copy the tokens of the campaigns with these keys, each after its parent."""
    for token in sorted(source.tokens(), key=lambda each: each.parent is not None):
        if token.campaign in keys:
            copy.add_token(replace(token, campaign=keys[token.campaign]))


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    size = archive.getinfo(name).file_size
    if size > _LONGEST_ENTRY:
        raise DocumentError(name, f"have at most {_LONGEST_ENTRY} bytes", size)
    return archive.read(name)


def _read_content(text: bytes, campaign: Campaign) -> dict[str, Any]:
    found = document.read(text, FORMAT, VERSION, _KEYS)
    if not isinstance(found["counts"], dict):
        raise DocumentError("counts", "be a JSON object", found["counts"])
    parse_instant("created", found["created"])
    if found["closed"] is not None:
        parse_instant("closed", found["closed"])
    size = CellLayout(campaign).size
    counts: dict[int, int] = {}
    for cell, number in found["counts"].items():
        if not (cell.isascii() and cell.isdigit() and int(cell) < size):
            raise DocumentError("counts", f"have cells from 0 to {size - 1}", cell)
        if type(number) is not int or number < 0:
            raise DocumentError("counts", "be whole numbers, none negative", number)
        counts[int(cell)] = number
    return {**found, "counts": counts}


def _sorted_pieces(ids: IO[bytes]) -> Iterator[bytes]:
    """Return the ids in pieces; refuse them where one is not larger than the one before."""
    last = b""
    while piece := ids.read(_PIECE):
        values = np.frombuffer(piece, "S16")
        if not (piece[:16] > last and (values[1:] > values[:-1]).all()):
            raise DocumentError(_IDS, "be sorted, no id twice", "another order")
        last = piece[-16:]
        yield piece

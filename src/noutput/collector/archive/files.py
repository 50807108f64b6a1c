"""Parquet files of an archive: written whole, sorted by id, never changed."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np

from noutput._extras import LazyModule
from noutput.campaign.archive import (
    CAMPAIGN,
    COLUMNS,
    DOCUMENT,
    ID,
    LABEL,
    OUTPUT,
    QUESTION,
    ROUND,
    SHARDS,
    campaign_folder,
    shard_folder,
)
from noutput.campaign.campaign import Campaign
from noutput.collector.cells import CELL, CellLayout
from noutput.errors import NoutputError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from noutput.collector.archive.pending import Rows
else:
    pa = LazyModule("pyarrow", "frames")
    pq = LazyModule("pyarrow.parquet", "frames")

__all__ = ["compact", "read_document", "write_document", "write_reports"]

_PRIVATE_FOLDER = 0o700
_SMALL = 1 << 20  # reports: files with fewer are put together
_AT_ONCE = 1 << 22
_PARTIAL = ".partial"
_ABANDONED_SECONDS = 3600.0

Words: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]


def write_document(archive: Path, campaign: Campaign) -> None:
    """Make the folder of a campaign, with its document; one with fewer waves is replaced."""
    folder = archive / campaign_folder(campaign.root)
    folder.mkdir(_PRIVATE_FOLDER, parents=True, exist_ok=True)
    known = folder / DOCUMENT
    missing = not known.exists()
    if missing or _waves(known.read_bytes()) < len(campaign.waves):
        _write(folder, DOCUMENT, lambda file: file.write(campaign.to_json().encode()))
        _sync_folder(archive)


def _waves(document: bytes) -> int:
    """Return how many waves a document has; none where it cannot be read."""
    try:
        return len(Campaign.from_json(document).waves)
    except NoutputError:
        return 0


def read_document(archive: Path, root: str) -> bytes:
    """Return the document of a campaign whose reports are kept."""
    return (archive / campaign_folder(root) / DOCUMENT).read_bytes()


def write_reports(archive: Path, rows: Rows, layout: CellLayout) -> None:
    """Write reports to new files, one per shard that has any.

    Guarantees
    ----------
    A file has its name once it is complete and on disk. Its rows are sorted by id: their order
    says nothing about when they came. It holds fingerprint, question, output and id of each
    report, its labels and round where the campaign has them, and no time; its name is random.
    """
    ids = np.frombuffer(rows.ids, ">u8").reshape(-1, 2)
    order = _order(ids)
    ids = ids[order]
    blocks, strata, outputs = layout.places(np.frombuffer(rows.cells, CELL)[order])
    table = _table(layout.campaign, ids.tobytes(), blocks, outputs)
    for name, column in _stratum_columns(layout, strata).items():
        table = table.append_column(name, column)
    ends = np.searchsorted(ids[:, 0] >> np.uint64(60), np.arange(SHARDS + 1, dtype=np.uint64))
    for shard in range(SHARDS):
        start, size = int(ends[shard]), int(ends[shard + 1] - ends[shard])
        if size:
            folder = archive / campaign_folder(rows.campaign) / shard_folder(shard)
            _write_table(folder, table.slice(start, size))


def compact(archive: Path, root: str) -> None:
    """Put the small files of a campaign together, and remove what a crash left behind.

    Guarantees
    ----------
    A file is deleted after its reports are in another one, on disk. Whoever reads meanwhile
    finds them once or twice, which counts the same, or finds a file gone and reads again.
    """
    for shard in range(SHARDS):
        folder = archive / campaign_folder(root) / shard_folder(shard)
        _remove_abandoned(folder)
        for files in _small(folder):
            table = pa.concat_tables(map(_read, files))
            ids = table[ID].combine_chunks()
            raw = np.frombuffer(ids.buffers()[1], ">u8", 2 * len(ids), 16 * ids.offset)
            _write_table(folder, table.take(pa.array(_order(raw.reshape(-1, 2)))))
            for file in files:
                file.unlink(missing_ok=True)


def _order(ids: Words) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return the order of ids; most often their first halves differ, and decide it."""
    high = ids[:, 0].astype(np.uint64)
    order = np.argsort(high)
    ordered = high[order]
    if (ordered[1:] == ordered[:-1]).any():
        return np.lexsort((ids[:, 1].astype(np.uint64), high))
    return order


def _table(campaign: Campaign, ids: bytes, blocks: Any, outputs: Any) -> pa.Table:
    """Return reports as a table: each has the fingerprint of the wave that it was drawn in."""
    size = len(blocks)
    names = pa.array([question.name for question in campaign.questions])
    waves, places = np.divmod(blocks, len(names))
    fingerprints = pa.array([wave.fingerprint for wave in campaign.waves])
    columns = {
        CAMPAIGN: pa.DictionaryArray.from_arrays(pa.array(waves, pa.int32()), fingerprints),
        QUESTION: pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), names),
        OUTPUT: pa.array(outputs, pa.int16()),
        ID: pa.Array.from_buffers(pa.binary(16), size, [None, pa.py_buffer(ids)]),
    }
    return pa.table({name: columns[name] for name in COLUMNS})


def _stratum_columns(layout: CellLayout, strata: Any) -> dict[str, pa.Array]:
    """Return the round and the labels of reports, null where one is not told."""
    campaign, found = layout.campaign, {}
    if campaign.schedule is not None:
        found[ROUND] = pa.array(layout.strata.rounds_of(strata), pa.int16())
    if campaign.segments is not None:
        rest = layout.strata.combinations_of(strata)
        for name, labels in reversed(campaign.segments.names):
            rest, digits = np.divmod(rest, len(labels) + 1)
            places = pa.array(digits - 1, pa.int32(), mask=digits == 0)
            found[LABEL + name] = pa.DictionaryArray.from_arrays(places, pa.array(labels))
    return found


def _small(folder: Path) -> Iterator[list[Path]]:
    """Return groups of small files: each of several, and not too many reports."""
    group: list[Path] = []
    total = 0
    for file in sorted(folder.glob("[!._]*.parquet")):
        size = pq.read_metadata(file).num_rows
        if size >= _SMALL:
            continue
        group.append(file)
        total += size
        if total >= _AT_ONCE:
            if len(group) > 1:
                yield group
            group, total = [], 0
    if len(group) > 1:
        yield group


def _read(file: Path) -> pa.Table:
    with pq.ParquetFile(file) as opened:
        texts = [name for name in opened.schema_arrow.names if name not in (OUTPUT, ID, ROUND)]
    with pq.ParquetFile(file, read_dictionary=texts) as opened:
        return opened.read()


def _remove_abandoned(folder: Path) -> None:
    for file in folder.glob(f".*{_PARTIAL}"):
        with suppress(FileNotFoundError):  # of another process, which has just finished it
            if time.time() - file.stat().st_mtime > _ABANDONED_SECONDS:
                file.unlink()


def _write_table(folder: Path, table: pa.Table) -> None:
    folder.mkdir(_PRIVATE_FOLDER, parents=True, exist_ok=True)

    def write(file: IO[bytes]) -> None:
        # ids are random: neither a dictionary nor compression makes them smaller
        pq.write_table(
            table, file, compression="none", store_schema=False,
            use_dictionary=[name for name in table.column_names if name != ID],
        )  # fmt: skip

    _write(folder, f"{secrets.token_hex(16)}.parquet", write)


def _write(folder: Path, name: str, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file that appears under its name when it is complete and on disk."""
    with _partial(folder) as partial:
        with open(partial, "xb", opener=_private) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(folder / name)
    _sync_folder(folder)
    _sync_folder(folder.parent)


@contextmanager
def _partial(folder: Path) -> Iterator[Path]:
    partial = folder / f".{secrets.token_hex(16)}{_PARTIAL}"
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _sync_folder(folder: Path) -> None:
    """Make names in a folder durable; Windows does so by itself, and cannot open folders."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Reports of campaigns in files: the archive of a collector, or any folder of Parquet."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noutput import _checks
from noutput.campaign.archive import (
    COLUMNS,
    DOCUMENT,
    ID,
    PENDING,
    campaign_folder,
    fingerprint_of,
    shard_folder,
)
from noutput.campaign.campaign import Campaign
from noutput.errors import InvalidArgumentError
from noutput.frames.engines import spark
from noutput.frames.engines.spark_session import borrow_session
from noutput.frames.packages import duckdb, pa, pc, pq
from noutput.frames.storage import is_local, parquet_files

if TYPE_CHECKING:
    from noutput._progress import Progress

__all__ = ["ENGINES", "archived_campaigns", "is_archive", "opened", "pending_reports"]

ENGINES = ("arrow", "duckdb", "spark")
_PENDING_ROWS = "SELECT coalesce(sum(length(ids)), 0) / 16 FROM pending WHERE campaign = ?"
_TEXTS = list(COLUMNS[:2])


@contextmanager
def opened(
    source: str | Path,
    campaign: Campaign | None,
    engine: str,
    master: str | None,
    progress: Progress,
) -> Iterator[tuple[Campaign, Iterable[Any]]]:
    """Lend the campaign, and frames of its reports that have no id in common.

    Parameters
    ----------
    source : path
    campaign : Campaign, optional
        That of the archive if not given.
    engine : {"arrow", "duckdb", "spark"}
    master : str, optional
    progress : callable
        Called after each of several frames.
    """
    _checks.choice("engine", engine, ENGINES)
    if master is not None and engine != "spark":
        raise InvalidArgumentError("master", "be given with the engine 'spark' alone", master)
    if not is_local(str(source)):
        if engine != "spark" or campaign is None:
            rule = "be 'spark', with a campaign, where the source is an address"
            raise InvalidArgumentError("engine", rule, engine)
        with borrow_session(master) as session:
            yield campaign, [session.read.parquet(str(source))]
        return
    found = _only(Path(source)) if campaign is None else campaign
    groups = _file_groups(Path(source), found)
    files = [file for group in groups for file in group]
    if engine == "arrow":
        tables = map(_read_shard if is_archive(source) else _read, groups)
        yield found, _told(tables, len(groups), progress)
    elif engine == "duckdb":
        with duckdb.connect() as connection:
            yield found, [connection.read_parquet(files, hive_partitioning=False)]
    else:
        with borrow_session(master) as session:
            yield found, [spark.read_parquet(session, files)]


def _told(tables: Iterable[pa.Table], count: int, progress: Progress) -> Iterator[pa.Table]:
    for number, table in enumerate(tables, 1):
        yield table
        progress(number / count)


def is_archive(source: str | Path) -> bool:
    """Say whether a local folder is the archive of a collector (``noutput serve --archive``).

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> is_archive(folder)
    False
    >>> (folder / "fingerprint=93d1").mkdir()
    >>> is_archive(folder)
    True
    """
    folder = Path(source)
    if not folder.is_dir():
        return False
    return any(path.name == PENDING or fingerprint_of(path.name) for path in folder.iterdir())


def archived_campaigns(source: Path) -> list[Campaign]:
    """Return the campaigns of an archive; their tables are certified."""
    documents = sorted(source.glob(f"{campaign_folder('*')}/{DOCUMENT}"))
    return [Campaign.from_json(path.read_bytes()) for path in documents]


def pending_reports(source: str | Path, root: str) -> int:
    """Return how many rows of a campaign the collector of an archive has not written yet."""
    file = Path(source) / PENDING
    if not (is_local(str(source)) and file.is_file()):
        return 0
    address = f"{file.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            return int(database.execute(_PENDING_ROWS, (root,)).fetchone()[0])
    except sqlite3.Error as error:
        raise InvalidArgumentError(str(file), "be readable, or not exist", str(error)) from None


def _only(source: Path) -> Campaign:
    """Return the campaign of an archive that has one."""
    campaigns = archived_campaigns(source)
    if len(campaigns) == 1:
        return campaigns[0]
    names = [campaign.id for campaign in campaigns]
    rule = "be given unless the source is the archive of one campaign"
    raise InvalidArgumentError("campaign", rule, names or str(source))


def _file_groups(source: Path, campaign: Campaign) -> list[list[str]]:
    """Return the files of a campaign, in groups that have no id in common."""
    if not is_archive(source):
        return [parquet_files(source, COLUMNS)]
    folder = source / campaign_folder(campaign.root)
    shards = sorted(path for path in folder.glob("shard=*") if path.is_dir())
    groups = [parquet_files(shard, COLUMNS) for shard in shards if any(shard.glob("[!._]*"))]
    if not groups:
        names = sorted(each.id for each in archived_campaigns(source))
        rule = f"hold reports of the campaign {campaign.id!r} ({campaign.root[:12]})"
        raise InvalidArgumentError("source", rule, f"an archive of {names}")
    return groups


def _read(files: list[str]) -> pa.Table:
    """Return the columns of some files; texts stay in dictionaries."""
    tables = []
    for file in files:
        _check_columns(file, pq.read_schema(file))
        with pq.ParquetFile(file, read_dictionary=_TEXTS) as source:
            tables.append(source.read(columns=list(COLUMNS)))
    return pa.concat_tables(tables)


def _read_shard(files: list[str]) -> pa.Table:
    """Return what `_read` does, of files that must hold the ids of one shard and no others."""
    table = _read(files)
    folder = Path(files[0]).parent
    kind = table.schema.field(ID).type
    firsts = set()
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):  # others are refused later
        found = pc.unique(pc.binary_slice(table[ID], 0, 1)).to_pylist()
        firsts = {shard_folder(first[0] >> 4) for first in found if first}
    if firsts - {folder.name}:
        rule = f"hold the ids of {folder.name} alone"
        raise InvalidArgumentError(f"folder {str(folder)!r}", rule, sorted(firsts))
    return table


def _check_columns(file: str, schema: pa.Schema) -> None:
    missing = [name for name in COLUMNS if name not in schema.names]
    if missing:
        rule = f"have the columns {', '.join(COLUMNS)}"
        raise InvalidArgumentError(f"file {file!r}", rule, f"no {', '.join(missing)}")
    for name in _TEXTS:
        kind = schema.field(name).type
        if pa.types.is_nested(kind):  # pyarrow makes dictionaries of texts alone
            raise InvalidArgumentError(f"column {name!r}", "hold texts", str(kind))

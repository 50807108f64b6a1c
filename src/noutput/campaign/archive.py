"""Archive layout: names of the folders, files and columns of reports that are kept as Parquet.

An archive is a folder. A collector writes one, and `noutput.frames` reads it::

    fingerprint=<64 hexadecimal digits>/    one folder per campaign
        _campaign.json                      its document
        shard=<hexadecimal digit>/          the first digit of the ids in it
            <random name>.parquet           reports, sorted by id
    _pending.db                             what is in no file yet

Readers of Parquet pass over names that start with an underscore or a dot.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "CAMPAIGN", "COLUMNS", "DOCUMENT", "ID", "LABEL", "OUTPUT", "PENDING", "QUESTION", "ROUND",
    "SHARDS", "campaign_folder", "fingerprint_of", "shard_folder",
]  # fmt: skip

CAMPAIGN: Final = "campaign"  # the fingerprint, as in a report
QUESTION: Final = "question"
OUTPUT: Final = "output"
ID: Final = "id"
COLUMNS: Final = (CAMPAIGN, QUESTION, OUTPUT, ID)
ROUND: Final = "round"  # further columns, of campaigns with a schedule or with segments
LABEL: Final = "label_"  # before the name of a segment
DOCUMENT: Final = "_campaign.json"
PENDING: Final = "_pending.db"
SHARDS: Final = 16
_FOLDER: Final = "fingerprint="


def campaign_folder(fingerprint: str) -> str:
    """Return the name of a campaign's folder.

    Examples
    --------
    >>> campaign_folder("93d1"), fingerprint_of("fingerprint=93d1"), fingerprint_of("_pending.db")
    ('fingerprint=93d1', '93d1', None)
    """
    return _FOLDER + fingerprint


def fingerprint_of(folder: str) -> str | None:
    """Return the fingerprint in the name of a campaign's folder; None for other names."""
    return folder.removeprefix(_FOLDER) if folder.startswith(_FOLDER) else None


def shard_folder(shard: int) -> str:
    """Return the name of the folder of the ids whose first hexadecimal digit is `shard`.

    Examples
    --------
    >>> shard_folder(11)
    'shard=b'
    """
    return f"shard={shard:x}"

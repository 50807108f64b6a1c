"""Bodies of reports as columns: ids and cells, checked as a whole."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from noutput.campaign.packed import HEADER_BYTES, PackedBatch, decode_packed, open_packed
from noutput.campaign.problems import WireError
from noutput.campaign.report import ID_BYTES
from noutput.campaign.tokens import packed_bytes, read_token
from noutput.campaign.wire import (
    BATCH_TYPE,
    MAX_BATCH,
    MAX_BATCH_BYTES,
    MAX_REPORT_BYTES,
    PACKED_TYPE,
    REPORT_TYPE,
    check_spent,
    decode_entries,
    decode_report,
    most_reports,
)
from noutput.collector.cells import CELL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from noutput.campaign.campaign import Campaign
    from noutput.collector.cells import CellLayout

_Entry: TypeAlias = tuple[str, int, str, bytes]  # question, output, id and token
__all__ = ["BODY_LIMITS", "body_limit", "read_columns"]

# A packed answer takes at most 6 bits of the question's place and 8 of the output.
_PACKED_BYTES = HEADER_BYTES + MAX_BATCH * ID_BYTES + -(-MAX_BATCH * 14 // 8)

_COMPACT = {  # by the version of the campaign
    version: re.compile(
        rb'{"version":%d,"campaign":"([0-9a-f]{64})","%b":"([a-z][a-z0-9_]{0,63})",'
        rb'"output":(0|[1-9][0-9]{0,2}),"id":"([0-9a-f]{32})"}' % (version, noun)
    )
    for version, noun in ((1, b"attribute"), (2, b"question"))
}

# A thread that reads a large batch lets the others go on after so many reports, half a
# millisecond of work. Without the pause, each of their steps would wait for its turn.
_AT_ONCE = 64
_PAUSE_SECONDS = 1e-4

BODY_LIMITS: dict[bytes, int] = {
    REPORT_TYPE.encode(): MAX_REPORT_BYTES,
    BATCH_TYPE.encode(): MAX_BATCH_BYTES,
    PACKED_TYPE.encode(): _PACKED_BYTES,
}


def body_limit(media: bytes, campaign: Campaign) -> int:
    """Return how many bytes a body may have: those of a packed batch's tokens are on top."""
    tokens = packed_bytes(campaign) if media == PACKED_TYPE.encode() else 0
    return BODY_LIMITS[media] + tokens * most_reports(campaign)


def read_columns(
    media: bytes,
    body: bytes,
    layout: CellLayout,
    *,
    aside: bool = False,
    tokens: list[bytes] | None = None,
) -> tuple[bytes, bytes]:
    """Return the ids and the cells of all reports of a body.

    Parameters
    ----------
    media : bytes
        One of the three content types of the wire format.
    body : bytes
    layout : CellLayout
        Of the campaign whose fingerprint, questions and outputs the reports must name.
    aside : bool
        Pause now and then, for a thread beside more urgent ones.
    tokens : list of bytes, optional
        Gets the tokens of all reports, where the campaign's have some. Each fits the id of its
        report, which spends it; whether it is a good one is left to the caller.

    Raises
    ------
    WireError
        If the body breaks the wire format anywhere; nothing of it is counted then.
    """
    if media == b"application/vnd.noutput.batch":
        return _packed(body, layout, tokens)
    if media == b"application/vnd.noutput.report+json":
        found = _compact(body, layout)
        if found is None:
            one = decode_report(body, layout.campaign)
            token = read_token(layout.campaign, one.token) if one.token else b""
            found = _columns([(one.question, one.output, one.id, token)], layout, tokens)
        return found
    entries = decode_entries(body, layout.campaign)
    return _columns(_paused(entries) if aside else entries, layout, tokens)


def _compact(body: bytes, layout: CellLayout) -> tuple[bytes, bytes] | None:
    """Read a report in the very form that the clients write; None for any other."""
    found = _COMPACT[layout.campaign.version].fullmatch(body)
    if layout.campaign.admission.needs_token:
        return None
    if found is None or found[1].decode() != layout.campaign.fingerprint:
        return None
    cell = layout.cell(found[2].decode(), int(found[3]))
    if cell is None:
        return None
    return bytes.fromhex(found[4].decode()), cell.to_bytes(CELL.itemsize, "little")


def _paused(entries: Iterable[_Entry]) -> Iterator[_Entry]:
    for place, entry in enumerate(entries, 1):
        if not place % _AT_ONCE:
            time.sleep(_PAUSE_SECONDS)
        yield entry


def _columns(
    reports: Iterable[_Entry], layout: CellLayout, tokens: list[bytes] | None
) -> tuple[bytes, bytes]:
    ids: list[str] = []
    cells: list[int | None] = []
    for question, output, report_id, token in reports:
        ids.append(report_id)
        cells.append(layout.cell(question, output))
        if token and tokens is not None:
            tokens.append(token)
    return bytes.fromhex("".join(ids)), np.array(cells, CELL).tobytes()


def _packed(body: bytes, layout: CellLayout, tokens: list[bytes] | None) -> tuple[bytes, bytes]:
    batch = open_packed(body, layout.campaign)
    places, outputs = _answers(batch)
    cells = layout.cells(places, outputs)
    halves = np.frombuffer(batch.ids, ">u8").reshape(-1, 2).astype(np.uint64)
    high, low = halves[:, 0], halves[:, 1]
    rising = (high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] > low[:-1]))
    if cells is None or not rising.all():
        decode_packed(body, layout.campaign)  # slower, and names the report that is wrong
        raise WireError("malformed-body", "body", "be a packed batch", len(body))
    if batch.tokens:
        found = list(batch.each_token())
        each = zip(places.tolist(), batch.each_id(), found, strict=True)
        for index, (place, identity, token) in enumerate(each):
            check_spent(f"reports[{index}].", place, identity.hex(), token, layout.campaign)
        if tokens is not None:
            tokens += found
    return bytes(batch.ids), cells.astype(CELL).tobytes()


def _answers(batch: PackedBatch) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the question's place and the output of every report."""
    raw = np.frombuffer(batch.answers, np.uint8)
    if batch.width == 8:
        answers = raw.astype(np.int32)
    else:
        bits = np.unpackbits(raw, count=batch.count * batch.width).reshape(-1, batch.width)
        answers = bits @ (1 << np.arange(batch.width - 1, -1, -1, dtype=np.int32))
    return answers >> batch.output_bits, answers & ((1 << batch.output_bits) - 1)

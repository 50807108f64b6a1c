"""Bodies of reports as columns: ids and cells, checked as a whole."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from noutput.campaign.packed import (
    HEADER_BYTES,
    PackedBatch,
    decode_packed,
    open_packed,
    widths,
)
from noutput.campaign.problems import WireError
from noutput.campaign.report import ID_BYTES
from noutput.campaign.tokens import packed_bytes
from noutput.campaign.wire import (
    BATCH_TYPE,
    MAX_BATCH,
    MAX_BATCH_BYTES,
    MAX_REPORT_BYTES,
    PACKED_TYPE,
    REPORT_TYPE,
    VERSION,
    Entry,
    check_spent,
    decode_entries,
    decode_entry,
    most_reports,
)
from noutput.collector.cells import CELL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from noutput.campaign.campaign import Campaign
    from noutput.collector.cells import CellLayout, WaveLayout

__all__ = ["BODY_LIMITS", "body_limit", "check_rounds", "read_columns", "round_sizes"]

_Column: TypeAlias = np.ndarray[Any, Any]
_WIDE = 32  # bits of an answer that take a longer number

# A packed answer takes at most 6 bits of the question's place and 8 of the output.
_PACKED_BYTES = HEADER_BYTES + MAX_BATCH * ID_BYTES + -(-MAX_BATCH * 14 // 8)

_COMPACT = re.compile(
    rb'{"version":%d,"campaign":"([0-9a-f]{64})","question":"([a-z][a-z0-9_]{0,63})",'
    rb'"output":(0|[1-9][0-9]{0,2}),"id":"([0-9a-f]{32})"}' % VERSION
)

_OTHER_WAVE = "wrong-fingerprint"

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
    """Return how many bytes a body may have: a packed batch's tokens and strata are on top."""
    if media != PACKED_TYPE.encode():
        return BODY_LIMITS[media]
    bits = widths(campaign)[0] + 8 * packed_bytes(campaign)
    return BODY_LIMITS[media] + -(-bits * most_reports(campaign) // 8)


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
        Of the campaign: the reports name the fingerprint of one of its waves, and questions and
        outputs of that.
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
    try:
        return _read(media, body, layout.waves[-1], tokens, aside=aside)
    except WireError as error:
        earlier = layout.wave(error.found) if error.problem.name == _OTHER_WAVE else None
        if earlier is None:
            raise
    return _read(media, body, earlier, tokens, aside=aside)


def _read(
    media: bytes, body: bytes, layout: WaveLayout, tokens: list[bytes] | None, *, aside: bool
) -> tuple[bytes, bytes]:
    """Read a body whose reports are of one wave; its fingerprint is looked at before all else."""
    if media == b"application/vnd.noutput.batch":
        return _packed(body, layout, tokens)
    if media == b"application/vnd.noutput.report+json":
        found = _compact(body, layout)
        if found is None:
            found = _columns([decode_entry(body, layout.campaign)], layout, tokens)
        return found
    entries = decode_entries(body, layout.campaign)
    return _columns(_paused(entries) if aside else entries, layout, tokens)


def _compact(body: bytes, layout: WaveLayout) -> tuple[bytes, bytes] | None:
    """Read a report in the very form that the clients write; None for any other."""
    if not layout.is_plain:
        return None
    found = _COMPACT.fullmatch(body)
    if found is None or found[1].decode() != layout.campaign.fingerprint:
        return None
    cell = layout.cell(found[2].decode(), int(found[3]))
    if cell is None:
        return None
    return bytes.fromhex(found[4].decode()), cell.to_bytes(CELL.itemsize, "little")


def _paused(entries: Iterable[Entry]) -> Iterator[Entry]:
    for place, entry in enumerate(entries, 1):
        if not place % _AT_ONCE:
            time.sleep(_PAUSE_SECONDS)
        yield entry


def _columns(
    reports: Iterable[Entry], layout: WaveLayout, tokens: list[bytes] | None
) -> tuple[bytes, bytes]:
    ids: list[str] = []
    cells: list[int | None] = []
    number = layout.strata.renumbered
    for report in reports:
        ids.append(report.id)
        cells.append(layout.cell(report.question, report.output, number(report.stratum)))
        if report.token and tokens is not None:
            tokens.append(report.token)
    return bytes.fromhex("".join(ids)), np.array(cells, CELL).tobytes()


def _packed(body: bytes, layout: WaveLayout, tokens: list[bytes] | None) -> tuple[bytes, bytes]:
    batch = open_packed(body, layout.campaign)
    strata, places, outputs = _answers(batch)
    cells = _cells(layout, strata, places, outputs)
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


def _cells(
    layout: WaveLayout, strata: _Column, places: _Column, outputs: _Column
) -> _Column | None:
    """Return the cells of many reports; None if one has none."""
    if layout.strata.size == 1:
        return layout.cells(places, outputs)
    if (strata >= layout.strata.rounds * layout.strata.combinations).any():
        return None
    return layout.cells(places, outputs, layout.strata.numbers(strata))


def _answers(batch: PackedBatch) -> tuple[_Column, _Column, _Column]:
    """Return the stratum, the question's place and the output of every report."""
    raw = np.frombuffer(batch.answers, np.uint8)
    answers: _Column
    if batch.width == 8:
        answers = raw.astype(np.int32)
    else:
        bits = np.unpackbits(raw, count=batch.count * batch.width).reshape(-1, batch.width)
        kind = np.dtype(np.int32 if batch.width < _WIDE else np.int64)
        answers = bits @ np.left_shift(1, np.arange(batch.width - 1, -1, -1), dtype=kind)
    outputs, rest = answers & ((1 << batch.output_bits) - 1), answers >> batch.output_bits
    return rest >> batch.question_bits, rest & ((1 << batch.question_bits) - 1), outputs


def round_sizes(cells: bytes, layout: CellLayout) -> dict[int, int]:
    """Return how many reports of a campaign with a schedule name each round."""
    numbers, sizes = np.unique(
        layout.waves[-1].rounds(np.frombuffer(cells, CELL)), return_counts=True
    )
    return dict(zip(numbers.tolist(), sizes.tolist(), strict=True))


def check_rounds(cells: bytes, layout: CellLayout, over: int, begun: int) -> None:
    """Refuse reports of rounds that have not begun, or whose grace time is over.

    Parameters
    ----------
    cells : bytes
        As `read_columns` returns them, of a campaign with a schedule.
    layout : CellLayout
    over, begun : int
        How many rounds are over, and how many have begun.

    Raises
    ------
    WireError
        If there is one, which is named.
    """
    rounds = layout.waves[-1].rounds(np.frombuffer(cells, CELL))
    wrong = np.flatnonzero((rounds < over) | (rounds >= begun))
    if not wrong.size:
        return
    place, found = int(wrong[0]), int(rounds[wrong[0]])
    name = f"reports[{place}].round" if len(rounds) > 1 else "round"
    if found < over:
        rule = f"be {over} or later: earlier ones and their grace time are over"
        raise WireError("round-over", name, rule, found)
    raise WireError("round-not-begun", name, f"be {begun - 1} or earlier, by now", found)

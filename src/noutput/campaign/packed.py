"""Batches as packed bytes: 16 bytes per id and a few bits per answer.

`open_packed` checks a batch as a whole and leaves its columns where they are, for a collector
that counts many reports at once; `decode_packed` reads every report.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from noutput.campaign.problems import WireError
from noutput.campaign.report import ID_BYTES, Report
from noutput.campaign.tokens import packed_bytes, read_token
from noutput.campaign.wire import (
    VERSION,
    Entry,
    check_count,
    check_member,
    check_round,
    check_spent,
    most_reports,
    report_of,
)
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign

__all__ = ["HEADER_BYTES", "PackedBatch", "decode_packed", "encode_packed", "open_packed"]

_HEADER = struct.Struct("<BBBBBBHI32s")  # all that precedes the ids
HEADER_BYTES = _HEADER.size


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """The columns of a packed batch whose header and length are right.

    Parameters
    ----------
    count : int
        How many reports there are.
    stratum_bits, question_bits, output_bits : int
        The width of the three parts of an answer.
    ids : memoryview
        16 bytes per report.
    answers : memoryview
        The answers as a stream of bits, the first in the highest bit of the first byte. Each
        is the number of the stratum (`Campaign.stratum`), the question's place and the output.
    tokens : memoryview
        Those of all reports, where the campaign's reports have tokens.
    """

    count: int
    stratum_bits: int
    question_bits: int
    output_bits: int
    ids: memoryview
    answers: memoryview
    tokens: memoryview

    @property
    def width(self) -> int:
        """How many bits an answer takes."""
        return self.stratum_bits + self.question_bits + self.output_bits

    def each_id(self) -> Iterator[bytes]:
        """Return the ids one by one."""
        return self._each(self.ids)

    def each_token(self) -> Iterator[bytes]:
        """Return the tokens one by one, empty ones where there are none."""
        return self._each(self.tokens)

    def _each(self, column: memoryview) -> Iterator[bytes]:
        data, size = bytes(column), len(column) // self.count
        return (data[size * place : size * (place + 1)] for place in range(self.count))

    def each_answer(self) -> Iterator[tuple[int, int, int]]:
        """Return the stratum, the question's place and the output of every report."""
        last = (1 << self.output_bits) - 1
        middle = (1 << self.question_bits) - 1
        bits = "".join(f"{byte:08b}" for byte in self.answers)
        for start in range(0, self.count * self.width, self.width):
            answer = int(bits[start : start + self.width], 2)
            rest = answer >> self.output_bits
            yield rest >> self.question_bits, rest & middle, answer & last


def widths(campaign: Campaign) -> tuple[int, int, int]:
    """Return how many bits a stratum, a question's place and an output of the largest table take.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from noutput.campaign import Campaign, Schedule, Table, YesNo
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> widths(Campaign(
    ...     "late", "Late", "Were you late?", (YesNo(name="late"),), (Table(1.1, (2,), rows),),
    ...     datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 29, tzinfo=UTC),
    ...     schedule=Schedule("day", 7)))
    (5, 0, 1)
    """
    strata = campaign.n_rounds * campaign.n_combinations
    places = len(campaign.questions)
    outputs = max(table.bits for table in campaign.tables)
    return (strata - 1).bit_length(), (places - 1).bit_length(), outputs


def encode_packed(campaign: Campaign, reports: Iterable[Report]) -> bytes:
    """Pack from 1 to 10,000 reports of a campaign, in the order of their ids."""
    ordered = sorted(reports, key=lambda report: report.id)
    check_count(len(ordered), most_reports(campaign))
    _, question_bits, output_bits = widths(campaign)
    width = sum(widths(campaign))
    answers = 0
    for report in ordered:
        if report.campaign != campaign.fingerprint:
            rule = f"be {campaign.fingerprint}"
            raise InvalidArgumentError("campaign", rule, report.campaign)
        check_member("", report.question, report.output, campaign)
        stratum = campaign.stratum(report.labels, report.round)
        place = stratum << question_bits | campaign.question_indexes[report.question]
        answers = answers << width | place << output_bits | report.output
    size = -(-len(ordered) * width // 8)
    answers <<= 8 * size - len(ordered) * width
    fingerprint = bytes.fromhex(campaign.fingerprint)
    head = _HEADER.pack(VERSION, *_fields(campaign), len(ordered), fingerprint)
    ids = bytes.fromhex("".join(report.id for report in ordered))
    data = head + ids + answers.to_bytes(size, "big")
    if campaign.admission.needs_token:
        data += b"".join(read_token(campaign, report.token) for report in ordered)
    _check_ids(open_packed(data, campaign))
    return data


def _fields(campaign: Campaign) -> tuple[int, ...]:
    """Return what the header has between the version and the count.

    These are the widths of wave, stratum, question and output, and the bytes of a token: the
    lowest 8 bits, then 16 more. A wave takes no bits: the fingerprint names it.
    """
    stratum_bits, question_bits, output_bits = widths(campaign)
    high, low = divmod(packed_bytes(campaign), 256)
    return 0, stratum_bits, question_bits, output_bits, low, high


def open_packed(data: bytes, campaign: Campaign) -> PackedBatch:
    """Check version, fingerprint, widths, length and padding of a packed batch.

    Whether the ids increase, and whether the campaign has every stratum, question and output, is
    left to the reader of the columns.

    Raises
    ------
    WireError
        If one of them is wrong; its `problem` says which.
    """
    if not data or data[0] != VERSION:
        found = data[0] if data else "no byte"
        raise WireError("malformed-body", "version", f"be {VERSION}", found)
    if len(data) < HEADER_BYTES:
        rule = f"have at least {HEADER_BYTES} bytes"
        raise WireError("malformed-body", "body", rule, len(data))
    _, *fields, count, fingerprint = _HEADER.unpack_from(data)
    if fingerprint.hex() != campaign.fingerprint:
        rule = f"be {campaign.fingerprint}"
        raise WireError("wrong-fingerprint", "campaign", rule, fingerprint.hex())
    if tuple(fields) != _fields(campaign):
        raise WireError("malformed-body", "widths", f"be {_fields(campaign)}", tuple(fields))
    check_count(count, most_reports(campaign))
    bits = count * sum(widths(campaign))
    split = HEADER_BYTES + ID_BYTES * count
    end = split + -(-bits // 8)
    length = end + count * packed_bytes(campaign)
    if len(data) != length:
        rule = f"have {length} bytes for {count} reports"
        raise WireError("malformed-body", "body", rule, len(data))
    if data[end - 1] & ((1 << -bits % 8) - 1):
        raise WireError("malformed-body", "padding", "be zero", data[end - 1])
    view = memoryview(data)
    ids, answers, tokens = view[HEADER_BYTES:split], view[split:end], view[end:]
    return PackedBatch(count, *widths(campaign), ids, answers, tokens)


def decode_packed(data: bytes, campaign: Campaign) -> list[Report]:
    """Read a packed batch of a campaign: all of it or, with a `WireError`, nothing."""
    batch = open_packed(data, campaign)
    _check_ids(batch)
    result = []
    names = list(campaign.question_indexes)
    for index, (identity, (stratum, place, output), token) in enumerate(
        zip(batch.each_id(), batch.each_answer(), batch.each_token(), strict=True)
    ):
        check_member(f"reports[{index}].", place, output, campaign)
        check_spent(f"reports[{index}].", place, identity.hex(), token, campaign)
        check_round(f"reports[{index}].", stratum // campaign.n_combinations, campaign)
        entry = Entry(names[place], output, identity.hex(), token, stratum)
        result.append(report_of(campaign, entry))
    return result


def _check_ids(batch: PackedBatch) -> None:
    for index, (before, identity) in enumerate(pairwise(batch.each_id()), start=1):
        if before == identity:
            name, rule = f"reports[{index}].id", "differ from all before"
            raise WireError("repeated-id", name, rule, identity.hex())
        if before > identity:
            name, rule = f"reports[{index}].id", "be larger than the one before"
            raise WireError("malformed-body", name, rule, identity.hex())

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
from noutput.campaign.wire import check_count, check_member
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign

__all__ = ["HEADER_BYTES", "PackedBatch", "decode_packed", "encode_packed", "open_packed"]

VERSION = 1
_HEADER = struct.Struct("<BBBBI32s")
HEADER_BYTES = _HEADER.size


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """The columns of a packed batch whose header and length are right.

    Parameters
    ----------
    count : int
        How many reports there are.
    attribute_bits, output_bits : int
        The width of the two parts of an answer.
    ids : memoryview
        16 bytes per report.
    answers : memoryview
        The answers as a stream of bits, the first in the highest bit of the first byte. Each
        is the attribute's place followed by the output.
    """

    count: int
    attribute_bits: int
    output_bits: int
    ids: memoryview
    answers: memoryview

    @property
    def width(self) -> int:
        """How many bits an answer takes."""
        return self.attribute_bits + self.output_bits

    def each_id(self) -> Iterator[bytes]:
        """Return the ids one by one."""
        data = bytes(self.ids)
        return (data[start : start + ID_BYTES] for start in range(0, len(data), ID_BYTES))

    def each_answer(self) -> Iterator[tuple[int, int]]:
        """Return the attribute's place and the output of every report."""
        mask = (1 << self.output_bits) - 1
        bits = "".join(f"{byte:08b}" for byte in self.answers)
        for start in range(0, self.count * self.width, self.width):
            answer = int(bits[start : start + self.width], 2)
            yield answer >> self.output_bits, answer & mask


def widths(campaign: Campaign) -> tuple[int, int]:
    """Return how many bits an attribute's place and an output take."""
    return (len(campaign.attributes) - 1).bit_length(), campaign.table.bits


def encode_packed(campaign: Campaign, reports: Iterable[Report]) -> bytes:
    """Pack from 1 to 10,000 reports of a campaign, in the order of their ids."""
    ordered = sorted(reports, key=lambda report: report.id)
    check_count(len(ordered))
    attribute_bits, output_bits = widths(campaign)
    width = attribute_bits + output_bits
    answers = 0
    for report in ordered:
        if report.campaign != campaign.fingerprint:
            rule = f"be {campaign.fingerprint}"
            raise InvalidArgumentError("campaign", rule, report.campaign)
        check_member("", report.attribute, report.output, campaign)
        place = campaign.attribute_indexes[report.attribute]
        answers = answers << width | place << output_bits | report.output
    size = -(-len(ordered) * width // 8)
    answers <<= 8 * size - len(ordered) * width
    data = b"".join(
        (
            _HEADER.pack(
                VERSION, attribute_bits, output_bits, 0, len(ordered),
                bytes.fromhex(campaign.fingerprint),
            ),
            bytes.fromhex("".join(report.id for report in ordered)),
            answers.to_bytes(size, "big"),
        )
    )  # fmt: skip
    _check_ids(open_packed(data, campaign))
    return data


def open_packed(data: bytes, campaign: Campaign) -> PackedBatch:
    """Check version, fingerprint, widths, length and padding of a packed batch.

    Whether the ids increase, and whether the campaign has every attribute and output, is left
    to the reader of the columns.

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
    _, attribute_bits, output_bits, reserved, count, fingerprint = _HEADER.unpack_from(data)
    if fingerprint.hex() != campaign.fingerprint:
        rule = f"be {campaign.fingerprint}"
        raise WireError("wrong-fingerprint", "campaign", rule, fingerprint.hex())
    if (attribute_bits, output_bits, reserved) != (*widths(campaign), 0):
        rule = f"be {(*widths(campaign), 0)}"
        bad = (attribute_bits, output_bits, reserved)
        raise WireError("malformed-body", "widths", rule, bad)
    check_count(count)
    bits = count * (attribute_bits + output_bits)
    split = HEADER_BYTES + ID_BYTES * count
    if len(data) != split + -(-bits // 8):
        rule = f"have {split + -(-bits // 8)} bytes for {count} reports"
        raise WireError("malformed-body", "body", rule, len(data))
    if data[-1] & ((1 << -bits % 8) - 1):
        raise WireError("malformed-body", "padding", "be zero", data[-1])
    view = memoryview(data)
    ids, answers = view[HEADER_BYTES:split], view[split:]
    return PackedBatch(count, attribute_bits, output_bits, ids, answers)


def decode_packed(data: bytes, campaign: Campaign) -> list[Report]:
    """Read a packed batch of a campaign: all of it or, with a `WireError`, nothing."""
    batch = open_packed(data, campaign)
    _check_ids(batch)
    result = []
    names = list(campaign.attribute_indexes)
    for index, (identity, (place, output)) in enumerate(
        zip(batch.each_id(), batch.each_answer(), strict=True)
    ):
        check_member(f"reports[{index}].", place, output, campaign)
        result.append(Report(campaign.fingerprint, names[place], output, identity.hex()))
    return result


def _check_ids(batch: PackedBatch) -> None:
    for index, (before, identity) in enumerate(pairwise(batch.each_id()), start=1):
        if before == identity:
            name, rule = f"reports[{index}].id", "differ from all before"
            raise WireError("repeated-id", name, rule, identity.hex())
        if before > identity:
            name, rule = f"reports[{index}].id", "be larger than the one before"
            raise WireError("malformed-body", name, rule, identity.hex())
